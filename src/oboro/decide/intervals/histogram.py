"""Histograms as partitions: intervals that say the most about the density for what they cost.

Kontkanen & Myllymäki, "MDL histogram density estimation", 2007, with the original normalized maximum likelihood
(`nml`) or a constant price per interval (Oshima & Kameya): 1 by Akaike (`aic`), ½ log n by Schwarz (`bic`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from oboro.decide.intervals import kernels
from oboro.decide.intervals.hansen import traced
from oboro.system.extras import bring

__all__ = ["Criterion", "complexity", "histogram"]

Criterion = Literal["aic", "bic", "nml"]


def histogram(edges: np.ndarray, records: np.ndarray, k: int, criterion: Criterion) -> np.ndarray:
    """After how many values each interval ends, so that the criterion is least and each holds k records or more.

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
        kernels.histogram(self.edges, self.records, self.k, price, best, previous)
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
    """log R(n, I) for I = 1 … `most`: how many well-fitting data sets of n records a histogram of I intervals has.

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
    """Whether a number of intervals between two corners could do better, by the lines through both."""
    between = np.arange(left.intervals + 1, right.intervals)
    if not between.size:
        return False
    from_left = left.cost - left.price * (between - left.intervals)
    from_right = right.cost + right.price * (right.intervals - between)
    least = np.maximum(from_left, from_right) + prices[between - 1]
    return bool(least.min() < best - 1e-9 * (1 + abs(best)))


def _is_corner(between: _Cut, left: _Cut) -> bool:
    """Whether the cut lies below the line through the two corners whose slope was its price."""
    line = left.cost + between.price * (left.intervals - between.intervals)
    return between.cost < line - 1e-9 * (1 + abs(line))
