"""Kernels of a window: records enter, groups are formed, and decided records leave in the order of arrival."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.algorithms.neighbours.kernels import (
    Anchors,
    CandidateLists,
    LivePoints,
    Metric,
    Neighbours,
    PointRows,
    apart,
    beyond,
    by_list,
    by_region,
    copy_row,
    everywhere,
    notice,
    put,
    squares,
    take_out,
)
from oboro.kernels.jit import kernel

__all__ = [
    "GroupRules",
    "GroupScratch",
    "Incoming",
    "Outgoing",
    "WindowState",
    "advance",
    "average",
    "commonest",
    "decide",
    "enter",
    "gather",
    "gather_diverse",
    "reindex",
]


# Group formation ------------------------------------------------------------------------------------------------------
# Members of the group of a head: the group with the least loss per record, k to 2k − 1 of them (Yamayoshi et al., 4.2).


class GroupRules(NamedTuple):
    """Requirements on a group, and settings of its search."""

    k: int
    grow: bool  # the next member is nearest to the centre of those so far, not to the head
    pool: int  # how many of the nearest are considered
    least: np.ndarray  # of each demand (a secret, a person): how many different values
    candidates: int  # how many candidates a search by regions finds at least
    kind: int  # of index
    base: int  # parts an anchor cuts the data into
    exchange: bool  # members of a group are released in each other's places
    people: int  # the demand for different people; −1 if records are counted


class GroupScratch(NamedTuple):
    """Working memory of a decision; nothing here is remembered."""

    best: Neighbours  # neighbours of the head
    nearest: Neighbours  # the nearest published centroid
    order: np.ndarray  # the group's members
    values: np.ndarray  # what they have of one number, in order
    used: np.ndarray  # which of the neighbours are members
    different: np.ndarray  # of each demand: how many different values the group has
    centre: PointRows  # of the group


@kernel(inner=True, bare=True)
def _different(demands: np.ndarray, order: np.ndarray, size: int, slot: int, which: int) -> bool:
    """Whether a record's value is not among those of the first members; a missing one (−1) is not different from anything."""
    if demands[slot, which] < 0:
        return False
    for i in range(size):  # noqa: SIM110  (numba has no all() over a generator)
        if demands[order[i], which] == demands[slot, which]:
            return False
    return True


@kernel(inner=True, bare=True)
def different_among(demands: np.ndarray, order: np.ndarray, size: int, which: int) -> int:
    """Count the different values of the first members; missing ones do not count."""
    found = 0
    for i in range(size):
        found += _different(demands, order, i, order[i], which)
    return found


@kernel(inner=True, bare=True)
def commonest(traits: np.ndarray, order: np.ndarray, size: int, m: int) -> tuple[int, int]:
    """Return the most frequent category of the first members (of ties the smallest), and its count."""
    best, most = traits[order[0], m], 0
    for i in range(size):
        code, same = traits[order[i], m], 0
        for j in range(size):
            same += traits[order[j], m] == code
        if same > most or (same == most and code < best):
            best, most = code, same
    return best, most


@kernel(inner=True, bare=True)
def _settle(metric: Metric, at: PointRows, order: np.ndarray, size: int, centre: PointRows) -> float:
    """Categories and gaps of the centre: what most members have, of equally many the smallest; and what that costs."""
    cost, traits, holes, lacking = 0.0, at.traits, at.holes, at.lacking
    for m in range(traits.shape[1]):
        centre.traits[0, m], most = commonest(traits, order, size, m)
        cost += metric.weights[m] * (size - most)
    missing = 0
    for i in range(size):
        missing += holes[order[i]]
    centre.holes[0] = 0
    if missing == 0:
        centre.lacking[0, :] = 0
        return cost
    for m in range(lacking.shape[1]):
        gone = 0
        for i in range(size):
            gone += lacking[order[i], m]
        centre.lacking[0, m] = 2 * gone >= size
        centre.holes[0] += centre.lacking[0, m]
        cost += metric.gaps[m] * min(gone, size - gone)
    return cost


