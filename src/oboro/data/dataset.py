"""Dataset: a table of dictionary-encoded columns of equal length.

A column is its distinct values (a small Arrow array, the *dictionary*) and one small unsigned code per row. Techniques work on
dictionaries and codes; a row's value is looked up only when the table is written. Columns and datasets are never changed: every
act returns new ones that share what stayed the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.data.parameters import at_the_door, names_shown
from oboro.errors import ColumnError
from oboro.system.process import on_cores
from oboro.text import Message

__all__ = ["Dataset", "unread_columns"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named columns of equal length, in order. `origin` says which input row each row came from (None: the same)."""

    columns: Mapping[str, Column]
    rows: int
    origin: np.ndarray | None = field(default=None, repr=False)

    @staticmethod
    def from_arrow(table: pa.Table) -> Dataset:
        """Encode every column once; both cores, since Arrow releases the GIL."""
        duplicates = [name for name, count in Counter(table.column_names).items() if count > 1]
        if duplicates:
            raise ColumnError(Message("error_table.same_name", names=sorted(duplicates)))
        columns = on_cores(Column.encode, table.columns, rows=table.num_rows)
        return Dataset(dict(zip(table.column_names, columns, strict=True)), table.num_rows)

    @staticmethod
    @at_the_door
    def of(columns: Mapping[str, Sequence[object]]) -> Dataset:
        """A dataset from plain Python lists, for examples and tests."""
        encoded = {name: Column.of(values) for name, values in columns.items()}
        return Dataset(encoded, len(next(iter(encoded.values()), ())))

    def to_arrow(self) -> pa.Table:
        """Decode every column once."""
        return pa.table({name: column.decode() for name, column in self.columns.items()})

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.columns

    def __getitem__(self, name: str) -> Column:
        if name not in self:
            raise ColumnError(Message("error_table.no_column", name=name, columns=names_shown(self, [str(name)])))
        return self.columns[name]

    def replace(self, **columns: Column) -> Dataset:
        """The same table with some columns exchanged, in their old places."""
        return self.with_columns(columns)

    def with_columns(self, columns: Mapping[str, Column]) -> Dataset:
        """The same table with some columns exchanged (in their old places) or added (at the end)."""
        return replace(self, columns={**self.columns, **columns})

    def select(self, names: Sequence[str]) -> Dataset:
        """Only these columns, in this order."""
        return replace(self, columns=dict(zip(names, map(self.__getitem__, names), strict=True)))

    def finest(self, names: Sequence[str]) -> Dataset:
        """The table with these columns by everything that a tool could tell apart in what came; their values are only names."""
        made = next((self[name].finer for name in names), None)
        if ahead := getattr(made, "ahead", None):  # several are made faster together than one after the other
            ahead(names)
        return self.with_columns({name: self[name].finest() for name in names})

    def take(self, rows: np.ndarray) -> Dataset:
        """The given rows (positions or a boolean mask), in that order."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Dataset(columns, int(rows.size), self.origin_rows[rows])

    @property
    def origin_rows(self) -> np.ndarray:
        """For each row, the number of the input row that it came from."""
        return np.arange(self.rows) if self.origin is None else self.origin

    def memory(self) -> dict[str, int]:
        """Bytes of memory of each column: codes (1, 2 or 4 a row) and dictionary.

        >>> Dataset.of({"sex": ["F", "M", "F"]}).memory()
        {'sex': 13}
        """
        return {name: column.nbytes for name, column in self.columns.items()}


# Unread columns -------------------------------------------------------------------------------------------------------
# A recipe uses few columns of a wide table. The others are not encoded: they keep their positions in the table, move
# with its rows, and are read when the release is written.


def unread_columns(data: Dataset | Mapping[str, Column]) -> list[str]:
    """The columns that were left in their file."""
    columns = data.columns if isinstance(data, Dataset) else data
    return [name for name, column in columns.items() if not column.loaded]
