"""Top and bottom coding: very large or very small values are replaced by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from oboro._lazy import loaded_later
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.date_columns import dates_alike
from oboro.data.matching import Value, kind_of_value, place, shown
from oboro.errors import ColumnError
from oboro.notations.kinds import Kind, from_numbers
from oboro.notations.registry import format_like
from oboro.notations.texts import texts_of
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["Coding", "TopCode"]


if TYPE_CHECKING:
    from oboro.algorithms.outliers import Outliers
else:
    (Outliers,) = loaded_later("oboro.algorithms.outliers", "Outliers")

DATED = (Kind.DATE, Kind.DATETIME)
WHOLE = (Kind.INTEGER, Kind.DATE)
# What is replaced, at the top or not, by a label or not: a label such as "90+" covers the bound too.
BEYOND: Mapping[tuple[bool, bool], Callable[[np.ndarray, float], np.ndarray]] = {
    (True, True): np.greater_equal,
    (True, False): np.greater,
    (False, True): np.less_equal,
    (False, False): np.less,
}


class Coding(Technique):
    """What top and bottom coding share: finding the bound, and writing it."""

    top: ClassVar[bool]
    iso: ClassVar[Words] = Message("technique.top_code.iso")
    coarser: ClassVar[bool] = True
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.hierarchy")

    attribute: str
    """The column; it holds numbers or dates."""
    at: Value | None = None
    """The bound: a number, or a date such as 2020-01-31."""
    percentile: float | None = Field(default=None, gt=0, lt=100)
    """The bound is this percentile of the column (nearest rank, missing values left out)."""
    outliers: Outliers | None = None
    """The bound is where the column's outliers begin (method robust_z or iqr)."""
    label: str | None = Field(default=None, min_length=1)
    """Write this text instead of the bound (for the bound itself too), for example 90+; the column becomes text."""

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at, self.percentile, self.outliers).count(None) != 2:
            raise ValueError(Message("error_technique.one_bound"))
        if self.outliers is not None and self.outliers.method not in ("robust_z", "iqr"):
            raise ValueError(Message("error_technique.no_bound", method=self.outliers.method))
        if self.outliers is not None and set(self.outliers.attributes or ()) - {self.attribute}:
            raise ValueError(Message("error_technique.bound_of", attribute=self.attribute))
        return self

    @property
    def record_by_record(self) -> bool:
        """Only where the bound does not come from the column."""
        return self.at is not None

    def run(self, work: Work) -> Outcome:
        """Decide on the dictionary; rows are only looked up."""
        work.schema.require(work.data, [self.attribute], self.step)
        column = work.data[self.attribute]
        column = dates_alike(column) if column.kind in DATED else column
        numbers = column.numbers(self.attribute)
        bound = self._bound(work.data, column, numbers)
        beyond = BEYOND[self.top, self.label is not None](numbers, bound)
        coded = (
            self._labelled(column, beyond) if self.label is not None else self._moved(column, numbers, beyond, bound)
        )
        facts = {
            "attribute": self.attribute,
            "bound": _plain(bound, column.kind),
            "records": work.data.rows,
            "coded": int(column.counts[beyond].sum()),
        }
        return Outcome(work.data.with_columns({self.attribute: coded}), work.schema, facts)

    def _bound(self, data: Dataset, column: Column, numbers: np.ndarray) -> float:
        """Where the line is cut; NaN (nothing lies beyond) where every value is missing."""
        if self.at is not None:
            bound = place(self.at, column, self.attribute)
            if self.label is None and column.kind in WHOLE and not np.isnan(bound) and not bound.is_integer():
                whole = column.kind is Kind.INTEGER
                id = "error_technique.whole_bound" if whole else "error_technique.day_bound"
                raise ColumnError(Message(id, name=self.attribute, bound=shown(self.at)))
            return bound
        if self.percentile is not None:
            return _percentile(numbers, column.counts, self.percentile)
        assert self.outliers is not None
        low, high = self.outliers.bounds(data, self.attribute)
        bound = high if self.top else low
        if self.label is not None or column.kind is Kind.NUMBER or not np.isfinite(bound):
            return bound
        return float(floor(bound) if self.top else ceil(bound))  # towards the rest: no whole value lies between

    def _labelled(self, column: Column, beyond: np.ndarray) -> Column:
        if not beyond.any():
            return Column(pa.array(column.texts, pa.string()), column.codes)
        texts = pa.array([*column.texts, self.label], pa.string())
        return column.recode(np.where(beyond, len(beyond), np.arange(len(beyond))), texts)

    def _moved(self, column: Column, numbers: np.ndarray, beyond: np.ndarray, bound: float) -> Column:
        """With the bound as the column writes it, if it does: else those moved there could be told from those there."""
        if not beyond.any():
            return column
        values, codes = column.values, np.arange(len(beyond))
        same = np.flatnonzero(numbers == bound)
        if same.size == 0:
            values = pa.concat_arrays([values, self._written(bound, column)])
        return column.recode(np.where(beyond, same[0] if same.size else len(codes), codes), values)

    def _written(self, bound: float, column: Column) -> pa.Array:
        type_ = column.values.type
        value = from_numbers(np.array([bound]), column.kind)
        if pa.types.is_string(type_) or pa.types.is_large_string(type_):
            as_given = isinstance(self.at, str) and kind_of_value(self.at) is column.kind
            numeric = column.kind in (Kind.INTEGER, Kind.NUMBER)
            alike = format_like(value, column.values) if numeric and not as_given else None
            return (
                pa.array([self.at if as_given else texts_of(value)[0]], type_) if alike is None else alike.cast(type_)
            )
        try:
            return value.cast(type_)
        except pa.ArrowInvalid:
            raise ColumnError(
                Message(
                    "error_technique.bound_type", attribute=self.attribute, bound=texts_of(value)[0], type=str(type_)
                )
            ) from None

    def plan(self, schema: Schema) -> Words:
        """Which values become what."""
        told: dict[str, Any] = {"column": self.attribute, "bound": self._bound_told()}
        if self.label is not None:
            id = "technique.top_code.plan_label" if self.top else "technique.bottom_code.plan_label"
            return Message(id, **told, label=self.label)
        return Message("technique.top_code.plan" if self.top else "technique.bottom_code.plan", **told)

    def _bound_told(self) -> Words:
        if self.at is not None:
            return shown(self.at)
        if self.percentile is not None:
            return Message("technique.top_code.percentile", percentile=self.percentile)
        assert self.outliers is not None
        return Message("technique.top_code.outliers", method=self.outliers.method)


