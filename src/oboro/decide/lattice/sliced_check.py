"""Checking nodes of very large tables where classes need only be large enough.

Once, the rows are laid out as a few small digits each: small attributes are fused into one, a wide one is taken on
the finest level that still fits (finer nodes get a layout of their own), so that a row is a few bytes and every
look-up table fits the cache. They are laid out slice by slice: a slice holds some labels of one attribute's top
level, so that no class crosses slices. A node is then checked slice by slice on two threads with one saturating
counter per possible class; as soon as the slices done so far suppress more than the limit, the node has failed,
exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf, prod
from threading import Lock

import numpy as np

from oboro.decide.lattice.kernels import slice_counts as kernels
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.suppression.suppressed_group import STEPS
from oboro.table.dataset import smallest_unsigned

__all__ = ["RowLayout", "SlicedChecker"]

MANY_ROWS = 400_000  # below, checking distinct tuples is at least as fast
SLICE_ROWS = 200_000  # a slice's rows and counters should fit the second-level cache
FUSED = 4096  # attributes are fused into one digit up to so many combinations
THREADS = 2
BLOCK = 1 << 14  # rows laid out at a time
SPARSE = 64  # with more possible keys per row than this, clearing counters would cost more than hashing


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Rows as digits, slice by slice, for nodes that are nowhere finer than `base`."""

    base: Levels
    digits: tuple[tuple[int, ...], ...]
    """Which attributes each digit fuses; the last digit holds the sliced attribute alone."""
    widths: tuple[int, ...]
    """How many labels each attribute has on its base level."""
    codes: np.ndarray
    """One row per record, one column per digit, numbered through. (Digit by digit, a count takes nearly twice as
    long.)
    """
    slice_of: np.ndarray
    """The slice of each code of the sliced attribute."""
    starts: np.ndarray
    """For each thread's share of the table: where its first row of each slice lies."""
    bounds: np.ndarray
    """Where each slice starts (one more entry at the end)."""
    ranks: tuple[np.ndarray, ...]
    """For the sliced attribute and each level: its labels renumbered so that a slice's labels are neighbours."""
    firsts: tuple[np.ndarray, ...]
    """For each level: the first such number of each slice (one more entry at the end)."""

    @property
    def sliced(self) -> int:
        """The attribute that slices are made of."""
        return self.digits[-1][0]


