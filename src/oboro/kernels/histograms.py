"""Histograms of a second column within groups, and what the privacy models read from them.

A tally is three arrays: the distinct codes of every group one group after the other, ascending within a group; how
often each occurs in its group; and where each group starts (one more entry at the end).
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["equal_distance", "gather", "largest", "ordered_distance", "tally"]


@kernel()
def gather(labels: np.ndarray, codes: np.ndarray, cursor: np.ndarray, out: np.ndarray) -> None:
    """Codes ordered by group. `cursor` holds where each group starts, and ends as where it ends. O(n)."""
    for i in range(labels.size):
        label = labels[i]
        out[cursor[label]] = codes[i]
        cursor[label] += 1


@kernel()
def tally(
    gathered: np.ndarray,
    starts: np.ndarray,
    scratch: np.ndarray,
    out_codes: np.ndarray,
    out_counts: np.ndarray,
    out_starts: np.ndarray,
) -> int:
    """Distinct codes and their counts in every group of `gathered`; returns how many entries were written.

    `scratch` has one zero per possible code and is left as it came. O(n + distinct · log distinct).
    """
    written = 0
    out_starts[0] = 0
    for group in range(starts.size - 1):
        first = written
        for i in range(starts[group], starts[group + 1]):
            code = gathered[i]
            if scratch[code] == 0:
                out_codes[written] = code
                written += 1
            scratch[code] += 1
        out_codes[first:written].sort()
        for j in range(first, written):
            out_counts[j] = scratch[out_codes[j]]
            scratch[out_codes[j]] = 0
        out_starts[group + 1] = written
    return written


@kernel()
def largest(counts: np.ndarray, starts: np.ndarray, most: int, out: np.ndarray) -> None:
    """For each group the sum of its `most` largest counts. O(entries · log entries of a group)."""
    for group in range(starts.size - 1):
        ascending = np.sort(counts[starts[group] : starts[group + 1]])
        total = 0
        for i in range(max(0, ascending.size - most), ascending.size):
            total += ascending[i]
        out[group] = total


@kernel()
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
