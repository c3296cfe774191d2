"""Linkability: two halves of the quasi-identifiers, each on its own, lead to the same record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.attacks.base import CHANCE, Attack, AttackKind, AttackMethod, AttackScenario, AttackTarget, Neighbours, Rate
from oboro.data.dataset import Dataset
from oboro.text import Message

__all__ = ["ATTACK", "Linkability"]


class Linkability(AttackMethod):
    """Both halves of the background knowledge look for their nearest record; they are linked if they find the same.

    The control are the same guesses of the control group, or of the same people without their own record, or two draws.
    """

    # Each half leads to a class of k or more, so both lead to a person's record with a probability of at most 1/k.
    kinds = (AttackKind("linkability", "linkability", "identity", limit_by_link=lambda link: link),)
    knows = "the quasi-identifiers of a person, in two halves from two sources"
    needs = ("records", "two_quasi")

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess once for each target."""
        scenario = target.scenario
        if target.nearest is None:
            return []
        first, second = _halves(scenario.view.original, target.quasi)
        halves = [Neighbours.of(scenario, half) for half in (first, second)]
        nobody = np.full(target.nearest.people.size, -1)
        found = scenario.same_people(*(half.draw(scenario, half.found, nobody) for half in halves))
        control, is_ = _control(scenario, halves[0], halves[1])
        halved = Message("attack.note.halves", first=" + ".join(first), second=" + ".join(second))
        notes = (halved, *scenario.linking_notes)
        return [self.kinds[0].attack((*first, *second), found, control, is_, notes=notes)]


def _halves(data: Dataset, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two halves that tell about equally much, by the logarithms of the numbers of different values."""
    halves: tuple[list[str], list[str]] = ([], [])
    weights = [0.0, 0.0]
    for name in sorted(names, key=lambda name: -len(data[name].values)):
        lighter = int(weights[1] < weights[0])
        halves[lighter].append(name)
        weights[lighter] += float(np.log(max(2, len(data[name].values))))
    return halves


def _control(scenario: AttackScenario, first: Neighbours, second: Neighbours) -> tuple[Rate, Message]:
    """Return how often the control links two halves, and which control it is."""
    if first.control is None or second.control is None:
        draws = scenario.rng.integers(scenario.view.released.rows, size=(2, first.people.size))
        return scenario.same_people(draws[0], draws[1]), CHANCE
    without = first.own if first.control_people is None else np.full(first.control.size, -1)
    pairs = ((first, first.control), (second, second.control))
    return scenario.same_people(*(half.draw(scenario, found, without) for half, found in pairs)), first.control_is


ATTACK = Linkability()
