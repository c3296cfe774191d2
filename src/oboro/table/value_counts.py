"""Which values stand in which group of records, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakSet

import numpy as np

from oboro.kernels import grouping, tallying
from oboro.table.dataset import Column

__all__ = ["Tally", "clean", "tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Which values stand in which class, and how often: the distinct codes of each class, one class after the other."""

    codes: np.ndarray  # ascending within a class
    counts: np.ndarray
    starts: np.ndarray  # where each class starts, one more entry at the end
    whole: np.ndarray  # how often each code occurs in the whole table

    @cached_property
    def distinct(self) -> np.ndarray:
        """How many different values each class holds."""
        return np.diff(self.starts)

    @cached_property
    def most_frequent(self) -> np.ndarray:
        """How often the most frequent value of each class occurs in it."""
        return self.each(np.maximum, self.counts)

    @cached_property
    def totals(self) -> np.ndarray:
        """The sum of the counts of each class: its rows, or its people, each as often as they have values."""
        return self.each(np.add, self.counts)

    def each(self, reduce: np.ufunc, entries: np.ndarray) -> np.ndarray:
        """Reduce the entries of each class; 0 where it has none (a class without people)."""
        filled = self.distinct > 0
        if filled.size and filled.all():
            return np.asarray(reduce.reduceat(entries, self.starts[:-1]))
        out = np.zeros(filled.size, dtype=entries.dtype)
        if filled.any():
            out[filled] = reduce.reduceat(entries, self.starts[:-1][filled])
        return out


def tally(labels: np.ndarray, sizes: np.ndarray, codes: np.ndarray, width: int) -> Tally:
    """Count the codes (0 … width − 1) among the rows of each label. O(rows), 8 bytes a row and the codes twice.

    >>> found = tally(np.array([0, 1, 0]), np.array([2, 1]), np.array([5, 5, 4]), 6)
    >>> found.codes, found.counts, found.starts
    (array([4, 5, 5]), array([1, 1, 1]), array([0, 2, 3]))
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    gathered = np.empty_like(codes)
    tallying.gather(labels, codes, starts[:-1].copy(), gathered)
    most = min(codes.size, sizes.size * width)
    out = np.empty(most, codes.dtype), np.empty(most, np.int64), np.empty_like(starts)
    written = tallying.tally(gathered, starts, np.zeros(width, np.int64), *out)
    whole = np.zeros(width, np.int64)
    grouping.occurrences(codes, whole)
    return Tally(out[0][:written], out[1][:written], out[2], whole)


def clean(column: Column) -> Column:
    """The column with every value exactly once in its dictionary: two codes for one value would overstate diversity."""
    if column in CLEAN:
        return column
    untidy = len(column.values.unique()) < len(column.values) or (column.counts == 0).any()
    found = column.tidy() if untidy else column
    CLEAN.add(found)
    return found


CLEAN: WeakSet[Column] = WeakSet()  # columns never change, and a report asks of each a dozen times
