"""Partial dates: months, quarters and dates of digits, which are text or numbers as values, and dates in a hierarchy:
`2024-05`, `2024/5`, `2024-Q2`; `20240531`, `202405`.

A released month is written `2024-05` too, and there means all of its days; digits alone might be anything. So
only hierarchies of dates, and proposals of these, take them for dates.
"""

from __future__ import annotations

import re

import pyarrow as pa

from oboro._lazy import pc
from oboro.notations.texts import all_match

__all__ = ["is_whole_days", "names_periods", "odd_among_plain_dates", "read_plain_dates", "seems_dated"]


MONTH = r"^([0-9]{4})[-/](0?[1-9]|1[0-2])$"
PERIOD = r"^[0-9]{4}([-/](0?[1-9]|1[0-2])|-?Q[1-4])$"
YEAR = "(18[5-9][0-9]|19[0-9]{2}|20[0-9]{2})"
DIGITS = rf"^{YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"
MONTH_DIGITS = rf"^{YEAR}(0[1-9]|1[0-2])$"
NAMES_MONTHS = re.compile(r"month|yyyymm|monat|(^|[^a-z])(ym|mois|mes)($|[^a-z])|年月", re.IGNORECASE)
FEW = 3  # numbers that all end like months by chance are rare


def read_plain_dates(values: pa.Array) -> pa.Array | None:
    """The days, and the first days of months; None where a value is none, or they are of different forms.

    >>> read_plain_dates(pa.array(["2024-05", None, "2023/1"])).to_pylist()[::2]
    [datetime.date(2024, 5, 1), datetime.date(2023, 1, 1)]
    >>> read_plain_dates(pa.array([19900131])).to_pylist(), read_plain_dates(pa.array([19900230])) is None
    ([datetime.date(1990, 1, 31)], True)
    """
    if not (pa.types.is_integer(values.type) or _is_text(values.type)):
        return None
    known = values.drop_null()
    for form, day in ((MONTH, r"\1-\2-01"), (DIGITS, r"\1-\2-\3"), (MONTH_DIGITS, r"\1-\2-01")):
        if all_match(known, form):
            days = pc.replace_substring_regex(values.cast(pa.string()), form, day)
            return _as_days(pc.replace_substring_regex(days, "-([0-9])-", r"-0\1-"))
    return None


def is_whole_days(values: pa.Array) -> bool:
    """Return whether all values are dates of eight digits.

    >>> is_whole_days(pa.array([20240531])), is_whole_days(pa.array([202405])), is_whole_days(pa.array(["2024-05"]))
    (True, False, False)
    """
    return all_match(values, DIGITS)


def odd_among_plain_dates(values: pa.Array) -> str | None:
    """The first value that is none where most are such dates; None of other columns.

    >>> odd_among_plain_dates(pa.array([20240131, 20240201, 99999999]))
    '99999999'
    """
    known = values.drop_null()
    if not (pa.types.is_integer(values.type) or _is_text(values.type)):
        return None
    for form in (MONTH, DIGITS, MONTH_DIGITS):
        fits = pc.match_substring_regex(known.cast(pa.string()), form)
        if 2 * (pc.sum(fits).as_py() or 0) > len(known):
            odd = known.filter(pc.invert(fits))
            return str(odd[0].as_py()) if len(odd) else None
    return None


def seems_dated(name: str, values: pa.Array) -> bool:
    """Return whether a column holds undeclared dates: digits alone are months only if the name or their number shows it.

    >>> seems_dated("診療年月", pa.array([202404, 202405])), seems_dated("price", pa.array([202404, 202405]))
    (True, False)
    """
    if read_plain_dates(values) is None:
        return False
    return not all_match(values, MONTH_DIGITS) or len(values) > FEW or bool(NAMES_MONTHS.search(name))


def names_periods(texts: pa.Array) -> bool:
    """Return whether all values are months or quarters.

    >>> names_periods(pa.array(["2024-Q1", "2023-Q4"])), names_periods(pa.array(["2024"]))
    (True, False)
    """
    return _is_text(texts.type) and all_match(texts, PERIOD)


def _is_text(type_: pa.DataType) -> bool:
    return any(test(type_) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _as_days(texts: pa.Array) -> pa.Array | None:
    try:
        return pc.cast(texts, pa.date32())
    except pa.ArrowInvalid:  # the 30th of February
        return None
