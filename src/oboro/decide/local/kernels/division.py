"""Splitting groups again and again until nothing can be split any more.

A group is a run of *items* (distinct records) with loads (how many records are alike). The run on top of the arena is
replaced by its parts; one that cannot be split is written out. An item may end up in several groups, each with a part
of its load. There is one loop for each method, so that using one does not compile the other.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.local.kernels import median_cut, two_seeds
from oboro.decide.local.kernels.closures import Rules, Shape
from oboro.kernels import kernel

__all__ = ["RELAXED", "STRICT", "TOP_DOWN", "deal", "divide", "divide_mondrian", "divide_top_down"]

TOP_DOWN, STRICT, RELAXED = range(3)

_top_down, _mondrian = two_seeds.split, median_cut.split


def divide(method: int, *given: object) -> int:
    """`divide_top_down` or `divide_mondrian`."""
    if method == TOP_DOWN:
        return int(divide_top_down(*given))  # type: ignore[arg-type]
    return int(divide_mondrian(method == RELAXED, *given))  # type: ignore[arg-type]


@kernel()
def divide_top_down(
    codes: np.ndarray,
    shape: Shape,
    rules: Rules,
    k: int,
    grain: int,
    items: np.ndarray,
    loads: np.ndarray,
    out: np.ndarray,
    out_loads: np.ndarray,
    ends: np.ndarray,
) -> int:
    """Split one group as far as possible; returns how many groups there are then.

    Group g is `out[ends[g − 1] : ends[g]]`. Groups of at most `grain` records are left whole, for others to go on with.
    `out` and `ends` have room for what may come: items + records / k, and records / k + 1. Every group is split
    regardless of all others. O(items · attributes · depth).
    """
    arena, weights, starts = _open(items, loads, ends.size)
    waiting, top, groups = 1, items.size, 0
    while waiting > 0:
        waiting -= 1
        start = starts[waiting]
        group, held = arena[start:top].copy(), weights[start:top].copy()
        parts = starts[:0]
        if held.sum() > max(grain, 2 * k - 1):
            parts = _top_down(codes, shape, rules, k, group, held, arena[start:], weights[start:])
        if parts.size:
            waiting, top = _push(starts, waiting, start, parts)
        else:
            groups, top = _settle(group, held, groups, out, out_loads, ends), start
    return groups


@kernel()
def divide_mondrian(
    relaxed: bool,
    codes: np.ndarray,
    shape: Shape,
    rules: Rules,
    k: int,
    grain: int,
    items: np.ndarray,
    loads: np.ndarray,
    out: np.ndarray,
    out_loads: np.ndarray,
    ends: np.ndarray,
) -> int:
    """The same by Mondrian."""
    arena, weights, starts = _open(items, loads, ends.size)
    waiting, top, groups = 1, items.size, 0
    while waiting > 0:
        waiting -= 1
        start = starts[waiting]
        group, held = arena[start:top].copy(), weights[start:top].copy()
        parts = starts[:0]
        if held.sum() > max(grain, 2 * k - 1):
            parts = _mondrian(codes, shape, rules, k, relaxed, group, held, arena[start:], weights[start:])
        if parts.size:
            waiting, top = _push(starts, waiting, start, parts)
        else:
            groups, top = _settle(group, held, groups, out, out_loads, ends), start
    return groups


@kernel()
def _open(items: np.ndarray, loads: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items and loads with room for more, and where the groups that wait start."""
    arena, weights = np.empty(items.size + most, dtype=np.int64), np.empty(items.size + most, dtype=np.int64)
    for i in range(items.size):  # assigning slices compiles text for their errors: 5 s
        arena[i], weights[i] = items[i], loads[i]
    return arena, weights, np.zeros(most + 1, dtype=np.int64)


@kernel()
def _push(starts: np.ndarray, waiting: int, start: int, parts: np.ndarray) -> tuple[int, int]:
    """Let the parts of a group wait; returns how many wait then and where the last one ends."""
    starts[waiting] = start
    for part in range(1, parts.size):
        starts[waiting + part] = start + parts[part - 1]
    return waiting + parts.size, start + parts[-1]


@kernel()
def _settle(
    group: np.ndarray, held: np.ndarray, groups: int, out: np.ndarray, out_loads: np.ndarray, ends: np.ndarray
) -> int:
    """Write a group that stays whole; returns how many there are."""
    written = ends[groups - 1] if groups else 0
    for i in range(group.size):
        out[written + i], out_loads[written + i] = group[i], held[i]
    ends[groups] = written + group.size
    return groups + 1


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
