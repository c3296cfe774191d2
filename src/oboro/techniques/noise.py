"""Noise on numbers and dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from oboro._lazy import loaded_later
from oboro.data.column import Column
from oboro.data.matching import place
from oboro.errors import ColumnError, InputError, UsageError
from oboro.notations.kinds import Kind, from_numbers
from oboro.schema import Opinion, PrivacySpent, Schema, Traits
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import DAY, OnColumns, differing, is_date, narrowed, places, written
from oboro.text import Message, Words

__all__ = ["Noise"]


if TYPE_CHECKING:
    from oboro.techniques.conditions import Bounds
else:
    (Bounds,) = loaded_later("oboro.techniques.conditions", "Bounds")

LARGEST = 1e150


class Noise(OnColumns):
    """Add a random amount to each value, or multiply by one: nobody can look an exact value up in another table.

    `correlated` draws the noise of all columns together from N(0, relative² · Σ), where Σ is their covariance (over
    records without a missing value): the covariance of the release is (1 + relative²) · Σ in expectation and
    correlations stay (Kim 1986). `rescale` then draws values towards the mean by √(1 + relative²), so that the
    covariance itself stays in expectation; without `correlated` it keeps each column's variance. Values beyond `bounds`
    are reflected at them, not cut off: cutting would heap values on the bound.

    With `epsilon` the noise is a mechanism of differential privacy: values are cut off at `bounds`, whose width is what a value can
    differ by, and discrete Laplace noise (with `delta`, Gaussian) hides which of the possible values a record has. Mechanism and
    account are OpenDP's; the draws come from the system, not from the seed.

    Given: columns of numbers or dates (the scale of dates is in days).
    Promises: nothing about who can be found; with `epsilon`, (ε, δ)-differential privacy of each value, given that it is there
    (docs/guarantees/differential-privacy.md). Missing values stay missing, whole numbers whole (with `epsilon`: if
    `numbers` says so), dates dates, and nothing lies outside `bounds`. The noise has mean 0 (bounds and rounding to whole numbers
    change it a little).
    Checked by: tests/techniques/test_techniques_numeric.py: means, variances and covariances of large samples, and reflection case
    by case; tests/techniques/test_private_noise.py: distributions of neighbouring values, and OpenDP's account against others.

    >>> Noise(attribute="age", scale=2, bounds={"min": 0}).apply({"age": [1, 44, None]}, seed=1)
    {'age': [2, 46, None]}
    """

    step: ClassVar[str] = "noise"
    iso: ClassVar[Words] = Message("technique.noise.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "income", "relative": 0.1},
        {"attributes": ["age", "income"], "correlated": True, "relative": 0.2},
        {
            "attribute": "age",
            "distribution": "laplace",
            "epsilon": 1,
            "bounds": {"min": 0, "max": 100},
            "numbers": "whole",
        },
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "income", "scale": 4321.5}, hidden=("4321.5", "4,321", "4322")
    )
    random: ClassVar[bool] = True
    opinion: ClassVar[Opinion | None] = "noise"

    distribution: Literal["gaussian", "laplace"] = "gaussian"
    """gaussian, or laplace (heavier tails)."""
    scale: float | None = Field(default=None, gt=0, le=1e100)
    """The distribution's scale: standard deviation (gaussian) or b (laplace), in the column's unit; dates in days."""
    relative: float | None = Field(default=None, gt=0, le=1e6)
    """The standard deviation of the noise, relative to that of the column (multiplicative: to each value)."""
    epsilon: float | None = Field(default=None, ge=1e-3, le=20)
    """Instead of scale: the budget of differential privacy for each value of each column. Needs `bounds` with both ends."""
    delta: float | None = Field(default=None, gt=0, le=0.01)
    """With epsilon and gaussian noise: with which probability more may be told."""
    numbers: Literal["whole", "any"] = "any"
    """With epsilon: `whole` rounds all values to whole numbers, before and after. One value must not change how all are written."""
    multiplicative: bool = False
    """Multiply each value by 1 + noise: large values change more than small ones."""
    correlated: bool = False
    """Draw the noise of all columns together, with the correlations of the columns. Needs gaussian noise and relative."""
    rescale: bool = False
    """Shrink the values towards the mean so that variances (correlated: covariances) stay as they were."""
    bounds: Bounds | dict[str, Bounds] | None = None
    """The least and the largest value allowed: for all columns, or by column. Values beyond a bound are reflected at it."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.scale, self.relative, self.epsilon).count(None) != 2:
            raise ValueError(Message("error_technique.scale_or_relative"))
        if self.epsilon is not None:
            self._require_private()
        elif self.delta is not None:
            raise ValueError(Message("error_technique.noise_delta"))
        elif "numbers" in self.model_fields_set:
            raise ValueError(Message("error_technique.noise_numbers"))
        if self.correlated and (len(self.names) < 2 or self.relative is None or self.distribution != "gaussian"):
            raise ValueError(Message("error_technique.correlated_needs"))
        if self.multiplicative and (self.correlated or self.rescale):
            raise ValueError(Message("error_technique.added_only"))
        if self.bounds == {}:
            raise ValueError(Message("error_technique.bounds_min_or_max"))
        if isinstance(self.bounds, dict) and (unknown := [name for name in self.bounds if name not in self.names]):
            raise ValueError(Message("error_technique.no_noise", unknown=unknown, names=list(self.names)))
        return self

    def _require_private(self) -> None:
        """What noise needs to be a mechanism of differential privacy."""
        if self.multiplicative or self.correlated or self.rescale:
            raise ValueError(Message("error_technique.noise_private_alone"))
        if (self.distribution == "gaussian") != (self.delta is not None):
            raise ValueError(Message("error_technique.noise_delta"))
        if any(one is None or one.min is None or one.max is None for one in map(self._bounds, self.names)):
            raise ValueError(Message("error_technique.noise_private_bounds"))

    @property
    def traits(self) -> Traits:
        """As the class says; with epsilon it promises something by construction."""
        told = Message("technique.noise.by_construction") if self.epsilon is not None else None
        return replace(super().traits, by_construction=told)

    @property
    def rests_on_chance(self) -> bool:
        """On chance that a seed repeats, unless it is drawn by the system."""
        return self.epsilon is None

    def spends(self) -> tuple[PrivacySpent, ...]:
        """Its budget for each column, of a value being this or that."""
        if self.epsilon is None:
            return ()
        return tuple(PrivacySpent("value", self.epsilon, self.delta or 0.0, (name,)) for name in self.names)

    def cannot_count_people(self) -> Message | None:
        """The budget is that of one row's value."""
        return None if self.epsilon is None else Message("technique.noise.not_people")

    @property
    def record_by_record(self) -> bool:
        """Only where the amount of noise does not come from the column."""
        return self.relative is None

    def run(self, work: Work) -> Outcome:
        """One draw per cell. O(rows · columns²) with `correlated`, else O(rows · columns)."""
        work.schema.require(work.data, self.names, self.step)
        columns = list(work.data.select(self.names).columns.values())
        before = np.stack(list(map(_cells, columns, self.names)), axis=1)
        if large := list(compress(self.names, (np.abs(before) > LARGEST).any(axis=0))):
            raise ColumnError(Message("error_technique.too_large", large=large))
        if self.epsilon is not None:
            return self._private(work, before, columns)
        after, deviations = self._noisy(before, columns, work.rng)
        released, changed = {}, {}
        for j, (name, column) in enumerate(zip(self.names, columns, strict=True)):
            if np.isnan(before[:, j]).all():
                continue
            numbers = after[:, j]
            if self.bounds is not None:
                numbers = reflect(numbers, *self._ends(column, name))
            released[name] = Column.encode(written(numbers, column, name))
            changed[name] = differing(before[:, j], released[name].numbers(name)[released[name].codes])
        facts = {"distribution": self.distribution, "changed": changed, "standard_deviation": deviations}
        return Outcome(work.data.with_columns(released), work.schema, facts)

    def _private(self, work: Work, before: np.ndarray, columns: list[Column]) -> Outcome:
        """Noise of a mechanism, within what bounds allow; a missing value stays missing."""
        from oboro.algorithms.private_sampling import noised

        released, scales = {}, {}
        for j, (name, came) in enumerate(zip(self.names, columns, strict=True)):
            column = self._as_said(came, before[:, j])
            low, high = self._ends(column, name)
            there = ~np.isnan(before[:, j])
            assert self.epsilon is not None
            whole, numbers = column.kind is not Kind.NUMBER, before[:, j].copy()
            inside = np.clip(numbers[there], low, high)
            numbers[there] = noised(inside, high - low, self.epsilon, self.delta, whole=whole)
            scales[name] = high - low
            if there.any():
                released[name] = Column.encode(written(reflect(numbers, low, high), column, name))
        facts = {"distribution": self.distribution, "epsilon": self.epsilon, "delta": self.delta, "width": scales}
        warned = (Message("technique.noise.not_private"),)
        return Outcome(work.data.with_columns(released), work.schema, facts, warnings=warned)

    def _as_said(self, column: Column, numbers: np.ndarray) -> Column:
        """The column as the recipe says it: were it as its values are, one with a fraction would change all that is released."""
        if is_date(column):
            return column
        if self.numbers == "any":
            return Column.encode(from_numbers(numbers, Kind.NUMBER))
        whole = from_numbers(np.rint(numbers), Kind.INTEGER)
        return Column.encode(narrowed(whole, column.values.type) if pa.types.is_integer(column.values.type) else whole)

    def plan(self, schema: Schema) -> Words:
        """What is added, how much, and what that is not."""
        if self.epsilon is not None:
            id = "technique.noise.plan_private_delta" if self.delta is not None else "technique.noise.plan_private"
            return Message(id, columns=self.names, epsilon=self.epsilon, delta=self.delta)
        more = [Message("technique.noise.correlated")] if self.correlated else []
        more += [Message("technique.noise.rescaled")] if self.rescale else []
        more += [Message("technique.noise.bounded")] if self.bounds is not None else []
        noise = Message("technique.noise.noise", distribution=self.distribution, size=self._size())
        id = "technique.noise.plan_multiply" if self.multiplicative else "technique.noise.plan_add"
        return Message(id, columns=self.names, noise=noise, more=Message("technique.noise.more", said=more))

    def _size(self) -> Message:
        if self.scale is not None:
            return Message("technique.noise.scale", scale=self.scale)
        if self.multiplicative:
            return Message("technique.noise.relative_multiplied", relative=self.relative)
        return Message("technique.noise.relative", relative=self.relative)

    def _noisy(
        self, before: np.ndarray, columns: list[Column], rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Noisy values, and the standard deviation of the noise by column."""
        used = before[~np.isnan(before).any(axis=1)] if self.correlated else before
        if self.correlated and len(used) < 2:
            raise InputError(Message("error_technique.correlated_records", step=self.step))
        means, spreads = _moments(used)
        # What the recipe's 1 is on each column's line: a day is 86.4e9 microseconds in a column of date-times.
        units = np.where(np.array(list(map(attrgetter("kind"), columns))) == Kind.DATETIME, DAY, 1.0)
        if self.correlated:
            deviations = (self.relative or 0) * spreads
            noise = rng.standard_normal(before.shape) @ _root(used, means, spreads).T * deviations
        else:
            deviations = self._deviations(spreads, columns, units)
            gaussian, wide = self.distribution == "gaussian", np.sqrt(0.5)  # both of variance 1
            drawn = rng.standard_normal(before.shape) if gaussian else rng.laplace(scale=wide, size=before.shape)
            noise = drawn * deviations
        after = before * (1 + noise) if self.multiplicative else before + noise
        if self.rescale:
            ratio = np.divide(deviations, spreads, out=np.zeros_like(spreads), where=spreads > 0)
            after = means + (after - means) / np.sqrt(1 + ratio**2)
        return after, dict(zip(self.names, (deviations / units).tolist(), strict=True))

    def _deviations(self, spreads: np.ndarray, columns: list[Column], units: np.ndarray) -> np.ndarray:
        """The noise's standard deviation in each column, in the unit in which the column counts."""
        for name, column in zip(self.names, columns, strict=True):
            if self.multiplicative and is_date(column):
                raise ColumnError(Message("error_technique.dates_multiplied", name=name))
        if self.relative is not None:
            return np.full(spreads.size, self.relative) if self.multiplicative else self.relative * spreads
        assert self.scale is not None
        deviation = self.scale * (1 if self.distribution == "gaussian" else np.sqrt(2))
        return np.asarray(deviation * units)

    def _bounds(self, name: str) -> Bounds | None:
        return self.bounds.get(name) if isinstance(self.bounds, dict) else self.bounds

    def _ends(self, column: Column, name: str) -> tuple[float, float]:
        """The least and the largest value on the column's line; infinite where there is none."""
        bounds = self._bounds(name)
        low = -np.inf if bounds is None or bounds.min is None else place(bounds.min, column, name)
        high = np.inf if bounds is None or bounds.max is None else place(bounds.max, column, name)
        if column.kind is not Kind.NUMBER:
            low, high = np.ceil(low), np.floor(high)
        if low > high:
            raise UsageError(Message("error_technique.empty_bounds", step=self.step, name=name))
        return float(low), float(high)


def reflect(numbers: np.ndarray, low: float, high: float) -> np.ndarray:
    """Mirror what lies beyond a bound back at it, as often as needed; what lies within stays exactly.

    >>> reflect(np.array([-3.0, 4.0, 12.0, 31.0]), 0, 10)
    array([3., 4., 8., 9.])
    """
    beyond = (numbers < low) | (numbers > high)
    if not beyond.any():
        return numbers
    if np.isinf(low) or np.isinf(high):
        mirror = 2 * (low if np.isinf(high) else high)
        return np.where(beyond, mirror - numbers, numbers)
    if low == high:
        return np.where(beyond, low, numbers)
    along = np.mod(numbers - low, 2 * (high - low))
    folded = low + np.minimum(along, 2 * (high - low) - along)
    return np.where(beyond, np.clip(folded, low, high), numbers)


def _cells(column: Column, name: str) -> np.ndarray:
    """One number per row, NaN where missing."""
    return np.asarray(places(column, name)[column.codes])


def _moments(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (n − 1) of each column without its missing values; 0 where nothing is spread."""
    present = ~np.isnan(matrix)
    counts = present.sum(axis=0)
    means = np.where(present, matrix, 0).sum(axis=0) / np.maximum(counts, 1)
    squares = np.where(present, matrix - means, 0) ** 2
    return means, np.sqrt(squares.sum(axis=0) / np.maximum(counts - 1, 1))


def _root(matrix: np.ndarray, means: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """A square root of the correlation matrix; by eigenvalues: dependent columns have no Cholesky root."""
    scaled = np.divide(matrix - means, spreads, out=np.zeros_like(matrix), where=spreads > 0)
    values, vectors = np.linalg.eigh(scaled.T @ scaled / (len(matrix) - 1))
    return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)))
