"""Counting the classes of very many records: rows lie in slices that no class crosses, one saturating counter per key.

A row is a few small digits (numbered through, see `oboro.partition.slices`); a node's `table` gives for each digit
its part of the key.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["count", "count_hashed", "mark", "place", "put", "put_more", "tally"]


@kernel()
def place(codes: np.ndarray, slices: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    """Where each row goes when rows are laid out slice by slice; `slices` maps codes, `starts` is moved along.
    O(rows).
    """
    for i in range(codes.size):
        part = slices[codes[i]]
        out[i] = starts[part]
        starts[part] += 1


@kernel()
def put(codes: np.ndarray, table: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """Write `table[code]` of each row to its place. O(rows)."""
    for i in range(codes.size):
        out[places[i]] = table[codes[i]]


@kernel()
def put_more(codes: np.ndarray, table: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """Add `table[code]` of each row at its place. O(rows)."""
    for i in range(codes.size):
        out[places[i]] += table[codes[i]]


@kernel()
def count(codes: np.ndarray, table: np.ndarray, start: int, k: int, counters: np.ndarray) -> int:
    """Count the rows of one slice, each class up to k; returns how many rows are in classes smaller than k. O(rows ·
    digits).
    """
    small = 0
    for i in range(codes.shape[0]):
        key = np.int64(-start)
        for j in range(codes.shape[1]):
            key += np.int64(table[codes[i, j]])
        held = counters[np.uint64(key)]
        if held < k:
            counters[np.uint64(key)] = held + 1
            small += 1
            if held == k - 1:
                small -= k
    return small


@kernel()
def tally(codes: np.ndarray, table: np.ndarray, start: int, k: int, counters: np.ndarray, out: np.ndarray) -> None:
    """After `count`: add to `out` the digits of the rows in classes smaller than k. O(rows · digits)."""
    for i in range(codes.shape[0]):
        key = np.int64(-start)
        for j in range(codes.shape[1]):
            key += np.int64(table[codes[i, j]])
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
            spot = ((key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
            while held[np.uint64(2) * spot + np.uint64(1)] != 0 and np.uint64(held[np.uint64(2) * spot]) != key:
                spot = (spot + np.uint64(1)) & mask
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
        key = np.int64(-start)
        for j in range(codes.shape[1]):
            key += np.int64(table[codes[i, j]])
        out[i] = counters[np.uint64(key)] < k
