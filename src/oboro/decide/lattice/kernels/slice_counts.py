"""Counting the classes of very many records: rows lie in slices that no class crosses, one saturating counter per key.

A row is a few small digits (numbered through, see `oboro.decide.lattice.sliced_check`); a node's `table` gives for each digit
its part of the key.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels.class_keys import pair_of, row_key
from oboro.kernels import kernel

__all__ = ["add", "count", "count_hashed", "count_slices", "fetch", "mark", "spread", "tally"]


@kernel()
def count_slices(codes: np.ndarray, slices: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many rows each slice takes; `slices` maps codes. O(rows)."""
    for i in range(codes.size):
        out[slices[codes[i]]] += 1


@kernel()
def spread(codes: np.ndarray, slices: np.ndarray, starts: np.ndarray, digits: np.ndarray, out: np.ndarray) -> None:
    """Write each row's digits to the next place of its slice; `starts` is moved along. O(rows · digits)."""
    for i in range(codes.size):
        part = slices[codes[i]]
        place = starts[part]
        starts[part] = place + 1
        for j in range(digits.shape[1]):
            out[place, j] = digits[i, j]


@kernel()
def fetch(codes: np.ndarray, slices: np.ndarray, starts: np.ndarray, marks: np.ndarray, out: np.ndarray) -> None:
    """The other way round: for each row the mark at its place; `starts` is moved along. O(rows)."""
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
def count(codes: np.ndarray, table: np.ndarray, start: int, k: int, counters: np.ndarray) -> int:
    """Count the rows of one slice, each class up to k; returns how many rows are in classes smaller than k. O(rows ·
    digits).

    Three and four digits are the usual numbers, and written out they take half the time of a loop over them.
    """
    small = 0
    if codes.shape[1] == 3:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]]) + np.int64(table[codes[i, 2]]) - start
            held = counters[np.uint64(key)]
            if held < k:
                counters[np.uint64(key)] = held + 1
                small += 1 - k * (held == k - 1)
        return small
    if codes.shape[1] == 4:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]]) - start
            key += np.int64(table[codes[i, 2]]) + np.int64(table[codes[i, 3]])
            held = counters[np.uint64(key)]
            if held < k:
                counters[np.uint64(key)] = held + 1
                small += 1 - k * (held == k - 1)
        return small
    for i in range(codes.shape[0]):
        key = np.int64(-start)
        for j in range(codes.shape[1]):
            key += np.int64(table[codes[i, j]])
        held = counters[np.uint64(key)]
        if held < k:
            counters[np.uint64(key)] = held + 1
            small += 1 - k * (held == k - 1)
    return small


@kernel()
def tally(codes: np.ndarray, table: np.ndarray, start: int, k: int, counters: np.ndarray, out: np.ndarray) -> None:
    """After `count`: add to `out` the digits of the rows in classes smaller than k. O(rows · digits)."""
    for i in range(codes.shape[0]):
        key = row_key(codes, i, table, start)
        if counters[np.uint64(key)] < k:
            for j in range(codes.shape[1]):
                out[codes[i, j]] += 1


@kernel()
def count_hashed(
    codes: np.ndarray, table: np.ndarray, k: int, held: np.ndarray, out: np.ndarray, marks: np.ndarray
) -> int:
    """As `count` and `tally` (and `mark`, if `marks` is not empty) where the keys are too many for a counter each:
    (key, count) pairs in a hash table.

    `held` is zeroed and has a power of two of pairs, at least twice as many as rows. O(rows · digits).
    """
    mask = np.uint64((held.size >> 1) - 1)
    small = 0
    for turn in range(2):
        for i in range(codes.shape[0]):
            key = np.uint64(0)
            for j in range(codes.shape[1]):
                key += np.uint64(table[codes[i, j]])
            spot = pair_of(key, mask, held)
            if turn == 0:
                held[np.uint64(2) * spot] = key
                held[np.uint64(2) * spot + np.uint64(1)] += 1
            elif held[np.uint64(2) * spot + np.uint64(1)] < k:
                small += 1
                if marks.size > 0:
                    marks[i] = True
                for j in range(codes.shape[1]):
                    out[codes[i, j]] += 1
    return small


@kernel()
def mark(codes: np.ndarray, table: np.ndarray, start: int, k: int, counters: np.ndarray, out: np.ndarray) -> None:
    """After `count`: mark in `out` the rows in classes smaller than k. O(rows · digits)."""
    for i in range(codes.shape[0]):
        key = row_key(codes, i, table, start)
        out[i] = counters[np.uint64(key)] < k
