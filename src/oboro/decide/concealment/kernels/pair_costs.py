"""Who is near whom, and which pairs are too cheap to be left out: all pairs, a tile of similar people at a time.

A person is one place per attribute, and an attribute counts at most its cap: the distance of two people is Σ min(|x − y|,
cap). Numbers lie within one cap of each other; categories, and a missing number, lie two caps apart, so that any two
different ones are exactly one cap apart. One formula without branches is what lets the processor take eight pairs at once.

Single precision finds the pairs in question, double precision decides about them. People stand in the `order` of `SimilarTiles`,
as `tiles` (tiles × attributes × people; the last person fills the last one); `low` and `high` are the ends of each tile
(attributes × tiles): one that is too far as a whole is not looked into.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel, prange
from oboro.kernels.pair_distance import between

__all__ = ["TILE", "matrix", "nearest", "priced", "underpriced", "unproved"]

TILE = 64  # people who are ruled out together
HOME = 64  # people who are looked at one after the other, because they look into the same tiles
ROUNDED = 4096.0  # more than whole numbers up to 2⁶⁰ can be off as floating-point numbers, a few times


@kernel(parallel=True)
def matrix(places: np.ndarray, caps: np.ndarray, out: np.ndarray) -> None:
    """All distances, people × people."""
    for i in prange(places.shape[1]):
        for j in range(places.shape[1]):
            out[i, j] = between(places, caps, i, j)


@kernel(inner=True)
def _block(tile: np.ndarray, caps: np.ndarray, mine: np.ndarray, out: np.ndarray) -> None:
    """Distances of one person to those of a tile (attributes × people), attribute by attribute."""
    for p in range(TILE):
        out[p] = 0.0
    for a in range(caps.size):
        here, cap = mine[a], caps[a]
        for p in range(TILE):
            out[p] += min(abs(tile[a, p] - here), cap)


@kernel(inner=True)
def _apart(mine: np.ndarray, caps: np.ndarray, low: np.ndarray, high: np.ndarray, out: np.ndarray) -> None:
    """How far one person is from everybody in each tile, at least. Roundings are monotone: `_block` says no less of anybody."""
    for t in range(out.size):
        out[t] = 0.0
    for a in range(caps.size):
        here, cap = mine[a], caps[a]
        least, most, nothing = low[a], high[a], here - here
        for t in range(out.size):
            out[t] += min(max(max(least[t] - here, here - most[t]), nothing), cap)


@kernel(inner=True)
def _taken(tiles: np.ndarray, one: int, out: np.ndarray) -> None:
    """The places of one person."""
    for a in range(out.size):
        out[a] = tiles[one // TILE, a, one % TILE]


@kernel(parallel=True)
def nearest(
    tiles: np.ndarray, caps: np.ndarray, order: np.ndarray, low: np.ndarray, high: np.ndarray, near: np.ndarray
) -> None:
    """The nearest others of each person, into the columns of `near`.

    Of equally near ones those that follow first in a circle of all people: within a group of like people everybody is then
    near to equally many, where "the first ones" would make a few of them everybody's neighbours.
    """
    for home in prange(-(-order.size // HOME)):
        _nearest(tiles, caps, order, low, high, np.int64(home), near)


@kernel(inner=True)
def _nearest(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    home: int,
    near: np.ndarray,
) -> None:
    """What `nearest` finds for the n-th `HOME` people; their own tile comes first, and then the ones that follow."""
    people, count, mine = order.size, near.shape[1], np.empty(caps.size, dtype=tiles.dtype)
    far, distances = np.empty(len(tiles), dtype=tiles.dtype), np.empty(TILE, dtype=tiles.dtype)
    best = np.empty(count, dtype=tiles.dtype)
    for one in range(home * HOME, min(people, (home + 1) * HOME)):
        best[:] = np.inf
        i = order[one]
        _taken(tiles, one, mine)
        _apart(mine, caps, low, high, far)
        for turn in range(len(tiles)):
            t = (one // TILE + turn) % len(tiles)
            if far[t] > best[count - 1]:
                continue
            _block(tiles[t], caps, mine, distances)
            for p in range(min(TILE, people - t * TILE)):
                if distances[p] <= best[count - 1] and t * TILE + p != one:
                    _insert(distances[p], order[t * TILE + p], i, people, best, near[i])


@kernel(inner=True)
def _behind(other: int, own: int, people: int) -> int:
    """How many steps somebody follows in the circle."""
    return other - own if other > own else other - own + people


@kernel(inner=True)
def _insert(distance: float, other: int, own: int, people: int, best: np.ndarray, near: np.ndarray) -> None:
    """Keep the nearest; of equally near ones those that follow `own` first."""
    at, steps = best.size, _behind(other, own, people)
    while at > 0 and (
        distance < best[at - 1] or (distance == best[at - 1] and steps < _behind(near[at - 1], own, people))
    ):
        at -= 1
    for later in range(best.size - 1, at, -1):
        best[later], near[later] = best[later - 1], near[later - 1]
    if at < best.size:
        best[at], near[at] = distance, other


@kernel(parallel=True)
def priced(
    places: np.ndarray, caps: np.ndarray, scale: float, starts: np.ndarray, heads: np.ndarray, out: np.ndarray
) -> None:
    """The cost of each arc in whole units of 1 / scale; `starts` and `heads` are the arcs by sender."""
    for i in prange(starts.size - 1):
        for arc in range(starts[i], starts[i + 1]):
            out[arc] = np.int64(np.rint(between(places, caps, i, heads[arc]) * scale))


@kernel(inner=True)
def _underpriced(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
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
    worth: np.ndarray,
    dearest: np.ndarray,
    found: np.ndarray,
    gains: np.ndarray,
) -> None:
    """What `underpriced` finds for the n-th `HOME` senders. Compiled by itself it takes a fifth of the time."""
    most, mine = found.shape[1], np.empty(caps.size, dtype=np.float32)
    far, distances = np.empty(len(tiles), dtype=np.float32), np.empty(TILE, dtype=np.float32)
    for a in range(home * HOME, min(asked.size, (home + 1) * HOME)):
        one = asked[a]
        i = order[one]
        found[a], gains[a] = -1, -slack
        pays = np.float32(sender[i] / scale)
        _taken(tiles, one, mine)
        _apart(mine, caps, low, high, far)
        for t in range(len(tiles)):
            if far[t] - dearest[t] >= pays:
                continue
            _block(tiles[t], caps, mine, distances)
            for p in range(min(TILE, order.size - t * TILE)):
                if distances[p] - worth[t * TILE + p] >= pays or t * TILE + p == one:
                    continue
                j = order[t * TILE + p]
                cost = np.int64(np.rint(between(exact, exact_caps, i, j) * scale))
                gain = sender[i] + receiver[j] - cost
                if gain >= gains[a, most - 1] and gain > -slack and not _holds(heads, starts[i], starts[i + 1], j):
                    _keep(gain, j, gains[a], found[a])


@kernel(parallel=True)
def underpriced(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    exact: np.ndarray,
    exact_caps: np.ndarray,
    scale: float,
    asked: np.ndarray,
    sender: np.ndarray,
    receiver: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    slack: int,
    worth: np.ndarray,
    dearest: np.ndarray,
    found: np.ndarray,
    gains: np.ndarray,
) -> None:
    """The pairs of the `asked` senders that are no arcs yet and whose cost, in whole units of 1 / scale, lies below
    sender[i] + receiver[j] + slack: their heads into `found` (−1: none), what they gain into `gains`, most first.

    `tiles`, `caps`, `low` and `high` in single precision, in which senders are `asked` by their place in the `order`; `exact`
    ones in double, by their number as everything else. `starts` and `heads` are the arcs by sender, heads ascending. `worth` is
    what each receiver and the slack are worth, in the order and single precision, and not too little: by more than that can err;
    `dearest` the most of a tile. Where not all fit, the ones that gain most stay; an empty place holds −slack, so that in
    any case every pair that gains more than the last place is there.
    """
    for home in prange(-(-asked.size // HOME)):
        _underpriced(
            tiles, caps, order, low, high, exact, exact_caps, scale, asked, np.int64(home), sender, receiver, starts, heads, slack,
            worth, dearest, found, gains,
        )  # fmt: skip


@kernel(parallel=True)
def unproved(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    scale: float,
    sender: np.ndarray,
    receiver: np.ndarray,
    dearest: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    out: np.ndarray,
) -> None:
    """How much all pairs of each sender that are not chosen would gain by the prices.

    Everything but `starts` and `heads` is in the `order`: these are the chosen arcs by number of the sender, heads ascending.
    `dearest` is the greatest receiver's price of a tile. In double precision throughout: zeros are a proof.
    """
    for home in prange(-(-order.size // HOME)):
        _unproved(tiles, caps, order, low, high, scale, np.int64(home), sender, receiver, dearest, starts, heads, out)


@kernel(inner=True)
def _unproved(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    scale: float,
    home: int,
    sender: np.ndarray,
    receiver: np.ndarray,
    dearest: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    out: np.ndarray,
) -> None:
    """What `unproved` finds for the n-th `HOME` senders. Only where a pair might gain, roundings included, whole numbers decide."""
    far, costs, mine = np.empty(len(tiles)), np.empty(TILE), np.empty(caps.size)
    for one in range(home * HOME, min(order.size, (home + 1) * HOME)):
        i, wrong = order[one], np.int64(0)
        begin, end = starts[i], starts[i + 1]
        pays = float(sender[one]) + ROUNDED
        _taken(tiles, one, mine)
        _apart(mine, caps, low, high, far)
        for t in range(len(tiles)):
            if far[t] * scale - dearest[t] >= pays:
                continue
            _block(tiles[t], caps, mine, costs)
            for p in range(min(TILE, order.size - t * TILE)):
                gain = sender[one] + receiver[t * TILE + p] - np.int64(np.rint(costs[p] * scale))
                if gain > 0 and t * TILE + p != one and not _holds(heads, begin, end, order[t * TILE + p]):
                    wrong += gain
        out[one] = wrong


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
    """Keep the ones that gain most; of equal ones those of smaller numbers."""
    at = gains.size
    while at > 0 and (gains[at - 1] < gain or (gains[at - 1] == gain and found[at - 1] > other)):
        at -= 1
    for later in range(gains.size - 1, at, -1):
        gains[later], found[later] = gains[later - 1], found[later - 1]
    if at < gains.size:
        gains[at], found[at] = gain, other
