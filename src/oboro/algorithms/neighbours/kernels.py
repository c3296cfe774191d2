"""Kernels of nearest-neighbour search in a live set: exhaustive, by regions (FDH, FDHQ), or by lists made for many
heads at once. The nearest come first, equal ones by age.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels.jit import kernel

__all__ = [
    "BLOCK",
    "Anchors",
    "CandidateLists",
    "LivePoints",
    "Metric",
    "Neighbours",
    "PointRows",
    "apart",
    "beyond",
    "by_list",
    "by_region",
    "copy_row",
    "everywhere",
    "key_of",
    "keys_of",
    "link",
    "notice",
    "put",
    "ranked",
    "shortlist",
    "squares",
    "take_out",
]


# Live points and regions ----------------------------------------------------------------------------------------------
# A live set of records as points: distances, and the regions of FDH and FDHQ, with records coming and going.
#
# Distance, squared: the squared differences of the numbers, a weight for each category that differs, and a gap for each
# number that is missing on one side only.


STRIDE = 16  # coordinates between two looks at the limit


class PointRows(NamedTuple):
    """Points of records, a row each."""

    points: np.ndarray  # numbers, scaled; a missing one stands at the centre
    traits: np.ndarray  # categories, as codes
    lacking: np.ndarray  # 1 where the number is missing
    holes: np.ndarray  # how many numbers are missing


class Metric(NamedTuple):
    """Weights of the differences in a distance."""

    weights: np.ndarray  # of each category, squared
    gaps: np.ndarray  # of each number that is missing on one side, squared


class Anchors(NamedTuple):
    """`s` sets of `A` anchors: key digit i of a set is how many of the radii of its anchor i a point lies beyond."""

    places: np.ndarray  # [coordinate, s · A]: all anchors are measured at once
    radii: np.ndarray  # [base − 1, s · A], ascending
    sets: int
    each: int
    distances: np.ndarray  # room for the distances of one point


class LivePoints(NamedTuple):
    """Slots, some of which hold a record that can be found; in as many linked lists of its region as there are sets."""

    at: PointRows
    alive: np.ndarray
    number: np.ndarray  # which record of the stream stands in a slot: decides between equal distances
    keys: np.ndarray  # [slot, set]
    first: np.ndarray  # [set, region]: a slot, or −1
    after: np.ndarray  # [slot, set]
    before: np.ndarray  # [slot, set]
    stamp: np.ndarray  # the last query that measured a slot: one distance a query, however many sets
    some: np.ndarray  # room for slots that a query looks at
    shift: np.ndarray  # what is taken from points before they become float32
    wide: np.ndarray  # float32 [row, d + 1]: −2 x and |x|² of those who are there, without gaps; no rows: not asked for
    owner: np.ndarray  # [row]: whose
    row: np.ndarray  # [slot]
    rows: np.ndarray  # how many


@kernel(inner=True, bare=True)
def squares(a: np.ndarray, i: int, b: np.ndarray, j: int, limit: float) -> float:
    """Return the squared distance of two rows, or something above `limit` as soon as it is above it."""
    width = a.shape[1]
    total, at = 0.0, 0
    while at + STRIDE <= width:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for m in range(at, at + STRIDE, 4):
            d0, d1, d2, d3 = (
                a[i, m] - b[j, m],
                a[i, m + 1] - b[j, m + 1],
                a[i, m + 2] - b[j, m + 2],
                a[i, m + 3] - b[j, m + 3],
            )
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        total += (s0 + s1) + (s2 + s3)
        if total > limit:
            return total
        at += STRIDE
    for m in range(at, width):
        total += (a[i, m] - b[j, m]) * (a[i, m] - b[j, m])
    return total


@kernel(inner=True, bare=True)
def beyond(metric: Metric, a: PointRows, i: int, b: PointRows, j: int) -> float:
    """Add up what categories and missing numbers contribute to the squared distance of two records."""
    total = 0.0
    for m in range(a.traits.shape[1]):
        if a.traits[i, m] != b.traits[j, m]:
            total += metric.weights[m]
    if a.holes[i] + b.holes[j] > 0:
        for m in range(a.lacking.shape[1]):
            if a.lacking[i, m] != b.lacking[j, m]:
                total += metric.gaps[m]
    return total


@kernel(inner=True, bare=True)
def apart(metric: Metric, a: PointRows, i: int, b: PointRows, j: int) -> float:
    """The squared distance of two records."""
    return squares(a.points, i, b.points, j, np.inf) + beyond(metric, a, i, b, j)


@kernel(inner=True, bare=True)
def copy_row(source: np.ndarray, i: int, target: np.ndarray, j: int) -> None:
    """Row i becomes row j."""
    for m in range(source.shape[1]):
        target[j, m] = source[i, m]


@kernel(inner=True, bare=True)
def key_of(anchors: Anchors, one: int) -> int:
    """The region in one set of anchors, from the distances to all of them: digits to the base of the parts, first anchor first."""
    base, key = anchors.radii.shape[0] + 1, 0
    for i in range(anchors.each):
        at, digit = one * anchors.each + i, 0
        for part in range(base - 1):
            if anchors.distances[at] > anchors.radii[part, at]:
                digit += 1
        key = key * base + digit
    return key


@kernel(inner=True, bare=True)
def keys_of(anchors: Anchors, points: np.ndarray, i: int, keys: np.ndarray, out: int) -> None:
    """The region of a point in every set. Anchors lie side by side, so that many are measured at once, in order of coordinates."""
    distances, places = anchors.distances, anchors.places
    distances[:] = 0
    for m in range(points.shape[1]):
        x = points[i, m]
        for a in range(distances.size):
            distances[a] += (x - places[m, a]) * (x - places[m, a])
    for a in range(distances.size):
        distances[a] = np.sqrt(distances[a])
    for one in range(anchors.sets):
        keys[out, one] = key_of(anchors, one)


@kernel(bare=True)
def put(live: LivePoints, anchors: Anchors, slot: int) -> None:
    """Insert a record whose place is written into the live set."""
    live.alive[slot] = 1
    if anchors.sets > 0:
        keys_of(anchors, live.at.points, slot, live.keys, slot)
        link(live, slot)
    if live.wide.shape[0] > 0:
        _widen(live, slot)


@kernel(inner=True, bare=True)
def _widen(live: LivePoints, slot: int) -> None:
    """Write a point into the next row."""
    points, shift, wide = live.at.points, live.shift, live.wide
    row, width, norm = live.rows[0], points.shape[1], 0.0
    for m in range(width):
        x = points[slot, m] - shift[m]
        wide[row, m] = -2 * x
        norm += x * x
    wide[row, width] = norm
    live.owner[row], live.row[slot] = slot, row
    live.rows[0] = row + 1


@kernel(inner=True, bare=True)
def _narrow(live: LivePoints, slot: int) -> None:
    """Let the last row take a point's place."""
    wide, row, last = live.wide, live.row[slot], live.rows[0] - 1
    for m in range(wide.shape[1]):
        wide[row, m] = wide[last, m]
    moved = live.owner[last]
    live.owner[row], live.row[moved] = moved, row
    live.rows[0] = last


