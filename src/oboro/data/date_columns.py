"""Date columns in one notation, so that new dates and the bounds of ranges are written like the other dates of the column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.notations.kinds import DATE_TEXT, DATETIME_TEXT, Kind, typed
from oboro.notations.ordered_dates import FORM, order_matters, unclear_order
from oboro.notations.registry import may_be_japanese
from oboro.notations.texts import is_text

__all__ = ["dates_alike", "days_alike", "unclear_dates"]


EMPTY_FRACTION = r"\.0+$"
ERAS = "明治|大正|昭和|平成|令和|[明大昭平令MTSHRmtshr]"


def days_alike(texts: pa.Array, kind: Kind) -> pa.Array:
    """Return the texts of a column; days in several notations all become ISO dates.

    Which way a person's own date was written would else show at the end of a range. Dates such as `1/5/1990` become ISO dates too:
    only the whole column tells whether the day or the month stands first, and a released range would stand without it.
    Months stay as they are: they are no days.

    >>> days_alike(pa.array(["1981/10/12", "平成17年4月3日"]), Kind.DATE).to_pylist()
    ['1981-10-12', '2005-04-03']
    >>> days_alike(pa.array(["昭和56年10月12日", "平成17年4月3日"]), Kind.DATE).to_pylist()
    ['昭和56年10月12日', '平成17年4月3日']
    >>> days_alike(pa.array(["12/31/1990", "1/5/1990"]), Kind.DATE).to_pylist()
    ['1990-12-31', '1990-01-05']
    >>> days_alike(pa.array(["2026-03-28 12:57:00.000000"]), Kind.DATETIME).to_pylist()
    ['2026-03-28 12:57:00']
    """
    if kind is Kind.DATETIME:
        texts = _whole_seconds(texts)
        return texts if _all(texts, DATETIME_TEXT) or not _all(texts, FORM) else _moments(typed(texts, kind))
    if kind is not Kind.DATE or (
        not order_matters(texts) and (len(_notations(texts)) < 2 or not _all_days(texts.drop_null()))
    ):
        return texts
    return pc.cast(pc.cast(typed(texts, kind), pa.date32()), pa.string())


def _whole_seconds(texts: pa.Array) -> pa.Array:
    """Moments without their fraction, where it is nothing in all of them."""
    return pc.replace_substring_regex(texts, EMPTY_FRACTION, "") if _all(texts, rf".*{EMPTY_FRACTION}") else texts


def dates_alike(column: Column) -> Column:
    """Return the column with its dates in one notation; any other column unchanged."""
    if column.kind not in (Kind.DATE, Kind.DATETIME) or not is_text(column.values):
        return column
    texts = days_alike(column.values, column.kind)
    return column if texts is column.values else column.recode(np.arange(len(texts)), texts)


def unclear_dates(column: Column) -> tuple[str, dict[str, int | None]] | None:
    """Explain why a column that looks like dates is none, with example rows; None for any other column.

    >>> unclear_dates(Column.of(["1/5/1990", "31/12/1990", "12/31/1990"]))
    ('two_orders', {'day_first': 2, 'month_first': 3})
    """
    found = unclear_order(column.values) if is_text(column.values) and column.kind is Kind.TEXT else None
    return None if found is None else (found[0], {name: column.row_of(text) for name, text in found[1].items()})


def _moments(moments: pa.Array) -> pa.Array:
    """Moments as ISO texts: to the minute, or as exact as one of them is."""
    texts = pc.replace_substring_regex(pc.cast(moments, pa.string()), r"\.0+$", "")
    return texts if not _all(texts, ":00$") else pc.replace_substring_regex(texts, ":00$", "")


def _all(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _notations(texts: pa.Array) -> pa.Array:
    """Return the notations of the texts: the marks between numbers, with or without an era."""
    shapes = pc.replace_substring_regex(texts.drop_null(), "[0-9０-９]+|元", "0")
    return pc.unique(pc.replace_substring_regex(shapes, ERAS, "E"))


def _all_days(texts: pa.Array) -> bool:
    if not may_be_japanese(texts.drop_null()):
        return _all(texts, DATE_TEXT)
    from oboro.notations.japanese import DAY, plain_text, written_dates

    return bool((written_dates(plain_text(texts)).unit == DAY).all())
