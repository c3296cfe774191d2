"""Columns that are not encoded: left in their file, or on their way from one file to another.

A recipe touches few of the columns of a wide table. The others need not be encoded: they keep their places in the table, move with
its rows, and are read when the release is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column, Dataset, missing_for_nan, plain
from oboro.text import Message

__all__ = ["UnencodedColumn", "UnreadColumn", "unread_columns", "why_unusable"]


class UnreadColumn(Column):
    """A column that was left in its file. It has a length and nothing else: a step that asks for more did not say what it reads.

    >>> len(UnreadColumn(3).take(np.array([0, 2])))
    2
    """

    def __init__(self, rows: int) -> None:
        object.__setattr__(self, "rows", rows)

    rows: int

    def __repr__(self) -> str:
        return f"UnreadColumn({self.rows})"

    def __len__(self) -> int:
        return self.rows

    @property
    def values(self) -> pa.Array:
        """There are none."""
        raise RuntimeError("a column was used that was left in its file; a step must say in `reads` what it reads")

    @property
    def codes(self) -> np.ndarray:
        """There are none."""
        raise RuntimeError("a column was used that was left in its file; a step must say in `reads` what it reads")

    def take(self, rows: np.ndarray) -> UnreadColumn:
        """So many rows, wherever they are."""
        return UnreadColumn(int(rows.sum() if rows.dtype == bool else rows.size))

    def tidy(self) -> UnreadColumn:
        """Nothing is held that could be unused."""
        return self

    @property
    def nbytes(self) -> int:
        """Nothing is held."""
        return 0


class UnencodedColumn(Column):
    """A column that is one value per row, as it came from a file; it is encoded only if somebody asks for codes."""

    def __init__(self, array: pa.Array | pa.ChunkedArray) -> None:
        object.__setattr__(self, "array", _single(array))

    array: pa.Array

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def _encoded(self) -> Column:
        return Column.encode(self.array)

    @property
    def values(self) -> pa.Array:
        """The distinct values."""
        return self._encoded.values

    @property
    def codes(self) -> np.ndarray:
        """One code per row."""
        return self._encoded.codes

    def take(self, rows: np.ndarray) -> UnencodedColumn:
        """The given rows (positions or a boolean mask)."""
        return UnencodedColumn(
            self.array.filter(pa.array(rows)) if rows.dtype == bool else self.array.take(pa.array(rows))
        )

    def decode(self) -> pa.Array:
        """One value per row, with the type and the missing values that an encoded column would come back with."""
        return self.array


def _single(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return plain(missing_for_nan(array))


def why_unusable(name: str, type_: pa.DataType) -> Message | None:
    """Why a column of this type can only be left out: it does not hold single values, or times of a zone that nobody knows."""
    inner = type_.value_type if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_) else type_
    if pa.types.is_nested(inner) or isinstance(inner, pa.BaseExtensionType):
        shown = inner.type_name if isinstance(inner, pa.OpaqueType) else str(type_)
        return Message("error_table.not_single", name=name, type=shown)
    if pa.types.is_timestamp(inner) and inner.tz:
        try:
            pa.array([0], inner).cast(pa.string())
        except pa.ArrowInvalid:
            return Message("error_table.no_zone", name=name, zone=inner.tz)
    return None


def unread_columns(data: Dataset | Mapping[str, Column]) -> list[str]:
    """The columns that were left in their file."""
    columns = data.columns if isinstance(data, Dataset) else data
    return [name for name, column in columns.items() if isinstance(column, UnreadColumn)]
