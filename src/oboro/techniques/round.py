"""Rounding to multiples of a base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from oboro.data.column import Column, smallest_unsigned
from oboro.data.date_columns import dates_alike
from oboro.errors import ColumnError, UsageError
from oboro.notations.kinds import Kind, numbers_of, typed
from oboro.notations.registry import format_like
from oboro.notations.texts import is_text
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import OnColumns, narrowed, places
from oboro.text import Message, Words

__all__ = ["Round"]


DAY = 86_400_000_000  # microseconds
MONDAY = -3  # 1969-12-29, in days since 1970: multiples of 7 days are Mondays


class Round(OnColumns):
    """Replace each value by a multiple of a base: a coarse number says less about a person than an exact one.

    `nearest` takes the even multiple where two are equally near; `random` goes up with the probability that keeps the
    expected value (1,300 at base 1000: to 2,000 with probability 0.3), each record on its own.

    Given: columns of numbers or dates, and a base or a number of decimal places. Dates are counted in days from Monday,
    1969-12-29 (base 7: the Mondays), date-times in days of UTC (base 0.0416667: the hours).
    Promises: every released number is a multiple of the base, less than one base from what it was (`nearest`: at most
    half); `random` is unbiased. Decimals are exact: 0.3 is a multiple of 0.1 and is written 0.3. A value that is a
    multiple already, and a missing one, stay as they are written; whole numbers stay whole unless the base is a
    fraction that does not divide 1. No group size is promised.
    Checked by: tests/techniques/test_techniques_numeric.py, against decimal arithmetic value by value.

    >>> Round(attribute="income", base=1000).apply({"income": [1499, 2500, None]})
    {'income': [1000, 2000, None]}
    >>> Round(attribute="height", digits=1, method="up").apply({"height": ["1.61", "1.80"]})
    {'height': ['1.7', '1.80']}
    """

    step: ClassVar[str] = "round"
    iso: ClassVar[Words] = Message("technique.round.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "income", "base": 1000},
        {"attribute": "age", "base": 5, "method": "random"},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "height", "base": 0.731}, hidden=("0.731",)
    )
    coarser: ClassVar[bool] = True
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.hierarchy")

    base: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Round to multiples of this; for dates a number of days."""
    digits: int | None = Field(default=None, ge=-15, le=15)
    """Round to this many decimal places; −3 rounds to thousands."""
    method: Literal["nearest", "down", "up", "random"] = "nearest"
    """nearest, down, up, or random: up or down at random, so that the expected value stays."""

    @model_validator(mode="after")
    def _one_step(self) -> Self:
        if (self.base is None) == (self.digits is None):
            raise ValueError(Message("error_technique.base_or_digits"))
        if self.base is not None and not 1e-15 <= self.base <= 1e15:
            raise ValueError(Message("error_technique.base_range"))
        return self

    @property
    def rests_on_chance(self) -> bool:
        """Up or down may be drawn."""
        return self.method == "random"

    @property
    def record_by_record(self) -> bool:
        """A value goes to its own multiple."""
        return self.method != "random"

    def run(self, work: Work) -> Outcome:
        """Find each distinct value's neighbours among the multiples; rows are only looked up."""
        work.schema.require(work.data, self.names, self.step)
        rounded, facts = {}, {}
        for name in self.names:
            column = work.data[name]
            column = dates_alike(column) if column.kind in (Kind.DATE, Kind.DATETIME) else column
            rounded[name], changed = self._rounded(column, name, work.rng)
            facts[name] = changed
        return Outcome(work.data.with_columns(rounded), work.schema, {"method": self.method, "changed": facts})

    def plan(self, schema: Schema) -> Words:
        """To what, and which way."""
        to = Message("technique.round.digits", digits=self.digits)
        if self.base is not None:
            to = Message("technique.round.multiple", base=self.base)
        return Message("technique.round.plan", columns=self.names, to=to, way=self.method)

    def _base(self) -> Decimal:
        return Decimal(1).scaleb(-self.digits) if self.digits is not None else Decimal(repr(self.base))

    def _rounded(self, column: Column, name: str, rng: np.random.Generator) -> tuple[Column, int]:
        numbers = places(column, name)
        if np.isnan(numbers).all() or (column.kind is Kind.INTEGER and not 1 % self._base()):
            return column, 0
        grid = self._grid(column, numbers, name)
        up = self._up(grid, column, rng)
        codes = column.codes.astype(smallest_unsigned(2 * numbers.size)) + np.where(up, numbers.size, 0)
        candidates = pa.concat_arrays([grid.values(grid.below), grid.values(grid.below + 1)])
        released = Column(_written(candidates, np.unique(codes), column, grid.exact), codes).tidy()
        return released, int(column.counts[~grid.exact].sum())

    def _up(self, grid: _Grid, column: Column, rng: np.random.Generator) -> np.ndarray:
        """For each row: up to the next multiple, or down."""
        if self.method == "random":
            return np.asarray(rng.random(len(column)) < grid.share[column.codes])
        up = ~grid.exact if self.method == "up" else np.zeros(grid.exact.size, dtype=bool)
        if self.method == "nearest":
            up = (grid.side > 0) | ((grid.side == 0) & (grid.below % 2 == 1))
        return np.asarray(up[column.codes])

    def _grid(self, column: Column, numbers: np.ndarray, name: str) -> _Grid:
        base, kind, missing = self._base(), column.kind, np.isnan(numbers)
        if kind in (Kind.DATE, Kind.DATETIME):
            if self.digits is not None:
                raise UsageError(Message("error_technique.dates_decimals", step=self.step, name=name))
            day = DAY if kind is Kind.DATETIME else 1
            ticks = _ticks(base) if kind is Kind.DATETIME else base
            if ticks % 1 or not ticks:
                raise UsageError(Message("error_technique.whole_days", step=self.step, name=name, base=self.base))
            counts = np.where(missing, 0, numbers).astype(np.int64)
            grid = _whole(counts, missing, int(ticks), MONDAY * day)
            return replace(grid, values=lambda steps: _dated(grid.values(steps), column))
        if kind is Kind.INTEGER and base % 1 == 0:
            return _whole(_integers(column, name), missing, int(base))
        return _decimal(_exact_floats(column, numbers), base)


