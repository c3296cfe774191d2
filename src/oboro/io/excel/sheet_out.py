"""A table as a sheet of an Excel file: numbers as numbers, dates as dates, text as text, and nothing as a formula.

A cell of Excel holds less than a value of a table: 15 digits, days from March 1900 on, milliseconds. A column with a value
that a cell cannot hold is written as text, all of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import FileError, UsageError
from oboro.system.extras import bring
from oboro.table.dataset import Dataset
from oboro.table.values import Kind, kind_of, texts_of, typed
from oboro.text import Message

__all__ = ["sheet_bytes"]

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
    """For each block what stands in a cell for each value of the column's dictionary; all blocks hold one kind of cell."""
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
    """Whether a cell holds the value exactly."""
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
