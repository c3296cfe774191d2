"""Kernels of the top-down greedy method of local recoding, improved and as published.

Xu et al., "Utility-based anonymization using local recoding", 2006. In the published method every record is treated by
itself, and seeds and the order of assignment are random. The other one (`split`) keeps equal records together and
leaves nothing to chance. It loses less, but a stream that repeats a published experiment needs the published one.
"""

from __future__ import annotations

import numpy as np

from oboro.algorithms.partitioning.kernels.closures import (
    AttributeTables,
    LocalProblem,
    allowed,
    apart,
    ascending,
    close,
    joined,
    part_keeps,
    place,
    widen,
)
from oboro.kernels.jit import coin, kernel

__all__ = ["assign", "divide", "lacking", "split"]


# Deterministic split --------------------------------------------------------------------------------------------------
# One step of the top-down greedy method (Xu et al., "Utility-based anonymization using local recoding", 2006).


ROUNDS = 3  # of looking for the farthest record from the farthest; more hardly move the seeds (Xu et al. 2006, 4.2)


@kernel(inner=True)
def split(
    problem: LocalProblem, items: np.ndarray, loads: np.ndarray, out: np.ndarray, out_loads: np.ndarray
) -> np.ndarray:
    """Split one group in two, written to `out` one after the other; returns where they end, nothing if it stays whole.

    `items` are the distinct records of the group and `loads` how many records are alike. Two seeds far apart; every
    other item joins the one where the loss grows less; a group that then is too small or breaks a rule takes the
    nearest from the other one. O(items · attributes), and · log(items) where records move over.
    """
    u, v = _seeds(problem.codes, problem.shape, items)
    if u == v:
        return np.zeros(0, dtype=np.int64)
    side = assign(problem.codes, problem.shape, items, loads, u, v)
    if not allowed(problem, items, loads, side):
        side = _balance(problem, items, loads, side)
    if side.size == 0:
        return side
    return place(items, loads, side, out, out_loads)


@kernel(inner=True)
def _seeds(codes: np.ndarray, shape: AttributeTables, items: np.ndarray) -> tuple[int, int]:
    """Two records far apart: the farthest from the first one, the farthest from that one, and so on."""
    u, v, most = 0, 0, 0.0
    for _ in range(ROUNDS):
        far, farthest = v, most
        for i in range(items.size):
            distance = apart(shape, codes[items[i]], codes[items[v]])
            if distance > farthest:
                far, farthest = i, distance
        if farthest <= most:
            break
        u, v, most = v, far, farthest
    return u, v


@kernel(inner=True)
def assign(
    codes: np.ndarray, shape: AttributeTables, items: np.ndarray, loads: np.ndarray, u: int, v: int
) -> np.ndarray:
    """Each item goes where the total loss (size · NCP) grows less; where both grow alike, to the smaller group."""
    d = codes.shape[1]
    low, high = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    close(shape, codes[items[u]], low[0], high[0])
    close(shape, codes[items[v]], low[1], high[1])
    size = np.array([loads[u], loads[v]])
    lost = np.array([joined(shape, codes[items[u]], low[0], high[0]), joined(shape, codes[items[v]], low[1], high[1])])
    side = np.zeros(items.size, dtype=np.int64)
    side[u] = loads[u]
    for i in range(items.size):
        if i == u or i == v:  # noqa: SIM109  (a tuple test compiles to a loop)
            continue
        record = codes[items[i]]
        first, second = joined(shape, record, low[0], high[0]), joined(shape, record, low[1], high[1])
        grows = (size[0] + loads[i]) * first - size[0] * lost[0]
        other = (size[1] + loads[i]) * second - size[1] * lost[1]
        to = 0 if grows < other or (grows == other and size[0] <= size[1]) else 1
        widen(shape, record, low[to], high[to])
        size[to] += loads[i]
        lost[to] = first if to == 0 else second
        side[i] = loads[i] if to == 0 else 0
    return side


