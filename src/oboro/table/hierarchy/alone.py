"""Labels that a value has by itself, whatever stands beside it: the values of a stream come one after the other.

Whether `12` lies in `10–19` or in `[10, 20)` is decided on a whole column, by whether others have a fraction; so is whether `1.234`
is a thousand, and how wide a mask is. Only values of one form have the same labels together as each alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable
from datetime import date
from typing import Any

from oboro.table.hierarchy.spec import HierarchySpec

__all__ = ["form_alone"]

EXACT = 1 << 53  # whole numbers below it are the same as floats
WHOLE = re.compile("-?(0|[1-9][0-9]{0,14})")
READY = {
    "postcode": re.compile("[0-9]{3}-?[0-9]{4}"),
    "age": re.compile("(0|[1-9][0-9]?)歳?"),
    "era": re.compile("(昭和|平成)[1-9][0-9]?年(1[0-2]|[1-9])月(1[0-9]|2[0-8]|[1-9])日"),
}
DAY = re.compile("[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}|[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}")


def form_alone(spec: HierarchySpec, listed: Collection[str | None] | None, value: Any) -> Hashable:
    """Equal for values that may be looked up together; where nobody knows the form, each has its own. `listed`: all values that a
    hierarchy names, if it does.

    >>> intervals = HierarchySpec(intervals=[10])
    >>> [form_alone(intervals, None, value)[1] for value in (12, 12.5, "12", "39歳")]
    ['whole', 'fraction', 'whole', '39歳']
    """
    text = value if isinstance(value, str) else str(value) if type(value) is int else None
    if listed is not None:
        form: Hashable = "listed" if text in listed else value
    elif spec.mask is not None:
        form = value if text is None else len(text)
    elif spec.japan is not None or spec.icd10 is not None:
        form = _ready_form(spec.icd10 or spec.japan or "", text) or value
    else:
        form = _number_or_day(value) or value
        form = (form, len(text)) if spec.dates is not None and form == "whole" and text is not None else form
    return type(value), form


def _number_or_day(value: Any) -> str:
    """Whether a value is a whole number, one with a fraction, or a day in a notation that can be read in one way."""
    if type(value) is int:
        return "whole" if abs(value) < EXACT else ""
    if isinstance(value, float):
        return "" if not abs(value) < EXACT else "whole" if value.is_integer() else "fraction"
    if isinstance(value, str):
        return "whole" if WHOLE.fullmatch(value) else "day" if DAY.fullmatch(value) else ""
    return "day" if type(value) is date else ""


def _ready_form(kind: str, text: str | None) -> str:
    """Whether a value has levels that nothing beside it can change: no other value is a label of its, nor it of another."""
    if text is None:
        return ""
    if kind in READY:
        return kind if READY[kind].fullmatch(text) else ""
    if kind == "address":
        from oboro.table.hierarchy.ready.addresses import lies_within_a_municipality

        return kind if lies_within_a_municipality(text) else ""
    return ""
