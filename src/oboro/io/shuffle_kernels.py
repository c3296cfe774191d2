"""Kernels of the shuffle: deal lines of text to buckets, and place the lines of buckets in their new order."""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = ["deal_lines", "place_lines", "size_by_bucket"]


U = np.uint64


@kernel()
def size_by_bucket(lengths: np.ndarray, bucket: np.ndarray, lines: np.ndarray, sizes: np.ndarray) -> None:
    """Count the lines and the bytes of each bucket. O(lines)."""
    for i in range(lengths.size):
        lines[bucket[i]] += 1
        sizes[bucket[i]] += lengths[i]


@kernel()
def deal_lines(
    text: np.ndarray,
    lengths: np.ndarray,
    bucket: np.ndarray,
    first: int,
    line_cursor: np.ndarray,
    cursor: np.ndarray,
    out_lengths: np.ndarray,
    out: np.ndarray,
) -> int:
    """Copy the lines of `text`, which are those from `first` on, to where their buckets go on; returns the next line.

    `line_cursor` and `cursor` say where the next line of each bucket goes, in lines and in bytes. O(bytes).
    """
    place, line = 0, first
    while place < text.size:
        b, length = bucket[line], lengths[line]
        out_lengths[line_cursor[b]] = length
        line_cursor[b] += 1
        at = cursor[b]
        for i in range(length):
            out[U(at + i)] = text[U(place + i)]
        cursor[b] = at + length
        place += length
        line += 1
    return line


@kernel()
def place_lines(
    text: np.ndarray,
    lengths: np.ndarray,
    lines: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    within: np.ndarray,
    out: np.ndarray,
) -> None:
    """Put the lines of some buckets in their places.

    `text` has the lines of these buckets from one run after the other: of run r and bucket b `counts[r, b]`; those of run r have
    the lengths from `lines[r]` on. The places of bucket b are `starts[b]` … in `within`, which says which line of the bucket
    stands there. O(bytes).
    """
    rows = starts[-1] - starts[0]
    begins = np.empty(rows, dtype=np.int64)  # where the n-th line of each bucket begins, bucket by bucket
    sizes = np.empty(rows, dtype=np.int64)
    cursor = starts[:-1] - starts[0]
    place = 0
    for r in range(counts.shape[0]):
        line = lines[r]
        for b in range(counts.shape[1]):
            for _ in range(counts[r, b]):
                begins[cursor[b]] = place
                sizes[cursor[b]] = lengths[line]
                cursor[b] += 1
                place += lengths[line]
                line += 1
    at = 0
    for b in range(counts.shape[1]):
        start = starts[b] - starts[0]
        for j in range(starts[b], starts[b + 1]):
            chosen = start + within[j]
            begin, length = begins[chosen], sizes[chosen]
            for i in range(length):
                out[U(at + i)] = text[U(begin + i)]
            at += length