@dataclass(eq=False)
class SlicedChecker:
    """Checks nodes by reading all rows, in slices. Only for problems without rules beyond k."""

    problem: Problem
    layouts: list[RowLayout] = field(default_factory=list)

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether the table is large enough, and asks for nothing but k."""
        simple = problem.only_k and problem.most_classes is None and problem.kept_risk is None
        return problem.rows >= MANY_ROWS and simple and _key_space(problem) < 1 << 62

    def rebased(self, levels: Levels) -> SlicedChecker:
        """Nothing to gain: rows are only read, never regrouped."""
        return self

    def can_check(self, levels: Levels) -> bool:
        """Every node can be checked."""
        return True

    @property
    def weight(self) -> int:
        """How many tuples or rows a check has to read."""
        return self.problem.rows

    @cached_property
    def checker(self) -> NodeChecker:
        """For the rare node where whole classes must be suppressed in addition."""
        return NodeChecker.of(self.problem)

    def check(self, levels: Levels, hurdle: float = inf, steps: int = STEPS) -> Node:
        """Check one node; where it fails, `suppressed` is only known to exceed the limit. O(rows · digits).

        Of a node that cannot lose less than `hurdle`, the loss is only bounded.
        """
        limit, loss = self.problem.limit, self.problem.loss
        if not isinstance(loss, CellLoss):
            return self.checker.check(levels, hurdle, steps)
        counted = _Count(self.problem, self._layout(levels), levels)
        unneeded = loss.value(levels, None) > hurdle
        counted.run(tallying=not unneeded)
        small = counted.small
        if small > limit:
            return Node(levels, limit + 1, limit + 1, 0, False, inf)
        if 0 < small < self.problem.k and not self.problem.relaxed:
            return self.checker.check(levels, hurdle, steps)
        value = loss.value(levels, counted.tally() if small and not unneeded else None)
        return Node(levels, small, small, 0, True, value, settled=not (small and unneeded))

    def suppressed_rows(self, node: Node) -> np.ndarray:
        """One boolean per record: whether the node suppresses it. The node must be feasible."""
        levels = node.levels
        if node.joined:
            return self.checker.suppressed_rows(node)
        layout = self._layout(levels)
        counted = _Count(self.problem, layout, levels)
        counted.run(marking=True)
        assert counted.small <= self.problem.limit, "only feasible nodes are released"
        return _fetched(self.problem, layout, counted.marks)

    def _layout(self, levels: Levels) -> RowLayout:
        for layout in self.layouts:
            if all(base <= level for base, level in zip(layout.base, levels, strict=True)):
                return layout
        base = _fitting_base(self.problem)
        if any(low > level for low, level in zip(base, levels, strict=True)):
            base = self.problem.lattice.bottom
        self.layouts.append(_lay_out(self.problem, base))
        return self.layouts[-1]


class _Count:
    """One node being counted: slices are taken by two threads until all are done or too much is suppressed."""

    def __init__(self, problem: Problem, layout: RowLayout, levels: Levels) -> None:
        self.problem, self.layout, self.levels = problem, layout, levels
        self.small, self.done, self.tallied, self.hopeful = 0, 0, True, False
        self.lock, self.tallying = Lock(), True
        parts = [self._part(a) for a in range(len(levels))]
        stride, tables = 1, []
        for digit in layout.digits:
            table = np.zeros(1, dtype=np.int64)
            for a in digit:
                table = (table[:, np.newaxis] + parts[a] * stride).ravel()
                stride *= self._labels(a)
            tables.append(table)
        self.stride = stride // self._labels(layout.sliced)
        wide = stride >= 1 << 32
        self.table = np.concatenate(tables).astype(np.uint64 if wide else np.uint32)
        self.histogram = np.zeros((THREADS, self.table.size), dtype=np.int64)
        self.marks = np.zeros(0, dtype=bool)

    def _labels(self, a: int) -> int:
        return len(self.problem.hierarchies[a].levels[self.levels[a]].labels)

    def _part(self, a: int) -> np.ndarray:
        """For each label of the attribute's base level, the number of its label on the node's level."""
        layout, levels = self.layout, self.problem.hierarchies[a].levels
        up = _upwards(levels[layout.base[a]].table, levels[self.levels[a]].table, layout.widths[a])
        if a == layout.sliced:
            sorted_up = np.empty_like(up)
            sorted_up[layout.ranks[layout.base[a]]] = layout.ranks[self.levels[a]][up]
            return sorted_up
        return up

    def run(self, *, marking: bool = False, tallying: bool = True) -> None:
        """Count all slices, or until more than the limit is suppressed."""
        if marking:
            self.marks = np.zeros(self.problem.rows, dtype=bool)
        self.tallying = tallying
        self._pass()
        if not self.tallied and tallying and not marking and 0 < self.small <= self.problem.limit:
            self.small, self.done, self.tallied, self.hopeful = 0, 0, True, True
            self.histogram[:] = 0
            self._pass()

    def _pass(self) -> None:
        slices = range(len(self.layout.bounds) - 1)
        with ThreadPoolExecutor(THREADS) as pool:
            for done in [pool.submit(self._take, slices[thread::THREADS], thread) for thread in range(THREADS)]:
                done.result()

    def _take(self, slices: range, thread: int) -> None:
        counters = np.zeros(0, dtype=np.uint8)
        for part in slices:
            if self.small > self.problem.limit:
                return
            counters = self._slice(part, counters, thread)

    def _slice(self, part: int, counters: np.ndarray, thread: int) -> np.ndarray:
        """Count one slice; returns the counters for the next one."""
        layout, k = self.layout, self.problem.k
        first, last = int(layout.bounds[part]), int(layout.bounds[part + 1])
        codes, numbers = layout.codes[first:last], layout.firsts[self.levels[layout.sliced]]
        start, space = int(numbers[part]) * self.stride, int(numbers[part + 1] - numbers[part]) * self.stride
        if space > SPARSE * max(last - first, 1 << 14):
            self._slice_hashed(codes, first, thread)
            return counters
        if counters.size < space:
            counters = np.empty(space, dtype=smallest_unsigned(k + 1))
        counters[:space] = 0
        self._add(kernels.count(codes, self.table, start, k, counters), last - first)
        # A tally reads the slice again while it is in the cache; it is only of use if the node will satisfy.
        if self.marks.size:
            kernels.mark(codes, self.table, start, k, counters, self.marks[first:last])
        elif not self.tallying:
            return counters
        elif self.hopeful or self.small * self.problem.rows <= 1.1 * self.problem.limit * self.done:
            kernels.tally(codes, self.table, start, k, counters, self.histogram[thread])
        else:
            self.tallied = False
        return counters

    def _slice_hashed(self, codes: np.ndarray, first: int, thread: int) -> None:
        pairs = np.zeros(2 << max(4, (2 * len(codes) - 1).bit_length()), dtype=np.int64)
        marks = self.marks[first : first + len(codes)]
        small = kernels.count_hashed(codes, self.table, self.problem.k, pairs, self.histogram[thread], marks)
        self._add(small, len(codes))

    def _add(self, small: int, done: int) -> None:
        with self.lock:
            self.small += small
            self.done += done

    def tally(self) -> np.ndarray:
        """The suppressed records by attribute and by what they cost."""
        loss, layout, levels = self.problem.loss, self.layout, self.levels
        assert isinstance(loss, CellLoss)
        out = np.zeros((len(levels), loss.width), dtype=np.int64)
        total, start = self.histogram.sum(axis=0), 0
        for digit in layout.digits:
            widths = [layout.widths[a] for a in digit]
            counts = total[start : start + prod(widths)].reshape(widths)
            start += prod(widths)
            for axis, a in enumerate(digit):
                held = counts.sum(axis=tuple(other for other in range(len(digit)) if other != axis))
                out[a] += np.bincount(self._steps(a), weights=held, minlength=loss.width).astype(np.int64)
        return out

    def _steps(self, a: int) -> np.ndarray:
        """For each number of the attribute on its base level, by which amount its suppression is charged."""
        loss, layout = self.problem.loss, self.layout
        assert isinstance(loss, CellLoss)
        table = self.problem.hierarchies[a].levels[layout.base[a]].table
        steps = _upwards(table, loss.costs[a][self.levels[a]].step, layout.widths[a])
        if a == layout.sliced:
            ordered = np.empty_like(steps)
            ordered[layout.ranks[layout.base[a]]] = steps
            return ordered
        return steps


def _upwards(below: np.ndarray, above: np.ndarray, width: int) -> np.ndarray:
    """For each label of a level, what a coarser table says of any code under it."""
    out = np.zeros(width, dtype=np.int64)
    out[below] = above
    return out


def _key_space(problem: Problem) -> int:
    return prod(len(hierarchy.levels[0].labels) for hierarchy in problem.hierarchies)


def _fitting_base(problem: Problem) -> Levels:
    """The finest levels on which all labels together can be numbered with two bytes."""
    sizes = [[len(level.labels) for level in hierarchy.levels] for hierarchy in problem.hierarchies]
    base = [0] * len(sizes)
    while sum(size[level] for size, level in zip(sizes, base, strict=True)) > (1 << 16) - FUSED * len(sizes):
        widest = max(range(len(base)), key=lambda a: sizes[a][base[a]])
        if base[widest] == len(sizes[widest]) - 1:
            break
        base[widest] += 1
    return tuple(base)


def _lay_out(problem: Problem, base: Levels) -> RowLayout:
    """Choose digits and slices, and write every row to its place."""
    tops = [len(hierarchy.levels[-1].labels) for hierarchy in problem.hierarchies]
    sliced = max(range(len(tops)), key=lambda a: (tops[a] <= FUSED, tops[a]))
    slice_of, bounds = _slices(problem, sliced)
    ranks, firsts = _contiguous(problem, sliced, slice_of, len(bounds) - 1)
    widths = tuple(len(h.levels[level].labels) for h, level in zip(problem.hierarchies, base, strict=True))
    digits = _fuse(widths, sliced)
    starts = _starts(problem.columns[sliced].codes, slice_of, bounds)
    total = sum(prod(widths[a] for a in digit) for digit in digits)
    codes = np.empty((problem.rows, len(digits)), dtype=smallest_unsigned(total))
    layout = RowLayout(base, digits, widths, codes, slice_of, starts, bounds, ranks, firsts)
    tables = _tables(problem, layout)
    _share_out(problem.rows, lambda rows, thread: _write(problem, layout, tables, rows, starts[thread].copy()))
    return layout


def _share_out(rows: int, act: Callable[[range, int], None]) -> None:
    """Each thread takes one run of rows, so that no two write into the same lines of memory."""
    cuts = [rows * thread // THREADS for thread in range(THREADS + 1)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(act, [range(first, last) for first, last in pairwise(cuts)], range(THREADS)))


def _starts(codes: np.ndarray, slice_of: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Where each thread's rows of each slice start: those of the first thread at the bounds."""
    counts = np.zeros((THREADS, bounds.size - 1), dtype=np.int64)
    _share_out(
        codes.size,
        lambda rows, thread: kernels.count_slices(codes[rows.start : rows.stop], slice_of, counts[thread]),
    )
    return np.asarray(bounds[:-1] + np.cumsum(counts, axis=0) - counts)


