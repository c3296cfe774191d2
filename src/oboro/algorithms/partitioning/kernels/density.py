"""Kernels of the partition by density: a tree of cuts, grown where the density changes and then pruned.

A cell with n of N records and volume V has the density n / (N·V); the log-likelihood of the records under all cells is
Σ n · log(n / (N·V)). A cut of one side of length l into l₁ and l₂ raises it by
n₁·log(n₁ / l₁) + n₂·log(n₂ / l₂) − n·log(n / l).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oboro.algorithms.partitioning.kernels.closures import ascending
from oboro.kernels.jit import kernel

__all__ = ["PlacedRecords", "best_cut", "grow"]


class PlacedRecords(NamedTuple):
    """Distinct records: ranks, how many are alike, and where each attribute's ranks lie (`places[offset[j] + rank]`)."""

    codes: np.ndarray
    loads: np.ndarray
    places: np.ndarray
    offset: np.ndarray


@kernel()
def grow(
    records: PlacedRecords,
    k: int,
    penalty: float,
    patience: int,
    halves: bool,
    items: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> int:
    """Cut the box of all records again and again; returns how many cells remain after pruning.

    Row 0 of `low` and `high` holds the edges of the whole box. On return the first rows hold the cells, and `items` from
    `starts` to `stops` are their records. A cut that does not pay the penalty is tried all the same, up to `patience`
    such cuts one below the other, in case the cuts below it pay for it. `halves` takes the median of the longest side
    instead of the best cut (Mondrian, for comparison). O(items · attributes · depth).
    """
    codes = records.codes
    d = codes.shape[1]
    left = np.full(starts.size, -1, dtype=np.int64)
    worth, weak = np.zeros(starts.size), np.zeros(starts.size, dtype=np.int64)
    starts[0], stops[0] = 0, items.size
    nodes, node = 1, 0
    while node < nodes:
        here = items[starts[node] : stops[node]]
        if halves:
            j, rank, edge, gain = _median_cut(records, k, here, high[0] - low[0])
        else:
            j, rank, edge, gain = best_cut(records, k, here, low[node], high[node])
        pays = halves or gain > penalty
        if j >= 0 and (pays or weak[node] < patience):
            middle = starts[node] + _part(codes, j, rank, here)
            for child in range(nodes, nodes + 2):
                low[child], high[child] = low[node], high[node]
                weak[child] = 0 if pays else weak[node] + 1
            starts[nodes], stops[nodes], high[nodes, j] = starts[node], middle, edge
            starts[nodes + 1], stops[nodes + 1], low[nodes + 1, j] = middle, stops[node], edge
            left[node], worth[node] = nodes, 1.0 if halves else gain - penalty
            nodes += 2
        node += 1
    _prune(left, worth, nodes)
    return _gather(left, starts, stops, low, high, d)


@kernel(inner=True)
def best_cut(
    records: PlacedRecords, k: int, items: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[int, int, float, float]:
    """The attribute, the last rank below, the place and the gain of the cut that raises the likelihood most, with k
    records or more on both sides; attribute −1 if there is none. Of equal gains the first counts.
    """
    codes, loads, places, offset = records
    best = (-1, 0, 0.0, -1.0)
    total = loads[items].sum()
    if total < 2 * k:
        return best
    for j in range(codes.shape[1]):
        ranks, held = _spectrum(codes, loads, j, items)
        line = places[offset[j] : offset[j + 1]]
        length = high[j] - low[j]
        below = 0
        for i in range(ranks.size - 1):
            below += held[i]
            if below < k:
                continue
            above = total - below
            if above < k:
                break
            edge = (line[ranks[i]] + line[ranks[i + 1]]) / 2
            gain = below * np.log(below * length / (total * (edge - low[j])))
            gain += above * np.log(above * length / (total * (high[j] - edge)))
            if gain > best[3]:
                best = (j, ranks[i], edge, gain)
    return best


@kernel(inner=True)
def _median_cut(records: PlacedRecords, k: int, items: np.ndarray, whole: np.ndarray) -> tuple[int, int, float, float]:
    """Strict Mondrian: the most even cut of the attribute with the widest range (of its records) that can be cut."""
    codes, loads, places, offset = records
    total = loads[items].sum()
    d = codes.shape[1]
    spans = np.empty(d)
    for j in range(d):
        line = places[offset[j] : offset[j + 1]]
        lowest, highest = _span(codes, j, items)
        spans[j] = -(line[highest] - line[lowest]) / whole[j]
    for j in ascending(spans):
        ranks, held = _spectrum(codes, loads, j, items)
        line = places[offset[j] : offset[j + 1]]
        below, most, cut = 0, k - 1, -1
        for i in range(ranks.size - 1):
            below += held[i]
            if min(below, total - below) > most:
                most, cut = min(below, total - below), i
        if cut >= 0:
            return j, ranks[cut], (line[ranks[cut]] + line[ranks[cut + 1]]) / 2, 0.0
    return -1, 0, 0.0, 0.0


@kernel(inner=True)
def _spectrum(codes: np.ndarray, loads: np.ndarray, j: int, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks of one attribute that occur, ascending, and how many records have each."""
    lowest, highest = _span(codes, j, items)
    if highest - lowest < 64 + 4 * items.size:
        counts = np.zeros(highest - lowest + 1, dtype=np.int64)
        for i in items:
            counts[codes[i, j] - lowest] += loads[i]
        found = np.flatnonzero(counts)
        return found + lowest, counts[found]
    keys = np.empty(items.size)
    for i in range(items.size):
        keys[i] = codes[items[i], j]
    found, held = np.empty(items.size, dtype=np.int64), np.zeros(items.size, dtype=np.int64)
    at = -1
    for i in ascending(keys):
        rank = np.int64(keys[i])
        if at < 0 or found[at] != rank:
            at += 1
            found[at] = rank
        held[at] += loads[items[i]]
    return found[: at + 1], held[: at + 1]


@kernel(inner=True)
def _span(codes: np.ndarray, j: int, items: np.ndarray) -> tuple[Any, Any]:
    """The smallest and the largest rank of one attribute."""
    lowest = highest = np.int64(codes[items[0], j])
    for i in items:
        lowest, highest = min(lowest, np.int64(codes[i, j])), max(highest, np.int64(codes[i, j]))
    return lowest, highest


@kernel(inner=True)
def _part(codes: np.ndarray, j: int, rank: int, items: np.ndarray) -> int:
    """Put the items up to a rank first, both parts in their order; returns how many they are."""
    rest = np.empty(items.size, dtype=items.dtype)
    below, above = 0, 0
    for i in range(items.size):
        if codes[items[i], j] <= rank:
            items[below] = items[i]
            below += 1
        else:
            rest[above] = items[i]
            above += 1
    for i in range(above):
        items[below + i] = rest[i]
    return below


@kernel(inner=True)
def _prune(left: np.ndarray, worth: np.ndarray, nodes: int) -> None:
    """Take back, from the bottom up, every cut that with all cuts below it does not pay."""
    for node in range(nodes - 1, -1, -1):
        child = left[node]
        if child < 0:
            worth[node] = 0.0
            continue
        worth[node] += worth[child] + worth[child + 1]
        if worth[node] <= 0.0:
            left[node], worth[node] = -1, 0.0


@kernel(inner=True)
def _gather(left: np.ndarray, starts: np.ndarray, stops: np.ndarray, low: np.ndarray, high: np.ndarray, d: int) -> int:
    """Move the leaves of the pruned tree to the front, in the order of their nodes; returns how many there are."""
    reached = np.zeros(left.size, dtype=np.bool_)
    reached[0] = True
    cells = 0
    for node in range(left.size):
        if not reached[node]:
            continue
        if left[node] >= 0:
            reached[left[node]] = reached[left[node] + 1] = True
            continue
        starts[cells], stops[cells] = starts[node], stops[node]
        low[cells], high[cells] = low[node], high[node]
        cells += 1
    return cells