@kernel(inner=True)
def _balance(problem: LocalProblem, items: np.ndarray, loads: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Let the part that lacks something take the records that widen it least, twice as many each time, until both may
    stand; nothing at all if they never may.
    """
    side, k = lacking(problem, items, loads, side), problem.k
    total, size = loads.sum(), side.sum()
    order = _by_growth(problem.codes, problem.shape, items, loads, side)
    more = k - size if size < k else k
    while size + more <= total - k:
        grown = _taken(order, loads, side, more)
        if allowed(problem, items, loads, grown):
            return grown
        more *= 2
    return np.zeros(0, dtype=np.int64)


@kernel(inner=True)
def lacking(problem: LocalProblem, items: np.ndarray, loads: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Of two parts the one that is too small or breaks a rule; the smaller one, if both do."""
    if 2 * side.sum() > loads.sum():
        side = loads - side
    if side.sum() >= problem.k and part_keeps(problem.rules, items, loads, side, True):
        side = loads - side
    return side


@kernel(inner=True)
def _by_growth(
    codes: np.ndarray, shape: AttributeTables, items: np.ndarray, loads: np.ndarray, side: np.ndarray
) -> np.ndarray:
    """The items outside a group by how much they would widen it, equal ones in their order."""
    low, high = np.empty(codes.shape[1], dtype=np.int64), np.empty(codes.shape[1], dtype=np.int64)
    outside, growth = np.empty(items.size, dtype=np.int64), np.empty(items.size)
    begun, found = False, 0
    for i in range(items.size):
        if side[i] > 0 and not begun:
            close(shape, codes[items[i]], low, high)
            begun = True
        elif side[i] > 0:
            widen(shape, codes[items[i]], low, high)
    for i in range(items.size):
        if side[i] < loads[i]:
            outside[found] = i
            growth[found] = joined(shape, codes[items[i]], low, high)
            found += 1
    order = ascending(growth[:found])
    for i in range(found):
        order[i] = outside[order[i]]
    return order


@kernel(inner=True)
def _taken(order: np.ndarray, loads: np.ndarray, side: np.ndarray, lacking: int) -> np.ndarray:
    """The group with `lacking` more records, in the given order; of the last item perhaps a part."""
    grown = side.copy()
    for i in order:
        more = min(lacking, loads[i] - side[i])
        grown[i] += more
        lacking -= more
        if lacking == 0:
            break
    return grown


# Published method -----------------------------------------------------------------------------------------------------


PUBLISHED_ROUNDS = 6  # three times there and back between the farthest (4.2)


@kernel()
def divide(problem: LocalProblem, state: np.ndarray, labels: np.ndarray) -> int:
    """Split all records again and again; `labels` says in which group each ends, returned is how many groups there are.

    `state` is one random number, and goes on. O(records · attributes · depth).
    """
    count = problem.codes.shape[0]
    items, ones, spare = np.arange(count), np.ones(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    starts, stops = np.zeros(count + 1, dtype=np.int64), np.full(count + 1, count)
    waiting, groups = 1, 0
    while waiting > 0:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        group, loads = items[start:stop].copy(), ones[start:stop]
        side = ones[:0]
        if group.size >= 2 * problem.k:
            side = _split(problem, group, loads, state)
        if side.size > 0:
            middle = start + place(group, loads, side, items[start:], spare)[0]
            starts[waiting], stops[waiting] = start, middle
            starts[waiting + 1], stops[waiting + 1] = middle, stop
            waiting += 2
        else:
            for i in group:
                labels[i] = groups
            groups += 1
    return groups


@kernel(inner=True)
def _split(problem: LocalProblem, items: np.ndarray, loads: np.ndarray, state: np.ndarray) -> np.ndarray:
    """1 for the items of one part and 0 for those of the other; nothing at all if the group stays whole.

    A part that is too small takes the nearest from the other or is put together with it, whichever loses less (the paper's
    last step, done where the small part arises: its neighbour is the part that it has just been split from).
    """
    codes, shape = problem.codes, problem.shape
    u, v = _published_seeds(codes, shape, items, state)
    if u == v:
        return loads[:0]
    side = _assigned(codes, shape, items, loads, u, v, state)
    if allowed(problem, items, loads, side):
        return side
    filled = _filled(problem, items, loads, side)
    if filled.size == 0 or _lost(codes, shape, items, filled) >= _lost(codes, shape, items, loads):
        return loads[:0]
    return filled


@kernel(inner=True)
def _published_seeds(
    codes: np.ndarray, shape: AttributeTables, items: np.ndarray, state: np.ndarray
) -> tuple[int, int]:
    """From a record at random to the farthest from it, back to the farthest from that one, and so on."""
    v = np.int64(coin(state) % np.uint64(items.size))
    u = v
    for done in range(PUBLISHED_ROUNDS):
        far, farthest = v, 0.0
        for i in range(items.size):
            distance = apart(shape, codes[items[i]], codes[items[v]])
            if distance > farthest:
                far, farthest = i, distance
        if far == v:
            break
        if far == u:  # each is the farthest from the other: from now on there is only going there and back
            return (u, v) if (PUBLISHED_ROUNDS - done) % 2 == 0 else (v, u)
        u, v = v, far
    return u, v


@kernel(inner=True)
def _assigned(
    codes: np.ndarray, shape: AttributeTables, items: np.ndarray, loads: np.ndarray, u: int, v: int, state: np.ndarray
) -> np.ndarray:
    """Each item, in random order, to the seed's part whose total loss grows less."""
    order = np.arange(items.size)
    for i in range(items.size - 1, 0, -1):
        j = np.int64(coin(state) % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    shuffled, at = np.empty_like(items), np.empty_like(items)
    for i in range(items.size):
        shuffled[i], at[order[i]] = items[order[i]], i
    found = assign(codes, shape, shuffled, loads, at[u], at[v])
    side = np.empty_like(found)
    for i in range(items.size):
        side[i] = found[at[i]]
    return side


@kernel(inner=True)
def _filled(problem: LocalProblem, items: np.ndarray, loads: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The part that lacks something with the nearest of the other, twice as many each time, until both may stand; nothing at
    all if they never may.
    """
    side, k = lacking(problem, items, loads, side), problem.k
    codes, shape = problem.codes, problem.shape
    total, size = items.size, side.sum()
    grown = side.copy()
    low, high, _ = _closure(codes, shape, items, grown, 1)
    more = k - size if size < k else k
    while size + more <= total - k:
        for _ in range(more):
            _take_nearest(codes, shape, items, grown, low, high)
        if allowed(problem, items, loads, grown):
            return grown
        size, more = size + more, 2 * more
    return loads[:0]


@kernel(inner=True)
def _take_nearest(
    codes: np.ndarray, shape: AttributeTables, items: np.ndarray, grown: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    """Let the item in that widens the part least, of equal ones the first."""
    nearest, least = -1, np.inf
    for i in range(items.size):
        if grown[i] == 0:
            widened = joined(shape, codes[items[i]], low, high)
            if widened < least:
                nearest, least = i, widened
    grown[nearest] = 1
    widen(shape, codes[items[nearest]], low, high)


@kernel(inner=True)
def _lost(codes: np.ndarray, shape: AttributeTables, items: np.ndarray, side: np.ndarray) -> float:
    """Size times NCP, of both parts together."""
    total = 0.0
    for part in range(2):
        low, high, size = _closure(codes, shape, items, side, part)
        for i in range(items.size):
            if side[i] == part:  # any one of them: it is in the closure already
                total += size * joined(shape, codes[items[i]], low, high)
                break
    return total


@kernel(inner=True)
def _closure(
    codes: np.ndarray, shape: AttributeTables, items: np.ndarray, side: np.ndarray, part: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Compute the closure of the items of one part, and their number."""
    low, high = np.zeros(codes.shape[1], dtype=np.int64), np.zeros(codes.shape[1], dtype=np.int64)
    size = 0
    for i in range(items.size):
        if side[i] == part and size == 0:
            close(shape, codes[items[i]], low, high)
        elif side[i] == part:
            widen(shape, codes[items[i]], low, high)
        size += side[i] == part
    return low, high, size
