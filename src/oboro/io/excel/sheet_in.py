"""A sheet of an Excel file as a table: where its names stand, and what its cells hold.

Offices write titles, dates and notes above a table. The names are in the first row that fills every column with a different
word, if the rows above it are nearly empty; whoever knows better says which row it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import FileError, UsageError
from oboro.io.csv.dialect import Dialect, names_by_place, names_of
from oboro.io.excel.workbook import Workbook, open_workbook
from oboro.table.named_columns import LOOKS_LIKE_DATA, named_by_place
from oboro.table.spelling.value_texts import durations
from oboro.text import Message

__all__ = ["sheet_table"]

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
    """That a workbook has other sheets, where nobody said which one is meant: their records are not read."""
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
    """Which row names the columns; the first one where none is sure to.

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
