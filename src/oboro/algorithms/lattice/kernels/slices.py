"""Kernels that count the classes of very many records in slices: no class crosses a slice; one saturating counter per
key.

A row is a few small digits (numbered through, see `oboro.algorithms.lattice.sliced`); a node's `table` gives for each digit
its part of the key.
"""

from __future__ import annotations

import numpy as np

from oboro.algorithms.lattice.kernels.classes import row_key
from oboro.kernels.hashing import add_to_pair, hash_of, pair_of
from oboro.kernels.jit import kernel

__all__ = ["add", "count_hashed", "count_slices", "fetch", "mark", "small_rows", "tally"]


@kernel()
def count_slices(codes: np.ndarray, slices: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many rows each slice takes; `slices` maps codes. O(rows)."""
    for i in range(codes.size):
        out[slices[codes[i]]] += 1


@kernel()
def fetch(codes: np.ndarray, slices: np.ndarray, starts: np.ndarray, marks: np.ndarray, out: np.ndarray) -> None:
    """Read back for each row the mark at its place; `starts` is moved along. O(rows)."""
    for i in range(codes.size):
        part = slices[codes[i]]
        out[i] = marks[starts[part]]
        starts[part] += 1


@kernel()
def add(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """Add `table[code]` of each row. O(rows)."""
    for i in range(codes.size):
        out[i] += table[codes[i]]


@kernel()
def small_rows(counters: np.ndarray, k: int) -> int:
    """Count, after `count_sizes`, the rows in classes smaller than k. O(counters)."""
    small = 0
    for spot in range(counters.size):
        held = np.int64(counters[spot])
        small += held if held < k else 0
    return small


@kernel(inner=True, bare=True)
def _note(key: int, held: int, labels: np.ndarray, number: int, out: np.ndarray) -> None:
    """Add the rows of a class to each of its labels; the last attribute's begin with `number` in this slice."""
    first = 0
    for j in range(labels.size - 1):
        out[first + key % labels[j]] += held
        key //= labels[j]
        first += labels[j]
    out[first + number + key] += held


@kernel()
def tally(counters: np.ndarray, k: int, labels: np.ndarray, number: int, out: np.ndarray) -> None:
    """After `count_sizes`: add to `out` the labels of the rows in classes smaller than k; `labels` says how many each attribute
    has, in the order of the key. O(counters), more for each small class.
    """
    for spot in range(counters.size):
        held = np.int64(counters[spot])
        if 0 < held < k:
            _note(np.int64(spot), held, labels, number, out)


@kernel()
def count_hashed(
    codes: np.ndarray,
    table: np.ndarray,
    k: int,
    held: np.ndarray,
    labels: np.ndarray,
    number: int,
    out: np.ndarray,
    marks: np.ndarray,
) -> int:
    """As `count_sizes`, `small_rows` and `tally` (and `mark`, if `marks` is not empty) where the keys are too many for a counter
    each: (key, count) pairs in a hash table.

    `held` is zeroed and has a power of two of pairs, at least twice as many as rows. O(rows · digits).
    """
    mask = np.uint64((held.size >> 1) - 1)
    for turn in range(2 if marks.size > 0 else 1):
        for i in range(codes.shape[0]):
            key = np.uint64(row_key(codes, i, table))
            if turn == 0:
                add_to_pair(key, hash_of(key), held, mask, 1)
            else:
                marks[i] = held[np.uint64(2) * pair_of(key, hash_of(key), held, mask) + np.uint64(1)] < k
    small = 0
    for spot in range(0, held.size, 2):
        if 0 < held[spot + 1] < k:
            small += held[spot + 1]
            _note(held[spot], held[spot + 1], labels, number, out)
    return small


@kernel()
def mark(codes: np.ndarray, table: np.ndarray, k: int, counters: np.ndarray, out: np.ndarray) -> None:
    """After `count_sizes`: mark in `out` the rows in classes smaller than k. O(rows · digits)."""
    for i in range(codes.shape[0]):
        out[i] = counters[np.uint64(row_key(codes, i, table))] < k
