"""Checking nodes of very large tables where classes need only be large enough.

Once, the rows are laid out as a few small digits each: small attributes are fused into one, a wide one is taken on
the finest level that still fits (finer nodes get a layout of their own), so that a row is a few bytes and every
look-up table fits the cache. They are laid out slice by slice: a slice holds some labels of one attribute's
coarsest level that still tells rows apart, so that no class crosses slices; nodes on which that attribute is
`*` get a layout that is sliced by another one. A node is then checked slice by slice on two threads with one
saturating counter per possible class; as soon as the slices done so far suppress more than the limit, the node has
failed, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from threading import Lock
from typing import ClassVar

import numpy as np

from oboro.decide.lattice.kernels import slice_counts as kernels
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import LookStopped, stop_asked
from oboro.decide.lattice.slices.row_layout import THREADS, RowLayout, fitting_base, lay_out, share_out
from oboro.decide.lattice.suppression.suppressed_group import STEPS
from oboro.table.dataset import smallest_unsigned

__all__ = ["SlicedChecker"]

LAYOUTS = 3  # that are kept; each takes a few bytes a row
SPARSE = 64  # with more possible keys per row than this, clearing counters would cost more than hashing


@dataclass(eq=False)
class SlicedChecker:
    """Checks nodes by reading all rows, in slices. Only for problems without rules beyond k."""

    at_a_time: ClassVar[int | None] = None

    problem: Problem
    layouts: list[RowLayout] = field(default_factory=list)

    def rebased(self, levels: Levels) -> SlicedChecker:
        """Nothing to gain: rows are only read, never regrouped."""
        return self

    def can_check(self, levels: Levels) -> bool:
        """Every node can be checked."""
        return True

    many_at_once = False

    def at_once(self, levels: Levels) -> bool:
        """No node is known without reading anything."""
        return False

    def prepare(self, several: Sequence[Levels]) -> None:
        """Nothing costs as much for several as for one."""

    def check_all(self, chosen: Sequence[Levels], hurdle: float = inf, *, later: bool = False) -> list[Node]:
        """Check several nodes, one after the other."""
        return [self.check(levels, hurdle) for levels in chosen]

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
            return self.checker.completed(levels, hurdle, steps)
        value = loss.value(levels, counted.tally() if small and not unneeded else None)
        return Node(levels, small, small, 0, True, value, settled=not (small and unneeded))

    def small_classes(self, levels: Levels) -> tuple[int, np.ndarray]:
        """How many records are in classes of fewer than k, and these by attribute and cost. Above the limit both may be less.

        Parts of a table that share no class add up to the whole.
        """
        counted = _Count(self.problem, self._layout(levels), levels)
        counted.run()
        return counted.small, counted.tally()

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
            if layout.serves(levels):
                return layout
        base = fitting_base(self.problem)
        if any(low > level for low, level in zip(base, levels, strict=True)):
            base = self.problem.lattice.bottom
        made = lay_out(self.problem, base, levels)
        self.layouts[:] = [*self.layouts[1 - LAYOUTS :], made]  # in place: checkers of other questions share the list
        return made


class _Count:
    """One node being counted: slices are taken by two threads until all are done or too much is suppressed."""

    def __init__(self, problem: Problem, layout: RowLayout, levels: Levels) -> None:
        self.problem, self.layout, self.levels = problem, layout, levels
        self.small, self.done, self.tallied, self.hopeful = 0, 0, True, False
        self.lock, self.tallying, self.stop = Lock(), True, stop_asked()
        parts = [self._part(a) for a in range(len(levels))]
        stride, tables = 1, []
        for digit in layout.digits:
            table = np.zeros(1, dtype=np.int64)
            for a in digit:
                table = (table[:, np.newaxis] + parts[a] * stride).ravel()
                stride *= self._labels(a)
            tables.append(table)
        self.keys, self.stride = stride, stride // self._labels(layout.sliced)
        wide = stride >= 1 << 32
        self.table = np.concatenate(tables).astype(np.uint64 if wide else np.uint32)
        self.histogram = np.zeros((THREADS, self.table.size), dtype=np.int64)
        self.marks = np.zeros(0, dtype=bool)

    def _labels(self, a: int) -> int:
        return len(self.problem.hierarchies[a].levels[self.levels[a]].labels)

    def _part(self, a: int) -> np.ndarray:
        """For each label of the attribute's base level, the number of its label on the node's level."""
        layout, levels = self.layout, self.problem.hierarchies[a].levels
        up: np.ndarray = levels[self.levels[a]].table[levels[layout.base[a]].one_each].astype(np.int64)
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
        self.require_whole()
        if not self.tallied and tallying and not marking and 0 < self.small <= self.problem.limit:
            self.small, self.done, self.tallied, self.hopeful = 0, 0, True, True
            self.histogram[:] = 0
            self._pass()
            self.require_whole()

    def require_whole(self) -> None:
        """Give the look up where somebody asked the search to end: slices may be missing."""
        if self.stop():
            raise LookStopped

    def _pass(self) -> None:
        slices = range(len(self.layout.bounds) - 1)
        with ThreadPoolExecutor(THREADS) as pool:
            for done in [pool.submit(self._take, slices[thread::THREADS], thread) for thread in range(THREADS)]:
                done.result()

    def _take(self, slices: range, thread: int) -> None:
        counters = np.zeros(0, dtype=np.uint8)
        for part in slices:
            if self.small > self.problem.limit or self.stop():
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
        one_each = self.problem.hierarchies[a].levels[layout.base[a]].one_each
        steps: np.ndarray = loss.costs[a][self.levels[a]].step[one_each]
        if a == layout.sliced:
            ordered = np.empty_like(steps)
            ordered[layout.ranks[layout.base[a]]] = steps
            return ordered
        return steps


def _fetched(problem: Problem, layout: RowLayout, marks: np.ndarray) -> np.ndarray:
    """For each record of the table the mark at its place."""
    out = np.empty(problem.rows, dtype=bool)
    codes = problem.columns[layout.sliced].codes

    def fetch(rows: range, thread: int) -> None:
        part = slice(rows.start, rows.stop)
        kernels.fetch(codes[part], layout.slice_of, layout.starts[thread].copy(), marks, out[part])

    share_out(problem.rows, fetch)
    return out
