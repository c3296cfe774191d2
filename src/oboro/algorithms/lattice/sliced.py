"""Sliced evaluation of very large tables: rows as a few small digits each, in slices that no class crosses.

Slices are made of the labels of one attribute. A class crosses no slice as long as that attribute stays on a level on
which these labels, or parts of them, are still told apart. Before, only labels of the top level were taken: where
every hierarchy ends in `*`, that is one slice, counted by one thread with counters that fit no cache (people 1M: 72
ms a node instead of 9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from threading import Lock
from typing import ClassVar

import numpy as np

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels import slices
from oboro.algorithms.lattice.kernels.classes import count_sizes
from oboro.algorithms.lattice.limits import LookStopped, stop_asked
from oboro.algorithms.lattice.losses import CellLoss
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Node, Problem
from oboro.algorithms.lattice.suppression import MAX_GROUPS_TRIED
from oboro.data.column import smallest_unsigned

__all__ = ["THREADS", "RowLayout", "SlicedChecker", "lay_out", "on_threads", "share_out"]


SLICE_ROWS = 200_000  # a slice's rows and counters should fit the second-level cache
ENOUGH = 16  # slices, where more would need a second layout
TWO_BYTES = 1 << 16
FUSED = 4096  # attributes are fused into one digit up to so many combinations
THREADS = 2
FEW_KEYS = 1 << 15  # counters of a byte that fit the first-level cache
BLOCK = 1 << 16  # rows laid out at a time
FINE = 32  # with so many rows for each label, a slice's attribute is laid out on a finer level: one more table for each node


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Rows as digits, slice by slice, for nodes that are nowhere finer than `base`."""

    base: Levels
    highest: int
    """Up to which level of the sliced attribute no class crosses slices."""
    digits: tuple[tuple[int, ...], ...]
    """Which attributes each digit fuses; the last digit holds the sliced attribute alone."""
    widths: tuple[int, ...]
    """How many labels each attribute has on its base level."""
    codes: np.ndarray
    """One row per record, one column per digit, numbered through; the last one within its slice. (Digit by digit, a count takes
    nearly twice as long.)
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
    ups: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    """For an attribute and a level: the number there of each label of the base level; each is made when it is first asked for."""

    def serves(self, levels: Levels) -> bool:
        """Return whether a node can be counted with it."""
        fine = all(base <= level for base, level in zip(self.base, levels, strict=True))
        return fine and levels[self.sliced] <= self.highest

    @property
    def sliced(self) -> int:
        """The attribute that slices are made of."""
        return self.digits[-1][0]


def _fitting_base(problem: Problem, sliced: int, slice_of: np.ndarray) -> Levels:
    """The finest levels on which all labels together can be numbered with two bytes, those of the sliced attribute slice by slice.

    With 500,000 addresses in 47 slices, one layout then serves every node (100 million rows: a second one took 2.7 s). Where there
    are few rows for each label, a coarser level does for most nodes, and its tables are made sooner.
    """
    sizes = [[len(level.labels) for level in hierarchy.levels] for hierarchy in problem.hierarchies]
    for v, level in enumerate(problem.hierarchies[sliced].levels):
        if FINE * sizes[sliced][v] <= problem.rows:
            sizes[sliced][v] = int(np.bincount(slice_of[level.one_each]).max(initial=0))
    base = [0] * len(sizes)
    while sum(size[level] for size, level in zip(sizes, base, strict=True)) > TWO_BYTES - FUSED * len(sizes):
        widest = max(range(len(base)), key=lambda a: sizes[a][base[a]])
        if base[widest] == len(sizes[widest]) - 1:
            break
        base[widest] += 1
    return tuple(base)


def lay_out(problem: Problem, levels: Levels) -> RowLayout:
    """Choose digits and slices that serve a node, and write every row to its place; given up where a search is asked to end."""
    sliced, highest = _sliced(problem, levels)
    slice_of, bounds = _slices(problem, sliced, highest)
    base = _fitting_base(problem, sliced, slice_of)
    if any(low > level for low, level in zip(base, levels, strict=True)):
        base = problem.lattice.bottom
    ranks, firsts = _contiguous(problem, sliced, base[sliced], slice_of, len(bounds) - 1)
    widths = tuple(len(h.levels[level].labels) for h, level in zip(problem.hierarchies, base, strict=True))
    digits = _fuse(widths, sliced)
    starts = _starts(problem.columns[sliced].codes, slice_of, bounds)
    most = sum(prod(widths[a] for a in digit) for digit in digits[:-1]) + int(np.diff(firsts[base[sliced]]).max())
    codes = np.empty((problem.rows, len(digits)), dtype=smallest_unsigned(most))
    layout = RowLayout(base, highest, digits, widths, codes, slice_of, starts, bounds, ranks, firsts)
    tables, stop = _tables(problem, layout), stop_asked()
    share_out(problem.rows, lambda rows, thread: _write(problem, layout, tables, rows, starts[thread].copy(), stop))
    if stop():
        raise LookStopped
    return layout


def on_threads(act: Callable[[int], object]) -> None:
    """Run the same act on every thread; the calling thread is the first of them."""
    with ThreadPoolExecutor(max(1, THREADS - 1)) as pool:
        others = [pool.submit(act, thread) for thread in range(1, THREADS)]
        act(0)
        for one in others:
            one.result()


def share_out(rows: int, act: Callable[[range, int], None]) -> None:
    """Give each thread one run of rows, so that no two write into the same lines of memory."""
    cuts = [rows * thread // THREADS for thread in range(THREADS + 1)]
    on_threads(lambda thread: act(range(cuts[thread], cuts[thread + 1]), thread))


def _starts(codes: np.ndarray, slice_of: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the start of each thread's rows in each slice: those of the first thread at the bounds."""
    counts = np.zeros((THREADS, bounds.size - 1), dtype=np.int64)
    share_out(
        codes.size,
        lambda rows, thread: slices.count_slices(codes[rows.start : rows.stop], slice_of, counts[thread]),
    )
    return np.asarray(bounds[:-1] + np.cumsum(counts, axis=0) - counts)


