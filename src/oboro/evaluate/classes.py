"""Equivalence classes of a released table, and how a sensitive column is spread over each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np

from oboro.errors import ColumnError, listing
from oboro.kernels import counting, grouping, histograms
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.memory import memory

__all__ = ["Classes", "Tally", "class_sizes", "clean", "tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Which values stand in which class, and how often: the distinct codes of each class, one class after the other."""

    codes: np.ndarray  # ascending within a class
    counts: np.ndarray
    starts: np.ndarray  # where each class starts, one more entry at the end
    whole: np.ndarray  # how often each code occurs in the whole table

    @property
    def distinct(self) -> np.ndarray:
        """How many different values each class holds."""
        return np.diff(self.starts)

    @property
    def most_frequent(self) -> np.ndarray:
        """How often the most frequent value of each class occurs in it."""
        return np.asarray(np.maximum.reduceat(self.counts, self.starts[:-1]))


@dataclass(frozen=True, eq=False)
class Classes:
    """The records of a table that agree on every quasi-identifier. Missing and `*` are values like any other.

    Whoever fits no other class must be among the fully suppressed records, so these form a class too and no exception
    is made.
    """

    data: Dataset
    groups: Groups
    quasi: tuple[str, ...] = ()

    @staticmethod
    def of(data: Dataset, quasi: Sequence[str]) -> Classes:
        """Regroup the table as it is; no column: everybody is in one class. O(rows · columns)."""
        unknown = [name for name in quasi if name not in data]
        if unknown:
            raise ColumnError(f"there is no column {listing(unknown)}; the table has {listing(data, most=30)}")
        return Classes(data, Groups.of([clean(data[name]) for name in quasi], data.rows), tuple(quasi))

    @property
    def sizes(self) -> np.ndarray:
        """How many records each class holds."""
        return self.groups.sizes

    def tally(self, codes: np.ndarray, width: int) -> Tally:
        """Count the codes (0 … width − 1, one per row) within each class."""
        return tally(self.groups.labels, self.sizes, codes, width)


def class_sizes(data: Dataset, quasi: Sequence[str]) -> np.ndarray:
    """How many records each class holds, in no particular order: where nothing else is asked, it takes half the time.

    O(rows · log rows), 8 bytes a row.
    """
    columns = [clean(data[name]) for name in quasi]
    keys, space = memory(data.rows, np.uint64), 1
    for column in columns:
        if space * len(column.values) >= 1 << 63:
            return Groups.of(columns, data.rows).sizes
        grouping.combine(keys, column.codes, len(column.values), keys)
        space *= len(column.values)
    if space <= max(4 * data.rows, 1 << 16):
        counts = np.zeros(space, np.int64)
        grouping.occurrences(keys, counts)
        return counts[counts > 0]
    keys.sort()
    return keys[: counting.runs(keys)].view(np.int64)


def tally(labels: np.ndarray, sizes: np.ndarray, codes: np.ndarray, width: int) -> Tally:
    """Count the codes (0 … width − 1) among the rows of each label. O(rows), 8 bytes a row and the codes twice.

    >>> found = tally(np.array([0, 1, 0]), np.array([2, 1]), np.array([5, 5, 4]), 6)
    >>> found.codes, found.counts, found.starts
    (array([4, 5, 5]), array([1, 1, 1]), array([0, 2, 3]))
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    gathered = np.empty_like(codes)
    histograms.gather(labels, codes, starts[:-1].copy(), gathered)
    most = min(codes.size, sizes.size * width)
    out = np.empty(most, codes.dtype), np.empty(most, np.int64), np.empty_like(starts)
    written = histograms.tally(gathered, starts, np.zeros(width, np.int64), *out)
    return Tally(out[0][:written], out[1][:written], out[2], np.bincount(codes, minlength=width))


def clean(column: Column) -> Column:
    """The column with every value exactly once in its dictionary: two codes for one value would overstate diversity."""
    if column in CLEAN:
        return column
    untidy = len(column.values.unique()) < len(column.values) or (column.counts == 0).any()
    found = column.tidy() if untidy else column
    CLEAN.add(found)
    return found


CLEAN: WeakSet[Column] = WeakSet()  # columns never change, and a report asks of each a dozen times
