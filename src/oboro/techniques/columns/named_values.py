"""A value that the recipe names, as a place on a column's line.

Recipes say `90`, `"90"`, `2020-01-31` or `"2020/1/31"`; columns count numbers, days or microseconds. A value that has
no place among the column's own is an error that says both kinds, never a comparison that silently fails.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, StrictBool

from oboro.errors import ColumnError, UsageError
from oboro.table.dataset import Column
from oboro.table.values import Kind, kind_of, numbers_of
from oboro.text import Message

__all__ = ["Value", "comparable", "kind_of_value", "place", "shown"]


def _as_written(value: Any) -> Any:
    """YAML turns unquoted dates into objects; as ISO text they are the same whichever way the recipe was read."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
    return value.isoformat() if isinstance(value, date) else value


Value = Annotated[StrictBool | int | float | str, BeforeValidator(_as_written)]

NUMBERS = (Kind.INTEGER, Kind.NUMBER)
TIMES = (Kind.DATE, Kind.DATETIME)
DAY = 86_400e6  # microseconds


def shown(value: Value) -> str:
    """As a recipe would write it.

    >>> shown(90), shown("a"), shown(True)
    ('90', "'a'", 'true')
    """
    return str(value).lower() if isinstance(value, bool) else repr(value)


def kind_of_value(value: Value) -> Kind:
    """What a value of the recipe is; text is judged by what it looks like.

    >>> kind_of_value(90), kind_of_value("2020/1/31"), kind_of_value("flu")
    (<Kind.INTEGER: 'integer'>, <Kind.DATE: 'date'>, <Kind.TEXT: 'text'>)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return Kind.INTEGER  # also those that no machine word holds
    return kind_of(pa.array([value]))


def comparable(one: Kind, other: Kind) -> bool:
    """Whether values of the two kinds lie on one line: numbers with numbers, dates with dates."""
    return any(one in family and other in family for family in (NUMBERS, TIMES))


def place(value: Value, column: Column, name: str) -> float:
    """Where the value lies on the line on which `column.numbers` counts; NaN where all its values are missing.

    Raises `ColumnError` where the two are not of one kind.
    """
    given, kind = kind_of_value(value), column.kind
    if column.values.null_count == len(column.values):
        return float("nan")
    if comparable(given, kind):
        return _place(value, given, kind)
    what = {"name": name, "kind": kind.value, "value": shown(value), "given": given.value}
    raise ColumnError(Message("error_technique.not_comparable", **what, hint=_hint(kind, value)))


def _place(value: Value, given: Kind, kind: Kind) -> float:
    if given in NUMBERS:
        number = float(numbers_of(pa.array([value]))[0]) if isinstance(value, str) else float(value)  # "90歳" is 90
        if not np.isfinite(number):
            raise UsageError(Message("error_technique.finite_bound", value=value))
        return number
    number = float(numbers_of(pa.array([value]))[0])
    if given is kind:
        return number
    return number * DAY if kind is Kind.DATETIME else number / DAY


def _hint(kind: Kind, value: Value) -> Message:
    if isinstance(value, bool) and kind is Kind.TEXT:
        return Message("error_technique.hint.boolean_word", value=shown(value))
    if kind in NUMBERS:
        return Message("error_technique.hint.number")
    if kind in TIMES:
        return Message("error_technique.hint.date")
    if kind is Kind.BOOLEAN:
        return Message("error_technique.hint.boolean")
    return Message("error_technique.hint.text", value=value)
