"""Optimal and greedy cell suppression: every record equals k − 1 others, at the least cost.

A group of k or more records empties the columns in which its members differ, in all of them. The best groups are hard
to find (Meyerson, Williams 2004), so they are looked for in two ways:

- *exact*, for few records: every group of k to 2k − 1 (a larger one can be divided, which costs nothing more), by
  subsets.
- *greedy*: sets of columns by their price. Records that are too few as they are, and agree once a set of columns is
  empty, form
  a group. Where they are fewer than k, records of other groups join them that agree too and are not needed there;
  those lose the
  fewest further cells. What is left in the end is emptied whole, with as many others as it needs.

The greedy way looks at 2^columns sets, or with many columns at those of three columns at most and at all; and at each
only at the combinations of values that are still too few.

Both ways go through the records in an order that follows from their values as text, never in the order of rows or of
the codes of values: the same table gives the same released combinations on one machine and on an engine, whose rows
come in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from math import inf

import numpy as np

from oboro.algorithms.partitioning.records import ranks
from oboro.data.column import Column
from oboro.data.grouping import Groups

__all__ = ["EXACT_UP_TO", "emptied_exactly", "emptied_greedily", "price_of"]


EXACT_UP_TO = 12  # records: 4,096 sets of them
ALL_SETS = 16  # columns: with more, only small sets of columns and the set of all


def price_of(emptied: np.ndarray, prices: Sequence[float]) -> float:
    """Return the total cost of the empty cells (records × columns)."""
    return float(emptied.sum(axis=0) @ np.array(prices, dtype=np.float64))


def emptied_exactly(columns: Sequence[Column], k: int, prices: Sequence[float], rng: np.random.Generator) -> np.ndarray:
    """Return the cells of a way with the least price; of several the first in the order of values as text. O(3^records).

    Which of equal records lose cells is drawn.
    """
    rows = len(columns[0])
    order = np.lexsort([rng.permutation(rows), *(ranks(column)[column.codes] for column in reversed(columns))])
    codes = np.stack([column.codes[order].astype(np.int64) for column in columns], axis=1)

    def differing(group: Sequence[int]) -> np.ndarray:
        return np.asarray((codes[list(group)] != codes[group[0]]).any(axis=0))

    @cache
    def best(left: tuple[int, ...]) -> tuple[float, tuple[tuple[int, ...], ...]]:
        if not left:
            return 0.0, ()
        found: tuple[float, tuple[tuple[int, ...], ...]] = (inf, ())
        for size in range(k, min(2 * k - 1, len(left)) + 1):
            for others in combinations(left[1:], size - 1):
                group = (left[0], *others)
                rest = best(tuple(i for i in left if i not in group))
                price = size * float(differing(group) @ np.array(prices)) + rest[0]
                if price < found[0]:
                    found = price, (group, *rest[1])
        return found

    out = np.zeros(codes.shape, dtype=bool)
    for group in best(tuple(range(rows)))[1]:
        out[order[list(group)]] = differing(group)
    return out


def emptied_greedily(
    columns: Sequence[Column], k: int, prices: Sequence[float], rng: np.random.Generator
) -> np.ndarray:
    """Return cells whose emptying leaves every combination k times; there must be k records. Which of equal records lose is drawn.

    The released combinations and their sizes do not depend on the order of the rows.
    """
    tuples, distinct = _combinations_in_order(columns)
    groups = _Grouping(distinct, tuples.sizes, k, np.array(prices, dtype=np.float64))
    for empty in _column_sets(prices):
        if not groups.few.size:
            break
        groups.join(np.array(empty, dtype=np.int64))
    groups.empty_the_rest()
    return groups.cells(tuples, rng)


def _combinations_in_order(columns: Sequence[Column]) -> tuple[Groups, list[Column]]:
    """Group equal records and number the groups by size, then by their values as text; also return each group's codes.

    Groups are tried and joined in the order of their numbers, so these must not depend on the order of the rows or on the codes of
    values. Small ones first: with the order of values alone Adult loses up to 2 % more cells (1,428 for 1,396).
    """
    found = Groups.of(list(columns), len(columns[0]))
    first = found.first_rows()
    distinct = [Column(column.values, column.codes[first]) for column in columns]
    order = np.lexsort([*(ranks(one)[one.codes] for one in reversed(distinct)), found.sizes])
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return Groups(place[found.labels], found.sizes[order]), [Column(one.values, one.codes[order]) for one in distinct]


def _column_sets(prices: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Sets of columns, the cheapest first; those of all columns come last by themselves."""
    count = len(prices)
    most = count - 1 if count <= ALL_SETS else 3
    sets = [some for size in range(1, most + 1) for some in combinations(range(count), size)]
    yield from sorted(sets, key=lambda some: (sum(prices[a] for a in some), some))


