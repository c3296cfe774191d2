"""Store of pass-through columns: they stay in the input file, and are read again, block by block, when the release is written.

Memory: a few blocks, whatever the size of the table. That the file is still the one that was read first is checked before and
after, and its records are counted.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, NestedColumn, UnencodedColumn, large_zeros, nested_column
from oboro.data.dataset import Dataset, unread_columns
from oboro.errors import ColumnError, FileError
from oboro.io.bytes import ByteStream, FileState, open_stream
from oboro.io.formats.csv.dialect import Dialect
from oboro.text import Message
from oboro.text.language import RowProgress

__all__ = [
    "HELD_TOO",
    "BlockEnd",
    "FileFingerprints",
    "HeldColumns",
    "HeldTooMuch",
    "UntouchedColumns",
    "UntouchedCsvColumns",
    "file_changed",
    "file_rows",
    "in_file_order",
    "merged_blocks",
    "with_untouched",
]


# Loaded columns -------------------------------------------------------------------------------------------------------
# Selection of the columns that are loaded, and a limit on columns that are loaded although no step needs them: codes
# are moved and written faster than text is read again.


HELD_TOO = 1 << 28  # bytes


class HeldTooMuch(Exception):
    """Columns take more memory as codes than they may, or than their text."""


class HeldColumns(NamedTuple):
    """The columns of a file, and those to load; the others stay in the file."""

    names: Sequence[str]
    held: Sequence[str]
    fingerprinted: Sequence[str] = ()
    """Columns that stay in the file, and of which one number a record is kept: equal for equal fields."""
    limited: Sequence[str] = ()
    """Held columns that may take HELD_TOO bytes together; else HeldTooMuch is raised."""


# Pass-through columns -------------------------------------------------------------------------------------------------


FIRST = 1000  # rows of a large table that are looked at to see what a column holds
SMALL = 1 << 24  # bytes


@dataclass(frozen=True, eq=False)
class FileFingerprints:
    """One number for each row of a file, equal where the fields of some columns are equal.

    Different fields have equal numbers with a chance of about 2⁻⁶⁴: a keyed hash, drawn anew for every file.
    """

    names: tuple[str, ...]
    parts: Sequence[np.ndarray]
    """The numbers, block by block."""

    def of_rows(self, rows: np.ndarray | None = None) -> np.ndarray:
        """The numbers of some rows of the file, or of all: a new array, which may be used up. 8 bytes a row."""
        numbers = np.concatenate([np.zeros(0, np.uint64), *self.parts])
        return numbers if rows is None else numbers[rows]


@dataclass(frozen=True)
class UntouchedColumns:
    """The columns that stayed in a file, and the state in which it was read."""

    path: str
    names: Sequence[str]  # all columns of the file, in its order
    rows: int
    file_state: Hashable
    fingerprints: FileFingerprints | None

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """The wanted columns, block by block in the order of the file; at least one block."""
        raise NotImplementedError

    def read(self, names: Sequence[str]) -> Dataset:
        """Some of the columns, encoded, all rows of them."""
        raise NotImplementedError

    @property
    def small(self) -> bool:
        """True if all of it is held more easily than it is copied block by block in another order."""
        return isinstance(self.file_state, FileState) and self.file_state.size <= SMALL

    def check(self, rows: int | None = None) -> None:
        """Raise if the file is not as it was, or if another number of rows was found in it."""
        if FileState.of(self.path) != self.file_state or rows not in (None, self.rows):
            raise file_changed(self.path)


def file_changed(path: str) -> FileError:
    """The error for a file that is no longer what it was."""
    return FileError(Message("error_io.changed", path=path))


@dataclass(frozen=True)
class BlockEnd:
    """End of a block of records in the text of a file, and its number of records."""

    end: int
    records: int


@dataclass(frozen=True)
class UntouchedCsvColumns(UntouchedColumns):
    """Columns that stayed in a CSV file."""

    dialect: Dialect
    block_ends: Sequence[BlockEnd]

    @property
    def small(self) -> bool:
        """The same of its text, which may be packed."""
        return not self.block_ends or self.block_ends[-1].end <= SMALL

    def texts(self, array: Callable[[int], np.ndarray]) -> Iterator[tuple[np.ndarray, int, BlockEnd]]:
        """The text of each block, in an array that `array` makes (with some bytes behind it), its size, and its end."""
        from oboro.io.formats.csv.blocks import PAD

        with open_stream(self.path, self.dialect.encoding) as stream:
            begin = 0
            for block_end in self.block_ends:
                size = block_end.end - begin
                text = array(size + PAD)
                if stream.readinto(memoryview(text.data)[:size]) < size:
                    raise file_changed(self.path)
                yield text, size, block_end
                begin = block_end.end

    def read(self, names: Sequence[str]) -> Dataset:
        """From the text."""
        from oboro.io.formats.csv.small import read_columns

        with open_stream(self.path, self.dialect.encoding) as stream:
            return read_columns(stream, self.dialect, self.names, names)

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """Each block is read as a file of its own."""
        from oboro.io.formats.csv.reader import parse

        dialect = replace(self.dialect, encoding="utf-8")
        for text, size, _ in self.texts(large_zeros):
            file = io.BytesIO(text[:size].tobytes())
            stream = ByteStream(self.path, file, size, "utf-8", False, file, b"", None)
            yield parse(stream, dialect, self.names, wanted)
            dialect = replace(dialect, header=False, blank=0)


def merged_blocks(data: Dataset, untouched: UntouchedColumns, done: RowProgress | None = None) -> Iterator[Dataset]:
    """The table block by block, with the columns that stayed in the file. Rows must be in the order of the file.

    Held columns keep their dictionaries, unused values included: a block is for writing only.
    """
    untouched.check()
    row = 0
    for block in untouched.blocks(unread_columns(data)):
        if row + block.rows > untouched.rows:  # before the rows of the held columns are looked up, where there are none
            raise file_changed(untouched.path)
        begin, stop, chosen = file_rows(data, row, row + block.rows)
        yield Dataset(_columns(data, block, slice(begin, stop), chosen), stop - begin)
        row += block.rows
        if done:
            done(row, untouched.rows)
    untouched.check(row)


def in_file_order(data: Dataset, names: Sequence[str]) -> bool:
    """Return whether columns and rows are in the order of the file, so that text can be copied from the one to the other."""
    rows = data.origin is None or bool((data.origin[1:] > data.origin[:-1]).all())
    return rows and [name for name in names if name in data] == list(data)


def file_rows(data: Dataset, first: int, last: int) -> tuple[int, int, np.ndarray | None]:
    """Return which rows of the table came from the rows `first` … `last` of the file: from, to, and which of them (None: all)."""
    if data.origin is None:
        return first, last, None
    begin, stop = (int(place) for place in np.searchsorted(data.origin, [first, last]))
    return begin, stop, data.origin[begin:stop] - first


def _columns(data: Dataset, block: Dataset, rows: slice, chosen: np.ndarray | None) -> Mapping[str, Column]:
    def one(name: str, column: Column) -> Column:
        if column.loaded:
            return Column(column.values, column.codes[rows])
        return block[name] if chosen is None else _taken(block[name], chosen)

    return {name: one(name, column) for name, column in data.columns.items()}


def _taken(column: Column, rows: np.ndarray) -> Column:
    return column.take(rows) if isinstance(column, UnencodedColumn) else Column(column.values, column.codes[rows])


def _nested(untouched: UntouchedColumns, names: Sequence[str]) -> dict[str, Column]:
    """Columns of lists and structures, each distinct value once."""
    blocks = list(untouched.blocks(names))
    return {name: _nested_one(name, pa.chunked_array([block[name].decode() for block in blocks])) for name in names}


def _nested_one(name: str, array: pa.ChunkedArray) -> Column:
    try:
        return nested_column(array)
    except pa.ArrowNotImplementedError:  # Arrow cannot even compare some types
        raise ColumnError(Message("error_table.not_single", name=name, type=str(array.type))) from None


def with_untouched(data: Dataset, untouched: UntouchedColumns) -> Dataset:
    """The table with all its columns in memory; those that stayed in the file are read."""
    untouched.check()
    nested = [name for name in unread_columns(data) if isinstance(data[name], NestedColumn)]
    single = [name for name in unread_columns(data) if name not in nested]
    found = untouched.read(single) if single else Dataset({}, untouched.rows)
    if nested:
        found = found.with_columns(_nested(untouched, nested))
    untouched.check(found.rows)
    if data.origin is not None:
        found = found.take(data.origin)
    return data.with_columns(found.columns)