@kernel(inner=True, bare=True)
def _next(
    rules: GroupRules, metric: Metric, at: PointRows, best: Neighbours, used: np.ndarray, size: int, centre: PointRows
) -> int:
    """Which candidate comes next; −1 if there is none."""
    if not rules.grow:
        return size - 1 if size - 1 < best.count[0] else -1
    chosen, least = -1, np.inf
    slots, here, there = best.slots, centre.points, at.points
    mixed = at.traits.shape[1] > 0 or centre.holes[0] > 0
    holes = at.holes
    for c in range(best.count[0]):
        if used[c]:
            continue
        distance = squares(here, 0, there, slots[c], least)
        if distance < least and (mixed or holes[slots[c]] > 0):
            distance += beyond(metric, centre, 0, at, slots[c])
        if distance < least:
            chosen, least = c, distance
    return chosen


@kernel(inner=True, bare=True)
def _join_group(at: PointRows, centre: PointRows, size: int, slot: int) -> float:
    """Move the centre of `size` members for one more; how much the sum of squares grows by that (exact, no cancellation)."""
    here, there = centre.points, at.points
    more = squares(here, 0, there, slot, np.inf) * size / (size + 1)
    for m in range(here.shape[1]):
        here[0, m] += (there[slot, m] - here[0, m]) / (size + 1)
    return more


@kernel(inner=True, bare=True)
def _count_different(demands: np.ndarray, scratch: GroupScratch, size: int, slot: int) -> None:
    for which in range(scratch.different.size):
        scratch.different[which] += _different(demands, scratch.order, size, slot, which)


@kernel(inner=True, bare=True)
def _begin(at: PointRows, demands: np.ndarray, q: int, scratch: GroupScratch) -> None:
    """A group of one."""
    copy_row(at.points, q, scratch.centre.points, 0)
    copy_row(at.traits, q, scratch.centre.traits, 0)
    copy_row(at.lacking, q, scratch.centre.lacking, 0)
    scratch.centre.holes[0] = at.holes[q]
    scratch.used[:] = False
    scratch.different[:] = 0
    scratch.order[0] = q
    _count_different(demands, scratch, 0, q)


@kernel(inner=True, bare=True)
def _lacks(rules: GroupRules, scratch: GroupScratch) -> int:
    """A demand that has too few different values; −1 if there is none."""
    for which in range(rules.least.size):
        if scratch.different[which] < rules.least[which]:
            return which
    return -1


@kernel(inner=True, bare=True)
def gather(
    rules: GroupRules,
    metric: Metric,
    at: PointRows,
    demands: np.ndarray,
    q: int,
    scratch: GroupScratch,
    waiting: int,
    ending: bool,
) -> tuple[int, float]:
    """The size of the best group around q and its loss per record; `scratch.order` holds its members. Size 0: there is none.

    `ending`: nobody new will come, so nobody of the `waiting` others may be left over alone.
    """
    _begin(at, demands, q, scratch)
    best, centre, order = scratch.best, scratch.centre, scratch.order
    total, chosen, least = 0.0, 0, np.inf
    for size in range(1, 2 * rules.k - 1):
        c = _next(rules, metric, at, best, scratch.used, size, centre)
        if c < 0:
            break
        scratch.used[c] = True
        slot = best.slots[c]
        _count_different(demands, scratch, size, slot)
        total += _join_group(at, centre, size, slot)
        order[size] = slot
        cost = _settle(metric, at, order, size + 1, centre) if rules.grow or size + 1 >= rules.k else 0.0
        left = waiting - size
        if size + 1 < rules.k or _lacks(rules, scratch) >= 0 or (ending and 0 < left < rules.k):
            continue
        if (total + cost) / (size + 1) < least:
            chosen, least = size + 1, (total + cost) / (size + 1)
    return chosen, least


@kernel(inner=True, bare=True)
def gather_diverse(
    rules: GroupRules, metric: Metric, live: LivePoints, demands: np.ndarray, q: int, scratch: GroupScratch
) -> tuple[int, float]:
    """As `gather`, where the nearest are too much alike: first whoever is nearest and different, then whoever is nearest.

    O(k · slots · d); asked only where `gather` found nothing.
    """
    _begin(live.at, demands, q, scratch)
    at, centre, order = live.at, scratch.centre, scratch.order
    size, total, cost = 1, 0.0, 0.0
    while size < order.size:
        lacking = _lacks(rules, scratch)
        if lacking < 0 and size >= rules.k:
            break
        chosen = _nearest_different(metric, live, demands, q, order, size, lacking)
        if chosen < 0:
            return 0, np.inf
        _count_different(demands, scratch, size, chosen)
        total += _join_group(at, centre, size, chosen)
        order[size] = chosen
        size += 1
        cost = _settle(metric, at, order, size, centre)
    if size < rules.k or _lacks(rules, scratch) >= 0:
        return 0, np.inf
    return size, (total + cost) / size


