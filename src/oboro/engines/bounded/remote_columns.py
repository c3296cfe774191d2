"""The columns of a table of which the driver has no rows, as checks before a release ask for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from oboro.disclosure.gate import ColumnStore, NeedsRows
from oboro.engines.bounded.bucketed_checks import distinct_rows, unique_rows
from oboro.engines.engine import EngineTable
from oboro.engines.first_rows import first_rows
from oboro.table.dataset import Dataset

__all__ = ["RemoteColumns"]


@dataclass(frozen=True)
class RemoteColumns(ColumnStore):
    """Columns that stay where the engine has them; they are counted there, and a check that needs their rows gets `NeedsRows`."""

    table: EngineTable
    generalized: tuple[str, ...]
    rows: int
    _first: dict[str, pa.Array] = field(default_factory=dict, compare=False)
    _distinct: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def counted(self) -> Collection[str]:
        """The generalized columns."""
        return self.generalized

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> Mapping[str, pa.Array]:
        """Return the first rows of each part of the table. They are fetched once, of all columns, for each question is a job."""
        if not self._first:
            self._first.update(first_rows(self.table, list(self.table.types)))
        return {name: self._first[name] for name in (*names, *beside) if name in self._first}

    def read(self, data: Dataset, names: Sequence[str]) -> Dataset:
        """Raise `NeedsRows`: the driver has none."""
        raise NeedsRows(names)

    def unique(self, names: Sequence[str]) -> int:
        """Return how many records are unique by columns that are released as they came. One job."""
        if not set(self.generalized).isdisjoint(names):
            raise NeedsRows(names)
        return unique_rows(self.table, names, self.rows)

    def distinct(self, name: str) -> int:
        """Return how many values a column has. One job for each column."""
        if name not in self._distinct:
            self._distinct[name] = distinct_rows(self.table, [name], self.rows)
        return self._distinct[name]
