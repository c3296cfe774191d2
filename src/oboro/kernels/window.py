"""A window over a stream: records enter, heads are decided, what is decided leaves in the order in which it came."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.gathering import Rules, gather, gather_diverse
from oboro.kernels.live import Anchors, Live, Metric, apart, put, take_out
from oboro.kernels.nearby import Found, Lists, by_list, by_region, everywhere, found

__all__ = ["Incoming", "Outgoing", "State", "advance", "reindex"]

# The kinds of index.
EXHAUSTIVE, REGIONS, LISTS = 0, 1, 2
# What a slot holds: nothing, a record that waits for its group, one whose release is known, one that cannot be released.
EMPTY, WAITING, DECIDED, WITHHELD = 0, 1, 2, 3
# `marks`: the number of the head, of the next record, of the next published centroid, of the next query; how many wait; the
# number at which everything is learned anew (0: nothing is learned yet); counts of groups, joins, searches begun anew.
HEAD, TAIL, ENTRY, QUERY, WAITERS, DUE, GROUPS, JOINS, AGAIN, MARKS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
# Why `advance` came back.
DONE, LISTS_NEEDED, LEARN = 0, 1, 2
NOT_YET = -1


class State(NamedTuple):
    """Everything that is remembered; `raw` are numbers as they came, and once decided as they are released."""

    buffer: Live
    raw: np.ndarray
    status: np.ndarray
    arrived: np.ndarray  # when each record came
    demands: np.ndarray  # codes that must differ within a group: the secret, the person
    cache: Live  # published centroids, oldest first overwritten
    cache_raw: np.ndarray
    count: np.ndarray  # how many records were released as this centroid
    anchors: Anchors
    metric: Metric
    centre: np.ndarray
    factor: np.ndarray
    lists: Lists
    cache_lists: Lists
    marks: np.ndarray
    losses: np.ndarray  # sum over decisions of the loss of the head, their number; and the true loss over all records


class Incoming(NamedTuple):
    """Records that come in, a row each."""

    raw: np.ndarray
    traits: np.ndarray
    lacking: np.ndarray
    demands: np.ndarray
    now: float
    delay: float  # heads that have waited so long are decided now
    ending: bool  # nobody comes after these: decide everybody
    heads: int  # 0; in the paper's experiment how many heads pass, or −1 while the window is filled


class Outgoing(NamedTuple):
    """Records that leave, in the order in which they came."""

    raw: np.ndarray
    traits: np.ndarray
    lacking: np.ndarray
    number: np.ndarray
    withheld: np.ndarray


@kernel(inner=True)
def _place(live: Live, raw: np.ndarray, slot: int, centre: np.ndarray, factor: np.ndarray) -> None:
    """Scale a record's numbers."""
    holes = 0
    for m in range(raw.shape[1]):
        gone = live.at.lacking[slot, m]
        holes += gone
        live.at.points[slot, m] = (centre[m] if gone else raw[slot, m]) * factor[m]
    live.at.holes[slot] = holes


@kernel()
def reindex(state: State) -> None:
    """Place and enter everybody anew, after something was learned. O((W + cache) · (d + anchors · d))."""
    for live, raw in ((state.buffer, state.raw), (state.cache, state.cache_raw)):
        live.first[:] = -1
        for slot in range(live.alive.size):
            if live.wide.shape[0] > 0:
                live.wide[slot, :] = np.inf
                live.wide[slot, :-1] = 0
            if live.number[slot] >= 0:
                _place(live, raw, slot, state.centre, state.factor)
                if live.alive[slot]:
                    put(live, state.anchors, slot)
    state.lists.row[:] = -1


@kernel(inner=True)
def _enter(state: State, rows: Incoming, i: int) -> None:
    slot = state.marks[TAIL] % state.status.size
    buffer = state.buffer
    state.raw[slot, :] = rows.raw[i, :]
    buffer.at.traits[slot, :] = rows.traits[i, :]
    buffer.at.lacking[slot, :] = rows.lacking[i, :]
    state.demands[slot, :] = rows.demands[i, :]
    state.arrived[slot] = rows.now
    state.status[slot] = WAITING
    buffer.number[slot] = state.marks[TAIL]
    _place(buffer, state.raw, slot, state.centre, state.factor)
    if state.marks[DUE] > 0:
        put(buffer, state.anchors, slot)
    else:
        buffer.alive[slot] = 1
    state.lists.row[slot] = -1
    state.marks[TAIL] += 1
    state.marks[WAITERS] += 1