class TopCode(Coding):
    """Replace every value above a bound by the bound, or from the bound on by a label: large values single people out.

    Given: a column of numbers or dates and a bound: `at` a value, at a `percentile`, or where `outliers` begin. The
    percentile is the nearest rank: the value at place ⌈percentile · records / 100⌉ among those that have one, in
    order. Numbers are compared as float64: exact up to 2**53.
    Promises: no value above the bound is left; with a label none from the bound on. Every other value, missing ones
    included, is exactly as it was; whole numbers stay whole, dates dates, and without a label the column's type stays.
    Checked by: tests/techniques/test_top_code.py, against a comparison row by row.

    >>> TopCode(attribute="age", at=90).apply({"age": [31, 97, None]})
    {'age': [31, 90, None]}
    >>> TopCode(attribute="age", at=90, label="90+").apply({"age": [31, 90, 97]})
    {'age': ['31', '90+', '90+']}
    """

    step: ClassVar[str] = "top_code"
    by_value: ClassVar[bool] = True
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "age", "at": 60},
        {"attribute": "income", "percentile": 90},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "income", "at": 76543}, hidden=("76543", "76,543", "76.5")
    )
    top: ClassVar[bool] = True


def _percentile(numbers: np.ndarray, counts: np.ndarray, percentile: float) -> float:
    """The nearest-rank percentile over rows, from distinct numbers and their counts; NaN where there are none."""
    order = np.argsort(numbers)[: int((~np.isnan(numbers)).sum())]  # NaN sorts last
    upto = np.cumsum(counts[order])
    if order.size == 0:
        return float("nan")
    rank = ceil(Fraction(repr(percentile)) * int(upto[-1]) / 100)  # exact: 7 % of 100 is the 7th, not the 8th
    return float(numbers[order[np.searchsorted(upto, rank)]])


def _plain(bound: float, kind: Kind) -> Any:
    """The bound for a report: a number, or a date as text."""
    if not np.isfinite(bound):
        return None
    if kind in (Kind.DATE, Kind.DATETIME):
        return texts_of(from_numbers(np.array([bound]), kind))[0]
    return int(bound) if bound.is_integer() else bound
