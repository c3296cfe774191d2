"""Which original row each released row came from, where that is known."""

from __future__ import annotations

import numpy as np

from oboro.table.dataset import Column, Dataset

__all__ = ["Rows", "released_person", "same_rows", "source_rows"]

Rows = np.ndarray | slice


def source_rows(original: Dataset, released: Dataset) -> np.ndarray | None:
    """For each released row the original row that it came from, or None where nothing is known.

    A table that forgot (it was read from a file) is taken to be in the same order if it has as many rows.
    """
    if released.origin is None and released.rows != original.rows:
        return None
    rows = released.origin_rows
    return None if rows.size and (rows.min() < 0 or rows.max() >= original.rows) else rows


def same_rows(original: Dataset, released: Dataset) -> Rows | None:
    """The same, without a number for each row where nothing moved."""
    unmoved = released.origin is None and released.rows == original.rows
    return slice(None) if unmoved else source_rows(original, released)


def released_person(original: Dataset, released: Dataset, name: str | None, paired: bool = True) -> Column | None:
    """Whose each released record is: as the release says, or where it does not, as the original says of the same record.

    None where no column was named, or where it is not known which record is which.
    """
    if name is None or name in released:
        return None if name is None else released[name]
    rows = source_rows(original, released) if paired and name in original else None
    return None if rows is None else original[name].take(rows)
