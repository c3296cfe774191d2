"""Which classes join at the least cost so that several weighted sums reach what they lack: branch and bound over classes.

The class that the cheapest fractional set takes in part joins, or it stays. The walk stops wherever all sums are reached, for the
caller to say what is to be done there, and goes on from where it stopped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import kernel

__all__ = ["ENTER", "LEAVE", "OVER", "REACHED", "SPLIT", "Sums", "Walk", "cheapest_cover"]

ENTER, LEAVE, SPLIT = 0, 1, 2  # what is to be done: look at the group, give it up, or let a class join or stay
REACHED, OVER, SPENT = 0, 1, 2  # why the walk stopped: all sums are reached, no group is left, no step is left
SAME = 1e-12  # costs closer than this are equal


class Sums(NamedTuple):
    """What classes add to each sum, a row each, and the classes that add something: by cost and by size for what they add."""

    gains: np.ndarray
    by_cost: np.ndarray
    by_size: np.ndarray
    helping: np.ndarray
    """How many of a row's classes add something."""


class Walk(NamedTuple):
    """Where the walk stands: the classes that were decided on so far, and what was known before each decision."""

    place: np.ndarray
    """How many were decided on, and how many steps are left."""
    decided: np.ndarray
    """For each class: 0 not yet, 1 joins, 2 stays."""
    classes: np.ndarray
    lacking: np.ndarray
    costs: np.ndarray
    sizes: np.ndarray


@kernel()
def cheapest_cover(
    action: int,
    sums: Sums,
    rows: int,
    costs: np.ndarray,
    sizes: np.ndarray,
    room: int,
    price: float,
    high: float,
    most: int,
    walk: Walk,
) -> int:
    """Go on from where the walk stands; returns why it stopped. Groups that cost more than `high`, or as much with at least `most`
    records, are given up. `price`: what each record costs at least. O(steps · sums · classes).
    """
    while True:
        at = walk.place[0]
        if action == ENTER:
            walk.place[1] -= 1
            if walk.place[1] < 0:
                return SPENT
            cost, records, one = _least(sums, rows, costs, sizes, room - walk.sizes[at], walk.lacking[at], walk.decided)
            cost += walk.costs[at]
            if cost < np.inf:
                cost = max(cost, price * (walk.sizes[at] + records))
            worse = cost == np.inf or cost > high + SAME or (cost >= high - SAME and walk.sizes[at] + records >= most)
            if not worse and one < 0:
                return REACHED
        else:
            worse, one = action == LEAVE, _smallest(sizes, room - walk.sizes[at], walk.decided)
        action = ENTER
        if worse or one < 0:
            if not _back(walk, rows):
                return OVER
        else:
            _join(walk, sums.gains, rows, one, costs[one], sizes[one])


@kernel(inner=True, bare=True)
def _least(
    sums: Sums,
    rows: int,
    costs: np.ndarray,
    sizes: np.ndarray,
    room: int,
    lacking: np.ndarray,
    decided: np.ndarray,
) -> tuple[float, int, int]:
    """What it costs at least to reach all sums, how many records it takes, and the class taken in part; -1: none is lacking."""
    worst, records, one = 0.0, 0.0, -1
    for row in range(rows):
        if lacking[row] <= 0:
            continue
        cost, last = _fraction(
            sums.gains[row], sums.by_cost[row, : sums.helping[row]], costs, sizes, room, lacking[row], decided
        )
        some, _ = _fraction(
            sums.gains[row], sums.by_size[row, : sums.helping[row]], sizes, sizes, room, lacking[row], decided
        )
        if last < 0 or some > room * (1 + 1e-9):
            return np.inf, 0, 0
        records = max(records, some)
        if one < 0 or cost > worst:
            worst, one = cost, last
    return worst, int(np.ceil(records - 1e-9 * room)), one


@kernel(inner=True, bare=True)
def _fraction(
    gains: np.ndarray,
    order: np.ndarray,
    prices: np.ndarray,
    sizes: np.ndarray,
    room: int,
    lacking: float,
    decided: np.ndarray,
) -> tuple[float, int]:
    """The least price of what is lacking, the last class in part, and which one that is; -1 where all are not enough."""
    total = 0.0
    for place in range(order.size):
        c = order[place]
        if decided[c] != 0 or sizes[c] > room:
            continue
        if gains[c] >= lacking:
            return total + prices[c] * (lacking / gains[c]), c
        lacking -= gains[c]
        total += prices[c]
    return np.inf, -1


@kernel(inner=True, bare=True)
def _smallest(sizes: np.ndarray, room: int, decided: np.ndarray) -> int:
    """The first class that is not decided on and for which there is room."""
    for c in range(sizes.size):
        if decided[c] == 0 and sizes[c] <= room:
            return c
    return -1


@kernel(inner=True, bare=True)
def _join(walk: Walk, gains: np.ndarray, rows: int, c: int, cost: float, size: int) -> None:
    """Let a class join."""
    at = walk.place[0]
    walk.classes[at], walk.decided[c], walk.place[0] = c, 1, at + 1
    walk.costs[at + 1], walk.sizes[at + 1] = walk.costs[at] + cost, walk.sizes[at] + size
    for row in range(rows):
        walk.lacking[at + 1, row] = walk.lacking[at, row] - gains[row, c]


@kernel(inner=True, bare=True)
def _back(walk: Walk, rows: int) -> bool:
    """Let the last class stay that joined; False where none did."""
    while walk.place[0] > 0:
        at = walk.place[0] - 1
        c = walk.classes[at]
        if walk.decided[c] == 1:
            walk.decided[c] = 2
            walk.costs[at + 1], walk.sizes[at + 1] = walk.costs[at], walk.sizes[at]
            for row in range(rows):
                walk.lacking[at + 1, row] = walk.lacking[at, row]
            return True
        walk.decided[c] = 0
        walk.place[0] = at
    return False
