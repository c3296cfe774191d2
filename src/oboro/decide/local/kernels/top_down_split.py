"""One step of the top-down greedy method (Xu et al., "Utility-based anonymization using local recoding", 2006)."""

from __future__ import annotations

import numpy as np

from oboro.decide.local.kernels.group_closures import (
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
from oboro.kernels import kernel

__all__ = ["assign", "lacking", "split"]

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
