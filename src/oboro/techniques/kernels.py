"""Kernel of rank swapping: pairs of records whose ranks are near each other."""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = ["pair"]


@kernel()
def pair(free: np.ndarray, window: int, draws: np.ndarray, out: np.ndarray) -> None:
    """Pair each free rank with a free one at most `window` above it, uniformly by `draws`; `out[i]`: i's partner or i.

    Ranks are settled from the lowest up. Free ranks are counted in a Fenwick tree, so that a uniform choice among those
    within the window costs O(log n) however wide it is.
    """
    n = free.size
    tree = np.zeros(n + 1, dtype=np.int64)
    top = 1
    while 2 * top <= n:
        top *= 2
    for i in range(n):
        out[i] = i
        if free[i]:
            _add(tree, i, 1)
    settled = np.logical_not(free)
    for i in range(n):
        if settled[i]:
            continue
        settled[i] = True
        _add(tree, i, -1)
        candidates = _upto(tree, min(n - 1, i + window))
        if candidates == 0:
            continue
        j = _select(tree, top, min(candidates - 1, int(draws[i] * candidates)))
        settled[j] = True
        _add(tree, j, -1)
        out[i] = j
        out[j] = i


@kernel(inner=True)
def _add(tree: np.ndarray, position: int, amount: int) -> None:
    i = position + 1
    while i < tree.size:
        tree[i] += amount
        i += i & -i


@kernel(inner=True)
def _upto(tree: np.ndarray, position: int) -> int:
    total = 0
    i = position + 1
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@kernel(inner=True)
def _select(tree: np.ndarray, top: int, rank: int) -> int:
    """The position of the entry with `rank` entries before it."""
    position = 0
    step = top
    while step > 0:
        if position + step < tree.size and tree[position + step] <= rank:
            position += step
            rank -= tree[position]
        step //= 2
    return position
