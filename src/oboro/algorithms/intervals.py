"""Partition of one numeric attribute into intervals of at least k records: MDL histograms and univariate
microaggregation.

Kontkanen & Myllymäki, "MDL histogram density estimation", 2007, with the original normalized maximum likelihood
(`nml`) or a constant price per interval (Oshima & Kameya): 1 by Akaike (`aic`), ½ log n by Schwarz (`bic`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from oboro._lazy import bring
from oboro.algorithms import intervals_kernels
from oboro.errors import InputError
from oboro.text import Message

__all__ = ["PRECISION", "Criterion", "Intervals", "Method", "complexity", "hansen", "histogram", "traced", "univariate"]


# Optimal microaggregation (Hansen & Mukherjee) ------------------------------------------------------------------------
# Optimal univariate microaggregation by Hansen & Mukherjee: least squared error with at least k records in each group.


# Up to so many values in 2k records every last interval is tried: its cost is exact to the last digits and a million
# values take 0.5 s at k = 50. Beyond, the search by monotony is faster (k = 128: 0.2 s against 1.6 s).
WINDOW = 128


def hansen(values: np.ndarray, records: np.ndarray, k: int) -> np.ndarray:
    """Return the ends of the optimal intervals as counts of the ascending distinct `values`; the last is their number.

    `records[e]` is how many records hold one of the first e values, `records[0]` = 0. An interval has k … 2k − 1
    records; more only where equal values, which stay together, leave no cut with k records on both sides.
    """
    if _widest(records, k) <= WINDOW:
        return _by_window(values, records, k)
    ends = _by_monotony(values, records, k)
    starts = np.concatenate([[0], ends[:-1]])
    # Running totals are too coarse to see what a cut gains where some values lie very far from the others.
    missed = [
        start + _by_window(values[start:end], records[start : end + 1] - records[start], k)
        for start, end in np.column_stack([starts, ends])[_can_be_cut(records, starts, ends, k)]
    ]
    return np.unique(np.concatenate([ends, *missed]))


def _can_be_cut(records: np.ndarray, starts: np.ndarray, ends: np.ndarray, k: int) -> np.ndarray:
    """Return which intervals have a cut with k records on both sides."""
    last = np.searchsorted(records, records[ends] - k, side="right") - 1
    return np.asarray((last > starts) & (records[last] - records[starts] >= k))


def _widest(records: np.ndarray, k: int) -> int:
    """The most values that 2k records hold."""
    ahead = np.searchsorted(records, records[:-1] + 2 * k)
    return int((ahead - np.arange(ahead.size)).max())


def _by_window(values: np.ndarray, records: np.ndarray, k: int) -> np.ndarray:
    best, previous = _tables(values)
    intervals_kernels.squared_window(values, records, k, best, previous)
    return traced(previous)


def _by_monotony(values: np.ndarray, records: np.ndarray, k: int) -> np.ndarray:
    best, previous = _tables(values)
    centred = values - np.average(values, weights=np.diff(records))
    intervals_kernels.squared_monotone(
        centred, records, k, np.empty_like(previous), np.empty_like(previous), best, previous
    )
    return traced(previous)


def _tables(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(values.size + 1), np.empty(values.size + 1, dtype=np.int64)


def traced(previous: np.ndarray) -> np.ndarray:
    """Return the ends of all intervals, followed back from the last one."""
    ends = []
    end = previous.size - 1
    while end > 0:
        ends.append(end)
        end = int(previous[end])
    return np.array(ends[::-1], dtype=np.int64)


# MDL histogram --------------------------------------------------------------------------------------------------------


Criterion = Literal["aic", "bic", "nml"]


def histogram(edges: np.ndarray, records: np.ndarray, k: int, criterion: Criterion) -> np.ndarray:
    """Return the ends of the intervals, as counts of values, that minimize the criterion with k records or more in
    each.

    `edges[e]` is where an interval ends that ends with value e, `edges[0]` where the first one begins; `records[e]` is
    how many records hold one of the first e values. Where rounding leaves no room between two edges, no cut is made.
    """
    at = np.flatnonzero(np.diff(edges, prepend=-np.inf) > 0)
    at[-1] = edges.size - 1
    line = _Line(edges[at], records[at].astype(np.float64), k)
    if criterion == "nml":
        return np.asarray(at[_least_nml(line)])
    price = 1.0 if criterion == "aic" else 0.5 * float(np.log(records[-1]))
    return np.asarray(at[line.cut(price).ends])


@dataclass(frozen=True, eq=False)
class _Cut:
    """The best partition at one price per interval: `cost` is its −Σ N log(N / W), without the price."""

    price: float
    cost: float
    ends: np.ndarray

    @property
    def intervals(self) -> int:
        return self.ends.size


@dataclass(frozen=True, eq=False)
class _Line:
    edges: np.ndarray
    records: np.ndarray
    k: int

    def cut(self, price: float) -> _Cut:
        """The best partition if each interval costs `price`. About 2 s for a million values."""
        best = np.empty(self.edges.size)
        previous = np.empty(self.edges.size, dtype=np.int64)
        intervals_kernels.histogram(self.edges, self.records, self.k, price, best, previous)
        ends = traced(previous)
        bounds = np.concatenate([[0], ends])
        inside, width = np.diff(self.records[bounds]), np.diff(self.edges[bounds])
        return _Cut(price, -float((inside * np.log(inside / width)).sum()), ends)


# Normalized maximum likelihood ---------------------------------------------------------------------------------------


def _least_nml(line: _Line) -> np.ndarray:
    """The partition with the least stochastic complexity, exactly, from a few runs with a constant price.

    The price P(I) of I intervals is log R(n, I) + log C(cuts, I − 1). It depends on I alone and is concave, so it is
    the lower hull of its tangents, and the best partition is the best for some constant price: a corner of the convex
    hull of (I, least cost with I intervals). Corners are found by runs with the slope between two known ones, and only
    where the bounds that known corners give leave room for a better one. The loop over all I of Kontkanen & Myllymäki
    finds the same (tests) in n / k times the work.
    """
    total, cuts = int(line.records[-1]), line.edges.size - 2
    prices = _prices(total, cuts, max(1, min(total // line.k, cuts + 1)))
    slopes = np.diff(prices)
    if not slopes.size:
        return line.cut(0.0).ends
    left, right = line.cut(float(slopes.max())), line.cut(float(slopes.min()))
    best = min(left, right, key=lambda cut: _complexity(cut, prices))
    open_ = [(left, right)]
    while open_:
        left, right = open_.pop()
        if not _may_hold_better(left, right, prices, _complexity(best, prices)):
            continue
        between = line.cut((left.cost - right.cost) / (right.intervals - left.intervals))
        best = min(best, between, key=lambda cut: _complexity(cut, prices))
        if left.intervals < between.intervals < right.intervals and _is_corner(between, left):
            open_ += [(left, between), (between, right)]
    return best.ends


def _prices(total: int, cuts: int, most: int) -> np.ndarray:
    """What 1 … `most` intervals cost: the parametric complexity, and saying which of the possible cuts are made."""
    gammaln = bring("scipy.special").gammaln
    made = np.arange(most)
    which = gammaln(cuts + 1) - gammaln(made + 1) - gammaln(cuts - made + 1)
    return np.asarray(complexity(total, most) + which)


def complexity(total: int, most: int) -> np.ndarray:
    """Return log R(n, I) for I = 1 … `most`, the parametric complexity of a histogram: the number of data sets of n
    records that one of I intervals fits well.

    R(n, 1) = 1; R(n, 2) is a sum over n; R(n, I + 2) = R(n, I + 1) + n / I · R(n, I) (Kontkanen & Myllymäki, "A
    linear-time algorithm for computing the multinomial stochastic complexity", 2007). In ratios of neighbours, since R
    itself soon overflows.

    >>> np.exp(complexity(2, 3))
    array([1. , 2.5, 4.5])
    """
    logs = np.zeros(most)
    ratio = _two_intervals(total)
    for intervals in range(1, most):
        logs[intervals] = np.log(ratio)
        ratio = 1.0 + total / (intervals * ratio)
    return np.cumsum(logs)


def _two_intervals(total: int) -> float:
    special = bring("scipy.special")
    gammaln, xlogy = special.gammaln, special.xlogy
    first = np.arange(total + 1)
    ways = gammaln(total + 1) - gammaln(first + 1) - gammaln(total - first + 1)
    return float(np.exp(ways + xlogy(first, first / total) + xlogy(total - first, 1 - first / total)).sum())


def _complexity(cut: _Cut, prices: np.ndarray) -> float:
    return cut.cost + float(prices[cut.intervals - 1])


def _may_hold_better(left: _Cut, right: _Cut, prices: np.ndarray, best: float) -> bool:
    """Return whether a number of intervals between two corners could do better, by the lines through both."""
    between = np.arange(left.intervals + 1, right.intervals)
    if not between.size:
        return False
    from_left = left.cost - left.price * (between - left.intervals)
    from_right = right.cost + right.price * (right.intervals - between)
    least = np.maximum(from_left, from_right) + prices[between - 1]
    return bool(least.min() < best - 1e-9 * (1 + abs(best)))


def _is_corner(between: _Cut, left: _Cut) -> bool:
    """Return whether the cut lies below the line through the two corners whose slope was its price."""
    line = left.cost + between.price * (left.intervals - between.intervals)
    return between.cost < line - 1e-9 * (1 + abs(line))


# Univariate partition -------------------------------------------------------------------------------------------------
# One numeric attribute, cut into intervals of at least k records.


Method = Literal["hansen", "hist_aic", "hist_bic", "hist_nml"]

PRECISION = 1e-6  # of the range; where no precision is given
CRITERIA: dict[str, Criterion] = {"hist_aic": "aic", "hist_bic": "bic", "hist_nml": "nml"}


@dataclass(frozen=True, eq=False)
class Intervals:
    """Neighbouring intervals that cover all values; equal values are in one interval."""

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
        """Number of records in each interval."""
        return np.add.reduceat(self.counts, self.starts)

    @cached_property
    def edges(self) -> np.ndarray:
        """Boundaries of the intervals, one more than there are: half-way between neighbouring values."""
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
    """Return the distance of each value from the first, in a unit that is a power of two: no square overflows, nothing
    is rounded.
    """
    halves = values / 2 - values[0] / 2
    exponent = int(np.frexp(halves[-1])[1])
    return np.ldexp(halves, -exponent), float(np.ldexp(2.0, exponent))
