"""Two releases compared: who stayed, who left and who came, as anybody can tell who has both files.

Rows are followed by a *key*, what both releases say of a row beside its quasi-identifiers. Within an old class j, a key that m rows
had and n rows have now tells that at least |n − m| people came or left, and that at most min(m, n) stayed. So everybody is in
one of three parts, and each part must be empty or many (k of them, with l different secrets):

- *left*, of an old class: the rows that it had beyond those that are there now;
- *stayed*, of an old class and a new one: the rows of the new class that the old one explains;
- *came*, of a new class: the rows that no old class explains.

Why that is enough for two releases is in docs/guarantees/series.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

__all__ = ["Part", "RowChanges", "Rows", "Wanted"]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What each part must keep: k rows, and of each secret l different values."""

    k: int
    diverse: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one release: the old class of each (−1: none), its key and its secrets, in codes that both releases share."""

    place: np.ndarray
    key: np.ndarray
    secrets: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Part:
    """Groups of people who came, stayed or left together: entries (a key each) with their number, and the group of each."""

    group: np.ndarray
    number: np.ndarray
    groups: int
    secrets: Mapping[str, np.ndarray]  # of each entry; −1: none that is the same in both releases

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many people each group holds."""
        return np.bincount(self.group, weights=self.number, minlength=self.groups).astype(np.int64)

    def distinct(self, secret: str) -> np.ndarray:
        """How many different values of a secret each group holds."""
        held = (self.number > 0) & (self.secrets[secret] >= 0)
        values = self.secrets[secret][held]
        width = int(values.max(initial=-1)) + 1
        pairs = np.unique(self.group[held] * width + values)
        return np.bincount(pairs // max(1, width), minlength=self.groups)

    def small(self, wanted: Wanted) -> np.ndarray:
        """Which groups hold somebody, but too few people or too few different secrets."""
        few = self.sizes < wanted.k
        for secret in (name for name in self.secrets if name in wanted.diverse):
            few |= self.distinct(secret) < wanted.diverse[secret]
        return np.asarray(few & (self.sizes > 0))


@dataclass(frozen=True, eq=False)
class RowChanges:
    """What changed from an old release to a new one. `new.place` is the old class of each new row, `classes` its new class.

    With `once` a key is a person: however many rows they have in a class, they are one.
    """

    old: Rows
    new: Rows
    classes: np.ndarray
    once: bool = False

    @cached_property
    def _ids(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pair (old class, key) of each old and each new row, numbered; and the old class of each pair."""
        width = int(max(self.old.key.max(initial=-1), self.new.key.max(initial=-1))) + 1
        joined = [(rows.place.astype(np.int64) + 1) * width + rows.key for rows in (self.old, self.new)]
        pairs, ids = np.unique(np.concatenate(joined), return_inverse=True)
        return ids[: joined[0].size], ids[joined[0].size :], pairs // max(1, width) - 1

    @cached_property
    def was(self) -> np.ndarray:
        """How many old rows each pair (old class, key) had."""
        return self._counted(0)

    @cached_property
    def now(self) -> np.ndarray:
        """How many new rows it has."""
        return self._counted(1)

    @property
    def followed(self) -> float:
        """The share of the rows that were followed: of those of the smaller release that have an old class."""
        inside = self._ids[2] >= 0
        least = min(int(self.was.sum()), int(self.now[inside].sum()))
        return float(np.minimum(self.was, self.now)[inside].sum()) / max(1, least)

    def _counted(self, which: int) -> np.ndarray:
        counts = np.bincount(self._ids[which], minlength=self._ids[2].size)
        return np.asarray(np.minimum(counts, 1) if self.once else counts)

    @cached_property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Triples (old class, key, new class): the pair of each, its new class, its number of rows, and that of each new row."""
        width = int(self.classes.max(initial=-1)) + 1
        found, each, counts = np.unique(self._ids[1] * width + self.classes, return_inverse=True, return_counts=True)
        counts = np.minimum(counts, 1) if self.once else counts
        return found // max(1, width), found % max(1, width), counts, each

    @cached_property
    def more(self) -> np.ndarray:
        """How many rows of each pair are new for certain."""
        return np.asarray(np.maximum(self.now - self.was, 0))

    @cached_property
    def old_classes(self) -> int:
        """How many old classes there are, and one more, the first, for rows that fit none."""
        return int(max(self.old.place.max(initial=-1), self.new.place.max(initial=-1))) + 2

    def _by_old_class(self, number: np.ndarray) -> np.ndarray:
        return np.bincount(self._ids[2] + 1, weights=number, minlength=self.old_classes).astype(np.int64)

    @cached_property
    def left(self) -> Part:
        """Who left, by old class (and one more group, the first, of nobody). Of a class that is gone as a whole there is none: it
        tells nothing that it did not tell before."""
        stays = self._by_old_class(np.minimum(self.was, self.now)) > 0
        number = np.where(stays[self._ids[2] + 1], np.maximum(self.was - self.now, 0), 0)
        return Part(self._ids[2] + 1, number, self.old_classes, self._of_pairs(0))

    @cached_property
    def stayed(self) -> Part:
        """Who stayed, by old class and new class."""
        pair, new, counts, _ = self.cells
        place = self._ids[2][pair]
        width = int(new.max(initial=-1)) + 1
        found, group = np.unique((place + 1) * width + new, return_inverse=True)
        number = np.where(place >= 0, np.maximum(counts - self.more[pair], 0), 0)
        return Part(group, number, found.size, self._of_cells(both=True))

    @cached_property
    def whole(self) -> np.ndarray:
        """Of each group of `stayed`, whether it is an old class of which everybody stayed, and together: that class vouches for
        them as it did before."""
        place = self._ids[2][self.cells[0]]
        mine = np.zeros(self.stayed.groups, np.int64)
        mine[self.stayed.group] = place + 1
        return np.asarray((mine > 0) & (self.stayed.sizes == self._by_old_class(self.was)[mine]))

    @cached_property
    def unclear(self) -> np.ndarray:
        """Of each group of `stayed`, whether it may hold somebody who stayed and of whom the rows do not tell."""
        pair, _, _, _ = self.cells
        may = (self._ids[2][pair] >= 0) & (self.was[pair] > 0)
        open_ = np.zeros(self.stayed.groups, dtype=bool)
        open_[self.stayed.group[may]] = True
        return np.asarray(open_ & (self.stayed.sizes == 0))

    @cached_property
    def came(self) -> Part:
        """Who came, by new class."""
        pair, new, counts, _ = self.cells
        alone = counts == self.now[pair]  # all rows of the pair are in one new class
        number = np.where(alone, self.more[pair], np.maximum(counts - self.was[pair], 0))
        return Part(new, number, int(self.classes.max(initial=-1)) + 1, self._of_cells(both=False))

    def broken_stayed(self, wanted: Wanted) -> np.ndarray:
        """Which groups of `stayed` are too small, or not clear; not those for which their whole old class stands as before."""
        return np.asarray((self.stayed.small(wanted) | self.unclear) & ~self.whole)

    @cached_property
    def loose(self) -> np.ndarray:
        """Of each triple, whether somebody of its pair came and the rows do not tell into which class."""
        pair, _, _, _ = self.cells
        told = np.bincount(pair, weights=self.came.number, minlength=self.more.size)
        return np.asarray(told[pair] < self.more[pair])

    def judged(self, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
        """The size of every group of every part that holds somebody, and whether it breaks what is wanted."""
        unclear = np.bincount(self.cells[0][self.loose], minlength=self.more.size)
        parts = [
            (self.left.sizes, self.left.small(wanted)),
            (self.stayed.sizes, self.broken_stayed(wanted)),
            (self.came.sizes, self.came.small(wanted)),
            (self.more, unclear > 0),
        ]
        sizes, broken = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        there = (sizes > 0) | broken
        there[sizes.size - self.more.size :] &= unclear > 0
        return sizes[there], broken[there]

    def _of_pairs(self, which: int) -> dict[str, np.ndarray]:
        """The secret of each pair in one release; −1 where its rows do not agree or it has none."""
        rows = (self.old, self.new)[which]
        return {name: _single(self._ids[which], codes, self._ids[2].size) for name, codes in rows.secrets.items()}

    def _of_cells(self, *, both: bool) -> dict[str, np.ndarray]:
        pair, _, _, each = self.cells
        now = {name: _single(each, codes, pair.size) for name, codes in self.new.secrets.items()}
        if not both:
            return now
        before = self._of_pairs(0)
        return {name: np.where(before[name][pair] == codes, codes, -1) for name, codes in now.items()}


def _single(ids: np.ndarray, codes: np.ndarray, size: int) -> np.ndarray:
    """The code of each id; −1 where it has none or several."""
    first, last = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(first, ids, codes)
    np.maximum.at(last, ids, codes)
    return np.where(first == last, first, -1)