def _tables(problem: Problem, layout: RowLayout) -> list[tuple[int, int, np.ndarray]]:
    """For each attribute its digit, and what each of its codes adds to it; digits are numbered through."""
    tables, start = [], 0
    for j, digit in enumerate(layout.digits):
        scale = 1
        for order, a in enumerate(reversed(digit)):
            base = problem.hierarchies[a].levels[layout.base[a]]
            numbers = np.arange(layout.widths[a])
            if a == layout.sliced:
                owner = layout.slice_of[base.one_each]
                numbers = layout.ranks[layout.base[a]] - layout.firsts[layout.base[a]][owner]
            numbers = (numbers * scale + (start if order == 0 else 0)).astype(layout.codes.dtype)
            tables.append((j, a, numbers[base.table]))
            scale *= layout.widths[a]
        start += scale
    return tables


def _write(
    problem: Problem,
    layout: RowLayout,
    tables: list[tuple[int, int, np.ndarray]],
    rows: range,
    starts: np.ndarray,
    stop: Callable[[], bool],
) -> None:
    """Lay out one thread's rows, some thousand at a time: their digits are put together in the cache, then spread."""
    from oboro.algorithms.lattice.kernels.row_places import spread

    digits = np.empty((BLOCK, len(layout.digits)), dtype=layout.codes.dtype)
    for first in range(rows.start, rows.stop, BLOCK):
        if stop():
            return
        last = min(first + BLOCK, rows.stop)
        block = digits[: last - first]
        block[:] = 0
        for j, a, table in tables[:-1]:
            slices.add(problem.columns[a].codes[first:last], table, block[:, j])
        own = problem.columns[layout.sliced].codes[first:last]
        spread(own, layout.slice_of, tables[-1][2], starts, block, layout.codes)


def _fuse(widths: tuple[int, ...], sliced: int) -> tuple[tuple[int, ...], ...]:
    """Small attributes together, as long as their combinations stay few; the sliced one alone and last."""
    digits: list[list[int]] = []
    for a in sorted((a for a in range(len(widths)) if a != sliced), key=lambda a: widths[a]):
        if digits and prod(widths[b] for b in digits[-1]) * widths[a] <= FUSED:
            digits[-1].append(a)
        else:
            digits.append([a])
    return (*(tuple(digit) for digit in digits), (sliced,))


