"""Files in and out: one `read`, whatever the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from oboro.data.column import UnreadColumn, is_nested, numbered
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.frames import Types, lost_types
from oboro.data.parameters import at_the_door, names_shown
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io import column_store
from oboro.io.bytes import STDIN, ByteStream, FileState, can_be_read_twice, open_stream, readable
from oboro.io.column_store import HeldColumns, HeldTooMuch
from oboro.io.formats.base import binary_format, is_json_lines
from oboro.io.formats.csv.dialect import Dialect, NotUnicode, dialect_of, first_record, in_encoding, names_of, notes_of
from oboro.io.formats.csv.small import hold_columns, is_small, read_columns, text_before_rows
from oboro.io.places.place import Place, is_plain_file
from oboro.io.write import (
    Output,
    destination,
    dialect_asked,
    dialect_for,
    encoded,
    is_csv,
    is_one_file,
    one_dictionary,
    write,
    write_blocks,
)
from oboro.system.files import ASIDE, require_file
from oboro.text import Message, Raw
from oboro.text.language import ByteProgress, RowProgress

if TYPE_CHECKING:
    from oboro.data.row_order import RowShuffle
    from oboro.io.column_store import UntouchedColumns, UntouchedCsvColumns
    from oboro.io.formats.csv import FormulaGuard

__all__ = ["Source", "column_names", "read", "read_data"]


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
        """What became of the table, with the columns that stayed in the file."""
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
            held = in_encoding_held(data, dialect) if is_csv(path) else data
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
        copied = guard is None and is_csv(path) and is_one_file(path)
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
    progress: ByteProgress | None = None,
) -> Source:
    """Read and encode a table: CSV (packed or not), Parquet, Feather / Arrow, Excel, JSON lines; `-` is CSV on standard input.

    `path` may be any place: a folder, a pattern (`*.parquet`), an object of a store (`s3://…`), a table of a database
    (`sqlite:///file.db?table=people`), or an object of another library that gives a table. docs/places.md has them all.

    What is not given is found out: CSV's `delimiter`, `quote` and `encoding`. `columns` reads only these. With `held`,
    only these are held in memory: of CSV and Parquet files the others are checked but stay in the file, to be read when the
    table is written, and `progress` is told rows instead of bytes. Those that are `fingerprinted` are held too, unless they are
    large; of those in a CSV file one number a record is then kept. `header=False` says that the first line is data
    already (columns are then named `column1` …), `None` guesses. `sheet` and `header_row` (from 1) are for Excel.
    """
    if not is_plain_file(path):
        how = {"delimiter": delimiter, "quote": quote, "encoding": encoding, "header": header, "sheet": sheet}
        from oboro.io.open import open_place
        from oboro.io.places.batches import WantedColumns

        wanted = WantedColumns(columns=columns, held=held, fingerprinted=fingerprinted, progress=progress)
        return open_place(path, {**how, "header_row": header_row}).read(wanted)
    if is_json_lines(path):
        from oboro.io.formats.json_lines import read_json_lines

        return Source(read_json_lines(path, columns, encoding), str(path))
    held, binary = held if columns is None and can_be_read_twice(path) else None, binary_format(path)
    if binary == "excel":
        from oboro.io.formats.base import read_sheet

        data, notes = read_sheet(str(path), columns, sheet, header_row)
        return Source(data, str(path), notes=notes)
    if header_row is not None:
        raise UsageError(Message("error_io.header_row_not_excel", path=str(path)))
    if binary == "parquet" and held is not None:
        return _parquet(str(path), held, fingerprinted, progress)
    if binary is not None:
        from oboro.io.formats.base import READERS

        data, types = READERS[binary](str(path), columns, sheet)
        return Source(data, str(path), types=types)
    if progress is not None:
        from oboro.text.progress_reading import SteadyProgress

        progress = SteadyProgress(progress)  # it may be read a second time
    if os.path.exists(aside := os.path.realpath(path) + ASIDE):
        raise FileError(Message("error_io.list_in_doubt", path=str(path), aside=aside))
    options = {"delimiter": delimiter, "quote": quote, "header": header}
    if held is not None and fingerprinted:
        with suppress(HeldTooMuch, NotUnicode), open_stream(path, encoding) as stream:
            return _csv(stream, options, columns, ({*held, *fingerprinted}, fingerprinted), progress)
    with open_stream(path, encoding) as stream:
        try:
            return _csv(stream, options, columns, (held, fingerprinted), progress)
        except NotUnicode:
            # A file whose first part is plain ASCII may turn out to be Japanese later on.
            if encoding or not stream.ascii_so_far or str(path) == STDIN:
                raise
    with open_stream(path, "cp932") as stream:
        return _csv(stream, options, columns, (held, fingerprinted), progress)


def read_data(path: str | Path) -> Dataset:
    """The table that a recipe names, in a file or at another place, without how it was written; a pipe or a device is refused."""
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
    """The columns of a CSV or Parquet file, before it is read; None of one that is read at once, all of it.

    That is Feather, Excel, JSON lines, and what cannot be read twice: standard input and pipes.
    """
    if not can_be_read_twice(path) or is_json_lines(path):
        return None
    binary = binary_format(path)
    if binary == "parquet":
        from oboro.io.formats.parquet import schema_of

        with readable(path):
            return list(schema_of(str(path)).names)
    if binary is not None:
        return None
    with open_stream(path, encoding) as stream:
        return _headed(stream, {"delimiter": delimiter, "quote": quote, "header": header})[1]


def _csv(
    stream: ByteStream,
    options: dict[str, Any],
    columns: Sequence[str] | None,
    holding: tuple[Collection[str] | None, Collection[str]],
    progress: ByteProgress | None,
) -> Source:
    dialect, names, notes = _headed(stream, options)
    if holding[0] is not None:
        held, looked = set(holding[0]), set(holding[1])
        kept = list(filter(held.__contains__, names))
        marked = list(filter((looked - held).__contains__, names))
        limited = list(filter(looked.__contains__, kept))
        data, untouched = hold_columns(stream, dialect, HeldColumns(names, kept, marked, limited), progress)
        return Source(data, stream.path, dialect, untouched if len(kept) < len(names) else None, notes)
    wanted = list(names if columns is None else columns)
    known = set(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ColumnError(
            Message("error_io.no_column", path=stream.path, unknown=unknown, names=names_shown(names, wanted))
        )
    data = read_columns(stream, dialect, names, wanted, progress)
    if can_be_read_twice(stream.path):
        from oboro.io.formats.csv.reader import RawCells

        data = RawCells(stream.path, dialect, names).beside(data)
    return Source(data, stream.path, dialect, notes=notes)


def _headed(stream: ByteStream, options: dict[str, Any]) -> tuple[Dialect, list[str], tuple[Message, ...]]:
    """How a CSV file is written, the names of its columns, and what is to be said of these."""
    sample = stream.sample()
    dialect = replace(dialect_of(sample, **options), encoding=stream.encoding)
    first = first_record(stream.path, sample, dialect)
    if dialect.header:
        _require_text(stream.path, first)
    names = names_of(stream.path, first, dialect)
    odd = dialect.header and (dialect.single or not all(first))
    return dialect, names, notes_of(stream.path, sample, dialect, names) if odd else ()


def _require_text(path: str, names: Sequence[str]) -> None:
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            culprit = Raw(name.encode(errors="surrogateescape")[:40])
            raise NotUnicode(Message("error_io.not_utf8_somewhere", path=path, value=culprit)) from None


def _parquet(path: str, held: Collection[str], fingerprinted: Collection[str], progress: ByteProgress | None) -> Source:
    """The held columns, and those that somebody looks at if they are small: holding their codes is faster than reading twice."""
    from oboro.data.column import NestedColumn
    from oboro.io.formats.parquet import UntouchedParquetColumns, are_small, encode, schema_of, unusable

    held, fingerprinted = set(held), set(fingerprinted)
    with readable(path):
        file_state = FileState.of(path)
        schema = schema_of(path)
        names, nested = schema.names, unusable(path, schema)
        # To ask takes a twentieth of a second for each million rows.
        small = not fingerprinted <= held and are_small(path, fingerprinted, column_store.HELD_TOO)
        kept = [name for name in names if name in held or (small and name in fingerprinted and name not in nested)]
        data = encode(path, kept, progress)
    left = {
        name: NestedColumn(data.rows, nested[name]) if name in nested else UnreadColumn(data.rows) for name in names
    }
    columns = {name: data[name] if name in data else left[name] for name in names}
    untouched = (
        UntouchedParquetColumns(path, tuple(names), data.rows, file_state, None) if len(kept) < len(names) else None
    )
    return Source(replace(data, columns=columns), path, untouched=untouched, types=lost_types(schema))