@kernel(inner=True)
def _neighbours(state: State, rules: Rules, q: int, best: Found) -> None:
    state.marks[QUERY] += 1
    buffer = state.buffer
    if rules.kind == REGIONS:
        by_region(
            buffer, state.metric, buffer.at, q, buffer.keys, rules.base, rules.candidates, state.marks[QUERY], best
        )
    elif rules.kind == EXHAUSTIVE or not by_list(
        buffer, state.metric, buffer.at, q, q, state.lists, state.marks[TAIL], np.inf, best
    ):
        everywhere(buffer, state.metric, buffer.at, q, best)
        state.marks[AGAIN] += rules.kind == LISTS


@kernel(inner=True)
def _published(state: State, rules: Rules, q: int, enough: float, best: Found) -> None:
    """The nearest published centroid that may take one more; who is farther than `enough` does not matter."""
    buffer, cache = state.buffer, state.cache
    if rules.kind == REGIONS:
        by_region(cache, state.metric, buffer.at, q, buffer.keys, rules.base, 0, state.marks[QUERY], best)
    elif rules.kind == EXHAUSTIVE or not by_list(
        cache, state.metric, buffer.at, q, q, state.cache_lists, state.marks[ENTRY], enough, best
    ):
        everywhere(cache, state.metric, buffer.at, q, best)
        state.marks[AGAIN] += rules.kind == LISTS


@kernel(inner=True)
def _any_published(state: State, q: int) -> int:
    """The nearest of all published centroids, however many it stands for; −1 if there is none."""
    cache, chosen, least = state.cache, -1, np.inf
    for slot in range(cache.alive.size):
        if state.count[slot] > 0:
            distance = apart(state.metric, state.buffer.at, q, cache.at, slot)
            if distance < least:
                chosen, least = slot, distance
    return chosen


@kernel(inner=True)
def _publish(state: State, rules: Rules, order: np.ndarray, size: int, loss: float) -> None:
    """Make a group of the first members: a new centroid, which all of them are released as."""
    buffer, cache = state.buffer, state.cache
    slot = state.marks[ENTRY] % cache.alive.size
    if cache.alive[slot]:
        take_out(cache, slot)
    for m in range(state.raw.shape[1]):
        total, present, low, high = 0.0, 0, np.inf, -np.inf
        for i in range(size):
            if not buffer.at.lacking[order[i], m]:
                x = state.raw[order[i], m]
                total += x
                present += 1
                low, high = min(low, x), max(high, x)
        cache.at.lacking[slot, m] = 2 * present <= size
        state.cache_raw[slot, m] = np.nan
        if 2 * present > size:
            state.cache_raw[slot, m] = min(max(total / present, low), high)
    for m in range(buffer.at.traits.shape[1]):
        best, most = buffer.at.traits[order[0], m], 0
        for i in range(size):
            code, same = buffer.at.traits[order[i], m], 0
            for j in range(size):
                same += buffer.at.traits[order[j], m] == code
            if same > most or (same == most and code < best):
                best, most = code, same
        cache.at.traits[slot, m] = best
    cache.number[slot] = state.marks[ENTRY]
    state.count[slot] = 0
    _place(cache, state.cache_raw, slot, state.centre, state.factor)
    state.marks[ENTRY] += 1
    state.marks[GROUPS] += 1
    for i in range(size):
        if i > 0:
            take_out(buffer, order[i])
        _release_as(state, order[i], slot)
    if state.count[slot] <= 2 * rules.k - 1:
        put(cache, state.anchors, slot)
    state.losses[0] += loss


@kernel(inner=True)
def _release_as(state: State, slot: int, entry: int) -> None:
    """Write a published centroid over a record."""
    for m in range(state.raw.shape[1]):
        gap = state.buffer.at.points[slot, m] - state.cache.at.points[entry, m]
        state.losses[2] += gap * gap
        if state.buffer.at.lacking[slot, m] != state.cache.at.lacking[entry, m]:
            state.losses[2] += state.metric.gaps[m]
        state.raw[slot, m] = state.cache_raw[entry, m]
        state.buffer.at.lacking[slot, m] = state.cache.at.lacking[entry, m]
    for m in range(state.buffer.at.traits.shape[1]):
        if state.buffer.at.traits[slot, m] != state.cache.at.traits[entry, m]:
            state.losses[2] += state.metric.weights[m]
            state.buffer.at.traits[slot, m] = state.cache.at.traits[entry, m]
    state.status[slot] = DECIDED
    state.count[entry] += 1
    state.marks[WAITERS] -= 1


@kernel(inner=True)
def _join(state: State, rules: Rules, q: int, entry: int, loss: float) -> None:
    _release_as(state, q, entry)
    if state.cache.alive[entry] and state.count[entry] > 2 * rules.k - 1:
        take_out(state.cache, entry)
    state.marks[JOINS] += 1
    state.losses[0] += loss


