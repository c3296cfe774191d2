"""Searching a live set: everything, by regions, or by lists made for many heads at once. The nearest first, equal ones by age."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.neighbours.kernels.live_points import LivePoints, Metric, PointRows, beyond, squares
from oboro.kernels import kernel

__all__ = ["CandidateLists", "Neighbours", "by_list", "by_region", "everywhere", "notice"]

UNIT = 2.0**-24  # the rounding of single precision
STEP = 4  # of a list are measured before looking again how far the rest is


class Neighbours(NamedTuple):
    """The nearest so far, in order; there is room for as many as are asked for."""

    slots: np.ndarray
    distances: np.ndarray
    count: np.ndarray  # how many are there, and how many were measured


class CandidateLists(NamedTuple):
    """Candidates that were made for many heads at once. Whoever is in no list was at least `bound` away when it was made."""

    row: np.ndarray  # by slot of the head: its list, or −1
    slots: np.ndarray  # [list, candidate], −1 at the end
    least: np.ndarray  # [list, candidate]: what it is away at least, squared; ascending
    bound: np.ndarray
    since: np.ndarray  # the number of the first record that came later
    places: np.ndarray  # float32 [coordinate, list]: where the heads stand, less the shift
    reach: np.ndarray  # [list]: who is farther when measured there is beyond `bound`
    late: np.ndarray  # [list, i]: the numbers of those who came later and may be nearer than `bound`
    lates: np.ndarray  # [list]: how many; more than there is room for: nobody wrote them down
    turn: np.ndarray  # the list whose head is next, and how many lists there are
    apart: np.ndarray  # float32: room for a distance from each head


@kernel(inner=True, bare=True)
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


@kernel(inner=True, bare=True)
def _measure(
    live: LivePoints,
    metric: Metric,
    query: PointRows,
    q: int,
    some: np.ndarray,
    count: int,
    enough: float,
    best: Neighbours,
) -> None:
    """Measure the first `count` of some slots and keep the nearest, as far as `enough`: O(count · d)."""
    here, there, number = query.points, live.at.points, live.number
    slots, distances = best.slots, best.distances
    n, most, holes = best.count[0], slots.size, live.at.holes
    mixed = query.traits.shape[1] > 0 or query.holes[q] > 0
    for i in range(count):
        slot = some[i]
        limit = distances[n - 1] if n == most else enough
        distance = squares(here, q, there, slot, limit)
        if distance > limit:
            continue
        if mixed or holes[slot] > 0:
            distance += beyond(metric, query, q, live.at, slot)
        n = _insert(slots, distances, number, n, slot, distance)
    best.count[0] = n
    best.count[1] += count


@kernel(bare=True)
def everywhere(live: LivePoints, metric: Metric, query: PointRows, q: int, enough: float, best: Neighbours) -> None:
    """Measure everybody: O(slots · d)."""
    alive, some, count = live.alive, live.some, 0
    for slot in range(alive.size):
        if alive[slot]:
            some[count] = slot
            count += 1
    best.count[0] = best.count[1] = 0
    _measure(live, metric, query, q, some, count, enough, best)


@kernel(inner=True, bare=True)
def _walk(live: LivePoints, one: int, key: int, mark: int, some: np.ndarray, count: int) -> int:
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


@kernel(bare=True)
def by_region(
    live: LivePoints,
    metric: Metric,
    query: PointRows,
    q: int,
    keys: np.ndarray,
    base: int,
    least: int,
    mark: int,
    enough: float,
    best: Neighbours,
) -> None:
    """Measure the query's own region in every set; if these are fewer than `least`, also regions one step away, then everybody.

    `keys[q]` are the query's regions; `mark` is a number that no earlier query had.
    """
    best.count[0] = best.count[1] = 0
    sets, regions = live.first.shape
    some, count = live.some, 0
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
        everywhere(live, metric, query, q, enough, best)
    else:
        _measure(live, metric, query, q, some, count, enough, best)


@kernel(bare=True)
def by_list(
    live: LivePoints,
    metric: Metric,
    query: PointRows,
    q: int,
    head: int,
    lists: CandidateLists,
    last: int,
    enough: float,
    best: Neighbours,
) -> bool:
    """Measure a head's list and whoever came later; whether that is certain to be the same as measuring everybody.

    `last` is the number behind the newest record; who is farther than `enough` does not matter. Of a list hardly more are
    measured than are kept: it is sorted, and says what each is away at least.
    """
    best.count[0] = best.count[1] = 0
    row, since = lists.row[head], lists.since[0]
    listed, least, alive, number = lists.slots, lists.least, live.alive, live.number
    distances, most = best.distances, best.slots.size
    some, count, reach = live.some, 0, enough
    for c in range(listed.shape[1]):
        slot = listed[row, c]
        if slot < 0 or least[row, c] > reach:
            break
        if alive[slot] and number[slot] < since:
            some[count] = slot
            count += 1
        if count == STEP:
            _measure(live, metric, query, q, some, count, enough, best)
            count = 0
            reach = min(enough, distances[most - 1]) if best.count[0] == most else enough
    _measure(live, metric, query, q, some, count, enough, best)
    count, noted = 0, lists.lates[row] <= lists.late.shape[1]
    for i in range(lists.lates[row] if noted else last - since):
        later = lists.late[row, i] if noted else since + i
        slot = later % alive.size
        if alive[slot] and number[slot] == later:
            some[count] = slot
            count += 1
    _measure(live, metric, query, q, some, count, enough, best)
    lists.turn[0] = row + 1
    reach = min(enough, distances[most - 1]) if best.count[0] == most else enough
    return lists.bound[row] == np.inf or reach < lists.bound[row]


@kernel(inner=True, bare=True)
def notice(lists: CandidateLists, live: LivePoints, slot: int) -> None:
    """Write down a record that comes later, for every head to come that it may be nearer to than the bound of its list.

    In single precision, for many heads at once: that takes a fifth of the time of measuring everybody who came later when it is
    a head's turn. Points x and t that are rounded stand at most 2^-24 (|x| + |t|) nearer or farther, and the sum is right to d + 8
    roundings. Categories and missing numbers only add to a distance.
    """
    if lists.turn[0] >= lists.turn[1]:
        return
    begin, row, width, room = lists.turn[0], live.row[slot], lists.places.shape[0], lists.late.shape[1]
    some, wide = lists.apart[begin : lists.turn[1]], live.wide
    some[:] = 0.0
    for m in range(width):
        x, heads = np.float32(-0.5) * wide[row, m], lists.places[m, begin : lists.turn[1]]
        for b in range(some.size):
            some[b] += (x - heads[b]) * (x - heads[b])
    own, wrong = UNIT * np.sqrt(np.float64(wide[row, width])), 1 + 2 * (width + 8) * UNIT
    for b in range(some.size):
        most = wrong * (lists.reach[begin + b] + own)
        if not some[b] > most * most:
            at = begin + b
            if lists.lates[at] < room:
                lists.late[at, lists.lates[at]] = live.number[slot]
            lists.lates[at] += 1
