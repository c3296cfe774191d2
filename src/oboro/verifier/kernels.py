"""Kernels of the verifier: distances and extremes of classes, and originals that match released records.

A tally is three arrays: the distinct codes of every group one group after the other, ascending within a group; how
often each occurs in its group; and where each group starts (one more entry at the end).
"""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel, prange

__all__ = ["class_extremes", "equal_distance", "fitting", "largest", "ordered_distance"]


@kernel(little=True)
def largest(counts: np.ndarray, starts: np.ndarray, most: int, out: np.ndarray) -> None:
    """For each group the sum of its `most` largest counts. O(entries · log entries of a group)."""
    for group in range(starts.size - 1):
        ascending = np.sort(counts[starts[group] : starts[group + 1]])
        total = 0
        for i in range(max(0, ascending.size - most), ascending.size):
            total += ascending[i]
        out[group] = total


@kernel(little=True)
def equal_distance(
    codes: np.ndarray, counts: np.ndarray, starts: np.ndarray, sizes: np.ndarray, whole: np.ndarray, out: np.ndarray
) -> None:
    """For each group Σ |count · n − whole · size| over all values: total variation times 2 · n · size, in whole
    numbers.

    `whole` counts each code in the whole table of n rows. A value that the group lacks adds whole · size. O(entries).
    """
    n = whole.sum()
    for group in range(starts.size - 1):
        size = sizes[group]
        total, seen = np.int64(0), np.int64(0)
        for j in range(starts[group], starts[group + 1]):
            everywhere = whole[codes[j]]
            total += abs(counts[j] * n - everywhere * size)
            seen += everywhere
        out[group] = total + (n - seen) * size


@kernel(little=True)
def class_extremes(
    gathered: np.ndarray,
    starts: np.ndarray,
    whole: np.ndarray,
    part: int,
    of: int,
    scratch: np.ndarray,
    counts: np.ndarray,
    ratios: np.ndarray,
) -> None:
    """Over all groups of `gathered`, none of them empty: the extremes of the spread of its codes. O(n).

    To `counts` go the fewest different codes of a group, the rows of groups with one code, and of those in which one code has
    `part` of `of` rows or more; to `ratios` the greatest total variation between a group and `whole`, which counts each
    code in all n rows, and the greatest share of one code. `scratch` has one zero per possible code and is left as it came.
    """
    n = np.int64(gathered.size)
    fewest, certain, nearly = n, np.int64(0), np.int64(0)
    farthest, largest = 0.0, 0.0
    for group in range(starts.size - 1):
        begin, size = starts[group], starts[group + 1] - starts[group]
        distinct, most = np.int64(1), np.int64(1)
        total = 2 * (n - whole[gathered[begin]])  # of one row
        if size > 1:
            distinct, most, total, seen = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            for i in range(begin, begin + size):
                scratch[gathered[i]] += 1
            for i in range(begin, begin + size):
                count = scratch[gathered[i]]
                if count:
                    scratch[gathered[i]] = 0
                    distinct += 1
                    most = max(most, count)
                    total += abs(count * n - whole[gathered[i]] * size)
                    seen += whole[gathered[i]]
            total += (n - seen) * size
        fewest = min(fewest, distinct)
        certain += size if most == size else 0
        nearly += size if of * most >= part * size else 0
        farthest = max(farthest, total / (2 * n * size))
        largest = max(largest, most / size)
    counts[0], counts[1], counts[2] = fewest, certain, nearly
    ratios[0], ratios[1] = farthest, largest


@kernel()
def ordered_distance(
    codes: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    sizes: np.ndarray,
    below: np.ndarray,
    prefix: np.ndarray,
    out: np.ndarray,
) -> None:
    """For each group Σᵢ |Q(i) · n − P(i) · size| over ranks: the ordered distance times (m − 1) · n · size (Li et al.
    2007, 4.2).

    Codes are ranks 0 … m − 1. P(i) = `below[i + 1]` counts the table's values up to rank i, Q(i) the group's;
    `prefix[i]` sums P(0) … P(i − 1). Between two values of a group Q stands still while P rises, so a whole run of
    ranks is summed at once on both sides of the place where they cross: O(entries · log m), where the formula as
    written costs m for every group. `below`, `prefix` and `out` are of one type: int64 is exact, float64 does not
    overflow.
    """
    m = below.size - 1
    n = below[m]
    for group in range(starts.size - 1):
        size = sizes[group]
        total = out[group] - out[group]
        reached = total
        low = np.int64(0)
        for j in range(starts[group], starts[group + 1] + 1):
            last = j == starts[group + 1]
            high = np.int64(m) if last else np.int64(codes[j])
            # Ranks low … high − 1 all have Q · n = reached · n.
            level = reached * n
            left, right = low, high
            while left < right:
                middle = (left + right) // 2
                if below[middle + 1] * size < level:
                    left = middle + 1
                else:
                    right = middle
            total += level * (left - low) - (prefix[left] - prefix[low]) * size
            total += (prefix[high] - prefix[left]) * size - level * (high - left)
            if not last:
                reached += counts[j]
            low = high
        out[group] = total


@kernel(inner=True)
def _fits(ranks: np.ndarray, low: np.ndarray, high: np.ndarray, row: np.ndarray, bits: np.ndarray) -> bool:
    """Whether every attribute lies between its ends and, where only some of what lies between is meant, is one of those.

    `row` is where an attribute's bits begin, or −1 if everything between the ends is meant.
    """
    for a in range(ranks.size):
        rank = ranks[a]
        if rank < low[a] or rank > high[a]:
            return False
        if row[a] >= 0 and not bits[row[a] + rank // 64] >> np.uint64(rank % 64) & np.uint64(1):
            return False
    return True


@kernel(parallel=True)
def fitting(
    ranks: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    row: np.ndarray,
    bits: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    starts: np.ndarray,
    out: np.ndarray,
) -> None:
    """The originals that fit each released record, among those from `begin` to `end`.

    `ranks` is originals × attributes, `low`, `high` and `row` are released × attributes. With an empty `out` only their
    numbers are counted, into `starts[1:]`; otherwise they are written to `out` from `starts` on.
    """
    counting = out.size == 0
    for r in prange(low.shape[0]):
        at = 0 if counting else starts[r]
        for o in range(begin[r], end[r]):
            if _fits(ranks[o], low[r], high[r], row[r], bits):
                if not counting:
                    out[at] = o
                at += 1
        if counting:
            starts[r + 1] = at
