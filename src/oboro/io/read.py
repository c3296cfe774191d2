"""Read a table in any format, and write its release in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from oboro.data.column import is_nested, numbered
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.frames import Types
from oboro.data.parameters import at_the_door
from oboro.io.bytes import can_be_read_twice, readable
from oboro.io.formats.base import FileFormat, ReadRequest, format_of_file, require_options
from oboro.io.formats.csv.dialect import Dialect, encoded, in_encoding
from oboro.io.formats.csv.small import is_small, text_before_rows
from oboro.io.places.place import Place, is_plain_file
from oboro.io.write import (
    Output,
    destination,
    dialect_asked,
    dialect_for,
    has_dialect,
    is_one_file,
    one_dictionary,
    write,
    write_blocks,
)
from oboro.system.files import require_file
from oboro.text import Message
from oboro.text.language import ByteProgress, RowProgress

if TYPE_CHECKING:
    from oboro.data.row_order import RowShuffle
    from oboro.io.column_store import UntouchedColumns, UntouchedCsvColumns
    from oboro.io.formats.csv.formulas import FormulaGuard

__all__ = ["Source", "column_names", "read", "read_as", "read_data"]


@dataclass(frozen=True)
class Source:
    """A table that was read, and how its file was written, so that the output can be written the same way."""

    data: Dataset
    path: str
    dialect: Dialect | None = None
    untouched: UntouchedColumns | None = None  # the columns that stayed in the file
    notes: tuple[Message, ...] = ()  # what was found out and should be said
    types: Types = field(default_factory=dict)  # those of columns in the file that the table does not tell any more
    place: Place | None = None  # where it came from, where that is no file of this machine
    kept: tuple[object, ...] = ()  # what must stay open as long as columns are in it
    given_back: Callable[[pa.Table], Any] | None = None  # makes the kind of table that came in

    @property
    def dataset(self) -> Dataset:
        """The whole table; columns that stayed in the file are read now."""
        return self.fill(self.data)

    def fill(self, data: Dataset) -> Dataset:
        """Return the transformed table with the pass-through columns."""
        if self.untouched is None or not unread_columns(data):
            return data
        from oboro.io.column_store import with_untouched

        return with_untouched(data, self.untouched)

    def fill_columns(self, data: Dataset, names: Sequence[str]) -> Dataset:
        """These columns of what became of the table, to be compared; those that stayed in the file are read.

        Of lists and structures only which rows are equal can be seen.
        """
        filled = self.fill(data.select(names))
        return filled.with_columns(
            {name: numbered(column) for name, column in filled.columns.items() if is_nested(column.values.type)}
        )

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> dict[str, pa.Array]:
        """The first rows of columns that stayed in the file, to see what they hold.

        `beside`: columns that are held, whose values in the same rows are wanted where these are not the first of the table.
        """
        from oboro.io.column_store import FIRST

        blocks = iter(()) if self.untouched is None else self.untouched.blocks(names)
        block = next((one for one in blocks if one.rows), None)
        return (
            {}
            if block is None
            else {name: block[name].take(np.arange(min(block.rows, FIRST))).decode() for name in names}
        )

    def write(
        self,
        data: Dataset,
        path: Output,
        done: RowProgress | None = None,
        encoding: str | None = None,
        shuffle: RowShuffle | None = None,
        guard: FormulaGuard | None = None,
    ) -> None:
        """Write what became of the table, in the order of `shuffle`; columns that stayed in the file go from there to the output.

        That needs memory for a few blocks only, as long as rows and columns of `data` stand in the order of the file; else all is
        read. Rows that change their order wait in a file beside the output where they are many. CSV is written in the encoding that
        came in, or in `encoding`; with `guard` its cells are none that a spreadsheet would run.
        """
        dialect = self.dialect if encoding is None else dialect_asked(path, self.dialect, encoding)
        untouched = self.untouched
        if untouched is None:
            write(data, path, dialect, guard, self.types, shuffle)
            return
        from oboro.io.column_store import in_file_order

        streamed = unread_columns(data) and in_file_order(data, untouched.names)
        streamed = streamed and not (one_dictionary(path) and self._dictionaries(data))
        if not streamed or is_small(data) or (shuffle is not None and untouched.small):
            write(self.fill(data), path, dialect, guard, self.types, shuffle)
            return
        from oboro.io.bytes import NotEncodable

        try:
            held = in_encoding_held(data, dialect) if has_dialect(path) else data
            self._copy(held, untouched, path, dialect, done, shuffle, guard)
        except NotEncodable:  # in a column that no step touched: all its values must be seen to replace its characters
            write(self.fill(data), path, dialect, guard, self.types, shuffle)

    def _dictionaries(self, data: Dataset) -> list[str]:
        """The columns in the file that are written as dictionaries."""
        return [name for name in unread_columns(data) if pa.types.is_dictionary(self.types.get(name, pa.null()))]

    def _copy(
        self,
        data: Dataset,
        untouched: UntouchedColumns,
        path: Output,
        asked: Dialect | None,
        done: RowProgress | None,
        shuffle: RowShuffle | None,
        guard: FormulaGuard | None,
    ) -> None:
        copied = guard is None and has_dialect(path) and is_one_file(path)
        from oboro.io.column_store import UntouchedCsvColumns

        if not copied or not isinstance(untouched, UntouchedCsvColumns):
            blocks = _blocks(data, untouched, path, done, shuffle)
            write_blocks(blocks, path, asked, guard=guard, types=self.types)
            return
        dialect = dialect_for(path, asked)
        parts = _lines(data, untouched, path, dialect, done, shuffle)
        with destination(path) as file:
            out = encoded(file, dialect)
            out.write(text_before_rows(list(data), dialect))
            for part in parts:
                out.write(part)


def _blocks(
    data: Dataset, untouched: UntouchedColumns, path: Output, done: RowProgress | None, shuffle: RowShuffle | None
) -> Iterator[Dataset]:
    """The table block by block."""
    if shuffle is None:
        from oboro.io.column_store import merged_blocks

        return merged_blocks(data, untouched, done)
    from oboro.io.external_shuffle import private_folder, shuffled_blocks

    return shuffled_blocks(data, shuffle.in_buckets(), untouched, private_folder(path), done)


def _lines(
    data: Dataset,
    untouched: UntouchedCsvColumns,
    path: Output,
    dialect: Dialect,
    done: RowProgress | None,
    shuffle: RowShuffle | None,
) -> Iterator[memoryview]:
    """The table as text, part by part."""
    from oboro.io.formats.csv.writer import CopyThrough

    copied = CopyThrough(data, untouched, dialect, measured=shuffle is not None)
    if shuffle is None:
        return copied.parts(done)
    from oboro.io.external_shuffle import ShuffledLines, private_folder

    return ShuffledLines(copied, shuffle.in_buckets(), private_folder(path)).parts(done)


def in_encoding_held(data: Dataset, dialect: Dialect | None) -> Dataset:
    """`in_encoding` for the columns that are in memory; the others are looked at while they are copied."""
    encoding = dialect.encoding if dialect else "utf-8"
    unread = unread_columns(data)
    fitting = in_encoding(data.select([name for name in data if name not in unread]), encoding)
    return data.with_columns(dict(fitting.columns))


@at_the_door
def read(
    path: Any,
    *,
    columns: Sequence[str] | None = None,
    held: Collection[str] | None = None,
    fingerprinted: Collection[str] = (),
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header: bool | None = True,
    sheet: str | None = None,
    header_row: int | None = None,
    labels: bool = True,
    progress: ByteProgress | None = None,
) -> Source:
    """Read and encode a table in any format of `oboro.io.formats`; `-` is CSV on standard input.

    `path` may be any place: a folder, a pattern (`*.parquet`), an object of a store (`s3://…`), a table of a database
    (`sqlite:///file.db?table=people`), or an object of another library that gives a table. docs/places.md has them all.

    What is not given is found out: CSV's `delimiter`, `quote` and `encoding`. `columns` reads only these. With `held`,
    only these are held in memory: of CSV and Parquet files the others are checked but stay in the file, to be read when the
    table is written, and `progress` is told rows instead of bytes. Those that are `fingerprinted` are held too, unless they are
    large; of those in a CSV file one number a record is then kept. `header=False` says that the first line is data
    already (columns are then named `column1` …), `None` guesses. `sheet` and `header_row` (from 1) are for Excel. A column of
    Stata or SPSS whose values have labels is read as its labels, with `labels=False` as its codes.
    """
    if not is_plain_file(path):
        how = {"delimiter": delimiter, "quote": quote, "encoding": encoding, "header": header, "sheet": sheet}
        from oboro.io.open import open_place
        from oboro.io.places.batches import WantedColumns

        wanted = WantedColumns(columns=columns, held=held, fingerprinted=fingerprinted, progress=progress)
        return open_place(path, {**how, "header_row": header_row, "labels": labels}).read(wanted)
    request = ReadRequest(
        columns,
        held if columns is None and can_be_read_twice(path) else None,
        fingerprinted,
        progress,
        delimiter,
        quote,
        encoding,
        header,
        sheet,
        header_row,
        labels,
    )
    return read_as(format_of_file(path), path, request)


def read_as(format_: FileFormat, path: str | Path, request: ReadRequest) -> Source:
    """Read a file that is known to be of a format."""
    require_options(format_, str(path), request)
    found = format_.read(str(path), request)
    return Source(found.data, str(path), found.dialect, found.untouched, found.notes, found.types)


def read_data(path: str | Path) -> Dataset:
    """Read the table of a recipe, in a file or at another place, without how it was written; a pipe or a device is refused."""
    if is_plain_file(path):
        with readable(path):
            require_file(path)
    return read(path).data


def column_names(
    path: str | Path,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header: bool | None = True,
    **of_sheets: Any,
) -> list[str] | None:
    """Return the columns of a file before it is read; None where the whole file must be read to know them.

    That depends on its format; standard input and pipes cannot be read twice.
    """
    if not can_be_read_twice(path):
        return None
    request = ReadRequest(delimiter=delimiter, quote=quote, encoding=encoding, header=header)
    return format_of_file(path).column_names(str(path), request)