@kernel(inner=True)
def decide(state: State, rules: Rules, ending: bool, late: bool) -> int:
    """Decide the head: a new group (process 1) or a published centroid (process 2), whichever loses less.

    `late`: the head may go on waiting if there is nothing for it (`NOT_YET`); else it is withheld.
    """
    q = state.marks[HEAD] % state.status.size
    if rules.kind == LISTS and state.lists.row[q] < 0:
        return LISTS_NEEDED
    waiting = state.marks[WAITERS] - 1
    take_out(state.buffer, q)
    best, order = found(rules.pool), np.empty(2 * rules.k - 1, dtype=np.int64)
    _neighbours(state, rules, q, best)
    size, loss = gather(rules, state.metric, state.buffer, state.demands, q, best, waiting, ending, order)
    if size == 0 and rules.least.size > 0 and waiting + 1 >= rules.k:
        size, loss = gather_diverse(rules, state.metric, state.buffer, state.demands, q, order)
    state.losses[1] += 1
    nearest = found(1)
    if not (ending and waiting > 0 and waiting < rules.k and size > 0):
        _published(state, rules, q, loss, nearest)
    if nearest.count[0] > 0 and nearest.distances[0] < loss:
        _join(state, rules, q, nearest.slots[0], nearest.distances[0])
    elif size > 0:
        _publish(state, rules, order, size, loss)
    else:
        return _last_resort(state, rules, q, late)
    return DONE


@kernel(inner=True)
def _last_resort(state: State, rules: Rules, q: int, late: bool) -> int:
    """No group and no centroid with room: the nearest centroid of all, or go on waiting, or never."""
    entry = _any_published(state, q)
    if entry >= 0:
        _join(state, rules, q, entry, 0.0)
    elif late:
        state.losses[1] -= 1
        put(state.buffer, state.anchors, q)
        return NOT_YET
    else:
        state.status[q] = WITHHELD
        state.marks[WAITERS] -= 1
    return DONE


@kernel(inner=True)
def _leave(state: State, out: Outgoing, count: int) -> int:
    """Let decided heads go; how many have left."""
    while state.marks[HEAD] < state.marks[TAIL]:
        slot = state.marks[HEAD] % state.status.size
        if state.status[slot] == WAITING:
            break
        out.raw[count, :] = state.raw[slot, :]
        out.traits[count, :] = state.buffer.at.traits[slot, :]
        out.lacking[count, :] = state.buffer.at.lacking[slot, :]
        out.number[count] = state.marks[HEAD]
        out.withheld[count] = state.status[slot] == WITHHELD
        state.status[slot] = EMPTY
        state.buffer.number[slot] = -1
        state.marks[HEAD] += 1
        count += 1
    return count


@kernel(inner=True)
def _fill(state: State, rows: Incoming) -> int:
    """Let records in without deciding anybody: the start of the experiment."""
    for i in range(rows.raw.shape[0]):
        _enter(state, rows, i)
    return DONE


@kernel(inner=True)
def _paper(state: State, rules: Rules, rows: Incoming, progress: np.ndarray) -> int:
    """The experiment of the paper: one record enters for each head that is decided, none for heads whose release is known."""
    marks = state.marks
    while progress[1] < rows.heads:
        slot = marks[HEAD] % state.status.size
        if state.status[slot] == WAITING:
            why = decide(state, rules, False, False)
            if why != DONE:
                return why
            marks[HEAD] += 1
            _enter(state, rows, progress[0])
            progress[0] += 1
        else:
            marks[HEAD] += 1
        progress[1] += 1
    return DONE


@kernel()
def advance(state: State, rules: Rules, rows: Incoming, out: Outgoing, progress: np.ndarray) -> int:
    """Take rows in and let out what is decided: `progress` says how many of each. Comes back early where it needs something."""
    if rows.heads != 0:
        return _fill(state, rows) if rows.heads < 0 else _paper(state, rules, rows, progress)
    marks = state.marks
    while True:
        progress[1] = _leave(state, out, progress[1])
        held = marks[TAIL] - marks[HEAD]
        full = held == state.status.size
        ending = rows.ending and progress[0] == rows.raw.shape[0]
        possible = marks[WAITERS] >= rules.k or marks[ENTRY] > 0
        old = possible and held > 0 and state.arrived[marks[HEAD] % state.status.size] + rows.delay <= rows.now
        if held > 0 and (full or ending or old):
            if marks[DUE] == 0 or (marks[DUE] <= marks[TAIL] and not ending):
                return LEARN
            why = decide(state, rules, ending, not full and not ending)
            if why == LISTS_NEEDED:
                return why
            if why == DONE:
                continue
        if progress[0] == rows.raw.shape[0]:
            return DONE
        _enter(state, rows, progress[0])
        progress[0] += 1
