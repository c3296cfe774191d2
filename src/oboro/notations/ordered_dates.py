"""Ordered dates: dates whose order of day and month only the whole column shows: `12/31/1990`, `31/12/1990`, `1/5/1990
2:05 PM`.

A first number above 12 can only be a day, so every value has its day first; a second one above 12, and every value
has its month first. A column with both, or with neither, is text until a recipe says the order (`date_order`): no
value is read in an order of its own. A date with dots has its day first, as most of Europe writes it. One that begins
with its year needs no order. A year has four digits.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.notations.texts import all_match, integers_of
from oboro.text import Message, Raw

__all__ = [
    "FORM",
    "DateOrder",
    "certain_order",
    "order_matters",
    "read_in_order",
    "read_years",
    "unclear_order",
    "why_no_order",
]


DateOrder = Literal["day_first", "month_first"]
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:\.[0-9]{1,6})?))?"
_TIME = rf"(?:[ T]{_CLOCK}(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?"
# The year begins with 1 or 2: a code such as 10-20-3040 is no date.
_OPEN = r"(?P<one>[0-9]{1,2})(?:/(?P<two>[0-9]{1,2})/|-(?P<dash>[0-9]{1,2})-)(?P<year>[12][0-9]{3})"
_DOTTED = r"(?P<dot_day>[0-9]{1,2})\.(?P<dot_month>[0-9]{1,2})\.(?P<dot_year>[0-9]{4})"
_NAMED = r"(?P<year4>[0-9]{4})(?:/(?P<month4>[0-9]{1,2})/|-(?P<month5>[0-9]{1,2})-)(?P<day4>[0-9]{1,2})"
FORM = rf"^(?:{_OPEN}|{_DOTTED}|{_NAMED}){_TIME}$"
OPEN = r"^[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{4}\b"
SHORT_YEAR = r"^[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{2}( |$)"
SECOND_IS_DAY = r"^([0-9]{1,2})[/-](1[3-9]|[23][0-9])[/-]"
LAST_MONTH = 12


def read_in_order(texts: pa.Array, order: DateOrder | None = None) -> pa.Array | None:
    """The values as days, or as moments where all have a time; None where one is no date, or their order is not certain. O(n).

    >>> read_in_order(pa.array(["12/31/1990", "1/5/1990", None])).to_pylist()
    [datetime.date(1990, 12, 31), datetime.date(1990, 1, 5), None]
    >>> read_in_order(pa.array(["1/5/1990"])) is None, read_in_order(pa.array(["1/5/1990"]), "day_first").to_pylist()
    (True, [datetime.date(1990, 5, 1)])
    """
    known = texts.drop_null().cast(pa.string())
    if not all_match(known, FORM):
        return None
    parts = _parts(texts.cast(pa.string()))
    order = order or _certain(parts)
    try:
        return None if order is None else _moments(parts, order)
    except pa.ArrowInvalid:  # looks like a date and is none: 31 June, half past 25
        return None


def order_matters(texts: pa.Array) -> bool:
    """Return whether some value has a day and a month of which only an order tells which is which."""
    return bool(pc.any(pc.match_substring_regex(texts.cast(pa.string()), OPEN)).as_py())


def certain_order(texts: pa.Array) -> DateOrder | None:
    """Return the first part of every value, day or month, if it matters and the column shows it; else None.

    >>> certain_order(pa.array(["12/31/1990", "1/5/1990"])), certain_order(pa.array(["1990-12-31"]))
    ('month_first', None)
    """
    if not order_matters(texts) or read_in_order(texts) is None:
        return None
    return _certain(_parts(texts.cast(pa.string())))


def read_years(texts: pa.Array) -> pa.Array | None:
    """The first day of each value's year, which no order of day and month changes; None where a value is no date in any order.

    >>> read_years(pa.array(["1/5/1990", "12/31/1991", "31/12/1992", None])).to_pylist()[0]
    datetime.date(1990, 1, 1)
    """
    known = texts.drop_null().cast(pa.string())
    swapped = pc.replace_substring_regex(known, SECOND_IS_DAY, r"\2/\1/")
    if not all_match(known, FORM) or not order_matters(known) or read_in_order(swapped, "day_first") is None:
        return None
    years = pc.extract_regex(texts.cast(pa.string()), "(?P<year>[0-9]{4})")
    return pc.cast(_joined("-", pc.struct_field(years, "year"), pa.scalar("01-01")), pa.date32())


def why_no_order(texts: pa.Array) -> Message | None:
    """Explain why a column that looks like dates is text, with an example value."""
    found = unclear_order(texts)
    if found is None:
        return None
    return Message(f"error_dates.{found[0]}", **{name: Raw(text) for name, text in found[1].items()})


def unclear_order(texts: pa.Array) -> tuple[str, dict[str, str]] | None:
    """Explain why a column that looks like dates is none, with an example value; None for any other column."""
    known = texts.drop_null().cast(pa.string())
    if all_match(known, SHORT_YEAR):
        return "short_years", {"value": known[0].as_py()}
    if not all_match(known, FORM) or not order_matters(known):
        return None
    parts = _parts(known)
    first, second = (np.flatnonzero(integers_of(parts[name]) > LAST_MONTH) for name in ("one", "two"))
    if not first.size and not second.size:
        return "no_order", {}
    if first.size and second.size:
        return "two_orders", {"day_first": known[int(first[0])].as_py(), "month_first": known[int(second[0])].as_py()}
    return None


def _parts(texts: pa.Array) -> dict[str, pa.Array]:
    """The parts of each text by name; what a text lacks is missing."""
    found = pc.extract_regex(texts, FORM)
    named = {name: pc.struct_field(found, name) for name in (field.name for field in found.type)}
    part = {name: pc.if_else(pc.equal(one, ""), None, one) for name, one in named.items()}
    return part | {"two": pc.coalesce(part["two"], part["dash"])}


def _certain(part: dict[str, pa.Array]) -> DateOrder | None:
    """The one order in which every value can be read; any of them where none needs one."""
    day_first, month_first = (bool((integers_of(part[name]) <= LAST_MONTH).all()) for name in ("two", "one"))
    if part["one"].null_count == len(part["one"]):
        return "day_first"
    if day_first == month_first:
        return None
    return "day_first" if day_first else "month_first"


def _moments(part: dict[str, pa.Array], order: DateOrder) -> pa.Array | None:
    """Days where no value has a time, moments where all have one; None where only some do."""
    day, month = ("one", "two") if order == "day_first" else ("two", "one")
    year = pc.coalesce(part["year"], part["dot_year"], part["year4"])
    month = pc.coalesce(part[month], part["dot_month"], part["month4"], part["month5"])
    days = _joined("-", year, _two(month), _two(pc.coalesce(part[day], part["dot_day"], part["day4"])))
    if part["hour"].null_count == len(days):
        return pc.cast(days, pa.date32())
    if part["hour"].null_count > days.null_count:
        return None
    clock = _joined(":", _hours(part), part["minute"], pc.coalesce(part["second"], pa.scalar("00")))
    return pc.cast(_joined("T", days, clock), pa.timestamp("us"))


def _joined(mark: str, *parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, mark)


def _two(texts: pa.Array) -> pa.Array:
    return pc.utf8_lpad(texts, 2, "0")


def _hours(part: dict[str, pa.Array]) -> pa.Array:
    """Hours from 00 to 23; of twelve hours, the twelfth comes first. What no clock shows becomes 99, which is no hour."""
    hour, half = integers_of(part["hour"]), pc.utf8_lower(part["half"])
    twelve = half.is_valid().to_numpy(zero_copy_only=False)
    late = pc.equal(half, "p").fill_null(False).to_numpy(zero_copy_only=False)
    counted = np.where(twelve, hour % 12 + 12 * late, hour)
    counted = np.where(twelve & ((hour < 1) | (hour > 12)), 99, counted)
    return pc.if_else(part["hour"].is_valid(), _two(pc.cast(pa.array(counted), pa.string())), None)
