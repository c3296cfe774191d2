"""Excel: a table as a sheet of a workbook, with numbers as numbers, dates as dates, text as text, and nothing as a formula.

A cell of Excel holds less than a value of a table: 15 digits, days from March 1900 on, milliseconds. A column with a value
that a cell cannot hold is written as text, all of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import pairwise
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa

from oboro._lazy import bring, pc
from oboro.data.dataset import Dataset
from oboro.data.parameters import LOOKS_LIKE_DATA, named_by_place
from oboro.errors import FileError, UsageError
from oboro.io.formats.base import ARCHIVES, FileFormat, ReadRequest, TypedTable, WriteRequest, chosen_columns
from oboro.io.formats.csv.dialect import Dialect, names_by_place, names_of
from oboro.io.formats.isolated import IsolatedReader
from oboro.notations.kinds import Kind, kind_of, typed
from oboro.notations.texts import durations, texts_of
from oboro.text import Message

__all__ = ["FORMAT", "Workbook", "open_workbook", "sheet_bytes", "sheet_table"]


# Workbook -------------------------------------------------------------------------------------------------------------


class Workbook(IsolatedReader):
    """A workbook that is open in a process of its own."""

    sheets: Sequence[str] = ()
    """The names of its sheets."""

    def rows(self, sheet: str | int, **how: Any) -> tuple[pa.RecordBatch, dict[int, int]]:
        """Read a sheet, `how` as in `fastexcel.ExcelReader.load_sheet`; and count the cells of each column that hold an error."""
        answer, (batch, *_) = self.ask_rows(sheet=sheet, **how)
        return batch, {int(place): int(count) for place, count in answer["errors"]}


@contextmanager
def open_workbook(path: str, name: str | None = None) -> Iterator[Workbook]:
    """Open a workbook, of which messages speak by its `name`; its process ends with the block."""
    book = Workbook("fastexcel", path, name)
    try:
        book.sheets = book.ask(**book.given)["sheets"]
        yield book
    finally:
        book.end()


# Reading of sheets ----------------------------------------------------------------------------------------------------
# Offices write titles, dates and notes above a table. The header is the first row that fills every column with a
# different word, if the rows above it are nearly empty; `header_row` overrides this.


LOOKED_AT = 30  # rows in which the names are looked for
DAY = 86_400_000  # milliseconds
NO_DAY = -DAY * 25_568  # 1899-12-31 in milliseconds since 1970: a cell with a time and no day

Row = Sequence[str | None]


def sheet_table(path: str, sheet: str | None, header_row: int | None) -> tuple[pa.Table, tuple[Message, ...]]:
    """The table below the names, and what is to be said of where it was found. `header_row` counts from 1, as Excel does."""
    with open_workbook(path) as book:
        if sheet is not None and sheet not in book.sheets:
            raise UsageError(Message("error_io.no_sheet", path=path, sheet=sheet, sheets=book.sheets))
        place = sheet if sheet is not None else 0
        top = _top(book, place, max(LOOKED_AT, header_row or 0))
        if not any(cell is not None for row in top for cell in row):
            raise FileError(Message("error_io.empty_sheet", path=path))
        header = _checked(path, header_row, top) if header_row is not None else names_row(top)
        # Types are judged by all rows: judged by the first thousand, a later word among numbers would be lost.
        batch, wrong = book.rows(place, header_row=header, schema_sample_rows=None)
    # fastexcel gives a column without a name, or with one that was there before, a name of its own.
    first = [cell or "" for cell in top[header]]
    names = _names(path, first, header + 1)
    table = pa.table([lossless(column) for column in batch.columns], names=names)
    said = header > 0 and header_row is None
    found = (Message("io.header_found", path=path, row=header + 1, above=header),) if said else ()
    left_out = (*_left_out(path, book.sheets, sheet), *_not_read(path, names, wrong))
    return table, (*found, *left_out, *names_by_place(path, first, names))


def _not_read(path: str, names: Sequence[str], wrong: Mapping[int, int]) -> tuple[Message, ...]:
    """Report how many cells hold an error such as `#N/A` instead of a value: they are missing values from here on."""
    if not wrong:
        return ()
    columns = [name for place, name in enumerate(names) if place in wrong]
    return (Message("io.error_cells", path=path, cells=sum(wrong.values()), columns=columns),)


def _left_out(path: str, sheets: Sequence[str], sheet: str | None) -> tuple[Message, ...]:
    """Report that a workbook has other sheets if no sheet was named: their records are not read."""
    if sheet is not None or len(sheets) < 2:
        return ()
    return (Message("io.other_sheets", path=path, sheet=sheets[0], others=list(sheets[1:])),)


def _names(path: str, first: list[str], row: int) -> list[str]:
    """The names in a row; where one is missing, they may stand in another row: below a title, or below names of groups."""
    if "" in (named := named_by_place(first)):
        raise FileError(Message("error_io.no_name_in_sheet", path=path, row=row, place=named.index("") + 1))
    return names_of(path, first, Dialect())


def _top(book: Workbook, place: str | int, rows: int) -> list[Row]:
    """Read the first rows as text, blank ones too."""
    batch, _ = book.rows(place, header_row=None, skip_rows=0, n_rows=rows, dtypes="string")
    return [list(row.values()) for row in batch.to_pylist()]


def _checked(path: str, header_row: int, top: Sequence[Row]) -> int:
    if not 1 <= header_row <= len(top) or not any(top[header_row - 1]):
        raise UsageError(Message("error_io.no_header_row", path=path, row=header_row, rows=len(top)))
    return header_row - 1


def names_row(top: Sequence[Row]) -> int:
    """Find the row that names the columns; the first one if none is certain.

    >>> names_row([["List of staff", None, None], [None, None, None], ["name", "age", "city"], ["Sato", "39", "Kyoto"]])
    2
    >>> names_row([["name", None, "city"], ["Sato", "Ueno", "Kyoto"]])  # a name is missing: the first record must not become names
    0
    """
    width = len(top[0])
    for place, row in enumerate(top[:LOOKED_AT]):
        filled = sum(bool(cell) for cell in row)
        if filled == width and width > 1:
            return place if _are_names(row) else 0
        if 2 * filled >= width and filled > 1 and _words(row):  # names of which one is missing
            return 0
    return 0


def _are_names(row: Row) -> bool:
    return len(set(row)) == len(row) and _words(row)


def _words(row: Row) -> bool:
    return not any(LOOKS_LIKE_DATA.fullmatch(cell.strip()) for cell in row if cell)


def lossless(column: pa.Array) -> pa.Array:
    """Numbers without decimals as integers, moments at midnight as dates, times without a day as times, durations as text.

    Where one value does not fit, all stay as they are: nothing is cut off.
    """
    if pa.types.is_floating(column.type):
        return _cast(column, pa.int64())
    if pa.types.is_timestamp(column.type):
        moments = pc.cast(pc.cast(column, pa.timestamp("ms")), pa.int64())
        if not moments.drop_null():
            return column
        if pc.all(pc.equal(_within_day(moments), 0)).as_py():
            return pc.cast(column, pa.date32())
        times = pc.subtract(moments, NO_DAY)
        if pc.all(pc.and_(pc.greater_equal(times, 0), pc.less(times, DAY))).as_py():
            return _time(times)
        return column
    if pa.types.is_duration(column.type):
        return pa.array(durations(column), pa.string())
    return column


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    try:
        return pc.cast(column, type_)
    except pa.ArrowInvalid:
        return column


def _within_day(moments: pa.Array) -> pa.Array:
    return pc.subtract(moments, pc.multiply(pc.divide(moments, DAY), DAY))


def _time(milliseconds: pa.Array) -> pa.Array:
    """Times of the day as text: `08:15:00`, with the milliseconds where there are some."""
    times = pc.cast(pc.cast(milliseconds, pa.int32()), pa.time32("ms"))
    return pc.replace_substring_regex(pc.cast(times, pa.string()), r"\.000$", "")


# Writing of sheets ----------------------------------------------------------------------------------------------------


MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767
FIRST_DAY = date(1900, 3, 1)  # before it Excel counts a day that never was
WHOLE = 1 << 53
SHOWN = 10**11  # longer whole numbers are shown rounded: codes, not quantities
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")


def sheet_bytes(blocks: Sequence[Dataset], *, from_text: bool = False) -> bytes:
    """The whole file. `from_text`: the table came from CSV, so that text which a number or a date has too may become one."""
    openpyxl = bring("openpyxl")
    names = list(blocks[0])
    rows = sum(block.rows for block in blocks)
    if rows >= MOST_ROWS or len(names) > MOST_COLUMNS:
        raise FileError(Message("error_io.sheet_full", rows=rows, columns=len(names)))
    if not names:
        raise UsageError(Message("error_io.no_column_left"))
    # Every value is made ready before the first row is written: one that does not fit leaves no sheet half open.
    head = [_text(name, name) for name in names]
    made = [_cells(name, [block[name].values for block in blocks], from_text) for name in names]
    book = openpyxl.Workbook(write_only=True)
    sheet = _in_memory(book.create_sheet("Sheet1"))
    sheet.append(_row(sheet, head))
    for number, block in enumerate(blocks):
        looked_up = [
            [cells[number][code] for code in block[name].codes] for name, cells in zip(names, made, strict=True)
        ]
        for row in zip(*looked_up, strict=True):
            sheet.append(_row(sheet, row))
    return _saved(book)


def _in_memory(sheet: Any) -> Any:
    """A sheet that is made in memory. openpyxl itself would write it into a file of its own, which stays after `kill -9`."""
    from openpyxl.worksheet._writer import WorksheetWriter

    writer = WorksheetWriter(sheet, io.BytesIO())
    writer.cleanup = lambda: None  # there is no file to remove
    sheet._writer = writer
    writer.write_top()
    return sheet


def _saved(book: Any) -> bytes:
    from openpyxl.writer.excel import ExcelWriter

    out = io.BytesIO()
    ExcelWriter(book, _Archive(out, "w", ZIP_DEFLATED)).save()
    return out.getvalue()


class _Archive(ZipFile):
    """Takes the sheet from memory where openpyxl names its file."""

    def write(self, filename: Any, arcname: Any = None, *_: Any, **__: Any) -> None:
        self.writestr(arcname, filename.getvalue())


class Digits(str):
    """A number with 17 digits, as it is to be written: openpyxl itself writes 16, which is another number."""


def _row(sheet: Any, row: Sequence[Any]) -> Sequence[Any]:
    """A row whose text is text, also where Excel would take it for a formula or an error, and whose numbers have all digits."""
    if not any(isinstance(value, str) and (value[:1] in ("=", "#") or type(value) is Digits) for value in row):
        return row
    from openpyxl.cell import WriteOnlyCell

    made = []
    for value in row:  # each cell anew: openpyxl writes the next values of the row into it
        cell = value
        if isinstance(value, str):
            cell = WriteOnlyCell(sheet, value)
            cell.data_type = "n" if type(value) is Digits else "s"
        made.append(cell)
    return made


def _cells(name: str, dictionaries: Sequence[pa.Array], from_text: bool) -> list[list[Any]]:
    """Return for each block the cells for the values of the column's dictionary; all blocks hold one kind of cell."""
    values = pa.concat_arrays([one.cast(dictionaries[0].type) for one in dictionaries])
    plain = _plain(values, from_text)
    if plain is None:
        plain = [None if text is None else _text(name, text) for text in texts_of(values)]
    ends = [0]
    for one in dictionaries:
        ends.append(ends[-1] + len(one))
    return [plain[begin:end] for begin, end in pairwise(ends)]


