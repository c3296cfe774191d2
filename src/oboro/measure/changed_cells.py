"""What a step changed: how many cells of which column hold another value than before."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from oboro.kernels import grouping
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy.levels import text_array
from oboro.table.unencoded_columns import UnreadColumn

__all__ = ["changed_cells"]

MANY = 1 << 20  # rows, from which on no second copy of them is made


def changed_cells(before: Dataset, after: Dataset) -> dict[str, int]:
    """For each column that both tables hold, how many released cells differ from the cell they were made from.

    Values are compared as text (`31` and `31.0` differ); columns that are shared, and so did not change, cost nothing.
    O(rows) for each of the others.
    """
    rows, found = _rows(before, after), {}
    for name, column in after.columns.items():
        was = before.columns.get(name, column)
        unread = isinstance(was, UnreadColumn) or isinstance(column, UnreadColumn)
        if was is not column and not unread and (count := _different(was, column, rows)):
            found[name] = count
    return found


def _rows(before: Dataset, after: Dataset) -> np.ndarray | None:
    """For each row the row of the table before; None where nothing moved."""
    if before.origin is after.origin and before.rows == after.rows:
        return None
    if before.origin is None:
        return after.origin_rows
    place = np.zeros(int(before.origin.max(initial=-1)) + 1, np.int64)
    place[before.origin] = np.arange(before.rows)
    return np.asarray(place[after.origin_rows])


def _different(before: Column, after: Column, rows: np.ndarray | None) -> int:
    found = pc.index_in(text_array(before.values), value_set=text_array(after.values)).fill_null(-1)
    place = found.to_numpy(zero_copy_only=False)
    was = before.codes if rows is None else before.codes[rows]
    if was.size <= MANY:
        return int((place[was] != after.codes).sum())
    return int(grouping.differences(place.astype(np.int32), was, after.codes))
