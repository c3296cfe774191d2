"""Equivalence classes of a released table, and how a sensitive column is spread over each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.errors import ColumnError, listing
from oboro.kernels import grouping
from oboro.table.dataset import Dataset
from oboro.table.groups import Groups
from oboro.table.large_arrays import large_zeros
from oboro.table.value_counts import Tally, clean, tally
from oboro.verifier import kernels

__all__ = ["Classes", "class_sizes"]


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
    keys, space = large_zeros(data.rows, np.uint64), 1
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
    return keys[: kernels.runs(keys)].view(np.int64)
