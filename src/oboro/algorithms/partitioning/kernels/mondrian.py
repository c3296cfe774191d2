"""One step of Mondrian (LeFevre, DeWitt & Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006)."""

from __future__ import annotations

import numpy as np

from oboro.algorithms.partitioning.kernels.closures import (
    LocalProblem,
    SensitiveRules,
    allowed,
    ascending,
    close,
    keeps,
    loss,
    place,
    widen,
)
from oboro.kernels.jit import kernel

__all__ = ["split"]


BUCKETS = 2048  # counters for finding a middle value: 16 kB, so that they stay in the first cache


@kernel(inner=True)
def split(
    problem: LocalProblem, relaxed: bool, items: np.ndarray, loads: np.ndarray, out: np.ndarray, out_loads: np.ndarray
) -> np.ndarray:
    """Cut one group along the attribute that leaves most open and can be cut; the parts are written to `out` one after
    the other. Returns where they end, nothing if no attribute can be cut. O(items · attributes).
    """
    codes, shape, rules, k = problem.codes, problem.shape, problem.rules, problem.k
    low, high = np.empty(codes.shape[1], dtype=np.int64), np.empty(codes.shape[1], dtype=np.int64)
    close(shape, codes[items[0]], low, high)
    for i in items:
        widen(shape, codes[i], low, high)
    open_ = np.empty(codes.shape[1])
    for j in range(open_.size):
        open_[j] = -loss(shape, j, low[j], high[j])
    for j in ascending(open_):
        if open_[j] == 0.0:
            break
        values = np.empty(items.size, dtype=np.int64)
        for i in range(items.size):
            values[i] = codes[items[i], j]
        if shape.ordered[j]:
            side = _cut(problem, relaxed, j, low[j], high[j], values, items, loads)
            if side.size:
                return place(items, loads, side, out, out_loads)
        else:
            below = shape.offset[j] + (low[j] - 1) * shape.width[j]
            children = np.empty(items.size)
            for i in range(items.size):
                children[i] = shape.table[below + values[i]]
            ends = _branch(rules, k, children, items, loads, out, out_loads)
            if ends.size:
                return ends
    return np.zeros(0, dtype=np.int64)


# Cuts of ordered attributes -------------------------------------------------------------------------------------------


