"""One look at all rows, slice by slice: how many classes have which size.

Where all rows are one slice, each thread counts a share of the rows for itself, and what they counted is added. (With one slice
counted by one thread, people 1M took 10 ms a look by the clock and by the processor; so did every look of a session, which
begins at the top, whose layout has one slice.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.lattice.kernels import size_counts as kernels
from oboro.decide.lattice.sliced_check import SPARSE, SlicedChecker, _Count
from oboro.decide.lattice.slices.row_layout import THREADS, on_threads, share_out
from oboro.table.dataset import smallest_unsigned

if TYPE_CHECKING:
    from oboro.decide.lattice.memory.class_sizes import Look
    from oboro.decide.lattice.nodes import Levels

__all__ = ["sliced_sizes"]

FEW = 254  # sizes up to here are counted with a byte each
DENSE = 2  # with more counters per row than this, only those of the rows are read
TOGETHER = 1 << 20  # rows of one slice that are counted before it is asked whether to go on


def sliced_sizes(checker: SlicedChecker, levels: Levels) -> Look:
    """The sizes of a node's classes. O(rows · digits)."""
    from oboro.decide.lattice.memory.class_sizes import Look

    problem = checker.problem
    most = FEW if problem.k <= FEW else max(1 << 16, 2 * problem.k)
    counted = _Count(problem, checker._layout(levels), levels)
    histogram = np.zeros((THREADS, most + 1), dtype=np.int64)
    slices = range(len(counted.layout.bounds) - 1)
    if len(slices) == 1 and counted.keys <= problem.rows:
        _share(counted, histogram[0])
    else:
        waiting = iter(slices)
        on_threads(lambda thread: _take(counted, waiting, histogram[thread]))
    counted.require_whole()
    return Look.of_histogram(histogram.sum(axis=0), most, problem.rows)


def _share(counted: _Count, histogram: np.ndarray) -> None:
    """One slice: each thread counts some of its rows; counters of the threads are added, none above the last size."""
    most = histogram.size - 1
    counters, table = np.zeros((THREADS, counted.keys), dtype=smallest_unsigned(histogram.size)), counted.room()
    rows, _ = counted.enter(0, table)

    def count(share: range, thread: int) -> None:
        for first in range(share.start, share.stop, TOGETHER):
            if counted.stop():
                return
            codes = rows[first : min(first + TOGETHER, share.stop)]
            kernels.count_sizes(codes, table, most, counters[thread])

    share_out(len(rows), count)
    for more in counters[1:]:
        counters[0] += np.minimum(more, most - counters[0])
    kernels.read_sizes(counters[0], histogram)


def _take(counted: _Count, slices: Iterator[int], histogram: np.ndarray) -> None:
    """One thread's slices."""
    counters, table = np.zeros(0, dtype=smallest_unsigned(histogram.size)), counted.room()
    for part in slices:
        if counted.stop():
            return
        counters = _slice(counted, part, counters, table, histogram)


def _slice(counted: _Count, part: int, counters: np.ndarray, table: np.ndarray, histogram: np.ndarray) -> np.ndarray:
    """Count one slice; returns the counters, all 0 again, for the next one."""
    most, (codes, space) = histogram.size - 1, counted.enter(part, table)
    if space > SPARSE * max(len(codes), 1 << 14):
        pairs = np.zeros(2 << max(4, (2 * len(codes) - 1).bit_length()), dtype=np.int64)
        kernels.count_sizes_hashed(codes, table, pairs, histogram)
        return counters
    if counters.size < space:
        counters = np.zeros(space, dtype=counters.dtype)
    kernels.count_sizes(codes, table, most, counters)
    if space > DENSE * len(codes):
        kernels.read_sizes_of_rows(codes, table, counters, histogram)
    else:
        kernels.read_sizes(counters[:space], histogram)
        counters[:space] = 0
    return counters
