"""Where a class is counted: by its key, or by a hash of the key where there are too many for a counter each."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["count_tuples", "pair_of", "row_key"]


@kernel(inner=True, bare=True)
def row_key(codes: np.ndarray, row: int, table: np.ndarray, start: int) -> int:
    """The key of the class of a row, from `start` on."""
    key = np.int64(-start)
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


@kernel(inner=True, bare=True)
def count_tuples(
    codes: np.ndarray, weights: np.ndarray, table: np.ndarray, hashed: bool, held: np.ndarray, places: np.ndarray
) -> None:
    """Add the weight of each tuple to the counter of its class in `held`, and say in `places` which that is.

    `held` has a zeroed counter per possible key, or for hashed keys a power of two of them, at least twice as many as
    tuples, each with its key before it (`held[2 * spot]`). O(tuples · attributes).
    """
    mask = np.uint64((held.size >> 1) - 1)
    for i in range(codes.shape[0]):
        key = np.uint64(0)
        for a in range(codes.shape[1]):
            key += table[codes[i, a]]
        spot = key
        if hashed:
            spot = pair_of(key, mask, held)
            held[np.uint64(2) * spot] = key
            spot = np.uint64(2) * spot + np.uint64(1)
        held[spot] += weights[i]
        places[i] = spot
