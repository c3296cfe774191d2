"""Where the ends of a label lie on the line: numbers and days, also as Japanese offices write them."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError
from oboro.table.japanese.written_dates import looks_like_dates, written_dates
from oboro.table.japanese.written_values import plain_text, read_written
from oboro.table.spelling.decimal_commas import has_decimal_commas, read_decimal_commas
from oboro.table.spelling.marked_numbers import read_marked
from oboro.table.values import MONTH_TEXT, Kind, numbers_of

__all__ = ["end_moment", "end_number"]

YEAR_AND_MONTH = r"(\d{4})-(0[1-9]|1[0-2])"
NUMBER = re.compile(r"^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$", re.IGNORECASE)


def end_number(end: str) -> float:
    """The end of a range as a number; NaN where it is none. A year by its era is its year.

    >>> end_number("20"), end_number("12,50"), end_number("350万円"), end_number("平成元年"), end_number("平成元年5月")
    (20.0, 12.5, 3500000.0, 1989.0, nan)
    """
    if NUMBER.match(end):
        return float(end)
    if has_decimal_commas(text := pa.array([end])):
        return float(read_decimal_commas(text)[0].as_py())
    read = read_marked(text)
    read = read_written(text) if read is None else read
    return np.nan if read is None or pa.types.is_date(read.type) else float(read[0].as_py())


def end_moment(end: str, kind: Kind, last: bool) -> float:
    """The end of a range as days (of date-times, microseconds) since 1970; NaN where it is none.

    A year, a month and a day are meant from their first moment to their `last`.

    >>> end_moment("昭和元年", Kind.DATE, last=False), end_moment("1970年2月", Kind.DATE, last=True)
    (-15713.0, 58.0)
    >>> end_moment("02.1970", Kind.DATE, last=False), end_moment("1970-02", Kind.DATE, last=True)
    (31.0, 58.0)
    """
    written = plain_text(pa.array([end]))
    if looks_like_dates(written)[0].as_py() and (found := written_dates(written)).valid[0]:
        day = float((found.last if last else found.first)[0])
        return day if kind is Kind.DATE else (day + last) * 86_400e6 - last
    if month := re.fullmatch(MONTH_TEXT, end):
        return _month_end(int(month[2]), int(month[1]), kind, last)
    if month := re.fullmatch(YEAR_AND_MONTH, end):
        return _month_end(int(month[1]), int(month[2]), kind, last)
    if len(end) == 4:
        end += "-12-31" if last else "-01-01"
    if len(end) < len("2024-1-1"):
        return np.nan  # a number is no date
    if kind is Kind.DATETIME and len(end) <= len("2024-12-31"):
        end += "T23:59:59.999999" if last else "T00:00:00"
    try:
        return float(numbers_of(pa.array([end]))[0])
    except ColumnError:
        return np.nan


def _month_end(year: int, month: int, kind: Kind, last: bool) -> float:
    """The first or the last moment of a month."""
    months = np.datetime64(f"{year:04d}-{month:02d}") + last
    day = float(months.astype("datetime64[D]").astype(np.int64)) - last
    return day if kind is Kind.DATE else (day + last) * 86_400e6 - last