def _by_label(labels: np.ndarray, count: int) -> Callable[[int], np.ndarray]:
    """Where each label stands; sorted once."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=count))
    return lambda label: order[ends[label - 1] if label else 0 : ends[label]]


@dataclass
class _Class:
    """Class of equal records: counts of each combination, with the same columns empty."""

    empty: np.ndarray
    members: dict[int, int]

    @property
    def size(self) -> int:
        return sum(self.members.values())


@dataclass
class _Grouping:
    """Distinct combinations on their way into classes. A combination that is enough by itself is a class by itself."""

    columns: Sequence[Column]
    sizes: np.ndarray
    k: int
    prices: np.ndarray
    made: list[_Class] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.sizes.copy()  # of each combination, how many have nothing empty
        self.few = np.flatnonzero(self.sizes < self.k)

    def join(self, empty: np.ndarray) -> None:
        """Form classes of combinations that agree once some columns are empty."""
        kept = [a for a in range(len(self.columns)) if a not in empty]
        spare, helpers = self._helpers(empty)
        some = np.concatenate([self.few, spare])
        held = [Column(self.columns[a].values, self.columns[a].codes[some]) for a in kept]
        groups = Groups.of(held, some.size)
        labels, count = groups.labels, len(groups)
        need = np.bincount(labels[: self.few.size], weights=self.left[self.few], minlength=count)
        help_ = np.bincount(labels[self.few.size :], weights=helpers, minlength=count)
        ready = (need > 0) & (need + help_ >= self.k)
        if not ready.any():
            return
        mine, theirs = (_by_label(part, count) for part in (labels[: self.few.size], labels[self.few.size :]))
        for label in np.flatnonzero(ready).tolist():
            self._form(self.few[mine(label)], theirs(label), spare, empty)
        self.few = self.few[~ready[labels[: self.few.size]]]

    def _helpers(self, empty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A combination of every class with records to spare, and how many; made classes only where they are empty there too."""
        plain = np.flatnonzero(self.left > self.k)
        plain = plain[(self.sizes[plain] >= self.k) & ~np.isin(plain, self.few)]
        spare: list[int] = plain.tolist()
        helpers: list[int] = (self.left[plain] - self.k).tolist()
        self._whose: list[_Class | None] = [None] * plain.size
        for one in self.made:
            if one.size > self.k and np.isin(np.flatnonzero(one.empty), empty).all():
                spare.append(next(iter(one.members)))
                helpers.append(one.size - self.k)
                self._whose.append(one)
        return np.array(spare, dtype=np.int64), np.array(helpers, dtype=np.float64)

    def _form(self, some: np.ndarray, helping: np.ndarray, spare: np.ndarray, empty: np.ndarray) -> None:
        """A class of some combinations, with the records of helping ones that it lacks."""
        flags = np.zeros(len(self.columns), dtype=bool)
        flags[empty] = True
        members = {int(t): int(self.left[t]) for t in some}
        for t in members:
            self.left[t] = 0
        lacking = self.k - sum(members.values())
        for place in self._cheapest_helpers(helping, flags) if lacking > 0 else ():
            if lacking <= 0:
                break
            taken = self._take(int(spare[place]), self._whose[place], lacking)
            for t, count in taken.items():
                members[t] = members.get(t, 0) + count
            lacking -= sum(taken.values())
        self.made.append(_Class(flags, members))

    def _cheapest_helpers(self, places: np.ndarray, flags: np.ndarray) -> list[int]:
        """Those first that lose the fewest further cells, by price; then those with most to spare."""

        def added(place: int) -> tuple[float, int]:
            one = self._whose[place]
            return (float(self.prices @ (flags if one is None else flags & ~one.empty)), place)

        return sorted(places.tolist(), key=added)

    def _take(self, combination: int, one: _Class | None, most: int) -> dict[int, int]:
        """Some records of a class that it can spare."""
        if one is None:
            count = min(most, int(self.left[combination]) - self.k)
            self.left[combination] -= count
            return {combination: count}
        taken: dict[int, int] = {}
        for t in list(one.members):
            count = min(most - sum(taken.values()), one.members[t], one.size - self.k)
            if count > 0:
                taken[t] = count
                one.members[t] -= count
        one.members = {t: count for t, count in one.members.items() if count}
        return taken

    def empty_the_rest(self) -> None:
        """What is still too few loses every cell, with as many others as it needs: spare ones, else whole classes, small first."""
        if not self.few.size:
            return
        everything = np.arange(len(self.columns))
        spare, helpers = self._helpers(everything)
        whole = sorted([*self.made], key=lambda one: one.size)
        alone = np.flatnonzero(self.left >= self.k).tolist()
        while self.left[self.few].sum() + helpers.sum() < self.k:
            self._dissolve(whole, alone)
            spare, helpers = self._helpers(everything)
        self._form(self.few, np.arange(spare.size), spare, everything)
        self.few = self.few[:0]

    def _dissolve(self, whole: list[_Class], alone: list[int]) -> None:
        """The smallest class gives all its records to those that are too few."""
        if whole and (not alone or whole[0].size <= int(self.left[alone].min())):
            one = whole.pop(0)
            self.made = [other for other in self.made if other is not one]
            for t, count in one.members.items():
                self.left[t] += count
            back = np.array([t for t in one.members if self.left[t] < self.k], dtype=np.int64)
        else:
            back = np.array([min(alone, key=lambda t: (int(self.left[t]), t))])
            alone.remove(int(back[0]))
        self.few = np.unique(np.concatenate([self.few, back]))

    def cells(self, tuples: Groups, rng: np.random.Generator) -> np.ndarray:
        """For each record and column whether it is emptied."""
        out = np.zeros((tuples.labels.size, len(self.columns)), dtype=bool)
        order = rng.permutation(tuples.labels.size)
        order = order[np.argsort(tuples.labels[order], kind="stable")]
        at = np.cumsum(tuples.sizes) - tuples.sizes
        for one in self.made:
            for t, count in one.members.items():
                out[order[at[t] : at[t] + count]] = one.empty
                at[t] += count
        return out