@dataclass(frozen=True, eq=False)
class _Grid:
    """For each distinct value: the multiple at or below it, how far the next is, and how multiples are written."""

    below: np.ndarray
    exact: np.ndarray  # it is a multiple itself, or missing
    side: np.ndarray  # −1: nearer to the one below, 0: halfway, 1: nearer to the one above
    share: np.ndarray
    values: Callable[[np.ndarray], pa.Array]


def _whole(integers: np.ndarray, missing: np.ndarray, base: int, origin: int = 0) -> _Grid:
    below, rest = np.divmod(integers - origin, base)
    return _Grid(
        below,
        exact=(rest == 0) | missing,
        side=np.sign(rest - (base - rest)),
        share=rest / base,
        values=lambda steps: pa.array(steps * base + origin, mask=missing),
    )


def _decimal(numbers: np.ndarray, base: Decimal) -> _Grid:
    """Multiples n · p · 10⁻ᵈ as (n · p) / 10ᵈ, one correctly rounded division: 3 · 0.1 is 0.3, not 0.30000000000000004.

    A number counts as a multiple, or as halfway, where the decimal that it stands for is; so the comparisons are
    between correctly rounded decimals, not between products of rounding errors.
    """
    _, digits, exponent = base.normalize().as_tuple()
    assert isinstance(exponent, int)
    whole = float(int("".join(map(str, digits))) * 10 ** max(exponent, 0))
    unit = float(10 ** max(-exponent, 0))

    def multiple(steps: np.ndarray) -> np.ndarray:
        return np.asarray(steps * whole / unit)

    with np.errstate(over="ignore"):  # a number that large has no digits where the base has its own
        steps = numbers * unit / whole
    coarse = np.abs(steps) >= 2.0**53
    nearest = np.rint(np.where(coarse, 0, steps))
    below = np.where(multiple(nearest) <= numbers, nearest, nearest - 1)
    halfway = (2 * below + 1) * (whole * 5) / (unit * 10)
    exact = (multiple(below) == numbers) | coarse | np.isnan(numbers)
    return _Grid(
        below,
        exact,
        side=np.nan_to_num(np.sign(numbers - halfway)),
        share=np.where(exact, 0, np.clip((numbers - multiple(below)) / float(base), 0, 1)),
        values=lambda steps: pa.array(
            np.where(exact, numbers, multiple(steps)) + 0.0, from_pandas=True
        ),  # + 0.0: no −0.0
    )


