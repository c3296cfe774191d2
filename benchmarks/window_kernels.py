"""What only the window paper's experiments need: a window filled before anybody is decided, and the sizes of regions."""

from __future__ import annotations

import numpy as np

from oboro.algorithms.neighbours.kernels import Anchors, keys_of
from oboro.kernels.jit import kernel
from oboro.stream.window.kernels import DONE, HEAD, WAITING, GroupRules, Incoming, WindowState, decide, enter

__all__ = ["fill", "occupancy", "pass_heads"]


@kernel()
def occupancy(anchors: Anchors, points: np.ndarray, sizes: np.ndarray) -> None:
    """How many points each region of each set holds: `sizes[set, region]`."""
    keys = np.empty((1, anchors.sets), dtype=np.int64)
    for i in range(points.shape[0]):
        keys_of(anchors, points, i, keys, 0)
        for one in range(anchors.sets):
            sizes[one, keys[0, one]] += 1


@kernel(bare=True)
def fill(state: WindowState, rows: Incoming) -> None:
    """Let records in without deciding anybody: the start of the experiment."""
    buffer = state.buffer
    for i in range(rows.raw.shape[0]):
        enter(state, buffer, rows, i)


@kernel(bare=True)
def pass_heads(state: WindowState, rules: GroupRules, rows: Incoming, heads: int, progress: np.ndarray) -> int:
    """So many heads pass: one record enters for each that is decided, none for heads whose release is known."""
    buffer, cache, marks = state.buffer, state.cache, state.marks
    while progress[1] < heads:
        slot = marks[HEAD] % state.status.size
        if state.status[slot] == WAITING:
            # No constants: compiled once, not twice.
            why = decide(state, buffer, cache, rules, rows.ending, rows.ending)
            if why != DONE:
                return why
            marks[HEAD] += 1
            enter(state, buffer, rows, progress[0])
            progress[0] += 1
        else:
            marks[HEAD] += 1
        progress[1] += 1
    return DONE