@kernel(inner=True, bare=True)
def link(live: LivePoints, slot: int) -> None:
    """Enter a slot into the lists of its regions."""
    for one in range(live.first.shape[0]):
        key = live.keys[slot, one]
        behind = live.first[one, key]
        live.after[slot, one], live.before[slot, one] = behind, -1
        if behind >= 0:
            live.before[behind, one] = slot
        live.first[one, key] = slot


@kernel(bare=True)
def take_out(live: LivePoints, slot: int) -> None:
    """Remove a record from the live set."""
    live.alive[slot] = 0
    for one in range(live.first.shape[0]):
        behind, ahead = live.after[slot, one], live.before[slot, one]
        if behind >= 0:
            live.before[behind, one] = ahead
        if ahead >= 0:
            live.after[ahead, one] = behind
        else:
            live.first[one, live.keys[slot, one]] = behind
    if live.wide.shape[0] > 0:
        _narrow(live, slot)


# Nearest neighbours ---------------------------------------------------------------------------------------------------


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
    """Measure all records: O(slots · d)."""
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
    """Measure a head's list and the records that came later; returns whether that is certain to equal measuring all.

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


# Candidate lists ------------------------------------------------------------------------------------------------------
# Lists of the smallest scores: from the products of many heads with all records to candidates with certain distances.


BLOCK = 16  # records whose smallest score is looked at first
TURNS = 8  # halvings of where a first limit may be: lists then hold a twentieth more than is wanted
LARGE = 1e15  # norms beyond which single precision could overflow
TINY = 1e-30  # more than what is lost where single precision underflows


@kernel()
def shortlist(
    scores: np.ndarray,
    start: int,
    query: np.ndarray,
    traits: np.ndarray,
    owner: np.ndarray,
    weights: np.ndarray,
    lowest: np.ndarray,
    kept: np.ndarray,
    rows: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
) -> None:
    """Go on collecting the smallest scores of each head: `scores[i, head]` belongs to row `start + i`.

    `kept` and `rows` have room for twice as many as are wanted; whoever is left out has a score of at least `limit`. First
    the smallest score of every block of rows is found, for many heads at once; hardly any block is looked at closely. That
    takes half the time of doing the same head by head.
    """
    _lowest(scores, lowest)
    if start == 0 and traits.shape[1] == 0:
        _first_limits(lowest, kept.shape[1] // 2, limit)
    for block in range(lowest.shape[0]):
        some, least, first = scores[block * BLOCK : (block + 1) * BLOCK], lowest[block], start + block * BLOCK
        for b in range(least.size):
            top = limit[b]
            if least[b] < top:
                for i in range(some.shape[0]):
                    if some[i, b] < top:
                        top = _keep(some[i, b], first + i, b, query, traits, owner, weights, kept, rows, fill, limit)


@kernel(inner=True, bare=True)
def _keep(
    single: float,
    row: int,
    b: int,
    query: np.ndarray,
    traits: np.ndarray,
    owner: np.ndarray,
    weights: np.ndarray,
    kept: np.ndarray,
    rows: np.ndarray,
    fill: np.ndarray,
    limit: np.ndarray,
) -> float:
    """Keep one score if it is below the limit; where there is no more room, half of them stay and the limit sinks to this."""
    score = np.float64(single)
    for m in range(traits.shape[1]):
        if query[b, m] != traits[owner[row], m]:
            score += weights[m]
    if not score < limit[b]:
        return limit[b]
    n, room = fill[b], kept.shape[1]
    kept[b, n], rows[b, n] = score, row
    fill[b] = n + 1
    if n + 1 == room:
        _smallest(kept, rows, b, room, room // 2)
        fill[b] = room // 2
        top = kept[b, 0]
        for i in range(1, room // 2):
            top = max(top, kept[b, i])
        limit[b] = np.float32(top)
    return limit[b]


@kernel(inner=True, bare=True)
def _lowest(scores: np.ndarray, lowest: np.ndarray) -> None:
    """The smallest of every block of rows; written so that it is done for many heads at once."""
    for block in range(lowest.shape[0]):
        for b in range(lowest.shape[1]):
            lowest[block, b] = np.inf
        for i in range(block * BLOCK, min((block + 1) * BLOCK, scores.shape[0])):
            for b in range(lowest.shape[1]):
                lowest[block, b] = scores[i, b] if scores[i, b] < lowest[block, b] else lowest[block, b]


@kernel(inner=True)
def _first_limits(lowest: np.ndarray, wanted: int, limit: np.ndarray) -> None:
    """A limit below which so many blocks have someone, found by halving for many heads at once; none where that finds none."""
    heads = lowest.shape[1]
    low, high = lowest[0].copy(), lowest[0].copy()
    middle, count = np.empty(heads, dtype=np.float32), np.empty(heads, dtype=np.int32)
    for block in range(1, lowest.shape[0]):
        for b in range(heads):
            one = lowest[block, b]
            low[b] = one if one < low[b] else low[b]
            high[b] = one if one > high[b] else high[b]
    for _ in range(TURNS):
        for b in range(heads):
            middle[b], count[b] = np.float32(0.5) * (low[b] + high[b]), 0
        for block in range(lowest.shape[0]):
            for b in range(heads):
                count[b] += np.int32(1) if lowest[block, b] < middle[b] else np.int32(0)
        for b in range(heads):
            if count[b] >= wanted:
                high[b] = limit[b] = middle[b]
            else:
                low[b] = middle[b]


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
    """Lower bound on the squared distance from a head with this norm to a record with this score, or a greater one.

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
