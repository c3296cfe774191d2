"""Compiled boosted trees: one tree grown level by level, and the leaf of each record."""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = ["TINY", "grow", "leaves"]


TINY = 1e-9


@kernel(inner=True)
def best_split(
    sums: np.ndarray, categorical: np.ndarray, least: int, order: np.ndarray, wrong: np.ndarray, left: np.ndarray
) -> int:
    """The column of a node's best split, and which bins of it go left (all, where no split is worth it). O(columns · bins).

    `sums` are the slopes, bends and records of each column and bin; `order` and `wrong` are room for one number a bin.
    """
    columns, width = sums.shape[0], sums.shape[1]
    best, chosen = TINY, 0
    left[:] = True
    for column in range(columns):
        order[:] = np.arange(width)
        if categorical[column]:
            for one in range(width):
                there = sums[column, one, 2] > 0
                wrong[one] = sums[column, one, 0] / (sums[column, one, 1] + TINY) if there else np.inf
            order[:] = np.argsort(wrong, kind="mergesort")
        slopes, bends, records = 0.0, 0.0, 0.0
        for one in order:
            slopes += sums[column, one, 0]
            bends += sums[column, one, 1]
            records += sums[column, one, 2]
        slope, bend, count = 0.0, 0.0, 0.0
        found = -1
        whole = slopes * slopes / (bends + TINY)  # what the node loses without a split
        for cut in range(width):
            slope += sums[column, order[cut], 0]
            bend += sums[column, order[cut], 1]
            count += sums[column, order[cut], 2]
            if min(count, records - count) < least:
                continue
            other = slopes - slope
            gain = slope * slope / (bend + TINY) + other * other / (bends - bend + TINY) - whole
            if gain > best:
                best, found = gain, cut
        if found >= 0:
            chosen = column
            left[:] = False
            left[order[: found + 1]] = True
    return chosen


@kernel()
def grow(
    bins: np.ndarray,
    slope: np.ndarray,
    bend: np.ndarray,
    categorical: np.ndarray,
    least: int,
    columns: np.ndarray,
    left: np.ndarray,
    out: np.ndarray,
) -> None:
    """Grow a tree from the derivatives of each record's loss: which column a node asks, which bins go left, each record's leaf.

    Nodes stand level by level in `columns` and `left`; a leaf holds `least` records or more. O(levels · records · columns).
    """
    rows, width = bins.shape[0], left.shape[1]
    order, wrong = np.empty(width, dtype=np.int64), np.empty(width)
    out[:] = 0
    nodes = 1
    while nodes <= columns.size:
        sums = np.zeros((nodes, bins.shape[1], width, 3))
        for row in range(rows):
            mine = sums[out[row]]
            for column in range(bins.shape[1]):
                cell = mine[column, bins[row, column]]
                cell[0] += slope[row]
                cell[1] += bend[row]
                cell[2] += 1.0
        for node in range(nodes):
            at = nodes - 1 + node
            columns[at] = best_split(sums[node], categorical, least, order, wrong, left[at])
        for row in range(rows):
            at = nodes - 1 + out[row]
            out[row] = 2 * out[row] + (0 if left[at, bins[row, columns[at]]] else 1)
        nodes *= 2


@kernel()
def leaves(bins: np.ndarray, columns: np.ndarray, left: np.ndarray, out: np.ndarray) -> None:
    """The leaf of each record. O(records · levels)."""
    for row in range(bins.shape[0]):
        at = 0
        while at < columns.size:
            at = 2 * at + (1 if left[at, bins[row, columns[at]]] else 2)
        out[row] = at - columns.size
