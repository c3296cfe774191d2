"""Who is near whom, and which pairs are too cheap to be left out: all pairs, a block at a time.

A person is one place per attribute, and an attribute counts at most its cap: the distance of two people is Σ min(|x − y|,
cap). Numbers lie within one cap of each other; categories, and a missing number, lie two caps apart, so that any two
different ones are exactly one cap apart. One formula without branches is what lets the processor take eight pairs at once.

Single precision finds the pairs in question, double precision decides about them.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel, prange
from oboro.kernels.pair_distance import between

__all__ = ["matrix", "nearest", "priced", "underpriced", "unproved"]

BLOCK = 512  # people whose distances to one person fit the first cache
HOME = 64  # people who go through all blocks together
ROUNDED = 4096.0  # more than whole numbers up to 2⁶⁰ can be off as floating-point numbers, a few times


@kernel(parallel=True)
def matrix(places: np.ndarray, caps: np.ndarray, out: np.ndarray) -> None:
    """All distances, people × people."""
    for i in prange(places.shape[1]):
        for j in range(places.shape[1]):
            out[i, j] = between(places, caps, i, j)


@kernel(inner=True)
def _block(places: np.ndarray, caps: np.ndarray, one: int, first: int, last: int, out: np.ndarray) -> None:
    """Distances of one person to a block of others, attribute by attribute."""
    for p in range(last - first):
        out[p] = 0.0
    for a in range(caps.size):
        here, cap = places[a, one], caps[a]
        row = places[a, first:last]
        for p in range(last - first):
            out[p] += min(abs(row[p] - here), cap)


@kernel(parallel=True)
def nearest(places: np.ndarray, caps: np.ndarray, near: np.ndarray) -> None:
    """The nearest others of each person, into the columns of `near`.

    Of equally near ones those that follow first in a circle of all people: within a group of like people everybody is then
    near to equally many, where "the first ones" would make a few of them everybody's neighbours.
    """
    people, count = near.shape
    blocks = -(-people // BLOCK)
    for home in prange(blocks):
        distances = np.empty(BLOCK, dtype=np.float32)
        best = np.full((BLOCK, count), np.float32(np.inf), dtype=np.float32)
        start, stop = home * BLOCK, min(people, (home + 1) * BLOCK)
        # The circle of a person begins in its own block: its first half now, its second half after all others.
        for turn in range(blocks + 1):
            block = (home + turn) % blocks
            first, last = block * BLOCK, min(people, (block + 1) * BLOCK)
            for i in range(start, stop):
                begin = i + 1 if turn == 0 else first
                end = i if turn == blocks else last
                if begin < end:
                    _block(places, caps, i, begin, end, distances)
                    _insert(distances, begin, end, best[i - start], near[i])


@kernel(inner=True)
def _insert(distances: np.ndarray, begin: int, end: int, best: np.ndarray, near: np.ndarray) -> None:
    count = best.size
    worst = best[count - 1]
    if _least(distances, end - begin) >= worst:
        return
    for p in range(end - begin):
        if distances[p] < worst:
            at = count - 1
            while at > 0 and best[at - 1] > distances[p]:
                best[at], near[at] = best[at - 1], near[at - 1]
                at -= 1
            best[at], near[at] = distances[p], begin + p
            worst = best[count - 1]


@kernel(inner=True)
def _least(distances: np.ndarray, count: int) -> float:
    least = np.float32(np.inf)
    for p in range(count):
        least = min(least, distances[p])
    return least


@kernel(parallel=True)
def priced(
    places: np.ndarray, caps: np.ndarray, scale: float, starts: np.ndarray, heads: np.ndarray, out: np.ndarray
) -> None:
    """The cost of each arc in whole units of 1 / scale; `starts` and `heads` are the arcs by sender."""
    for i in prange(starts.size - 1):
        for arc in range(starts[i], starts[i + 1]):
            out[arc] = np.int64(np.rint(between(places, caps, i, heads[arc]) * scale))


@kernel(inner=True)
def _lowered(receiver: np.ndarray, slack: int, scale: float, margin: float, out: np.ndarray) -> None:
    """What a receiver and the slack are worth, in single precision and not too little."""
    for j in range(receiver.size):
        out[j] = np.float32((receiver[j] + slack) / scale) + np.float32(margin)


@kernel(inner=True)
def _underpriced(
    places: np.ndarray,
    caps: np.ndarray,
    exact: np.ndarray,
    exact_caps: np.ndarray,
    scale: float,
    asked: np.ndarray,
    home: int,
    sender: np.ndarray,
    receiver: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    slack: int,
    low: np.ndarray,
    found: np.ndarray,
    gains: np.ndarray,
) -> None:
    """What `underpriced` finds for the n-th `HOME` senders. Compiled by itself it takes a fifth of the time."""
    people, most = places.shape[1], found.shape[1]
    distances = np.empty(BLOCK, dtype=np.float32)
    start, stop = home * HOME, min(asked.size, (home + 1) * HOME)
    for a in range(start, stop):
        found[a], gains[a] = -1, -slack
    for block in range(-(-people // BLOCK)):
        first, last = block * BLOCK, min(people, (block + 1) * BLOCK)
        for a in range(start, stop):
            i = asked[a]
            _block(places, caps, i, first, last, distances)
            mine = np.float32(sender[i] / scale)
            any_ = False
            for p in range(last - first):
                any_ |= distances[p] - low[first + p] < mine
            if not any_:
                continue
            for p in range(last - first):
                j = first + p
                if distances[p] - low[j] >= mine or i == j:
                    continue
                cost = np.int64(np.rint(between(exact, exact_caps, i, j) * scale))
                gain = sender[i] + receiver[j] - cost
                if gain > gains[a, most - 1] and not _holds(heads, starts[i], starts[i + 1], j):
                    _keep(gain, j, gains[a], found[a])


@kernel(parallel=True)
def underpriced(
    places: np.ndarray,
    caps: np.ndarray,
    exact: np.ndarray,
    exact_caps: np.ndarray,
    scale: float,
    asked: np.ndarray,
    sender: np.ndarray,
    receiver: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    slack: int,
    margin: float,
    found: np.ndarray,
    gains: np.ndarray,
) -> None:
    """The pairs of the `asked` senders that are no arcs yet and whose cost, in whole units of 1 / scale, lies below
    sender[i] + receiver[j] + slack: their heads into `found` (−1: none), what they gain into `gains`, most first.

    `places` and `caps` in single precision, `exact` ones in double; `starts` and `heads` are the arcs by sender, heads
    ascending; `margin` is more than single precision can err. Where not all fit, the ones that gain most stay; an empty
    place holds −slack, so that in any case every pair that gains more than the last place is there.
    """
    low = np.empty(receiver.size, dtype=np.float32)
    _lowered(receiver, slack, scale, margin, low)
    for home in prange(-(-asked.size // HOME)):
        _underpriced(
            places, caps, exact, exact_caps, scale, asked, np.int64(home), sender, receiver, starts, heads, slack, low, found, gains
        )  # fmt: skip


@kernel(parallel=True)
def unproved(
    places: np.ndarray,
    caps: np.ndarray,
    scale: float,
    sender: np.ndarray,
    receiver: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    out: np.ndarray,
) -> None:
    """How much each sender's chosen arcs fail to gain by the prices, and all its other pairs would gain.

    `starts` and `heads` are the chosen arcs by sender, heads ascending. In double precision throughout: zeros are a proof.
    """
    low = np.empty(receiver.size)
    for j in range(receiver.size):
        low[j] = receiver[j] + ROUNDED
    for home in prange(-(-sender.size // HOME)):
        _unproved(places, caps, scale, np.int64(home), sender, receiver, low, starts, heads, out)


@kernel(inner=True)
def _unproved(
    places: np.ndarray,
    caps: np.ndarray,
    scale: float,
    home: int,
    sender: np.ndarray,
    receiver: np.ndarray,
    low: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    out: np.ndarray,
) -> None:
    """What `unproved` finds for the n-th `HOME` senders, who share each block of others while it is at hand.

    Only where a pair might gain, roundings included, whole numbers decide.
    """
    people, costs = sender.size, np.empty(BLOCK)
    start, stop = home * HOME, min(people, (home + 1) * HOME)
    for i in range(start, stop):
        out[i] = 0
        for arc in range(starts[i], starts[i + 1]):
            cost = np.int64(np.rint(between(places, caps, i, heads[arc]) * scale))
            out[i] += max(cost - sender[i] - receiver[heads[arc]], 0)
    for block in range(-(-people // BLOCK)):
        first, last = block * BLOCK, min(people, (block + 1) * BLOCK)
        for i in range(start, stop):
            _block(places, caps, i, first, last, costs)
            mine, any_ = float(sender[i]), False
            for p in range(last - first):
                any_ |= costs[p] * scale - low[first + p] < mine
            if not any_:
                continue
            for p in range(last - first):
                j = first + p
                gain = sender[i] + receiver[j] - np.int64(np.rint(costs[p] * scale))
                if gain > 0 and i != j and not _holds(heads, starts[i], starts[i + 1], j):
                    out[i] += gain


@kernel(inner=True)
def _holds(heads: np.ndarray, first: int, last: int, wanted: int) -> bool:
    end = last  # what follows belongs to the next sender
    while first < last:
        middle = (first + last) // 2
        if heads[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first < end and heads[first] == wanted


@kernel(inner=True)
def _keep(gain: int, other: int, gains: np.ndarray, found: np.ndarray) -> None:
    at = gains.size - 1
    while at > 0 and gains[at - 1] < gain:
        gains[at], found[at] = gains[at - 1], found[at - 1]
        at -= 1
    gains[at], found[at] = gain, other
