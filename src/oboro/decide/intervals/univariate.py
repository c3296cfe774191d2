"""One line of numbers, cut into intervals of k records or more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from oboro.decide.intervals.hansen import hansen
from oboro.decide.intervals.histogram import Criterion, histogram
from oboro.errors import InputError
from oboro.text import Message

__all__ = ["PRECISION", "Intervals", "Method", "univariate"]

Method = Literal["hansen", "hist_aic", "hist_bic", "hist_nml"]

PRECISION = 1e-6  # of the range; where no precision is given
CRITERIA: dict[str, Criterion] = {"hist_aic": "aic", "hist_bic": "bic", "hist_nml": "nml"}


@dataclass(frozen=True, eq=False)
class Intervals:
    """Neighbouring intervals that cover all values; equal values stand in one interval."""

    values: np.ndarray
    """The distinct values, ascending."""
    counts: np.ndarray
    """How many records hold each."""
    ends: np.ndarray
    """After how many values each interval ends."""
    precision: float
    """How far apart two numbers must be to be different (ε): the outermost intervals reach half of it further out."""

    def __len__(self) -> int:
        return int(self.ends.size)

    @cached_property
    def starts(self) -> np.ndarray:
        """The position of each interval's smallest value."""
        return np.concatenate([[0], self.ends[:-1]])

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many records each interval holds."""
        return np.add.reduceat(self.counts, self.starts)

    @cached_property
    def edges(self) -> np.ndarray:
        """Where the intervals begin and end, one more than there are: half-way between neighbouring values."""
        inner = self.ends[:-1]
        middle = self.values[inner - 1] / 2 + self.values[inner] / 2
        half = self.precision / 2
        return np.concatenate([[self.values[0] - half], middle, [self.values[-1] + half]])

    @cached_property
    def labels(self) -> np.ndarray:
        """The interval of each distinct value."""
        return np.repeat(np.arange(len(self)), self.ends - self.starts)

    @cached_property
    def means(self) -> np.ndarray:
        """The mean of each interval's records, never outside of their values."""
        low, high = self.values[self.starts], self.values[self.ends - 1]
        above = (self.values / 2 - low[self.labels] / 2) * self.counts  # halves, for their difference may overflow
        return np.asarray(np.clip(low + 2 * (np.add.reduceat(above, self.starts) / self.sizes), low, high))

    @property
    def squared_error(self) -> float:
        """The sum of the squared distances of all records to their interval's mean."""
        return float((self.counts * (self.values - self.means[self.labels]) ** 2).sum())


def univariate(
    values: np.ndarray, counts: np.ndarray, *, k: int, method: Method = "hist_bic", precision: float | None = None
) -> Intervals:
    """Cut ascending distinct finite `values`, each held by `counts` records, into intervals of k records or more.

    - `hansen`: the least squared error to the intervals' means; k … 2k − 1 records, more only where equal values force
      it. O(values · k), for large k O(values · log values).
    - `hist_aic`, `hist_bic`, `hist_nml`: the histogram with the best likelihood less a price for its intervals, so they
      are wide where the density needs no detail. About 2 s for a million values with `hist_aic` and `hist_bic`; some
      times that with `hist_nml`.

    Every cut is half-way between two neighbouring values. `precision` (the ε of the histograms) only sets how far the
    outermost intervals reach beyond the outermost values; by default a millionth of the range. It matters where the
    extreme values are common: the ages of Adult (17 … 90, k = 2500, `hist_bic`) need 10 intervals at ε = 1 and 9 at
    ε ≤ 0.01.
    """
    total = int(counts.sum())
    if total < k:
        raise InputError(Message("error_decide.no_interval", total=total, k=k))
    line, unit = _placed(values)
    if precision is None:
        precision = PRECISION * float(line[-1]) * unit if line[-1] > 0 else PRECISION
    records = np.concatenate([[0], np.cumsum(counts)])
    if method == "hansen":
        ends = hansen(line, records, k)
    else:
        half = precision / unit / 2
        edges = np.concatenate([[0.0], half + (line[:-1] / 2 + line[1:] / 2), [half + line[-1] + half]])
        ends = histogram(edges, records, k, CRITERIA[method])
    return Intervals(values, counts, ends, precision)


def _placed(values: np.ndarray) -> tuple[np.ndarray, float]:
    """How far each value lies from the first, in a unit that is a power of two: no square overflows, nothing is rounded."""
    halves = values / 2 - values[0] / 2
    exponent = int(np.frexp(halves[-1])[1])
    return np.ldexp(halves, -exponent), float(np.ldexp(2.0, exponent))
