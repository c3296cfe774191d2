"""Membership inference by an attacker who knows all other records and the recipe, as in differential privacy.

A release by sampling is compared with *the same classes without chance*: all records, equally generalized, in classes
of at least k; that is k-anonymity. The attacker knows how many others are in a person's class, and sees how many
records were released of it. Without chance that number is one more, or it is not, which settles it. With chance, each
of the two numbers may come from both tables; the likelier one is taken. Half of the guesses are about people who are in
the table, half about as many who have the same values and are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackTarget, Rate, ReleaseFacts
from oboro.attacks.run import run_attacks
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.text import Message
from oboro.verifier.verdict import Verdict

__all__ = ["ATTACK", "Membership", "WithoutChance"]


COIN = Message("attack.control.coin")


@dataclass(frozen=True, eq=False)
class WithoutChance:
    """The original on the levels of a release."""

    data: Dataset
    groups: Groups
    names: tuple[str, ...]

    @staticmethod
    def of(
        original: Dataset, released: Dataset, names: Sequence[str], hierarchies: Mapping[str, Hierarchy]
    ) -> WithoutChance | None:
        """The finest levels that have all released labels; None where a column has no such level."""
        columns = {}
        for name in names:
            hierarchy = hierarchies.get(name) or HierarchySpec().build(name, original[name])
            level = _level(hierarchy, released[name])
            if level is None:
                return None
            columns[name] = hierarchy.generalize(original[name], level)
        data = original.with_columns(columns)
        return WithoutChance(data, Groups.of([data[name] for name in names], data.rows), tuple(names))

    def released(self, k: int) -> Dataset:
        """All records in classes of at least k."""
        return self.data.take(np.flatnonzero(self.groups.sizes[self.groups.labels] >= k))

    def counts(self, released: Dataset) -> np.ndarray:
        """How many records were released of each class."""
        both = []
        for name in self.names:
            parts = [self.data[name], released[name]]
            texts = pa.chunked_array([pa.array(part.texts, pa.string()).take(pa.array(part.codes)) for part in parts])
            both.append(Column.of(texts.combine_chunks()))
        labels = Groups.of(both, self.data.rows + released.rows).labels
        seen = np.bincount(labels[self.data.rows :], minlength=int(labels.max(initial=0)) + 1)
        place = np.zeros(len(self.groups), dtype=np.int64)
        place[self.groups.labels] = labels[: self.data.rows]
        return np.asarray(seen[place])

    def membership(self, seen: np.ndarray, sampling: float) -> Rate:
        """How often the guess is right; `seen`: how many records are released of each class, each drawn with this probability."""
        people = self.groups.sizes
        there = (seen > 0) & (seen > (people - 1 if sampling == 1 else people * sampling))
        absent = ~((seen > 0) & (seen > (people if sampling == 1 else (people + 1) * sampling)))
        return Rate(int((people * there).sum() + (people * absent).sum()), int(2 * people.sum()))


def _level(hierarchy: Hierarchy, column: Column) -> int | None:
    labels = pa.array([text for text in column.texts if text is not None], pa.string())
    for number, level in enumerate(hierarchy.levels):
        known = pa.array([None if one is None else str(one) for one in level.labels.to_pylist()], pa.string())
        if pc.all(pc.is_in(labels, value_set=known)).as_py() is not False:
            return number
    return None


def _note(rate: Rate) -> Message:
    return Message("attack.note.without_chance", right=rate.right, tried=rate.tried, share=rate.share)


class Membership(AttackMethod):
    """Guess whether a person is in the table, from the number of records that were released of their class.

    The other attacks are repeated on the same classes without chance, and each says what it finds there.
    """

    kinds = (AttackKind("membership", "inference", "membership"),)
    knows = "the records of all other people, and the recipe"
    needs = ("sampling", "quasi")

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess twice for each person: with and without their record."""
        private, classes = target.made.private, self._classes(target)
        if private is None or classes is None:
            return []
        k = int(private.required)
        epsilon, delta, sampling = (float(private.model.values[name]) for name in ("epsilon", "delta", "sampling"))
        rate = classes.membership(classes.counts(target.released), sampling)
        plain = classes.membership(np.where(classes.groups.sizes >= k, classes.groups.sizes, 0), 1.0)
        limit = (exp(epsilon) + delta) / (1 + exp(epsilon))
        bound: dict[str, Any] = {"limit": limit, "limited_by": private.model, "allowed": rate.low <= limit}
        half = Rate(rate.tried // 2, rate.tried)
        return [self.kinds[0].attack(classes.names, rate, half, COIN, notes=(_note(plain),), **bound)]

    def comment(self, found: list[Attack], target: AttackTarget) -> list[Attack]:
        """Tell of each attack how often it is right without chance."""
        private, classes = target.made.private, self._classes(target)
        if private is None or classes is None:
            return found
        again = run_attacks(
            AttackTarget(
                original=target.original,
                released=classes.released(int(private.required)),
                quasi=target.quasi,
                sensitive=target.sensitive,
                hierarchies=target.hierarchies,
                control=target.control,
                attempts=target.attempts,
            )
        )
        same = {one.name: one.found for one in again}
        return [replace(one, notes=(*one.notes, _note(same[one.name]))) if one.name in same else one for one in found]

    @staticmethod
    def _classes(target: AttackTarget) -> WithoutChance | None:
        return WithoutChance.of(target.original, target.released, target.quasi, target.hierarchies or {})

    def example(self) -> AttackTarget:
        """Nine records in ten, drawn with so large an ε that their numbers tell who is there."""
        rng = np.random.default_rng(0)
        table = Dataset({"town": Column.of(rng.integers(0, 300, 1200).astype(str).tolist())}, 1200)
        model = Message("model.differential_privacy", epsilon=5.0, delta=1e-4, sampling=0.9)
        private = Verdict(True, model, 2, 2, 300, 0, 0, ())
        drawn = table.take(np.flatnonzero(rng.random(1200) < 0.9))
        return AttackTarget(table, drawn, quasi=["town"], made=ReleaseFacts(private=private))


ATTACK = Membership()
