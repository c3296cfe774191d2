"""Distance-based record linkage: the record nearest to a person is taken to be theirs."""

from __future__ import annotations

import numpy as np

from oboro.attacks.base import CHANCE, Attack, AttackKind, AttackMethod, AttackTarget

__all__ = ["ATTACK", "RecordLinkage"]


class RecordLinkage(AttackMethod):
    """Take the nearest record, of several one by chance. The control is a draw among all records."""

    # A person is linked to a record of a k-anonymous table with a probability of at most 1/k (Sweeney 2002).
    kinds = (AttackKind("record_linkage", "linkability", "identity", limit_by_link=lambda link: link, figure=True),)
    knows = "the quasi-identifiers of a person"
    needs = ("records", "quasi", "owners")

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess once for each target."""
        scenario, known = target.scenario, target.nearest
        if known is None:
            return []
        picked = known.draw(scenario, known.found, np.full(known.found.size, -1))
        by_chance = scenario.rng.integers(scenario.view.released.rows, size=known.own.size)
        found, control = (scenario.same_people(guess, known.own) for guess in (picked, by_chance))
        return [self.kinds[0].attack(known.view.names, found, control, CHANCE, notes=scenario.linking_notes)]


ATTACK = RecordLinkage()
