"""Which originals fit which released records."""

from __future__ import annotations

import numpy as np
from numba import prange

from oboro.kernels import kernel

__all__ = ["fitting"]


@kernel()
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
