"""What a group may say: one value for all its members."""

from __future__ import annotations

import math

import numpy as np

from oboro.table.groups import Groups

__all__ = ["mean", "median", "mode", "without_minority"]

WHOLE = 2.0**53  # whole numbers that differ by less have an exact difference
CANCELLED = 8  # how much larger than its sum the numbers of a group may be before they are added exactly


def mean(numbers: np.ndarray, groups: Groups) -> np.ndarray:
    """The mean of each group's numbers, NaN left out (NaN where there is none). O(n log n).

    Numbers are added in ascending order, so that the order of the rows does not show in the last digit, and the mean is
    kept between the smallest and the largest: the sum of three 0.1, divided by three, is 0.10000000000000002.
    """
    counts = _present(numbers, groups)
    order, starts, ends = _sorted(numbers, groups, counts)
    ordered = numbers[order]
    origin = _origin(ordered)
    sums = _sums(np.nan_to_num(ordered - origin), starts)
    means = np.divide(sums, counts, out=np.full(len(groups), np.nan), where=counts > 0) + origin
    return np.where(counts > 0, np.clip(means, ordered[starts], ordered[ends]), np.nan)


def _origin(numbers: np.ndarray) -> float:
    """The least of whole numbers, which can be moved without rounding (microseconds since 1970 need it); else 0."""
    known = numbers[~np.isnan(numbers)]
    if not known.size or known.max() - known.min() > WHOLE or (known != np.floor(known)).any():
        return 0.0
    return float(known.min())


def _sums(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The sum of each part; exactly rounded where both signs nearly cancel, so that rounding would be what is left."""
    sums = np.add.reduceat(numbers, starts)
    lost = np.flatnonzero(np.add.reduceat(np.abs(numbers), starts) > CANCELLED * np.abs(sums))
    ends = np.append(starts[1:], numbers.size)
    sums[lost] = [math.fsum(numbers[starts[part] : ends[part]].tolist()) for part in lost]
    return sums


def median(numbers: np.ndarray, groups: Groups) -> np.ndarray:
    """The median of each group's numbers, NaN left out; of two middle ones the mean. O(n log n)."""
    counts = _present(numbers, groups)
    order, starts, _ = _sorted(numbers, groups, counts)
    low = numbers[order[starts + np.maximum(counts - 1, 0) // 2]]
    high = numbers[order[starts + np.minimum(counts // 2, np.maximum(counts - 1, 0))]]
    return np.where(counts > 0, np.where(low == high, low, low / 2 + high / 2), np.nan)


def mode(numbers: np.ndarray, groups: Groups) -> np.ndarray:
    """The most frequent number of each group, NaN left out; of equally frequent ones the smallest. O(n log n)."""
    rows = np.flatnonzero(~np.isnan(numbers))
    rows = rows[np.lexsort((numbers[rows], groups.labels[rows]))]
    labels, sorted_ = groups.labels[rows], numbers[rows]
    new = np.ones(rows.size, dtype=bool)
    new[1:] = (labels[1:] != labels[:-1]) | (sorted_[1:] != sorted_[:-1])
    first = np.flatnonzero(new)
    lengths = np.diff(np.append(first, rows.size))
    best = np.lexsort((sorted_[first], -lengths, labels[first]))
    owners, places = np.unique(labels[first][best], return_index=True)
    modes = np.full(len(groups), np.nan)
    modes[owners] = sorted_[first][best][places]
    return modes


def without_minority(values: np.ndarray, numbers: np.ndarray, groups: Groups) -> np.ndarray:
    """A group's value, but missing where not more than half of its members have one.

    The mean over one member of five would be that member's own value.
    """
    return np.where(2 * _present(numbers, groups) > groups.sizes, values, np.nan)


def _present(numbers: np.ndarray, groups: Groups) -> np.ndarray:
    return np.bincount(groups.labels[~np.isnan(numbers)], minlength=len(groups))


def _sorted(numbers: np.ndarray, groups: Groups, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows by group and then by number (NaN last), and where each group's first and last number stand."""
    order = np.lexsort((numbers, groups.labels))
    starts = np.cumsum(groups.sizes) - groups.sizes
    return order, starts, starts + np.maximum(counts - 1, 0)
