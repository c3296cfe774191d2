"""A uniformly random order that is drawn and applied bucket by bucket, so that each bucket stays in the cache.

Rows are dealt to buckets at random, and each bucket is shuffled by itself: the result is a uniformly random order (Rao 1961,
Sandelius 1962). Buckets are also what a table larger than memory needs to be written in a random order.

Indices are unsigned: numba would ask of every signed one whether it counts from the end, which took half of the time.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["bucket_places", "deal", "deal_rows", "draw_order", "rearrange", "rows_at", "shuffle_within"]

U = np.uint64
LOW = np.uint64((1 << 32) - 1)


@kernel()
def deal(draws: np.ndarray, shift: int, counts: np.ndarray, bucket: np.ndarray) -> None:
    """The bucket of each row, by the highest of the 16 bits drawn for it, and how many rows each bucket has. O(n)."""
    for i in range(bucket.size):
        chosen = draws[i] >> np.uint16(shift)
        bucket[i] = chosen
        counts[U(chosen)] += 1


@kernel()
def draw_order(draws: np.ndarray, first: int, order: np.ndarray) -> int:
    """The rows from `first` on in a uniformly random order with those before them (Fisher and Yates, inside out). O(draws).

    Returns the row before which the draws were used up, or all rows. Draws that would favour some places are passed over.
    """
    row, rows = U(first), U(order.size)
    for draw in draws:
        bound = row + U(1)
        drawn = U(draw) * bound
        if (drawn & LOW) < bound and (drawn & LOW) < (U(1) << U(32)) % bound:
            continue
        place = drawn >> U(32)
        order[row] = order[place]
        order[place] = row
        row += U(1)
        if row == rows:
            break
    return np.int64(row)  # type: ignore[return-value]


@kernel()
def bucket_places(order: np.ndarray, width: int, bucket: np.ndarray, rank: np.ndarray, within: np.ndarray) -> None:
    """Cut an order into buckets of `width` places: the bucket of each row, and for each place which row of its bucket stands there.

    `rank` is memory for a number of each row. O(n).
    """
    for place in range(U(order.size)):
        bucket[order[U(place)]] = U(place) // U(width)
    counts = np.zeros(order.size // width + 1, dtype=np.uint32)
    for row in range(U(order.size)):
        b = U(bucket[U(row)])
        rank[U(row)] = counts[b]
        counts[b] += np.uint32(1)
    for place in range(U(order.size)):
        within[U(place)] = rank[order[U(place)]]


@kernel()
def shuffle_within(draws: np.ndarray, starts: np.ndarray, within: np.ndarray) -> bool:
    """For each place which row of its bucket stands there, uniformly at random (Fisher and Yates, inside out). O(n).

    The places of bucket b are `starts[b]` … `starts[b + 1]` of `within`, counted from the first. Of the 32 bits of a draw comes
    a place below j; draws that would favour some places are passed over (Lemire 2019), so that every place has exactly the same
    chance. False if the draws are used up before. Whether that happens has nothing to do with the places that the others gave.
    """
    used = U(0)
    for b in range(starts.size - 1):
        start = U(starts[b] - starts[0])
        for j in range(U(starts[b + 1] - starts[b])):
            bound = U(j) + U(1)
            drawn = U(draws[used]) * bound
            used += U(1)
            while (drawn & LOW) < bound and (drawn & LOW) < (U(1) << U(32)) % bound:
                if used >= U(draws.size):
                    return False
                drawn = U(draws[used]) * bound
                used += U(1)
            if used >= U(draws.size):
                return False
            place = start + (drawn >> U(32))
            within[start + U(j)] = within[place]
            within[place] = j
    return True


@kernel()
def deal_rows(bucket: np.ndarray, starts: np.ndarray, dealt: np.ndarray) -> None:
    """The rows of each bucket, as they come, from its first place on. O(n)."""
    cursor = starts[:-1].astype(np.uint64)
    for i in range(bucket.size):
        b = U(bucket[i])
        place = cursor[b]
        dealt[place] = i
        cursor[b] = place + U(1)


@kernel()
def rows_at(
    dealt: np.ndarray, starts: np.ndarray, within: np.ndarray, begin: int, first_bucket: int, out: np.ndarray
) -> None:
    """Which rows stand at the places from `begin`, in `first_bucket`, on. O(size of `out`)."""
    b, place = U(first_bucket), U(begin)
    end = place + U(out.size)
    while place < end:
        start, stop = U(starts[b]), min(U(starts[b + U(1)]), end)
        while place < stop:
            out[place - U(begin)] = dealt[start + U(within[place])]
            place += U(1)
        b += U(1)


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
    cursor = starts[:-1].astype(np.uint64)
    for i in range(values.size):
        b = U(bucket[i])
        place = cursor[b]
        dealt[place] = values[i]
        cursor[b] = place + U(1)
    for b in range(U(starts.size - 1)):
        start = U(starts[U(b)])
        for place in range(start, U(starts[U(b) + U(1)])):
            out[U(place)] = dealt[start + U(within[U(place)])]
