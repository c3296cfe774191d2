"""Searching a live set: everything, by regions, or by lists made for many heads at once. The nearest first, equal ones by age."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.live import Live, Metric, Places, beyond, squares

__all__ = ["Found", "Lists", "by_list", "by_region", "everywhere", "found", "shortlist"]


class Found(NamedTuple):
    """The nearest so far, in order; there is room for as many as are asked for."""

    slots: np.ndarray
    distances: np.ndarray
    count: np.ndarray  # how many are there, and how many were measured


class Lists(NamedTuple):
    """Candidates that were made for many heads at once. Whoever is in no list was at least `bound` away when it was made."""

    row: np.ndarray  # by slot of the head: its list, or −1
    slots: np.ndarray  # [list, candidate], −1 at the end
    bound: np.ndarray
    since: np.ndarray  # the number of the first record that came later


@kernel(inner=True)
def found(most: int) -> Found:
    """Nobody yet."""
    return Found(np.empty(most, dtype=np.int64), np.empty(most), np.zeros(2, dtype=np.int64))


# The loops below name the arrays that they need before they begin: taking an array out of a tuple counts a reference, and that
# once a record cost ten times as much as the distance.


@kernel(inner=True)
def _insert(slots: np.ndarray, distances: np.ndarray, number: np.ndarray, n: int, slot: int, distance: float) -> int:
    """Keep a slot in its place among the nearest, if it belongs there; how many there are now."""
    if n == slots.size:
        if distance > distances[n - 1] or (distance == distances[n - 1] and number[slot] > number[slots[n - 1]]):
            return n
        n -= 1
    at = n
    while at > 0 and (
        distances[at - 1] > distance or (distances[at - 1] == distance and number[slots[at - 1]] > number[slot])
    ):
        distances[at], slots[at] = distances[at - 1], slots[at - 1]
        at -= 1
    distances[at], slots[at] = distance, slot
    return n + 1


@kernel(inner=True)
def _measure(live: Live, metric: Metric, query: Places, q: int, some: np.ndarray, count: int, best: Found) -> None:
    """Measure the first `count` of some slots and keep the nearest: O(count · d)."""
    here, there, number = query.points, live.at.points, live.number
    slots, distances = best.slots, best.distances
    n, most, holes = best.count[0], slots.size, live.at.holes
    mixed = query.traits.shape[1] > 0 or query.holes[q] > 0
    for i in range(count):
        slot = some[i]
        limit = distances[n - 1] if n == most else np.inf
        distance = squares(here, q, there, slot, limit)
        if distance > limit:
            continue
        if mixed or holes[slot] > 0:
            distance += beyond(metric, query, q, live.at, slot)
        n = _insert(slots, distances, number, n, slot, distance)
    best.count[0] = n
    best.count[1] += count


@kernel()
def everywhere(live: Live, metric: Metric, query: Places, q: int, best: Found) -> None:
    """Measure everybody: O(slots · d)."""
    alive = live.alive
    some, count = np.empty(alive.size, dtype=np.int64), 0
    for slot in range(alive.size):
        if alive[slot]:
            some[count] = slot
            count += 1
    best.count[0] = best.count[1] = 0
    _measure(live, metric, query, q, some, count, best)


@kernel(inner=True)
def _walk(live: Live, one: int, key: int, mark: int, some: np.ndarray, count: int) -> int:
    """Add the slots of one region that this query has not met yet; how many there are now."""
    after, stamp = live.after, live.stamp
    slot = live.first[one, key]
    while slot >= 0:
        if stamp[slot] != mark:
            stamp[slot] = mark
            some[count] = slot
            count += 1
        slot = after[slot, one]
    return count


@kernel()
def by_region(
    live: Live, metric: Metric, query: Places, q: int, keys: np.ndarray, base: int, least: int, mark: int, best: Found
) -> None:
    """Measure the query's own region in every set; if these are fewer than `least`, also regions one step away, then everybody.

    `keys[q]` are the query's regions; `mark` is a number that no earlier query had.
    """
    best.count[0] = best.count[1] = 0
    sets, regions = live.first.shape
    some, count = np.empty(live.alive.size, dtype=np.int64), 0
    for one in range(sets):
        count = _walk(live, one, keys[q, one], mark, some, count)
    if count < least:
        for one in range(sets):
            step = 1
            while step < regions:
                digit = keys[q, one] // step % base
                if digit > 0:
                    count = _walk(live, one, keys[q, one] - step, mark, some, count)
                if digit < base - 1:
                    count = _walk(live, one, keys[q, one] + step, mark, some, count)
                step *= base
    if count < least:
        everywhere(live, metric, query, q, best)
    else:
        _measure(live, metric, query, q, some, count, best)


@kernel()
def by_list(
    live: Live, metric: Metric, query: Places, q: int, head: int, lists: Lists, last: int, enough: float, best: Found
) -> bool:
    """Measure a head's list and whoever came later; whether that is certain to be the same as measuring everybody.

    `last` is the number behind the newest record; who is farther than `enough` does not matter.
    """
    best.count[0] = best.count[1] = 0
    row, since = lists.row[head], lists.since[0]
    listed, alive, number = lists.slots, live.alive, live.number
    some, count = np.empty(listed.shape[1] + last - since, dtype=np.int64), 0
    for c in range(listed.shape[1]):
        slot = listed[row, c]
        if slot < 0:
            break
        if alive[slot] and number[slot] < since:
            some[count] = slot
            count += 1
    for later in range(since, last):
        slot = later % alive.size
        if alive[slot] and number[slot] == later:
            some[count] = slot
            count += 1
    _measure(live, metric, query, q, some, count, best)
    n = best.count[0]
    reach = best.distances[n - 1] if n == best.slots.size else np.inf
    return lists.bound[row] == np.inf or min(reach, enough) < lists.bound[row]


@kernel()
def shortlist(
    scores: np.ndarray,
    start: int,
    query: np.ndarray,
    traits: np.ndarray,
    weights: np.ndarray,
    kept: np.ndarray,
    slots: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
) -> None:
    """Go on collecting the smallest scores of each head: `scores[head, i]` belongs to slot `start + i`.

    `kept` and `slots` have room for twice as many as are wanted; whoever is left out has a score of at least `limit`.
    """
    for b in range(scores.shape[0]):
        n, room, top = fill[b], kept.shape[1], limit[b]
        for i in range(scores.shape[1]):
            score = scores[b, i]
            if not score < top:
                continue
            if traits.shape[1] > 0:
                for m in range(traits.shape[1]):
                    if query[b, m] != traits[start + i, m]:
                        score += weights[m]
                if not score < top:
                    continue
            kept[b, n], slots[b, n] = score, start + i
            n += 1
            if n == room:
                _smallest(kept, slots, b, n, room // 2)
                n = room // 2
                top = kept[b, 0]
                for j in range(1, n):
                    top = max(top, kept[b, j])
        fill[b], limit[b] = n, top


@kernel(inner=True)
def _smallest(kept: np.ndarray, slots: np.ndarray, b: int, n: int, wanted: int) -> None:
    """Bring the `wanted` smallest of a row to its front, in no order."""
    low, high = 0, n - 1
    while low < high:
        pivot = kept[b, (low + high) // 2]
        i, j = low, high
        while i <= j:
            while kept[b, i] < pivot:
                i += 1
            while kept[b, j] > pivot:
                j -= 1
            if i <= j:
                kept[b, i], kept[b, j] = kept[b, j], kept[b, i]
                slots[b, i], slots[b, j] = slots[b, j], slots[b, i]
                i += 1
                j -= 1
        if wanted - 1 <= j:
            high = j
        elif wanted - 1 >= i:
            low = i
        else:
            return