@kernel(inner=True)
def _cut(
    problem: LocalProblem,
    relaxed: bool,
    j: int,
    low: int,
    high: int,
    ranks: np.ndarray,
    items: np.ndarray,
    loads: np.ndarray,
) -> np.ndarray:
    """Return the amount of each item on the lower side of the first allowed cut; nothing if none is.

    Missing numbers stand alone if they may; else they are the largest. Then through the middle value (relaxed), or on
    the side of it that makes the parts more even, or on the other.
    """
    if high == problem.shape.missing[j]:
        side = _up_to(ranks, loads, high - 1)
        if allowed(problem, items, loads, side):
            return side
    total = loads.sum()
    middle, below, at = _middle(ranks, loads, low, high, (total + 1) // 2)
    if relaxed:
        side = _through(ranks, loads, middle, total // 2 - below)
        if allowed(problem, items, loads, side):
            return side
    before_first = abs(total - 2 * below) <= abs(total - 2 * (below + at))
    for first in (True, False):
        last = middle - 1 if first == before_first else middle
        side = _up_to(ranks, loads, last)
        if allowed(problem, items, loads, side):
            return side
    return np.zeros(0, dtype=np.int64)


@kernel(inner=True)
def _middle(ranks: np.ndarray, loads: np.ndarray, low: int, high: int, half: int) -> tuple[int, int, int]:
    """The smallest rank up to which there are `half` records, how many lie below it and how many on it.

    Counters for ranges of ranks, then for the ranks of the range where the half is reached: O(items) for each factor of
    2048 in the number of ranks.
    """
    buckets = min(BUCKETS, max(64, 2 * ranks.size))
    below = 0
    while True:
        shift = 0
        while (high - low) >> shift >= buckets:
            shift += 1
        held = np.zeros(((high - low) >> shift) + 1, dtype=np.int64)
        for i in range(ranks.size):
            if low <= ranks[i] <= high:
                held[(ranks[i] - low) >> shift] += loads[i]
        bucket = 0
        while below + held[bucket] < half:
            below += held[bucket]
            bucket += 1
        low += bucket << shift
        if shift == 0:
            return low, below, held[bucket]
        high = min(high, low + (1 << shift) - 1)


@kernel(inner=True)
def _up_to(ranks: np.ndarray, loads: np.ndarray, last: int) -> np.ndarray:
    """Everything up to a rank."""
    side = np.zeros(ranks.size, dtype=np.int64)
    for i in range(ranks.size):
        if ranks[i] <= last:
            side[i] = loads[i]
    return side


@kernel(inner=True)
def _through(ranks: np.ndarray, loads: np.ndarray, middle: int, lacking: int) -> np.ndarray:
    """Everything below the middle value, and so many of the records on it, in their order."""
    side = np.zeros(ranks.size, dtype=np.int64)
    for i in range(ranks.size):
        if ranks[i] < middle:
            side[i] = loads[i]
        elif ranks[i] == middle:
            side[i] = min(loads[i], lacking)
            lacking -= side[i]
    return side


# Cuts of categories ---------------------------------------------------------------------------------------------------


@kernel(inner=True)
def _branch(
    rules: SensitiveRules,
    k: int,
    children: np.ndarray,
    items: np.ndarray,
    loads: np.ndarray,
    out: np.ndarray,
    out_loads: np.ndarray,
) -> np.ndarray:
    """One part for each child in the hierarchy that may stand alone, and one for all others together.

    Where the others together may not, the smallest part joins them until they may. Nothing if fewer than two parts
    remain.
    """
    order = ascending(children)
    starts = _starts(children, order)
    sizes, alone = _judge(rules, k, order, starts, items, loads, out, out_loads)
    for part in ascending(sizes):
        rest = _write(starts, alone, False, order, items, loads, out, out_loads)
        if rest == 0 or _stands(rules, k, out[:rest], out_loads[:rest]):
            break
        alone[part] = False
    apart = _write(starts, alone, True, order, items, loads, out, out_loads)
    _write(starts, alone, False, order, items, loads, out[apart:], out_loads[apart:])
    ends = np.empty(alone.size + 1, dtype=np.int64)
    parts = 0
    for part in range(alone.size):
        if alone[part]:
            ends[parts] = starts[part + 1] - starts[part] + (ends[parts - 1] if parts else 0)
            parts += 1
    if apart < items.size:
        ends[parts] = items.size
        parts += 1
    return ends[:parts] if parts > 1 else ends[:0]


@kernel(inner=True)
def _stands(rules: SensitiveRules, k: int, items: np.ndarray, loads: np.ndarray) -> bool:
    return bool(loads.sum() >= k and keeps(rules, items, loads))


@kernel(inner=True)
def _starts(keys: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the start of each run of equal keys in the order, and the end of the last one."""
    starts = np.empty(order.size + 1, dtype=np.int64)
    found = 0
    for i in range(order.size):
        if i == 0 or keys[order[i]] != keys[order[i - 1]]:
            starts[found] = i
            found += 1
    starts[found] = order.size
    return starts[: found + 1]


@kernel(inner=True)
def _judge(
    rules: SensitiveRules,
    k: int,
    order: np.ndarray,
    starts: np.ndarray,
    items: np.ndarray,
    loads: np.ndarray,
    spare: np.ndarray,
    spare_loads: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """For each child how many records it has, and whether they may stand alone."""
    sizes = np.zeros(starts.size - 1)
    alone = np.zeros(starts.size - 1, dtype=np.bool_)
    for part in range(sizes.size):
        start, stop = starts[part], starts[part + 1]
        for i in range(start, stop):
            spare[i - start], spare_loads[i - start] = items[order[i]], loads[order[i]]
            sizes[part] += loads[order[i]]
        alone[part] = _stands(rules, k, spare[: stop - start], spare_loads[: stop - start])
    return sizes, alone


@kernel(inner=True)
def _write(
    starts: np.ndarray,
    alone: np.ndarray,
    wanted: bool,
    order: np.ndarray,
    items: np.ndarray,
    loads: np.ndarray,
    out: np.ndarray,
    out_loads: np.ndarray,
) -> int:
    """Write the children that stand alone, or those that do not, one after the other; returns how many items."""
    at = 0
    for part in range(alone.size):
        if alone[part] == wanted:
            for i in range(starts[part], starts[part + 1]):
                out[at], out_loads[at] = items[order[i]], loads[order[i]]
                at += 1
    return at
