"""Distance to the nearest record with a holdout: are released records nearer to the original than to other people?

Evaluations of synthetic data report the *distance to the closest record* (DCR): for each released record the distance to the
nearest record of the training data, compared with that to the nearest record of a holdout of the same size, which the release
was not made from (Platzer & Reutterer, *Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data*, Frontiers in Big Data
2021; SDMetrics calls 2 · (1 − share) at most 1 its DCROverfittingProtection). A release that says no more about the people it was
made from than about anybody is nearer to either in half of the cases. Their NNDR is the distance to the nearest record divided
by that to the second nearest.

Given: both tables, and people outside them or the original row of each released record.
Guarantees: where the original is halved, at most a share of (1 + 1/k) / 2 on a k-anonymous release: the nearest person of all
is the owner of at most one of k equal records, and of the others half are in the same half.
Verified by: a naive twin in `tests/attacks/test_nearest_record.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oboro.attacks import kernels
from oboro.attacks.attacker_view import AttackerView, KnownPeople, tables
from oboro.attacks.base import FEW, FEWEST, Attack, AttackKind, AttackMethod, AttackScenario, AttackTarget, Rate
from oboro.data.grouping import Groups
from oboro.text import Message

__all__ = ["ATTACK", "Distances", "NearestRecord", "distances"]


EVEN = Message("attack.control.even_chance")
CELLS = 40_000_000  # records × people × columns: one to two seconds
AT_ONCE = 2_000_000  # distances that are computed together
LEAST = 2  # people in a half: the second nearest is asked for


class NearestRecord(AttackMethod):
    """Count the released records that are nearer to a person of the original than to any of as many outside it.

    The holdout are the people of the control group, or those whose records were not released. Without them, where the owner of each
    record is known, a random half of the people is kept out: only the records of the other half are looked at. The control is a
    half of the records: of so many a release is nearer to either side by chance. Records that are as near to both count half.
    Equal released records are one guess, repeated: the interval is that of the effective number of guesses. With fewer than 20
    of these the attack is not reported.
    """

    kinds = (
        AttackKind("nearest_record", "inference", "membership", limit_by_link=lambda link: (1 + link) / 2),
        AttackKind("nearest_record_holdout", "inference", "membership"),
    )
    knows = "the quasi-identifiers of a person; all columns where no released record is one person's"
    needs = ("records",)

    def run(self, target: AttackTarget) -> list[Attack]:
        """Compare the released records with both groups; nothing without a holdout."""
        scenario = target.scenario
        rng = scenario.rng.spawn(1)[0]  # the draws of other attacks stay as they are
        holdout = scenario.outside is not None
        whole = scenario.owners is None or not target.quasi
        names = scenario.understood(scenario.view.names if whole and holdout else target.quasi)
        if not names:
            return []
        records, inside, outside = _holdout(scenario) if holdout else _halves(scenario, rng)
        if not records.size:
            return []
        view = scenario.view.select(names)
        few = min(records.size, target.attempts, max(FEWEST, CELLS // (2 * len(names) * len(inside))))
        records = rng.choice(records, few, replace=False)
        most = max(LEAST, CELLS // (2 * len(names) * records.size))
        people = min(len(inside), len(outside), most)
        if people < LEAST:
            return []
        near = [
            distances(view, records, group.take(rng.choice(len(group), people, replace=False)), scenario.view.at(names))
            for group in (inside, outside)
        ]
        found = _rate(view, records, near[0].nearest, near[1].nearest)
        if found.tried < FEW:  # half of so few are nearer by chance: they are neither a finding nor none
            return []
        ratios = [float(np.median(one.ratios)) for one in near]
        notes = [Message("attack.note.nearest", people=people, inside=ratios[0], outside=ratios[1])]
        notes += [Message("attack.note.nearest_part", part=people, whole=len(inside))] if people < len(inside) else []
        even = Rate(found.tried // 2, found.tried)
        told = (*scenario.strange, *notes)
        return [self.kinds[int(holdout)].attack(names, found, even, EVEN, notes=told)]


_Compared = tuple[np.ndarray, KnownPeople, KnownPeople]


def _holdout(scenario: AttackScenario) -> _Compared:
    """Return all released records, the people whom they were made from, and the people outside."""
    outside = scenario.inside if scenario.outside is None else scenario.outside
    return np.arange(scenario.view.released.rows), scenario.inside, outside


def _halves(scenario: AttackScenario, rng: np.random.Generator) -> _Compared:
    """Return the released records of a random half of the people, that half, and the other one; no records without owners."""
    everyone = scenario.view.people
    if scenario.owners is None:
        return np.empty(0, np.int64), everyone, everyone
    whose = np.arange(len(everyone)) if scenario.whose is None else np.unique(scenario.whose, return_inverse=True)[1]
    persons = int(whose.max(initial=-1)) + 1
    chosen = np.zeros(persons, dtype=bool)
    chosen[rng.permutation(persons)[: persons // 2]] = True
    mine = chosen[whose.ravel()]
    here, there = (everyone.take(np.flatnonzero(side)) for side in (mine, ~mine))
    return np.flatnonzero(mine[scenario.owners]), here, there


@dataclass(frozen=True, eq=False)
class Distances:
    """For some released records the distances to the nearest and to the second nearest of a group of people."""

    nearest: np.ndarray
    second: np.ndarray

    @property
    def ratios(self) -> np.ndarray:
        """NNDR: the nearest by the second nearest, 1 where both are equally near, 0 being too."""
        even = self.second <= self.nearest + kernels.TIE
        return np.where(even, 1.0, self.nearest / np.where(even, 1.0, self.second))


def distances(view: AttackerView, records: np.ndarray, people: KnownPeople, columns: np.ndarray) -> Distances:
    """Measure how far some released records lie from the nearest two of some people, in these columns of the people.

    A distance is the sum over columns of the expected difference between the value of the person and one drawn from those that the
    released value may stand for, divided by the range. O(records · people · columns).
    """
    nearest, second = np.empty(records.size), np.empty(records.size)
    known = [np.unique(people.codes[column], return_inverse=True) for column in columns.tolist()]
    step = max(1, AT_ONCE // len(people))
    for begin in range(0, records.size, step):
        some = records[begin : begin + step]
        apart = np.zeros((some.size, len(people)))
        for name, comparison, column, (values, where) in zip(
            view.names, view.comparisons, columns.tolist(), known, strict=True
        ):
            entries, row = np.unique(view.released[name].codes[some], return_inverse=True)
            with np.errstate(divide="ignore", invalid="ignore"):  # of ranges of one number, whose distance is another
                costs = kernels.word_costs(
                    np.array([comparison.kind], np.int64),
                    people.places[column][values][:, None],
                    comparison.low[entries],
                    comparison.high[entries],
                    entries.astype(np.int32),
                    np.array([0, entries.size], np.int64),
                    *tables([comparison]),
                )
            apart += np.ascontiguousarray(costs.T)[row.ravel()][:, where.ravel()]
        least = np.partition(apart, 1, axis=1)[:, :2]
        nearest[begin : begin + step], second[begin : begin + step] = least[:, 0], least[:, 1]
    return Distances(nearest, second)


def _rate(view: AttackerView, records: np.ndarray, inside: np.ndarray, outside: np.ndarray) -> Rate:
    """Return the share of records that are nearer to the people inside, with the error of the effective number of guesses."""
    nearer = (inside < outside - kernels.TIE) + 0.5 * (np.abs(inside - outside) <= kernels.TIE)
    same = Groups.of([view.released[name] for name in view.names], view.released.rows).labels[records]
    sizes = np.unique(same, return_counts=True)[1].astype(np.float64)
    tried = round(float(sizes.sum() ** 2 / (sizes**2).sum()))  # Kish: equal records are right or wrong together
    return Rate(round(float(nearer.mean()) * tried), tried)


ATTACK = NearestRecord()
