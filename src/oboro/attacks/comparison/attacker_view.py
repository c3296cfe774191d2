"""Two tables as an attacker compares them: people have places, released records have what they may stand for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oboro.attacks.comparison import kernels
from oboro.attacks.comparison.column_comparison import ColumnComparison, compare_columns
from oboro.attacks.comparison.known_people import KnownPeople, tables
from oboro.table.dataset import Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy
from oboro.table.rows.row_origins import Rows
from oboro.table.value_counts import clean

__all__ = ["AttackerView", "ReleasedClasses"]


@dataclass(frozen=True, eq=False)
class ReleasedClasses:
    """Released records that look alike in some columns, one row for each class that is searched, ready for the kernels.

    A word is something that a class says in a column. 4 bytes for each class and column, 20 for each word.
    """

    groups: Groups
    words: np.ndarray  # classes × columns, by the word of column `lead`, which has the most
    order: np.ndarray  # which class each row of `words` is
    lead: int
    starts: np.ndarray  # where the rows of each word of `lead` start, one more entry at the end
    low: np.ndarray
    high: np.ndarray
    entries: np.ndarray
    bases: np.ndarray  # where the words of each column start, one more entry at the end

    @staticmethod
    def of(
        groups: Groups, numbers: np.ndarray, comparisons: Sequence[ColumnComparison], said: np.ndarray
    ) -> ReleasedClasses:
        """The classes with these numbers; `said`: what each says, an entry of each column. O(classes · log classes · columns)."""
        present, places = zip(*(np.unique(column, return_inverse=True) for column in said.T), strict=True)
        bases = np.append(0, np.cumsum([entries.size for entries in present])).astype(np.int64)
        words = np.column_stack([base + place for base, place in zip(bases, places, strict=False)]).astype(np.int32)
        lead = int(np.diff(bases).argmax())
        order = np.argsort(words[:, lead], kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(places[lead], minlength=present[lead].size)))
        low, high = (
            np.concatenate(
                [getattr(comparison, end)[entries] for comparison, entries in zip(comparisons, present, strict=True)]
            )
            for end in ("low", "high")
        )
        entries = np.concatenate(present).astype(np.int32)  # one type, so that the kernel is compiled once
        return ReleasedClasses(groups, words[order], numbers[order], lead, starts, low, high, entries, bases)

    def __len__(self) -> int:
        return int(self.order.size)

    def members(self, chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The row that is the n-th member (from 0) of each chosen class."""
        return _members(self.groups, chosen, number)


@dataclass(frozen=True, eq=False)
class AttackerView:
    """Some columns of both tables."""

    names: tuple[str, ...]
    comparisons: tuple[ColumnComparison, ...]
    original: Dataset
    released: Dataset

    @staticmethod
    def of(
        original: Dataset,
        released: Dataset,
        names: Sequence[str],
        hierarchies: Mapping[str, Hierarchy] | None = None,
        rows: Rows | None = None,
        explained: Collection[str] = (),
    ) -> AttackerView:
        """Compare the columns one by one; dictionaries are made tidy first.

        Labels of the `explained` columns that nothing else explains are by `rows`: the original row of each released one.
        """
        first, second = (
            Dataset({name: clean(table[name]) for name in names}, table.rows) for table in (original, released)
        )
        known = hierarchies or {}
        comparisons = tuple(
            compare_columns(first[name], second[name], known.get(name), rows if name in explained else None)
            for name in names
        )
        return AttackerView(tuple(names), comparisons, first, second)

    def select(self, names: Sequence[str]) -> AttackerView:
        """Fewer columns."""
        comparisons = tuple(self.comparisons[self.names.index(name)] for name in names)
        return AttackerView(
            tuple(names), comparisons, self.original.select(list(names)), self.released.select(list(names))
        )

    def at(self, names: Sequence[str]) -> np.ndarray:
        """The positions of columns."""
        return np.array([self.names.index(name) for name in names])

    @cached_property
    def people(self) -> KnownPeople:
        """Everybody of the original."""
        return KnownPeople.of(self.comparisons, self.original, self.names, [one.places for one in self.comparisons])

    def others(self, table: Dataset) -> KnownPeople:
        """The people of another table: a control group."""
        pairs = zip(self.names, self.comparisons, strict=True)
        return KnownPeople.of(
            self.comparisons, table, self.names, [one.place(table[name], self.original[name]) for name, one in pairs]
        )

    def records(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Low, high and entry of some released records, records × columns."""
        codes = [self.released[name].codes[rows] for name in self.names]
        low, high = (
            np.column_stack([getattr(one, end)[code] for one, code in zip(self.comparisons, codes, strict=True)])
            for end in ("low", "high")
        )
        return low, high, np.column_stack(codes).astype(np.int32)

    def classes(self, rows: np.ndarray | None = None, most: int = 0) -> ReleasedClasses:
        """The released records grouped over these columns; of more than `most` groups only those of `rows` are searched."""
        groups = Groups.of([self.released[name] for name in self.names], self.released.rows)
        numbers = np.arange(len(groups))
        if rows is not None and len(groups) > most:
            numbers = np.unique(groups.labels[rows]).astype(np.int64)
        firsts = _members(groups, numbers, np.zeros(numbers.size, np.int64))
        said = np.column_stack([self.released[name].codes[firsts] for name in self.names])
        return ReleasedClasses.of(groups, numbers, self.comparisons, said)

    def nearest(
        self, places: np.ndarray, classes: ReleasedClasses, own: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """For each person the nearest class, without one record of class `own` (−1: none); −1 where none is left."""
        out = np.empty(len(places), np.int64)
        self._search(places, classes, own, rng, out)
        return out

    def effort(self, places: np.ndarray, classes: ReleasedClasses, rng: np.random.Generator) -> float:
        """How many words are looked at for one of these people, on average."""
        out = np.empty(len(places), np.int64)
        return self._search(places, classes, np.full(len(places), -1), rng, out) / max(1, len(places))

    def _search(
        self, places: np.ndarray, classes: ReleasedClasses, own: np.ndarray, rng: np.random.Generator, out: np.ndarray
    ) -> int:
        found = kernels.nearest(
            np.array([one.kind for one in self.comparisons], np.int64),
            places,
            classes.words,
            classes.order,
            classes.lead,
            classes.starts,
            classes.low,
            classes.high,
            classes.entries,
            classes.bases,
            *tables(self.comparisons),
            classes.groups.sizes,
            own,
            rng.integers(1, 2**63, len(places), dtype=np.uint64),
            out,
        )
        return int(found)


def _members(groups: Groups, chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The row that is the n-th member (from 0) of each chosen group. O(rows), without putting them in order."""
    order = np.lexsort((number, chosen))
    ends = np.cumsum(np.bincount(chosen, minlength=len(groups)))
    found = np.empty(chosen.size, np.int64)
    kernels.members(groups.labels, number[order], np.append(0, ends[:-1]), ends, found)
    out = np.empty_like(found)
    out[order] = found
    return out
