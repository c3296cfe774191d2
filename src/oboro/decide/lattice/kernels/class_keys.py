"""Where a class is counted: by its key, or by a hash of the key where there are too many for a counter each."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["pair_of", "row_key"]


@kernel(inner=True, bare=True)
def row_key(codes: np.ndarray, row: int, table: np.ndarray) -> int:
    """The key of the class of a row."""
    key = np.int64(0)
    for j in range(codes.shape[1]):
        key += np.int64(table[codes[row, j]])
    return key


@kernel(inner=True, bare=True)
def pair_of(key: int, mask: int, held: np.ndarray) -> int:
    """Which of the `mask + 1` pairs (key, count) in `held` is that of a key, or is still free for it."""
    spot = ((key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
    while held[np.uint64(2) * spot + np.uint64(1)] != 0 and np.uint64(held[np.uint64(2) * spot]) != key:
        spot = (spot + np.uint64(1)) & mask
    return spot