def _sliced(problem: Problem, levels: Levels) -> tuple[int, int]:
    """The attribute to slice by, and the highest level on which it still tells rows apart.

    It must do so on the levels of the node that is asked for. Wished is one that serves nodes on any level, then as many slices as
    there are rows for, unless with some fewer one layout serves all nodes, then one with few values. Where there is none, or where
    the node has so few labels that its counters fit the cache anyway, all rows are one slice, which serves every node.
    """
    found = []
    keys = prod(len(h.levels[level].labels) for h, level in zip(problem.hierarchies, levels, strict=True))
    for a, hierarchy in enumerate(problem.hierarchies):
        telling = [level for level, one in enumerate(hierarchy.levels) if 1 < len(one.labels) <= FUSED]
        if not telling or levels[a] > telling[-1]:
            continue
        parts = min(_wished(problem), problem.rows // max(1, int(problem.label_counts[a][telling[-1]].max())))
        top, whole = telling[-1] == hierarchy.height, parts >= ENOUGH and _serves_all(problem, a, telling[-1])
        share, values = (telling[-1] + 1) / len(hierarchy.levels), len(hierarchy.levels[0].labels)
        found.append((parts > 1, top, whole, parts, share, -values, -a, telling[-1]))
    always = bool(found) and max(found)[1]
    if not found or not max(found)[0] or (keys <= FEW_KEYS and not always):
        widest = max(range(len(levels)), key=lambda a: len(problem.hierarchies[a].levels[-1].labels))
        return widest, problem.hierarchies[widest].height
    *_, a, highest = max(found)
    return -a, highest


def _serves_all(problem: Problem, a: int, highest: int) -> bool:
    """Return whether with an attribute's values numbered slice by slice, two bytes number the values of all attributes."""
    values = [len(hierarchy.levels[0].labels) for hierarchy in problem.hierarchies]
    if FINE * values[a] > problem.rows:
        return False
    values[a] = int(np.bincount(problem.hierarchies[a].levels[highest].table).max())
    return sum(values) <= TWO_BYTES - FUSED * len(values)


def _wished(problem: Problem) -> int:
    """Return the wanted number of slices."""
    return max(1, -(-problem.rows // SLICE_ROWS))


def _slices(problem: Problem, a: int, highest: int) -> tuple[np.ndarray, np.ndarray]:
    """The slice of each code of an attribute, by the labels of a level, and where the slices start."""
    top = problem.hierarchies[a].levels[highest]
    counts = problem.label_counts[a][highest]
    wished = min(len(counts), _wished(problem))
    middles = np.cumsum(counts) - counts / 2
    number = np.minimum((middles * wished / max(problem.rows, 1)).astype(np.int64), wished - 1)
    number = np.unique(number, return_inverse=True)[1].ravel()
    sizes = np.bincount(number, weights=counts).astype(np.int64)
    return number.astype(np.uint16)[top.table], np.concatenate([[0], np.cumsum(sizes)])


def _contiguous(
    problem: Problem, a: int, base: int, slice_of: np.ndarray, slices: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """On each level from `base` on, number the labels so that those of one slice are neighbours. Nobody asks for finer ones."""
    nothing = np.zeros(0, dtype=np.int64)
    ranks, firsts = [nothing] * base, [nothing] * base
    for level in problem.hierarchies[a].levels[base:]:
        owner = slice_of[level.one_each]
        order = np.argsort(owner, kind="stable")
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        ranks.append(rank)
        firsts.append(np.searchsorted(owner[order], np.arange(slices + 1)))
    return tuple(ranks), tuple(firsts)


# Evaluation of nodes --------------------------------------------------------------------------------------------------
# Evaluation of nodes of very large tables where classes need only be large enough.
#
# Once, the rows are laid out as a few small digits each: small attributes are fused into one, a wide one is taken on
# the finest level that still fits (finer nodes get a layout of their own) or numbered slice by slice, so that a row is
# a few bytes and every look-up table fits the cache. They are laid out slice by slice: a slice has some labels of one
# attribute's coarsest level that still separates rows, so that no class crosses slices; nodes on which that attribute
# is `*` get a layout that is sliced by another one. A node is then evaluated slice by slice on two threads with one
# saturating counter per possible class; as soon as the slices done so far suppress more than the limit, the node has
# failed, exactly.


LAYOUTS = 3  # that are kept; each takes a few bytes a row
SPARSE = 64  # with more possible keys per row than this, clearing counters would cost more than hashing


@dataclass(eq=False)
class SlicedChecker:
    """Evaluates nodes by reading all rows, in slices. Only for problems without rules beyond k."""

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
        """Evaluate several nodes, one after the other."""
        return [self.check(levels, hurdle) for levels in chosen]

    @property
    def weight(self) -> int:
        """Number of tuples or rows that an evaluation reads."""
        return self.problem.rows

    @cached_property
    def checker(self) -> NodeChecker:
        """For the rare node where whole classes must be suppressed in addition."""
        return NodeChecker.of(self.problem)

    def check(self, levels: Levels, hurdle: float = inf, steps: int = MAX_GROUPS_TRIED) -> Node:
        """Evaluate one node; where it fails, `suppressed` is only known to exceed the limit. O(rows · digits).

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
        """Count the records in classes of fewer than k, and these by attribute and cost. Above the limit both may be
        less.

        Parts of a table that share no class add up to the whole.
        """
        counted = _Count(self.problem, self._layout(levels), levels)
        counted.run()
        return counted.small, counted.tally()

    def suppressed_rows(self, node: Node) -> np.ndarray:
        """Return for each record whether the node suppresses it. The node must be feasible."""
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
        """Give up the evaluation where the search was cancelled: slices may be missing."""
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
            self._add(slices.count_hashed(codes, table, k, pairs, self.labels, number, out, marks), len(codes))
            return counters
        if counters.size < space:
            counters = np.empty(space, dtype=counters.dtype)
        counters[:space] = 0
        count_sizes(codes, table, k, counters)
        self._add(slices.small_rows(counters[:space], k), len(codes))
        # A tally reads the counters again while they are in the cache; it is only of use if the node will satisfy.
        if self.marks.size:
            slices.mark(codes, table, k, counters, marks)
        elif not self.tallying:
            return counters
        elif self.hopeful or self.small * self.problem.rows <= 1.1 * self.problem.limit * self.done:
            slices.tally(counters[:space], k, self.labels, number, out)
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
    """Return what each digit adds to a key, from what each of its attributes adds."""
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
        slices.fetch(codes[part], layout.slice_of, layout.starts[thread].copy(), marks, out[part])

    share_out(problem.rows, fetch)
    return out
