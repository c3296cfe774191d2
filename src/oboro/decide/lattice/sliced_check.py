"""Checking nodes of very large tables where classes need only be large enough.

Once, the rows are laid out as a few small digits each: small attributes are fused into one, a wide one is taken on
the finest level that still fits (finer nodes get a layout of their own) or numbered slice by slice, so that a row is a few
bytes and every look-up table fits the cache. They are laid out slice by slice: a slice holds some labels of one attribute's
coarsest level that still tells rows apart, so that no class crosses slices; nodes on which that attribute is
`*` get a layout that is sliced by another one. A node is then checked slice by slice on two threads with one
saturating counter per possible class; as soon as the slices done so far suppress more than the limit, the node has
failed, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from threading import Lock
from typing import ClassVar

import numpy as np

from oboro.decide.lattice.kernels import slice_counts as kernels
from oboro.decide.lattice.kernels.size_counts import count_sizes
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import LookStopped, stop_asked
from oboro.decide.lattice.slices.row_layout import THREADS, RowLayout, lay_out, on_threads, share_out
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
        made = lay_out(self.problem, levels)
        self.layouts[:] = [*self.layouts[1 - LAYOUTS :], made]  # in place: checkers of other questions share the list
        return made


class _Count:
    """One node being counted: slices are taken by two threads until all are done or too much is suppressed."""

    def __init__(self, problem: Problem, layout: RowLayout, levels: Levels) -> None:
        self.problem, self.layout, self.levels = problem, layout, levels
        self.small, self.done, self.tallied, self.hopeful = 0, 0, True, False
        self.lock, self.tallying, self.stop = Lock(), True, stop_asked()
        self.order = [a for digit in layout.digits for a in digit]
        self.labels = np.array([len(problem.hierarchies[a].levels[levels[a]].labels) for a in self.order])
        scales = np.cumprod([1, *self.labels.tolist()], dtype=object).tolist()
        self.keys, self.stride = scales[-1], scales[-2]
        kind, scale = np.uint64 if self.keys >= 1 << 32 else np.uint32, iter(scales)
        tables = [_table([self._up(a) * kind(next(scale)) for a in digit]) for digit in layout.digits]
        self.table, self.own = np.concatenate([*tables[:-1], np.zeros(0, dtype=kind)]), tables[-1]
        self.histogram = np.zeros((THREADS, int(self.labels.sum())), dtype=np.int64)
        self.marks = np.zeros(0, dtype=bool)

    def _up(self, a: int) -> np.ndarray:
        """For each label of the attribute's base level, the number of its label on the node's level."""
        layout, known = self.layout, (a, self.levels[a])
        if known not in layout.ups:
            levels = self.problem.hierarchies[a].levels
            up: np.ndarray = levels[self.levels[a]].table[levels[layout.base[a]].one_each].astype(np.uint32)
            if a == layout.sliced:
                sorted_up = np.empty_like(up)
                sorted_up[layout.ranks[layout.base[a]]] = layout.ranks[self.levels[a]][up]
                up = sorted_up
            layout.ups[known] = up
        return layout.ups[known]

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
        slices = iter(range(len(self.layout.bounds) - 1))
        on_threads(lambda thread: self._take(slices, thread))

    def _take(self, slices: Iterator[int], thread: int) -> None:
        counters, table = np.zeros(0, dtype=smallest_unsigned(self.problem.k + 1)), self.room()
        for part in slices:
            if self.small > self.problem.limit or self.stop():
                return
            counters = self._slice(part, counters, table, thread)

    def room(self) -> np.ndarray:
        """A table of what each digit adds to a key, with room for those of one slice."""
        layout = self.layout
        widest = int(np.diff(layout.firsts[layout.base[layout.sliced]]).max(initial=0))
        return np.append(self.table, np.empty(widest, dtype=self.table.dtype))

    def enter(self, part: int, table: np.ndarray) -> tuple[np.ndarray, int]:
        """Write what the last digits of a slice add; its rows, and how many keys it has, from 0 on."""
        layout, base = self.layout, self.layout.firsts[self.layout.base[self.layout.sliced]]
        numbers = layout.firsts[self.levels[layout.sliced]]
        own = self.own[base[part] : base[part + 1]]
        table[self.table.size : self.table.size + own.size] = own - own.dtype.type(int(numbers[part]) * self.stride)
        rows = layout.codes[layout.bounds[part] : layout.bounds[part + 1]]
        return rows, int(numbers[part + 1] - numbers[part]) * self.stride

    def _slice(self, part: int, counters: np.ndarray, table: np.ndarray, thread: int) -> np.ndarray:
        """Count one slice; returns the counters for the next one."""
        k, first, (codes, space) = self.problem.k, int(self.layout.bounds[part]), self.enter(part, table)
        marks, out = self.marks[first : first + len(codes)], self.histogram[thread]
        number = int(self.layout.firsts[self.levels[self.layout.sliced]][part])
        if space > SPARSE * max(len(codes), 1 << 14):
            pairs = np.zeros(2 << max(4, (2 * len(codes) - 1).bit_length()), dtype=np.int64)
            self._add(kernels.count_hashed(codes, table, k, pairs, self.labels, number, out, marks), len(codes))
            return counters
        if counters.size < space:
            counters = np.empty(space, dtype=counters.dtype)
        counters[:space] = 0
        count_sizes(codes, table, k, counters)
        self._add(kernels.small_rows(counters[:space], k), len(codes))
        # A tally reads the counters again while they are in the cache; it is only of use if the node will satisfy.
        if self.marks.size:
            kernels.mark(codes, table, k, counters, marks)
        elif not self.tallying:
            return counters
        elif self.hopeful or self.small * self.problem.rows <= 1.1 * self.problem.limit * self.done:
            kernels.tally(counters[:space], k, self.labels, number, out)
        else:
            self.tallied = False
        return counters

    def _add(self, small: int, done: int) -> None:
        with self.lock:
            self.small += small
            self.done += done

    def tally(self) -> np.ndarray:
        """The suppressed records by attribute and by what they cost."""
        loss, layout, levels = self.problem.loss, self.layout, self.levels
        assert isinstance(loss, CellLoss)
        out = np.zeros((len(levels), loss.width), dtype=np.int64)
        parts = np.split(self.histogram.sum(axis=0), np.cumsum(self.labels)[:-1])
        for a, held in zip(self.order, parts, strict=True):
            by_label = held[layout.ranks[levels[a]]] if a == layout.sliced else held
            out[a] += np.bincount(loss.costs[a][levels[a]].steps, weights=by_label, minlength=loss.width).astype(
                np.int64
            )
        return out


def _table(parts: list[np.ndarray]) -> np.ndarray:
    """What each digit adds to a key, from what each of its attributes adds."""
    table, *more = parts
    for part in more:
        table = (table[:, np.newaxis] + part).ravel()
    return table


def _fetched(problem: Problem, layout: RowLayout, marks: np.ndarray) -> np.ndarray:
    """For each record of the table the mark at its place."""
    out = np.empty(problem.rows, dtype=bool)
    codes = problem.columns[layout.sliced].codes

    def fetch(rows: range, thread: int) -> None:
        part = slice(rows.start, rows.stop)
        kernels.fetch(codes[part], layout.slice_of, layout.starts[thread].copy(), marks, out[part])

    share_out(problem.rows, fetch)
    return out
