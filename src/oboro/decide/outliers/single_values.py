"""Values far from the rest, and rare ones: one column at a time, from its dictionary and counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oboro.table.dataset import Column

__all__ = ["Fences", "fences", "quantiles", "rarity"]


@dataclass(frozen=True)
class Fences:
    """Between which numbers a value does not stand out, and how far outside of its middle a number lies."""

    low: float
    high: float
    middle: tuple[float, float]
    """Distances are counted from here: both quartiles, or twice the median."""
    unit: float
    """… in this unit: the interquartile range, or a robust standard deviation."""

    def outside(self, numbers: np.ndarray) -> np.ndarray:
        """Which numbers lie outside; a missing one (NaN) never does."""
        return np.asarray((numbers < self.low) | (numbers > self.high))

    def distances(self, numbers: np.ndarray) -> np.ndarray:
        """How many units each number lies outside of the middle: 0 where missing, infinite where there is no spread."""
        left, right = self.middle
        apart = np.fmax(np.fmax(left - numbers, numbers - right), 0.0)
        infinite = np.where(apart > 0, np.inf, 0.0)
        return np.divide(apart, self.unit, out=infinite, where=np.full(apart.shape, self.unit > 0))


NOTHING = Fences(-np.inf, np.inf, (np.inf, -np.inf), 1.0)  # a column without any number: nothing can lie outside


def fences(column: Column, name: str, *, by: Literal["robust_z", "iqr"], threshold: float) -> Fences:
    """Tukey's fences (`iqr`), or `threshold` robust deviations around the median (`robust_z`). O(distinct · log)."""
    numbers, counts = column.numbers(name), column.counts
    real = np.isfinite(numbers) & (counts > 0)
    if not real.any():
        return NOTHING
    numbers, counts = numbers[real], counts[real]
    if by == "iqr":
        left, right = quantiles(numbers, counts, (0.25, 0.75))
        unit = right - left
    else:
        left = right = quantiles(numbers, counts, (0.5,))[0]
        unit = _robust_deviation(numbers, counts, left)
    return Fences(left - threshold * unit, right + threshold * unit, (left, right), unit)


def quantiles(numbers: np.ndarray, counts: np.ndarray, at: Sequence[float]) -> list[float]:
    """Quantiles of values with counts, interpolated linearly, as NumPy gives them for the values written out.

    >>> quantiles(np.array([1.0, 3.0]), np.array([3, 1]), [0.5, 1.0])
    [1.0, 3.0]
    """
    order = np.argsort(numbers, kind="stable")
    ordered, ends = numbers[order], np.cumsum(counts[order])
    places = np.asarray(at) * (ends[-1] - 1)
    below = np.floor(places)
    lower = ordered[np.searchsorted(ends, below, side="right")]
    upper = ordered[np.searchsorted(ends, np.ceil(places), side="right")]
    return [float(value) for value in lower + (upper - lower) * (places - below)]


def _robust_deviation(numbers: np.ndarray, counts: np.ndarray, median: float) -> float:
    """A standard deviation's worth, hard to move by outliers: 1.4826 × the median absolute deviation (MAD).

    Where more than half of the values are equal the MAD is zero; then 1.2533 × the mean absolute deviation, as
    Iglewicz and Hoaglin (1993) advise. Both factors make the result a standard deviation for normal data.
    """
    deviations = np.abs(numbers - median)
    (middle,) = quantiles(deviations, counts, (0.5,))
    if middle > 0:
        return 1.482602218505602 * middle  # 1 / the normal distribution's 75 % point
    return float(np.sqrt(np.pi / 2) * np.average(deviations, weights=counts))


def rarity(column: Column, *, count: int | None, share: float | None) -> np.ndarray:
    """Which dictionary entries are held by fewer than `count` records, or by less than `share` of them."""
    counts = column.counts
    rare = np.zeros(counts.size, dtype=bool)
    if count is not None:
        rare |= counts < count
    if share is not None:
        rare |= counts < share * len(column)
    return rare
