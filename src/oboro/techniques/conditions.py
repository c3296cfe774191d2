"""Conditions on the values of a column, evaluated once for each distinct value and never row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field, field_validator, model_validator

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.data.matching import Value, absent, equal_values, near_values, place, shown
from oboro.data.parameters import Parameters
from oboro.notations.texts import booleans, text_values
from oboro.text import Message

__all__ = ["Bounds", "Condition", "RarerThan"]


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "above": np.greater,
    "below": np.less,
    "at_least": np.greater_equal,
    "at_most": np.less_equal,
}


class Condition(Parameters):
    """What must hold of a value; where several are given, all must.

    A missing value is above, below and equal to nothing; it does differ from every value, so `not_equals` and `not_in`
    hold for it (add `missing: false` to leave it out). Numbers are compared as float64: exact up to 2**53.

    >>> Condition(above=40).holds(Column.of([39, 40, 41, None]), "age").tolist()
    [False, False, True, False]
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    above: Value | None = None
    """Greater than this number, or later than this date."""
    below: Value | None = None
    """Less than this number, or earlier than this date."""
    at_least: Value | None = None
    """This number or date, or beyond it."""
    at_most: Value | None = None
    """This number or date, or before it."""
    equals: Value | None = None
    """Exactly this value."""
    not_equals: Value | None = None
    """Any other value, missing included."""
    among: tuple[Value, ...] | None = Field(default=None, alias="in", min_length=1)
    """One of these values."""
    not_in: tuple[Value, ...] | None = Field(default=None, min_length=1)
    """None of these values; a missing value is none of them."""
    missing: bool | None = None
    """true: the value is missing; false: it is not."""
    matches: str | None = None
    """A regular expression (RE2) that occurs in the text; anchor it with ^ and $ for the whole text."""

    @field_validator("matches")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                pc.match_substring_regex(pa.array([""]), pattern)
            except pa.ArrowInvalid as problem:
                raise ValueError(
                    Message("error_technique.regular_expression", pattern=pattern, problem=str(problem))
                ) from None
        return pattern

    @model_validator(mode="after")
    def _says_something(self) -> Condition:
        if not self.model_dump(exclude_none=True):
            allowed = [field.alias or name for name, field in type(self).model_fields.items()]
            raise ValueError(Message("error_technique.empty_condition", allowed=allowed))
        return self

    def holds(self, column: Column, name: str) -> np.ndarray:
        """For each entry of the column's dictionary, whether the condition holds; `name` is for the error message."""
        result = np.ones(len(column.values), dtype=bool)
        for operator, compare in _COMPARE.items():
            if (said := getattr(self, operator)) is not None:
                bound = place(said, column, name)
                result &= compare(column.numbers(name), bound)
        if self.equals is not None:
            result &= equal_values(column, name, [self.equals])
        if self.not_equals is not None:
            result &= ~equal_values(column, name, [self.not_equals])
        if self.among is not None:
            result &= equal_values(column, name, self.among)
        if self.not_in is not None:
            result &= ~equal_values(column, name, self.not_in)
        if self.missing is not None:
            result &= booleans(column.values.is_null()) == self.missing
        if self.matches is not None:
            found = pc.match_substring_regex(text_values(column.values), self.matches)
            result &= booleans(found.fill_null(False))
        return result

    def warnings(self, column: Column, name: str) -> list[Message]:
        """What it names and no row has: a typing error, or a value that this table happens to lack."""
        given = (*(self.among or ()), *(self.not_in or ()), self.equals, self.not_equals)
        if given == (None, None):
            return []
        named = [value for value in given if value is not None]
        lacking = [(value, near_values(value, column)) for value in absent(column, name, named)]
        return [
            Message("technique.condition.absent_near", column=name, value=shown(value), near=near)
            if near
            else Message("technique.condition.absent", column=name, value=shown(value))
            for value, near in lacking
        ]

    def plan(self, name: str) -> list[Message]:
        """What must hold of a column, one by one.

        >>> [str(one) for one in Condition(above=90, missing=False).plan("age")]
        ["'age' is above 90", "'age' is not missing"]
        """
        given = {operator: getattr(self, operator) for operator in type(self).model_fields}
        return [_told(name, operator, value) for operator, value in given.items() if value is not None]


def _told(name: str, operator: str, value: Any) -> Message:
    if operator == "missing":
        return Message("technique.condition.missing" if value else "technique.condition.present", column=name)
    if operator in ("among", "not_in"):
        return Message(f"technique.condition.{operator}", column=name, value=[shown(one) for one in value])
    return Message(
        f"technique.condition.{operator}", column=name, value=repr(value) if operator == "matches" else shown(value)
    )


# Rare combinations ----------------------------------------------------------------------------------------------------
# Combinations of values that few records share.


class RarerThan(Parameters):
    """Combinations of values that occur too rarely."""

    attributes: tuple[str, ...] = Field(min_length=1)
    """The columns whose combination is counted; a missing value is a value like any other."""
    count: int = Field(ge=2)
    """Combinations that fewer records share are rare."""

    def find(self, data: Dataset) -> np.ndarray:
        """One boolean per row: its combination is rare."""
        groups = Groups.of([data[name] for name in self.attributes], data.rows)
        return groups.row_sizes() < self.count


# Value bounds ---------------------------------------------------------------------------------------------------------
# The range of the values that may be released.


class Bounds(Parameters):
    """The range of possible values: no age below 0, no date in the future."""

    min: Value | None = None
    """The least value that may be released."""
    max: Value | None = None
    """The largest value that may be released."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError(Message("error_technique.min_or_max"))
        return self