@kernel(inner=True, bare=True)
def _nearest_different(
    metric: Metric, live: LivePoints, demands: np.ndarray, q: int, order: np.ndarray, size: int, lacking: int
) -> int:
    """Who is nearest to q of those who are no members and, if a demand is `lacking`, differ in it; −1 if nobody."""
    alive, number, chosen, least = live.alive, live.number, -1, np.inf
    for slot in range(alive.size):
        if not alive[slot]:
            continue
        member = False
        for i in range(size):
            member |= order[i] == slot
        if member or (lacking >= 0 and not _different(demands, order, size, slot, lacking)):
            continue
        distance = apart(metric, live.at, q, live.at, slot)
        if distance < least or (distance == least and chosen >= 0 and number[slot] < number[chosen]):
            chosen, least = slot, distance
    return chosen


@kernel(inner=True, bare=True)
def average(
    raw: np.ndarray,
    lacking: np.ndarray,
    order: np.ndarray,
    size: int,
    values: np.ndarray,
    out: np.ndarray,
    gone: np.ndarray,
    slot: int,
) -> None:
    """The mean of what members have of each number; missing, where no more than half of them have it.

    Added from the smallest to the largest: in the order of the members the last bits of the sum would tell who was first.
    Each loop does many numbers at once; one number after the other took fifteen times as long.
    """
    total, lost, there = values.shape[0] - 3, values.shape[0] - 2, values.shape[0] - 1
    _in_order(raw, lacking, order, size, values, there)
    _add(values, size, total, lost, there)
    for m in range(raw.shape[1]):
        present = int(values[there, m])
        gone[slot, m] = 2 * present <= size
        mean = (values[total, m] + values[lost, m]) / max(present, 1)
        out[slot, m] = min(max(mean, values[0, m]), values[present - 1, m]) if 2 * present > size else np.nan


@kernel(inner=True, bare=True)
def _in_order(
    raw: np.ndarray, lacking: np.ndarray, order: np.ndarray, size: int, values: np.ndarray, there: int
) -> None:
    """The members' values of each number, the smallest first and missing ones last; row `there` says how many there are."""
    for m in range(raw.shape[1]):
        values[there, m] = 0.0
    for i in range(size):
        one = order[i]
        for m in range(raw.shape[1]):
            values[i, m] = np.inf if lacking[one, m] else raw[one, m]
            values[there, m] += 0.0 if lacking[one, m] else 1.0
    for last in range(size - 1, 0, -1):
        for i in range(last):
            for m in range(raw.shape[1]):
                a, b = values[i, m], values[i + 1, m]
                values[i, m] = b if a > b else a
                values[i + 1, m] = a if a > b else b


@kernel(inner=True, bare=True)
def _add(values: np.ndarray, size: int, total: int, lost: int, there: int) -> None:
    """Sums of the rows, with what rounding loses on the way: numbers that cancel leave their digits (Neumaier 1974)."""
    for m in range(values.shape[1]):
        values[total, m] = values[lost, m] = 0.0
    for i in range(size):
        for m in range(values.shape[1]):
            before = values[total, m]
            one = values[i, m] if i < values[there, m] else 0.0
            after = before + one
            values[lost, m] += (before - after) + one if abs(before) >= abs(one) else (one - after) + before
            values[total, m] = after


# Steps of a window ----------------------------------------------------------------------------------------------------


# The kinds of index.
EXHAUSTIVE, REGIONS, LISTS = 0, 1, 2
# What a slot holds: nothing, a record that waits for its group, one whose release is known, one that cannot be released.
EMPTY, WAITING, DECIDED, WITHHELD = 0, 1, 2, 3
# `marks`: the number of the head, of the next record, of the next published centroid, of the next query; how many wait; the
# number at which everything is learned anew (0: nothing is learned yet); counts of groups, joins, searches begun anew; how many
# random numbers are used up, and how often there were new ones.
HEAD, TAIL, ENTRY, QUERY, WAITERS, DUE, GROUPS, JOINS, AGAIN, DRAWN, REFILLS, MARKS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
# Why `advance` came back.
DONE, LISTS_NEEDED, LEARN, CHANCE_NEEDED = 0, 1, 2, 3
NOT_YET = -1


