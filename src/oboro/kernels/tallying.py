"""Counting the values of each group of rows."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["gather", "keep_distinct", "tally"]


@kernel(little=True)
def gather(labels: np.ndarray, codes: np.ndarray, cursor: np.ndarray, out: np.ndarray) -> None:
    """Codes ordered by group. `cursor` holds where each group starts, and ends as where it ends. O(n)."""
    for i in range(labels.size):
        label = labels[i]
        out[cursor[label]] = codes[i]
        cursor[label] += 1


@kernel(little=True)
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
        if written > first + 1:  # most groups may be of one: a sort of one takes longer than all else
            out_codes[first:written].sort()
        for j in range(first, written):
            out_counts[j] = scratch[out_codes[j]]
            scratch[out_codes[j]] = 0
        out_starts[group + 1] = written
    return written


@kernel(little=True)
def keep_distinct(gathered: np.ndarray, starts: np.ndarray, seen: np.ndarray, out_starts: np.ndarray) -> int:
    """Each code of every group of `gathered` once, written over it; returns how many entries were written.

    `seen` has one zero per possible code and holds afterwards the last group (from 1) with that code. O(n).
    """
    written = 0
    out_starts[0] = 0
    for group in range(starts.size - 1):
        for i in range(starts[group], starts[group + 1]):
            code = gathered[i]
            if seen[code] != group + 1:
                seen[code] = group + 1
                gathered[written] = code
                written += 1
        out_starts[group + 1] = written
    return written