def _tables(problem: Problem, layout: RowLayout) -> list[tuple[int, int, np.ndarray]]:
    """For each attribute its digit, and what each of its codes adds to it; digits are numbered through."""
    tables, start = [], 0
    for j, digit in enumerate(layout.digits):
        scale = 1
        for order, a in enumerate(reversed(digit)):
            numbers = problem.hierarchies[a].levels[layout.base[a]].table.astype(np.int64)
            if a == layout.sliced:
                numbers = layout.ranks[layout.base[a]][numbers]
            tables.append((j, a, (numbers * scale + (start if order == 0 else 0)).astype(layout.codes.dtype)))
            scale *= layout.widths[a]
        start += scale
    return tables


def _write(
    problem: Problem, layout: RowLayout, tables: list[tuple[int, int, np.ndarray]], rows: range, starts: np.ndarray
) -> None:
    """Lay out one thread's rows, some thousand at a time: their digits are put together in the cache, then spread."""
    digits = np.empty((BLOCK, len(layout.digits)), dtype=layout.codes.dtype)
    for first in range(rows.start, rows.stop, BLOCK):
        last = min(first + BLOCK, rows.stop)
        block = digits[: last - first]
        block[:] = 0
        for j, a, table in tables:
            kernels.add(problem.columns[a].codes[first:last], table, block[:, j])
        own = problem.columns[layout.sliced].codes[first:last]
        kernels.spread(own, layout.slice_of, starts, block, layout.codes)


