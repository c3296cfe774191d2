"""A uniformly random order that is drawn and applied bucket by bucket, so that each bucket stays in the cache.

Rows are dealt to buckets at random, and each bucket is shuffled by itself: the result is a uniformly random order (Rao 1961,
Sandelius 1962). Buckets are also what a table larger than memory needs to be written in a random order.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["deal", "rearrange", "row_of_place", "shuffle_within"]

U = np.uint64
LOW = 44  # bits for places in a bucket: of at most 2^20 rows, a place is off its chance by 2^-24 of it at most


@kernel()
def deal(draws: np.ndarray, bits: int, counts: np.ndarray, bucket: np.ndarray) -> None:
    """The bucket of each row, by the highest `bits` bits of what was drawn for it, and how many rows each bucket has. O(n)."""
    for i in range(draws.size):
        chosen = draws[i] >> U(64 - bits)
        bucket[i] = chosen
        counts[chosen] += 1


@kernel()
def shuffle_within(draws: np.ndarray, starts: np.ndarray, within: np.ndarray) -> None:
    """For each place which row of its bucket stands there, uniformly at random (Fisher and Yates, inside out). O(n).

    The places of bucket b are `starts[b]` … `starts[b + 1]`. The lowest bits of `draws`, which chose no bucket, choose places.
    """
    for b in range(starts.size - 1):
        start = starts[b]
        for j in range(starts[b + 1] - start):
            drawn = draws[start + j] & ((U(1) << U(LOW)) - U(1))
            place = np.int64((drawn * U(j + 1)) >> U(LOW))
            within[start + j] = within[start + place]
            within[start + place] = j


@kernel()
def row_of_place(
    bucket: np.ndarray, starts: np.ndarray, within: np.ndarray, dealt: np.ndarray, out: np.ndarray
) -> None:
    """For each place which row stands there. `dealt` is memory like `out`. O(n)."""
    cursor = starts[:-1].copy()
    for i in range(bucket.size):
        b = bucket[i]
        dealt[cursor[b]] = i
        cursor[b] += 1
    place_all(starts, within, dealt, out)


@kernel(inner=True)
def place_all(starts: np.ndarray, within: np.ndarray, dealt: np.ndarray, out: np.ndarray) -> None:
    """Put what was dealt to each bucket in its places. O(n)."""
    for b in range(starts.size - 1):
        start = starts[b]
        for place in range(start, starts[b + 1]):
            out[place] = dealt[start + within[place]]


@kernel()
def rearrange(
    values: np.ndarray,
    bucket: np.ndarray,
    starts: np.ndarray,
    within: np.ndarray,
    dealt: np.ndarray,
    out: np.ndarray,
) -> None:
    """Deal values to their buckets, then put those of each bucket in their places. `dealt` is memory like `out`. O(n)."""
    cursor = starts[:-1].copy()
    for i in range(values.size):
        b = bucket[i]
        dealt[cursor[b]] = values[i]
        cursor[b] += 1
    place_all(starts, within, dealt, out)
