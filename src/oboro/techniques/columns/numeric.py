"""What the techniques for numbers and dates share: naming columns, reading places on a line, and writing them back."""

from __future__ import annotations

from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from oboro.errors import ColumnError
from oboro.table.dataset import Column
from oboro.table.spelling.decimal_commas import has_decimal_commas, with_decimal_commas
from oboro.table.spelling.value_texts import is_text
from oboro.table.values import Kind, from_numbers
from oboro.techniques.base import Technique
from oboro.text import Message

__all__ = ["DAY", "OnColumns", "differing", "is_date", "narrowed", "places", "written"]

# The calendar of Python and of most files: the years 1 to 9999, in days since 1970.
FIRST_DAY, LAST_DAY = -719_162.0, 2_932_896.0
DAY = 86_400e6  # microseconds
LARGEST = 2.0**63 - 1024  # the largest float64 that an int64 holds


class OnColumns(Technique):
    """A technique for one column (`attribute`) or several (`attributes`)."""

    attribute: str | None = None
    """The column."""
    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The columns, where there are several."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        if (self.attribute is None) == (self.attributes is None):
            raise ValueError(Message("error_technique.attribute_or_list"))
        if len(set(self.names)) < len(self.names):
            raise ValueError(Message("error_technique.column_twice", names=list(self.names)))
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, one or several."""
        return self.attributes or ((self.attribute,) if self.attribute is not None else ())


def is_date(column: Column) -> bool:
    """Whether the values are dates, with or without a time."""
    return column.kind in (Kind.DATE, Kind.DATETIME)


def places(column: Column, name: str) -> np.ndarray:
    """Where each distinct value lies on the line, NaN where missing; an infinite number is an error."""
    numbers = column.numbers(name)
    if np.isinf(numbers).any():
        raise ColumnError(Message("error_technique.infinite", name=name))
    return numbers


def written(numbers: np.ndarray, column: Column, name: str) -> pa.Array:
    """Places on the line as values of the column's kind: whole numbers and dates rounded half to even, NaN as missing.

    Text becomes numbers or dates; with decimal commas it stays text and keeps them. Numbers from text have two places more than the
    finest of these, at least four: more would only look exact. A numeric type is kept where it can hold the values.
    """
    kind = column.kind
    if kind is Kind.INTEGER:
        numbers = np.clip(numbers, -LARGEST, LARGEST)
    if is_date(column):
        unit = DAY if kind is Kind.DATETIME else 1.0
        if (np.rint(numbers / unit) < FIRST_DAY).any() or (np.rint(numbers / unit) > LAST_DAY).any():
            raise ColumnError(Message("error_technique.years", name=name))
    array = from_numbers(numbers, kind)
    if kind is Kind.DATETIME and pa.types.is_timestamp(column.values.type) and column.values.type.tz:
        # From the count, not from the zoneless time: a cast of that would be free to take it for local time.
        array = pc.cast(pc.cast(array, pa.int64()), pa.timestamp("us", column.values.type.tz))
    if is_text(column.values):
        return (
            with_decimal_commas(array, column.values)
            if has_decimal_commas(column.values)
            else _shortened(array, column)
        )
    return narrowed(array, column.values.type)


def _shortened(array: pa.Array, column: Column) -> pa.Array:
    """Numbers with few places more than the texts of the column have; those with an exponent may need all."""
    texts = column.values.drop_null()
    if column.kind is not Kind.NUMBER or pc.any(pc.match_substring_regex(texts, "[eE]")).as_py():
        return array
    behind = pc.struct_field(pc.extract_regex(texts, r"(?:[.,](?P<places>[0-9]+))?[^0-9]*$"), "places")
    return pc.round(array, ndigits=max(4, 2 + pc.max(pc.utf8_length(behind)).as_py()))


def narrowed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The values in the type that the column had, where it can hold them all."""
    if pa.types.is_null(type_):
        return array
    try:
        # Fractions of a second that the type cannot hold are cut off; a number that it cannot hold is not.
        return pc.cast(array, type_, safe=not pa.types.is_timestamp(type_))
    except pa.ArrowInvalid:
        return array


def differing(before: np.ndarray, after: np.ndarray) -> int:
    """How many cells changed; missing equals missing."""
    return int(np.count_nonzero((before != after) & ~(np.isnan(before) & np.isnan(after))))