def _fetched(problem: Problem, layout: RowLayout, marks: np.ndarray) -> np.ndarray:
    """For each record of the table the mark at its place."""
    out = np.empty(problem.rows, dtype=bool)
    codes = problem.columns[layout.sliced].codes

    def fetch(rows: range, thread: int) -> None:
        part = slice(rows.start, rows.stop)
        kernels.fetch(codes[part], layout.slice_of, layout.starts[thread].copy(), marks, out[part])

    _share_out(problem.rows, fetch)
    return out


def _fuse(widths: tuple[int, ...], sliced: int) -> tuple[tuple[int, ...], ...]:
    """Small attributes together, as long as their combinations stay few; the sliced one alone and last."""
    digits: list[list[int]] = []
    for a in sorted((a for a in range(len(widths)) if a != sliced), key=lambda a: widths[a]):
        if digits and prod(widths[b] for b in digits[-1]) * widths[a] <= FUSED:
            digits[-1].append(a)
        else:
            digits.append([a])
    return (*(tuple(digit) for digit in digits), (sliced,))


def _slices(problem: Problem, a: int) -> tuple[np.ndarray, np.ndarray]:
    """The slice of each code of an attribute, by the labels of its top level, and where the slices start."""
    top = problem.hierarchies[a].levels[-1]
    counts = problem.label_counts[a][-1]
    wished = max(1, min(len(counts), -(-problem.rows // SLICE_ROWS)))
    middles = np.cumsum(counts) - counts / 2
    number = np.minimum((middles * wished / max(problem.rows, 1)).astype(np.int64), wished - 1)
    number = np.unique(number, return_inverse=True)[1].ravel()
    sizes = np.bincount(number, weights=counts).astype(np.int64)
    return number[top.table].astype(np.uint16), np.concatenate([[0], np.cumsum(sizes)])


def _contiguous(
    problem: Problem, a: int, slice_of: np.ndarray, slices: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """On each level, number the labels so that those of one slice are neighbours."""
    ranks, firsts = [], []
    for level in problem.hierarchies[a].levels:
        owner = _upwards(level.table, slice_of, len(level.labels))
        order = np.argsort(owner, kind="stable")
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        ranks.append(rank)
        firsts.append(np.searchsorted(owner[order], np.arange(slices + 1)))
    return tuple(ranks), tuple(firsts)
