"""One look at all rows, slice by slice: how many classes have which size."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.lattice.kernels import size_counts as kernels
from oboro.decide.lattice.sliced_check import SPARSE, SlicedChecker, _Count
from oboro.decide.lattice.slices.row_layout import THREADS
from oboro.table.dataset import smallest_unsigned

if TYPE_CHECKING:
    from oboro.decide.lattice.memory.class_sizes import Look
    from oboro.decide.lattice.nodes import Levels

__all__ = ["sliced_sizes"]

FEW = 254  # sizes up to here are counted with a byte each
DENSE = 2  # with more counters per row than this, only those of the rows are read


def sliced_sizes(checker: SlicedChecker, levels: Levels) -> Look:
    """The sizes of a node's classes. O(rows · digits)."""
    from oboro.decide.lattice.memory.class_sizes import Look

    problem = checker.problem
    most = FEW if problem.k <= FEW else max(1 << 16, 2 * problem.k)
    counted = _Count(problem, checker._layout(levels), levels)
    histogram = np.zeros((THREADS, most + 1), dtype=np.int64)
    slices = range(len(counted.layout.bounds) - 1)
    with ThreadPoolExecutor(THREADS) as pool:
        taken = [pool.submit(_take, counted, slices[one::THREADS], histogram[one]) for one in range(THREADS)]
        for done in taken:
            done.result()
    counted.require_whole()
    return Look.of_histogram(histogram.sum(axis=0), most, problem.rows)


def _take(counted: _Count, slices: range, histogram: np.ndarray) -> None:
    """One thread's slices."""
    counters = np.zeros(0, dtype=smallest_unsigned(histogram.size))
    for part in slices:
        if counted.stop():
            return
        counters = _slice(counted, part, counters, histogram)


def _slice(counted: _Count, part: int, counters: np.ndarray, histogram: np.ndarray) -> np.ndarray:
    """Count one slice; returns the counters, all 0 again, for the next one."""
    layout, most = counted.layout, histogram.size - 1
    first, last = int(layout.bounds[part]), int(layout.bounds[part + 1])
    codes, numbers = layout.codes[first:last], layout.firsts[counted.levels[layout.sliced]]
    start = int(numbers[part]) * counted.stride
    space = int(numbers[part + 1] - numbers[part]) * counted.stride
    if space > SPARSE * max(last - first, 1 << 14):
        pairs = np.zeros(2 << max(4, (2 * len(codes) - 1).bit_length()), dtype=np.int64)
        kernels.count_sizes_hashed(codes, counted.table, pairs, histogram)
        return counters
    if counters.size < space:
        counters = np.zeros(space, dtype=counters.dtype)
    kernels.count_sizes(codes, counted.table, start, most, counters)
    if space > DENSE * (last - first):
        kernels.read_sizes_of_rows(codes, counted.table, start, counters, histogram)
    else:
        kernels.read_sizes(counters[:space], histogram)
        counters[:space] = 0
    return counters