class WindowState(NamedTuple):
    """Everything that is remembered; `raw` are numbers as they came, and once decided as they are released."""

    buffer: LivePoints
    raw: np.ndarray
    status: np.ndarray
    arrived: np.ndarray  # when each record came
    owner: np.ndarray  # the number of the record whose other fields are released here
    demands: np.ndarray  # codes that must differ within a group: the secret, the person
    cache: LivePoints  # published centroids, oldest first overwritten
    cache_raw: np.ndarray
    count: np.ndarray  # how many records were released as this centroid
    anchors: Anchors
    metric: Metric
    centre: np.ndarray
    factor: np.ndarray
    lists: CandidateLists
    cache_lists: CandidateLists
    scratch: GroupScratch
    marks: np.ndarray
    chance: np.ndarray  # random numbers, for places that are exchanged
    losses: np.ndarray  # sum over decisions of the loss of the head, their number; and the true loss over all records
    crowd: np.ndarray  # the smallest group so far, in records or people; 0 before the first


class Incoming(NamedTuple):
    """Records that come in, a row each."""

    raw: np.ndarray
    traits: np.ndarray
    lacking: np.ndarray
    demands: np.ndarray
    now: float
    delay: float  # heads that have waited so long are decided now
    ending: bool  # nobody comes after these: decide everybody


class Outgoing(NamedTuple):
    """Records that leave, in the order in which they came."""

    raw: np.ndarray
    traits: np.ndarray
    lacking: np.ndarray
    owner: np.ndarray
    withheld: np.ndarray


@kernel(inner=True, bare=True)
def _place(live: LivePoints, raw: np.ndarray, slot: int, centre: np.ndarray, factor: np.ndarray) -> None:
    """Scale a record's numbers."""
    points, lacking, holes = live.at.points, live.at.lacking, 0
    for m in range(raw.shape[1]):
        gone = lacking[slot, m]
        holes += gone
        points[slot, m] = (centre[m] if gone else raw[slot, m]) * factor[m]
    live.at.holes[slot] = holes


@kernel(bare=True)
def reindex(state: WindowState) -> None:
    """Place and enter all records again after learning. O((W + cache) · (d + anchors · d))."""
    for live, raw in ((state.buffer, state.raw), (state.cache, state.cache_raw)):
        live.first[:] = -1
        live.rows[0] = 0
        for slot in range(live.alive.size):
            if live.number[slot] >= 0:
                _place(live, raw, slot, state.centre, state.factor)
                if live.alive[slot]:
                    put(live, state.anchors, slot)
    state.lists.row[:] = -1
    state.lists.turn[:] = state.cache_lists.turn[:] = 0


@kernel(inner=True, bare=True)
def enter(state: WindowState, buffer: LivePoints, rows: Incoming, i: int) -> None:
    """Let one record in, at the end of the window."""
    slot = state.marks[TAIL] % state.status.size
    copy_row(rows.raw, i, state.raw, slot)
    copy_row(rows.traits, i, buffer.at.traits, slot)
    copy_row(rows.lacking, i, buffer.at.lacking, slot)
    copy_row(rows.demands, i, state.demands, slot)
    state.arrived[slot] = rows.now
    state.status[slot] = WAITING
    buffer.number[slot] = state.owner[slot] = state.marks[TAIL]
    _place(buffer, state.raw, slot, state.centre, state.factor)
    if state.marks[DUE] > 0:
        put(buffer, state.anchors, slot)
        notice(state.lists, buffer, slot)
    else:
        buffer.alive[slot] = 1
    state.lists.row[slot] = -1
    state.marks[TAIL] += 1
    state.marks[WAITERS] += 1


@kernel(inner=True, bare=True)
def _neighbours(state: WindowState, buffer: LivePoints, rules: GroupRules, q: int, best: Neighbours) -> None:
    state.marks[QUERY] += 1
    if rules.kind == REGIONS:
        by_region(
            buffer,
            state.metric,
            buffer.at,
            q,
            buffer.keys,
            rules.base,
            rules.candidates,
            state.marks[QUERY],
            np.inf,
            best,
        )
    elif rules.kind == EXHAUSTIVE or not by_list(
        buffer, state.metric, buffer.at, q, q, state.lists, state.marks[TAIL], np.inf, best
    ):
        everywhere(buffer, state.metric, buffer.at, q, np.inf, best)
        state.marks[AGAIN] += rules.kind == LISTS


