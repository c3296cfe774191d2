"""Kernels that divide groups of records recursively until none can be split.

A group is a run of *items* (distinct records) with loads (how many records are alike). The run on top of the arena is
replaced by its parts; one that cannot be split is written out. An item may end up in several groups, each with a part
of its load. There is one loop for each method, so that using one does not compile the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.algorithms.partitioning.kernels import mondrian, top_down
from oboro.algorithms.partitioning.kernels.closures import LocalProblem
from oboro.kernels.jit import kernel

__all__ = ["RELAXED", "STRICT", "TOP_DOWN", "DividedGroups", "deal", "divide", "divide_mondrian", "divide_top_down"]


TOP_DOWN, STRICT, RELAXED = range(3)

_top_down, _mondrian = top_down.split, mondrian.split


def divide(method: int, *given: object) -> int:
    """`divide_top_down` or `divide_mondrian`."""
    if method == TOP_DOWN:
        return int(divide_top_down(*given))  # type: ignore[arg-type]
    return int(divide_mondrian(method == RELAXED, *given))  # type: ignore[arg-type]


class DividedGroups(NamedTuple):
    """Groups that are not split any further: group g is `items[ends[g − 1] : ends[g]]`, with their loads.

    There is room for what may come: items + records / k in `items` and `loads`, records / k + 1 in `ends`.
    """

    items: np.ndarray
    loads: np.ndarray
    ends: np.ndarray


@kernel()
def divide_top_down(problem: LocalProblem, grain: int, items: np.ndarray, loads: np.ndarray, out: DividedGroups) -> int:
    """Split one group as far as possible; returns how many groups there are then.

    Groups of at most `grain` records are left whole, for others to go on with. Every group is split regardless of all
    others. O(items · attributes · depth).
    """
    arena, weights, starts = _open(items, loads, out.ends.size)
    waiting, top, groups, most = 1, items.size, 0, max(grain, 2 * problem.k - 1)
    while waiting > 0:
        start = starts[waiting - 1]
        group, held = arena[start:top].copy(), weights[start:top].copy()
        parts = _top_down(problem, group, held, arena[start:], weights[start:]) if held.sum() > most else starts[:0]
        waiting, top, groups = _next(parts, starts, waiting - 1, group, held, groups, out)
    return groups


@kernel()
def divide_mondrian(
    relaxed: bool, problem: LocalProblem, grain: int, items: np.ndarray, loads: np.ndarray, out: DividedGroups
) -> int:
    """The same by Mondrian."""
    arena, weights, starts = _open(items, loads, out.ends.size)
    waiting, top, groups, most = 1, items.size, 0, max(grain, 2 * problem.k - 1)
    while waiting > 0:
        start = starts[waiting - 1]
        group, held = arena[start:top].copy(), weights[start:top].copy()
        parts = (
            _mondrian(problem, relaxed, group, held, arena[start:], weights[start:])
            if held.sum() > most
            else starts[:0]
        )
        waiting, top, groups = _next(parts, starts, waiting - 1, group, held, groups, out)
    return groups


@kernel(inner=True)
def _open(items: np.ndarray, loads: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items and loads with room for more, and where the groups that wait start."""
    arena, weights = np.empty(items.size + most, dtype=np.int64), np.empty(items.size + most, dtype=np.int64)
    for i in range(items.size):  # assigning slices compiles text for their errors: 5 s
        arena[i], weights[i] = items[i], loads[i]
    return arena, weights, np.zeros(most + 1, dtype=np.int64)


@kernel(inner=True)
def _next(
    parts: np.ndarray,
    starts: np.ndarray,
    waiting: int,
    group: np.ndarray,
    held: np.ndarray,
    groups: int,
    out: DividedGroups,
) -> tuple[int, int, int]:
    """Let the parts of a group wait, or write it if it stays whole; how many wait, where the last ends, how many are written."""
    start = starts[waiting]
    if parts.size == 0:
        _settle(group, held, groups, out)
        return waiting, start, groups + 1
    for part in range(1, parts.size):
        starts[waiting + part] = start + parts[part - 1]
    return waiting + parts.size, start + parts[-1], groups


@kernel(inner=True)
def _settle(group: np.ndarray, held: np.ndarray, groups: int, out: DividedGroups) -> None:
    """Write a group that stays whole behind the others."""
    written = out.ends[groups - 1] if groups else 0
    for i in range(group.size):
        out.items[written + i], out.loads[written + i] = group[i], held[i]
    out.ends[groups] = written + group.size


@kernel()
def deal(
    firsts: np.ndarray, rows: np.ndarray, out: np.ndarray, loads: np.ndarray, ends: np.ndarray, labels: np.ndarray
) -> None:
    """Give every row its group: an item's rows (`rows[firsts[item]:]`, moved on) go to its groups in turn. O(rows)."""
    group = 0
    for i in range(out.size):
        while i >= ends[group]:
            group += 1
        item = out[i]
        for row in rows[firsts[item] : firsts[item] + loads[i]]:
            labels[row] = group
        firsts[item] += loads[i]
