"""Searching a live set: everything, by regions, or by lists made for many heads at once. The nearest first, equal ones by age."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.neighbours.kernels.live_points import LivePoints, Metric, PointRows, beyond, squares
from oboro.kernels import kernel

__all__ = ["CandidateLists", "Neighbours", "by_list", "by_region", "everywhere", "ranked", "shortlist"]

CLASSES = 128
STEP = 8  # of a list are measured before looking again how far the rest is
LARGE = 1e15  # norms beyond which single precision could overflow
TINY = 1e-30  # more than what is lost where single precision underflows


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
    count = 0
    for later in range(since, last):
        slot = later % alive.size
        if alive[slot] and number[slot] == later:
            some[count] = slot
            count += 1
    _measure(live, metric, query, q, some, count, enough, best)
    reach = min(enough, distances[most - 1]) if best.count[0] == most else enough
    return lists.bound[row] == np.inf or reach < lists.bound[row]


@kernel()
def shortlist(
    scores: np.ndarray,
    start: int,
    query: np.ndarray,
    traits: np.ndarray,
    owner: np.ndarray,
    weights: np.ndarray,
    kept: np.ndarray,
    rows: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
) -> None:
    """Go on collecting the smallest scores of each head: `scores[head, i]` belongs to row `start + i`.

    `kept` and `rows` have room for twice as many as are wanted; whoever is left out has a score of at least `limit`. First
    the smallest score of every class of columns (by the remainder) is found, many at once; hardly any class is looked at
    closely. That takes a third of the time of looking at every score.
    """
    room, lowest = kept.shape[1], np.empty(CLASSES, dtype=np.float32)
    scratch, nothing = np.empty((1, CLASSES)), np.zeros((1, CLASSES), dtype=np.int64)
    for b in range(scores.shape[0]):
        line, n, top = scores[b], fill[b], limit[b]
        _lowest(line, lowest)
        if n == 0 and room <= CLASSES and traits.shape[1] == 0:  # so many classes have someone below that
            scratch[0, :] = lowest
            _smallest(scratch, nothing, 0, CLASSES, room // 2 + 1)
            top = np.float32(scratch[0, : room // 2 + 1].max())
        for one in range(min(CLASSES, line.size)):
            if not lowest[one] < top:
                continue
            for i in range(one, line.size, CLASSES):
                score = np.float64(line[i])
                if not score < top:
                    continue
                for m in range(traits.shape[1]):
                    if query[b, m] != traits[owner[start + i], m]:
                        score += weights[m]
                if not score < top:
                    continue
                kept[b, n], rows[b, n] = score, start + i
                n += 1
                if n == room:
                    _smallest(kept, rows, b, n, room // 2)
                    n = room // 2
                    top = np.float32(kept[b, :n].max())
        fill[b], limit[b] = n, top


@kernel(inner=True, bare=True)
def _lowest(line: np.ndarray, lowest: np.ndarray) -> None:
    """The smallest of every class of columns; written so that it is done for eight at once."""
    lowest[:] = np.inf
    for begin in range(0, line.size - CLASSES + 1, CLASSES):
        part = line[begin : begin + CLASSES]
        for one in range(CLASSES):
            lowest[one] = part[one] if part[one] < lowest[one] else lowest[one]
    rest = line[line.size - line.size % CLASSES :]
    for one in range(rest.size):
        lowest[one] = rest[one] if rest[one] < lowest[one] else lowest[one]


@kernel(bare=True)
def ranked(
    owner: np.ndarray,
    everybody: int,
    norms: np.ndarray,
    rounding: float,
    least: np.ndarray,
    slots: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
    bound: np.ndarray,
) -> None:
    """Make lists of what was collected: nearest first, slots instead of rows, distances that are certain instead of scores.

    `norms` are the squared norms of the heads. A list that has no limit, and not everybody, promises nothing.
    """
    for b in range(slots.shape[0]):
        n = fill[b]
        _sort(least, slots, b, n)
        for c in range(n):
            least[b, c] = _certain(least[b, c], norms[b], rounding)
            slots[b, c] = owner[slots[b, c]]
        slots[b, n:] = -1
        if limit[b] < np.inf:
            bound[b] = _certain(np.float64(limit[b]), norms[b], rounding)
        else:
            bound[b] = np.inf if n == everybody else -np.inf


@kernel(inner=True, bare=True)
def _certain(score: float, norm: float, rounding: float) -> float:
    """What a record with this score, or a greater one, is away at least (squared) from a head with this norm.

    A record x has |x| ≤ R = |q| + √(score + |q|²), and then the score is wrong by at most `rounding` · (R² + 2 |q| R); or it is
    outside of R, and then farther away than the score says. So whoever is far away spoils nobody else's bound.
    """
    own = np.sqrt(norm)
    reach = own + np.sqrt(max(score + norm, 0.0))
    if not reach < LARGE:
        return -np.inf
    return score + norm - rounding * (reach * reach + 2 * own * reach) - TINY


@kernel(inner=True, bare=True)
def _sort(kept: np.ndarray, slots: np.ndarray, b: int, n: int) -> None:
    """By insertion: a few dozen."""
    for i in range(1, n):
        score, slot, at = kept[b, i], slots[b, i], i
        while at > 0 and kept[b, at - 1] > score:
            kept[b, at], slots[b, at] = kept[b, at - 1], slots[b, at - 1]
            at -= 1
        kept[b, at], slots[b, at] = score, slot


@kernel(inner=True, bare=True)
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