def _plain(values: pa.Array, from_text: bool) -> list[Any] | None:
    """The values as Python's numbers, dates and truths, if a cell holds every one of them exactly; None for text."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _from_text(values) if from_text else None
    if pa.types.is_boolean(values.type):
        return list(values.to_pylist())
    try:
        found = values.to_pylist() if kind_of(values).numeric and not pa.types.is_decimal(values.type) else None
    except (OverflowError, ValueError):  # a day that Python's calendar does not have
        return None
    if found is None or not all(_fits(value) for value in found if value is not None):
        return None
    return [
        Digits(repr(value)) if isinstance(value, float) and float(f"{value:.16g}") != value else value
        for value in found
    ]


def _fits(value: Any) -> bool:
    """Return whether a cell holds the value exactly."""
    if isinstance(value, datetime):
        return value.tzinfo is None and value.date() >= FIRST_DAY and value.microsecond % 1000 == 0
    if isinstance(value, date):
        return value >= FIRST_DAY
    if isinstance(value, int):
        return abs(value) <= WHOLE
    return isinstance(value, float) and abs(value) < 1e300


def _from_text(values: pa.Array) -> list[Any] | None:
    """Numbers and dates that were text: only where their own text is exactly the one that stood there."""
    if kind_of(values) not in (Kind.INTEGER, Kind.NUMBER, Kind.DATE):
        return None
    read = typed(values)
    if texts_of(read) != values.to_pylist():
        return None
    if pa.types.is_integer(read.type) and (pc.max(pc.abs(read)).as_py() or 0) >= SHOWN:
        return None
    return _plain(read, from_text=False)


def _text(name: str, text: str) -> str:
    """Text as a cell holds it; what looks like an escape (`_x0041_`) is escaped itself, and so is text of nothing but spaces."""
    if found := CONTROL.search(text):
        raise FileError(Message("error_io.not_in_sheet", column=name, letter=f"U+{ord(found[0]):04X}"))
    if len(text) > LONGEST:
        raise FileError(Message("error_io.cell_full", column=name, length=len(text), most=LONGEST))
    if text.isspace():  # left as it is, nobody who reads the file would see it
        return f"_x{ord(text[0]):04X}_{text[1:]}"
    return ESCAPE.sub("_x005F_", text)


# Format ---------------------------------------------------------------------------------------------------------------


class Excel(FileFormat):
    """Excel and OpenDocument sheets; written as `.xlsx`."""

    name = "excel"
    endings = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    read_only = (".xlsm", ".xlsb", ".xls", ".ods")
    magic = ARCHIVES
    options = ("sheet", "header_row")
    formulas = "text"
    offered = True

    def recognizes(self, head: bytes, ending: str | None) -> bool:
        """Return whether an archive is named as a workbook, or is not named at all."""
        return head.startswith(self.magic) and (ending is None or ending in self.endings)

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read the named sheet, or the first one."""
        table, notes = sheet_table(path, request.sheet, request.header_row)
        found = chosen_columns(path, table, request.columns)
        return TypedTable(found.data, notes=notes)

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write one sheet."""
        file.write(sheet_bytes(list(blocks), from_text=request.from_text))


FORMAT = Excel()
