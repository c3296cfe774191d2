"""What was left in the file: the columns that no step touches are read again, block by block, when the release is written.

Memory: a few blocks, whatever the size of the table. That the file is still the one that was read first is checked before and
after, and its records are counted.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oboro.errors import FileError
from oboro.io.byte_streams import Stream, open_stream, readable
from oboro.io.csv.blocks import PAD
from oboro.io.csv.dialect import Dialect
from oboro.io.csv.parse import parse
from oboro.io.parquet.encode import batches, schema_of
from oboro.table.dataset import Column, Dataset
from oboro.table.large_arrays import memory
from oboro.table.unread import Raw, Unread, unread

__all__ = ["CsvRest", "Mark", "ParquetRest", "Rest", "Rows", "Stamp", "filled", "regular", "through"]

Rows = Callable[[int, int], None]
"""Called with the rows done so far and the rows in all."""


@dataclass(frozen=True)
class Stamp:
    """What tells one state of a file from another."""

    device: int
    inode: int
    size: int
    changed: int

    @staticmethod
    def of(path: str | Path) -> Stamp:
        """The state of a file now."""
        with readable(path):
            status = os.stat(path)
        return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def regular(path: str | Path) -> bool:
    """Whether a file can be read twice (standard input and pipes cannot)."""
    return str(path) != "-" and Path(path).is_file()


@dataclass(frozen=True)
class Rest:
    """The columns that stayed in a file, and the state in which it was read."""

    path: str
    names: Sequence[str]  # all columns of the file, in its order
    rows: int
    stamp: Stamp

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """The wanted columns, block by block in the order of the file; at least one block."""
        raise NotImplementedError

    def check(self, rows: int | None = None) -> None:
        """Raise if the file is not as it was, or if another number of rows was found in it."""
        if Stamp.of(self.path) != self.stamp or rows not in (None, self.rows):
            raise changed(self.path)


def changed(path: str) -> FileError:
    """The error for a file that is no longer what it was."""
    return FileError(f"{path}: was changed while it was being anonymized; nothing was written, so run it again")


@dataclass(frozen=True)
class Mark:
    """Where a block of records ends in the text of a file, and how many records it has."""

    end: int
    records: int


@dataclass(frozen=True)
class CsvRest(Rest):
    """Columns that stayed in a CSV file."""

    dialect: Dialect
    marks: Sequence[Mark]

    def texts(self, room: Callable[[int], np.ndarray]) -> Iterator[tuple[np.ndarray, int, Mark]]:
        """The text of each block, in an array that `room` gives (with some bytes behind it), its size, and its mark."""
        with open_stream(self.path, self.dialect.encoding) as stream:
            begin = 0
            for mark in self.marks:
                size = mark.end - begin
                text = room(size + PAD)
                if stream.readinto(memoryview(text.data)[:size]) < size:
                    raise changed(self.path)
                yield text, size, mark
                begin = mark.end

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """Each block is read as a file of its own."""
        dialect = replace(self.dialect, encoding="utf-8")
        for text, size, _ in self.texts(memory):
            file = io.BytesIO(text[:size].tobytes())
            stream = Stream(self.path, file, size, "utf-8", False, file, b"", None)
            yield parse(stream, dialect, self.names, wanted)
            dialect = replace(dialect, header=False)


@dataclass(frozen=True)
class ParquetRest(Rest):
    """Columns that stayed in a Parquet file."""

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """Batch by batch, not encoded: most are written as they come."""
        with readable(self.path):
            empty = schema_of(self.path).empty_table().select(list(wanted))
            yield Dataset({name: Raw(empty[name]) for name in wanted}, 0)
            for batch in batches(self.path, wanted):
                arrays = zip(wanted, batch.columns, strict=True)
                yield Dataset({name: Raw(array) for name, array in arrays}, batch.num_rows)


def through(data: Dataset, rest: Rest, done: Rows | None = None) -> Iterator[Dataset]:
    """The table block by block, with the columns that stayed in the file. Rows must stand in the order of the file.

    Held columns keep their dictionaries, unused values included: a block is for writing only.
    """
    rest.check()
    row = 0
    for block in rest.blocks(unread(data)):
        if row + block.rows > rest.rows:  # before the rows of the held columns are looked up, where there are none
            raise changed(rest.path)
        begin, stop, chosen = kept(data, row, row + block.rows)
        yield Dataset(_columns(data, block, slice(begin, stop), chosen), stop - begin)
        row += block.rows
        if done:
            done(row, rest.rows)
    rest.check(row)


def kept(data: Dataset, first: int, last: int) -> tuple[int, int, np.ndarray | None]:
    """Which rows of the table came from the rows `first` … `last` of the file: from, to, and which of them (None: all)."""
    if data.origin is None:
        return first, last, None
    begin, stop = (int(place) for place in np.searchsorted(data.origin, [first, last]))
    return begin, stop, data.origin[begin:stop] - first


def _columns(data: Dataset, block: Dataset, rows: slice, chosen: np.ndarray | None) -> Mapping[str, Column]:
    def one(name: str, column: Column) -> Column:
        if not isinstance(column, Unread):
            return Column(column.values, column.codes[rows])
        return block[name] if chosen is None else _taken(block[name], chosen)

    return {name: one(name, column) for name, column in data.columns.items()}


def _taken(column: Column, rows: np.ndarray) -> Column:
    return column.take(rows) if isinstance(column, Raw) else Column(column.values, column.codes[rows])


def filled(data: Dataset, rest: Rest, read: Callable[[Sequence[str]], Dataset]) -> Dataset:
    """The table with all its columns in memory; `read` reads those that stayed in the file."""
    rest.check()
    found = read(unread(data))
    rest.check(found.rows)
    if data.origin is not None:
        found = found.take(data.origin)
    return data.with_columns(found.columns)
