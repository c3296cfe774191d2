"""Rows as a few small digits each, in slices that no class crosses.

Slices are made of the labels of one attribute. A class crosses no slice as long as that attribute stays on a level on which these
labels, or parts of them, are still told apart. Before, only labels of the top level were taken: where every hierarchy ends in `*`,
that is one slice, counted by one thread with counters that fit no cache (people 1M: 72 ms a node instead of 9).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import prod

import numpy as np

from oboro.decide.lattice.kernels import slice_counts as kernels
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Problem
from oboro.decide.lattice.search_limits import LookStopped, stop_asked
from oboro.table.dataset import smallest_unsigned

__all__ = ["THREADS", "RowLayout", "lay_out", "on_threads", "share_out"]

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
        """Whether a node can be counted with it."""
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
    """The same act on every thread; the one that asks is the first of them."""
    with ThreadPoolExecutor(max(1, THREADS - 1)) as pool:
        others = [pool.submit(act, thread) for thread in range(1, THREADS)]
        act(0)
        for one in others:
            one.result()


def share_out(rows: int, act: Callable[[range, int], None]) -> None:
    """Each thread takes one run of rows, so that no two write into the same lines of memory."""
    cuts = [rows * thread // THREADS for thread in range(THREADS + 1)]
    on_threads(lambda thread: act(range(cuts[thread], cuts[thread + 1]), thread))


def _starts(codes: np.ndarray, slice_of: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Where each thread's rows of each slice start: those of the first thread at the bounds."""
    counts = np.zeros((THREADS, bounds.size - 1), dtype=np.int64)
    share_out(
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
    from oboro.decide.lattice.kernels.row_places import spread

    digits = np.empty((BLOCK, len(layout.digits)), dtype=layout.codes.dtype)
    for first in range(rows.start, rows.stop, BLOCK):
        if stop():
            return
        last = min(first + BLOCK, rows.stop)
        block = digits[: last - first]
        block[:] = 0
        for j, a, table in tables[:-1]:
            kernels.add(problem.columns[a].codes[first:last], table, block[:, j])
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
    """Whether with an attribute's values numbered slice by slice, two bytes number the values of all attributes."""
    values = [len(hierarchy.levels[0].labels) for hierarchy in problem.hierarchies]
    if FINE * values[a] > problem.rows:
        return False
    values[a] = int(np.bincount(problem.hierarchies[a].levels[highest].table).max())
    return sum(values) <= TWO_BYTES - FUSED * len(values)


def _wished(problem: Problem) -> int:
    """How many slices there should be."""
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