def _ticks(days: Decimal) -> Decimal:
    """Days as microseconds; nearly whole seconds count as whole, so that 0.0416667 days are an hour."""
    seconds = days * 86_400
    nearest = seconds.to_integral_value()
    return (nearest if nearest and abs(seconds - nearest) < Decimal("0.01") else seconds) * 1_000_000 // 1


def _integers(column: Column, name: str) -> np.ndarray:
    """The dictionary as 64-bit integers, exactly; 0 where missing."""
    try:
        integers = pc.cast(typed(column.values), pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        integers = np.array([2**63 - 1])
    if np.abs(integers.astype(np.float64)).max() > 2**62:
        raise ColumnError(Message("error_technique.too_large_to_round", name=name))
    return np.asarray(integers, dtype=np.int64)


def _exact_floats(column: Column, numbers: np.ndarray) -> np.ndarray:
    """The float64 nearest to each value *as written*: a 32-bit 0.1 means 0.1, not 0.10000000149."""
    if is_text(column.values) or column.values.type == pa.float64() or column.kind is Kind.INTEGER:
        return numbers
    return np.array([np.nan if text is None else float(text) for text in column.texts])


def _dated(integers: pa.Array, column: Column) -> pa.Array:
    if column.kind is Kind.DATE:
        return pc.cast(pc.cast(integers, pa.int32()), pa.date32())
    zone = None if is_text(column.values) else column.values.type.tz
    return pc.cast(integers, pa.timestamp("us", zone))


def _written(candidates: pa.Array, used: np.ndarray, column: Column, exact: np.ndarray) -> pa.Array:
    """Multiples as the column writes its values: text as text, numbers in its type where that holds them.

    What was a multiple before stays exactly as it was written (`1.50` at base 0.5).
    """
    values = column.values
    own = pc.if_else(pa.array(exact), values, pa.nulls(len(values), values.type))
    own = pa.concat_arrays([own, own])
    if is_text(column.values):
        return pc.coalesce(own, _as_found(candidates, column, exact), _rendered(candidates, column))
    unused = np.ones(len(candidates), dtype=bool)
    unused[used] = False  # 260, which nobody is rounded to, must not widen a column of bytes
    array = narrowed(pc.if_else(pa.array(unused), None, candidates), values.type)
    return pc.coalesce(own, array) if array.type == values.type and column.kind is not Kind.DATETIME else array


def _as_found(candidates: pa.Array, column: Column, exact: np.ndarray) -> pa.Array:
    """For each multiple the text that the column has for it, if it has one.

    Otherwise who was rounded to 1.5 could be told from who was at 1.50 before.
    """
    known = pc.and_(pa.array(exact), column.values.is_valid())
    kept = column.values.filter(known)
    if not len(kept):
        return pa.nulls(len(candidates), column.values.type)
    read = typed(column.values, column.kind).filter(known)  # a part of the texts could be read otherwise than the whole
    return kept.take(pc.index_in(candidates, value_set=pc.cast(read, candidates.type)))


def _rendered(values: pa.Array, column: Column) -> pa.Array:
    """Text in the form that the column uses: dates with its separator, times with its T and Z."""
    if column.kind in (Kind.INTEGER, Kind.NUMBER):
        texts = format_like(values, column.values)
        return pc.cast(values, pa.string()) if texts is None else texts
    example = next((text for text in column.texts if text is not None), "")
    if column.kind is Kind.DATETIME:
        texts = pc.cast(narrowed(values, pa.timestamp("s")) if _whole_seconds(values) else values, pa.string())
        texts = pc.replace_substring(texts, " ", example[10])
        return pc.binary_join_element_wise(texts, "Z", "") if example.endswith("Z") else texts
    texts = pc.cast(values, pa.string())
    return pc.replace_substring(texts, "-", "/") if "/" in example else texts


def _whole_seconds(times: pa.Array) -> bool:
    return not (numbers_of(times)[times.is_valid().to_numpy(zero_copy_only=False)] % 1e6).any()
