"""Bookkeeping over all nodes of a lattice: arrays with one axis per attribute, flattened; `shape` gives the axes."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["choose", "count_above", "count_below", "meet", "promising", "raise_box"]


def _count_below(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    counts = marked.reshape(shape).astype(out.dtype)
    for axis in range(shape.size):
        counts.cumsum(axis=axis, out=counts)
    out[:] = counts.ravel()


@kernel(little=_count_below)
def count_below(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    """For each node how many marked nodes are finer or itself: running sums along every axis. O(nodes · axes)."""
    out[:] = marked
    stride = 1
    for axis in range(shape.size - 1, -1, -1):
        block = stride * shape[axis]
        for start in range(0, out.size, block):
            for i in range(start + stride, start + block):
                out[i] += out[i - stride]
        stride = block


@kernel(little=True)
def count_above(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    """For each node how many marked nodes are coarser or itself: backwards, above is below. O(nodes · axes)."""
    count_below(
        marked[::-1].copy(), shape, out
    )  # a copy: for an array that runs backwards it would be compiled once more
    for i in range(out.size // 2):
        out[i], out[out.size - 1 - i] = out[out.size - 1 - i], out[i]


@kernel(little=True)
def promising(
    fails: np.ndarray,
    seen: np.ndarray,
    base: np.ndarray,
    slope: np.ndarray,
    surely: np.ndarray,
    low: float,
    high: float,
    before: int,
    out: np.ndarray,
) -> int:
    """Mark nodes that may beat the best so far; returns how many.

    A node's bound is base + slope · surely. Above `high` it cannot win; between `low` and `high` it can only tie, and
    then wins only if it stands before the best. O(nodes).
    """
    count = 0
    for i in range(out.size):
        bound = base[i] + slope[i] * surely[i]
        out[i] = not (fails[i] or seen[i] or bound > high or (bound >= low and i >= before))
        count += out[i]
    return count


@kernel(little=True)
def choose(
    marked: np.ndarray,
    sure: np.ndarray,
    entropy: np.ndarray,
    centre: float,
    width: float,
    below: np.ndarray,
    above: np.ndarray,
    out: np.ndarray,
) -> int:
    """Score the marked nodes by how many others their result is expected to settle; returns the best one.

    A node fails with a chance that rises with its entropy (never where `sure` to satisfy) and then settles what is
    below it, else what is above it. O(nodes).
    """
    best, found = -1.0, -1
    for i in range(marked.size):
        out[i] = -1.0
        if marked[i]:
            beyond = (entropy[i] - centre) / width
            fails = 0.0 if sure[i] else 0.5 + 0.5 * beyond / (1.0 + abs(beyond))
            out[i] = fails * below[i] + (1.0 - fails) * above[i]
            if out[i] > best:
                best, found = out[i], i
    return found


@kernel(little=True)
def raise_box(first: np.ndarray, last: np.ndarray, shape: np.ndarray, value: float, out: np.ndarray) -> None:
    """Raise `out` to at least `value` for all nodes between two nodes (on every axis, both included). O(box)."""
    levels = first.copy()
    axes = shape.size
    while True:
        row = 0
        for axis in range(axes):
            row = row * shape[axis] + levels[axis]
        for i in range(row, row + last[axes - 1] - first[axes - 1] + 1):
            out[i] = max(out[i], value)
        axis = axes - 2
        while axis >= 0 and levels[axis] == last[axis]:
            levels[axis] = first[axis]
            axis -= 1
        if axis < 0:
            return
        levels[axis] += 1


@kernel(little=True, work=lambda marked, shape, out: marked.size * shape.size)
def meet(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    """Lower `out` to the least level that a marked node has on each axis. O(nodes · axes)."""
    for i in range(marked.size):
        if marked[i]:
            rest = i
            for axis in range(shape.size - 1, -1, -1):
                out[axis] = min(out[axis], rest % shape[axis])
                rest //= shape[axis]