@kernel(inner=True, bare=True)
def _published(
    state: WindowState,
    buffer: LivePoints,
    cache: LivePoints,
    rules: GroupRules,
    q: int,
    enough: float,
    best: Neighbours,
) -> None:
    """The nearest published centroid that may take one more; who is farther than `enough` does not matter."""
    if rules.kind == REGIONS:
        by_region(cache, state.metric, buffer.at, q, buffer.keys, rules.base, 0, state.marks[QUERY], enough, best)
    elif rules.kind == EXHAUSTIVE or not by_list(
        cache, state.metric, buffer.at, q, q, state.cache_lists, state.marks[ENTRY], enough, best
    ):
        everywhere(cache, state.metric, buffer.at, q, enough, best)
        state.marks[AGAIN] += rules.kind == LISTS


@kernel(inner=True, bare=True)
def _any_published(state: WindowState, buffer: LivePoints, cache: LivePoints, q: int) -> int:
    """The nearest of all published centroids, however many it stands for; −1 if there is none."""
    count, here, there, metric = state.count, buffer.at, cache.at, state.metric
    chosen, least = -1, np.inf
    for slot in range(count.size):
        if count[slot] > 0:
            distance = apart(metric, here, q, there, slot)
            if distance < least:
                chosen, least = slot, distance
    return chosen


@kernel(inner=True, bare=True)
def _publish(
    state: WindowState,
    buffer: LivePoints,
    cache: LivePoints,
    rules: GroupRules,
    order: np.ndarray,
    size: int,
    loss: float,
) -> None:
    """Make a group of the first members: a new centroid, which all of them are released as."""
    slot = state.marks[ENTRY] % cache.alive.size
    if cache.alive[slot]:
        take_out(cache, slot)
    average(state.raw, buffer.at.lacking, order, size, state.scratch.values, state.cache_raw, cache.at.lacking, slot)
    for m in range(buffer.at.traits.shape[1]):
        cache.at.traits[slot, m], _ = commonest(buffer.at.traits, order, size, m)
    cache.number[slot] = state.marks[ENTRY]
    state.count[slot] = 0
    _place(cache, state.cache_raw, slot, state.centre, state.factor)
    state.marks[ENTRY] += 1
    state.marks[GROUPS] += 1
    for i in range(size):
        if i > 0:
            take_out(buffer, order[i])
        _release_as(state, buffer.at, order[i], cache.at, slot)
    if rules.exchange:
        _exchange(state, order, size)
    if state.crowd[0] == 0 or state.crowd[0] > rules.k:
        crowd = size if rules.people < 0 else different_among(state.demands, order, size, rules.people)
        state.crowd[0] = crowd if state.crowd[0] == 0 else min(crowd, state.crowd[0])
    if state.count[slot] <= 2 * rules.k - 1:
        put(cache, state.anchors, slot)
        notice(state.cache_lists, cache, slot)
    state.losses[0] += loss


@kernel(inner=True, bare=True)
def _exchange(state: WindowState, order: np.ndarray, size: int) -> None:
    """Put the members of a new group into each other's places, every order equally likely (Fisher & Yates)."""
    owner, chance = state.owner, state.chance
    for i in range(size - 1, 0, -1):
        j = np.int64(chance[state.marks[DRAWN]] % np.uint64(i + 1))
        state.marks[DRAWN] += 1
        here, there = order[i], order[j]
        owner[here], owner[there] = owner[there], owner[here]


@kernel(inner=True, bare=True)
def _release_as(state: WindowState, here: PointRows, slot: int, there: PointRows, entry: int) -> None:
    """Write a published centroid over a record."""
    state.losses[2] += apart(state.metric, here, slot, there, entry)
    copy_row(state.cache_raw, entry, state.raw, slot)
    copy_row(there.lacking, entry, here.lacking, slot)
    copy_row(there.traits, entry, here.traits, slot)
    state.status[slot] = DECIDED
    state.count[entry] += 1
    state.marks[WAITERS] -= 1


@kernel(inner=True, bare=True)
def _release_with_entry(
    state: WindowState, buffer: LivePoints, cache: LivePoints, rules: GroupRules, q: int, entry: int, loss: float
) -> None:
    _release_as(state, buffer.at, q, cache.at, entry)
    if cache.alive[entry] and state.count[entry] > 2 * rules.k - 1:
        take_out(cache, entry)
    state.marks[JOINS] += 1
    state.losses[0] += loss


