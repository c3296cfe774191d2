"""The cells of a CSV file with their quotes: some tools tell `""` from nothing, and `"1"` from `1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from oboro.io.byte_streams import open_stream
from oboro.io.csv.dialect import Dialect
from oboro.table.dataset import Column, Dataset

__all__ = ["RawCells"]

PIECE = 1 << 22


@dataclass(frozen=True, eq=False)
class RawCells:
    """One file, read again when somebody asks for a column's cells as they stand in it."""

    path: str
    dialect: Dialect
    names: Sequence[str]
    _read: dict[str, Column] = field(default_factory=dict, repr=False)

    def beside(self, data: Dataset) -> Dataset:
        """The table whose columns know their cells as they stand in the file."""
        columns = {
            name: Column(column.values, column.codes, _Cells(self, name, column))
            for name, column in data.columns.items()
        }
        return data.with_columns(columns)

    def column(self, name: str, known: Column) -> Column:
        """The column with quotes; the known one where the file has none. O(bytes)."""
        self.read([name])
        found = self._read.get(name, known)
        return found if len(found) == len(known) else known

    def read(self, names: Sequence[str]) -> None:
        """Read the cells of these columns, as far as that was not done, in one go."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._read and name in self.names]
        if not wanted or not self._quotes:
            return
        from oboro.io.csv.parse import parse  # which loads kernels

        with open_stream(self.path, self.dialect.encoding) as stream:
            self._read.update(parse(stream, self.dialect, self.names, wanted, raw=True).columns)

    @cached_property
    def _quotes(self) -> bool:
        """Whether there is a quote in the file at all."""
        quote, piece = self.dialect.quote.encode(), memoryview(bytearray(PIECE))
        with open_stream(self.path, self.dialect.encoding) as stream:
            while got := stream.readinto(piece):
                if quote in bytes(piece[:got]):
                    return True
        return False


@dataclass(frozen=True, eq=False)
class _Cells:
    """Makes one column as it stands in the file."""

    file: RawCells
    name: str
    known: Column

    def __call__(self) -> Column:
        return self.file.column(self.name, self.known)

    def ahead(self, names: Sequence[str]) -> None:
        """All of these with one reading of the file."""
        self.file.read(names)
