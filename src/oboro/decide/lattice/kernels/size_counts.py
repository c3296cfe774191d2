"""How many records stand in classes of which size: what one look at a node keeps, for every k.

Rows lie in slices that no class crosses, as in `slice_counts`; a node's `table` gives for each digit its part of the key.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels.class_keys import pair_of, row_key
from oboro.kernels import kernel

__all__ = ["count_sizes", "count_sizes_hashed", "read_sizes", "read_sizes_of_rows"]


@kernel()
def count_sizes(codes: np.ndarray, table: np.ndarray, most: int, counters: np.ndarray) -> None:
    """Count the rows of one slice, each class up to `most`. O(rows · digits).

    Two to four digits are the usual numbers, and written out they take half the time of a loop over them.
    """
    if codes.shape[1] == 2:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]])
            held = counters[np.uint64(key)]
            counters[np.uint64(key)] = held + (held < most)
        return
    if codes.shape[1] == 3:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]]) + np.int64(table[codes[i, 2]])
            held = counters[np.uint64(key)]
            counters[np.uint64(key)] = held + (held < most)
        return
    if codes.shape[1] == 4:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]])
            key += np.int64(table[codes[i, 2]]) + np.int64(table[codes[i, 3]])
            held = counters[np.uint64(key)]
            counters[np.uint64(key)] = held + (held < most)
        return
    for i in range(codes.shape[0]):
        key = np.int64(0)
        for j in range(codes.shape[1]):
            key += np.int64(table[codes[i, j]])
        held = counters[np.uint64(key)]
        counters[np.uint64(key)] = held + (held < most)


@kernel()
def read_sizes(counters: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many classes have each size, from all counters. O(counters)."""
    for spot in range(counters.size):
        out[counters[spot]] += 1


@kernel()
def read_sizes_of_rows(codes: np.ndarray, table: np.ndarray, counters: np.ndarray, out: np.ndarray) -> None:
    """The same from the counters of the rows alone, which are set to 0: where counters are many. O(rows · digits)."""
    for i in range(codes.shape[0]):
        key = row_key(codes, i, table)
        out[counters[np.uint64(key)]] += 1
        counters[np.uint64(key)] = 0


@kernel()
def count_sizes_hashed(codes: np.ndarray, table: np.ndarray, held: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many classes have each size, where the keys are too many for a counter each: (key, count) pairs.

    `held` is zeroed and has a power of two of pairs, at least twice as many as rows. Sizes beyond the end of `out` count
    as its last. O(rows · digits).
    """
    mask = np.uint64((held.size >> 1) - 1)
    for i in range(codes.shape[0]):
        key = np.uint64(0)
        for j in range(codes.shape[1]):
            key += np.uint64(table[codes[i, j]])
        spot = pair_of(key, mask, held)
        held[np.uint64(2) * spot] = key
        held[np.uint64(2) * spot + np.uint64(1)] += 1
    for spot in range(mask + np.uint64(1)):
        out[min(held[2 * spot + 1], out.size - 1)] += 1