@kernel(inner=True, bare=True)
def decide(
    state: WindowState, buffer: LivePoints, cache: LivePoints, rules: GroupRules, ending: bool, late: bool
) -> int:
    """Decide the head: a new group (process 1) or a published centroid (process 2), whichever loses less.

    `late`: the head may go on waiting if there is nothing for it (`NOT_YET`); else it is withheld.
    """
    q = state.marks[HEAD] % state.status.size
    if rules.kind == LISTS and state.lists.row[q] < 0:
        return LISTS_NEEDED
    waiting = state.marks[WAITERS] - 1
    take_out(buffer, q)
    scratch = state.scratch
    nearest = scratch.nearest
    _neighbours(state, buffer, rules, q, scratch.best)
    size, loss = gather(rules, state.metric, buffer.at, state.demands, q, scratch, waiting, ending)
    if size == 0 and rules.least.size > 0 and waiting + 1 >= rules.k:
        size, loss = gather_diverse(rules, state.metric, buffer, state.demands, q, scratch)
    state.losses[1] += 1
    nearest.count[0] = 0
    if not (ending and waiting > 0 and waiting < rules.k and size > 0):
        _published(state, buffer, cache, rules, q, loss, nearest)
    if nearest.count[0] > 0 and nearest.distances[0] < loss:
        _release_with_entry(state, buffer, cache, rules, q, nearest.slots[0], nearest.distances[0])
    elif size > 0:
        _publish(state, buffer, cache, rules, scratch.order, size, loss)
    else:
        return _last_resort(state, buffer, cache, rules, q, late)
    return DONE


@kernel(inner=True, bare=True)
def _last_resort(
    state: WindowState, buffer: LivePoints, cache: LivePoints, rules: GroupRules, q: int, late: bool
) -> int:
    """No group and no centroid with room: the nearest centroid of all, or go on waiting, or never."""
    entry = _any_published(state, buffer, cache, q)
    if entry >= 0:
        _release_with_entry(state, buffer, cache, rules, q, entry, 0.0)
    elif late:
        state.losses[1] -= 1
        put(buffer, state.anchors, q)
        if rules.kind == LISTS:  # whoever comes is still noticed for this head
            state.lists.turn[0] = state.cache_lists.turn[0] = state.lists.row[q]
        return NOT_YET
    else:
        state.status[q] = WITHHELD
        state.marks[WAITERS] -= 1
    return DONE


@kernel(inner=True, bare=True)
def _leave(state: WindowState, buffer: LivePoints, out: Outgoing, count: int) -> int:
    """Let decided heads go; how many have left."""
    while state.marks[HEAD] < state.marks[TAIL]:
        slot = state.marks[HEAD] % state.status.size
        if state.status[slot] == WAITING:
            break
        copy_row(state.raw, slot, out.raw, count)
        copy_row(buffer.at.traits, slot, out.traits, count)
        copy_row(buffer.at.lacking, slot, out.lacking, count)
        out.owner[count] = state.owner[slot]
        out.withheld[count] = state.status[slot] == WITHHELD
        state.status[slot] = EMPTY
        buffer.number[slot] = -1
        state.marks[HEAD] += 1
        count += 1
    return count


@kernel(bare=True)
def advance(state: WindowState, rules: GroupRules, rows: Incoming, out: Outgoing, progress: np.ndarray) -> int:
    """Take rows in and let out what is decided: `progress` says how many of each. Comes back early where it needs something."""
    buffer, cache = state.buffer, state.cache  # once: taking them out counts a reference for each of their arrays
    marks = state.marks
    while True:
        progress[1] = _leave(state, buffer, out, progress[1])
        held = marks[TAIL] - marks[HEAD]
        full = held == state.status.size
        ending = rows.ending and progress[0] == rows.raw.shape[0]
        possible = marks[WAITERS] >= rules.k or marks[ENTRY] > 0
        old = possible and held > 0 and state.arrived[marks[HEAD] % state.status.size] + rows.delay <= rows.now
        if held > 0 and (full or ending or old):
            if marks[DUE] == 0 or (marks[DUE] <= marks[TAIL] and not ending):
                return LEARN
            if rules.exchange and marks[DRAWN] + state.scratch.order.size > state.chance.size:
                return CHANCE_NEEDED
            why = decide(state, buffer, cache, rules, ending, not full and not ending)
            if why == LISTS_NEEDED:
                return why
            if why == DONE:
                continue
        if progress[0] == rows.raw.shape[0]:
            return DONE
        enter(state, buffer, rows, progress[0])
        progress[0] += 1
