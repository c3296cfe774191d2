"""Nodes counted from the classes of finer ones that were counted before, where nothing but the sizes of classes is asked.

A class of a node is a union of classes of any finer node, so those are enough to count it, and they are fewer than the tuples.
What is kept are the classes of nodes that generalize the third of the attributes with most information as the nodes that are
asked for do, and the others not at all. Adult, nine columns, k = 5, 10 %: the 188 nodes to the optimum read 8,400 entries each
instead of 19,500, the 2,743 to all minimal ones 7,750 (counted by replaying recorded searches). What lost: keeping the classes of
every node that was asked for (15,000, and little more beside these), half or two thirds of the attributes, or several such steps
(8,200 to 11,000 and 6,100 to 7,700, with two to five times as much kept).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock, local
from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.kernels.rolled_counts import DIRECT, HASHES, count_nodes
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Problem
from oboro.decide.lattice.tuples.distinct_tuples import DistinctTuples
from oboro.decide.lattice.tuples.fused_digits import FusedDigits

__all__ = ["FinerNodes", "Ladders", "NodeCounts", "RolledUp"]

MOST = 256  # nodes whose classes are kept
PLACES = 24  # classes kept for each tuple, all nodes together
ENOUGH = 1 << 22  # but no more than these
FRESH = 4  # and for each tuple in one call
FEW = 2048  # tuples that are read as soon as classes are kept
UNASKED = np.empty((0, 0), dtype=np.int64)
REFUSED = 3  # so many nodes with too many classes, and no more are tried
WANTED = 2  # so often a finer node must be of use before its classes are kept


class NodeCounts(NamedTuple):
    """What is counted of some nodes, one row each."""

    sizes: np.ndarray
    """Suppressed records, classes, kept classes, squared sizes of all and of the kept ones, the smallest kept size."""
    tallies: np.ndarray
    """The suppressed records by attribute and by what they cost, where they are not too many."""


class _Seen(NamedTuple):
    """Nodes whose classes are kept, and these: `tuples[bounds[s] : bounds[s + 1]]`, each with its records."""

    nodes: np.ndarray
    bounds: np.ndarray
    tuples: np.ndarray
    weights: np.ndarray

    @staticmethod
    def of(nodes: np.ndarray, bounds: np.ndarray, places: int) -> _Seen:
        """With places for so many classes; those behind the last node's are free."""
        return _Seen(nodes, bounds, np.empty(places, dtype=np.uint32), np.empty(places, dtype=np.int64))


class Ladders(NamedTuple):
    """On level v of attribute a, code c has the label `numbers[first[a, v] + c]` of `labels[a, v]`; what it pays is in `steps`."""

    first: np.ndarray
    labels: np.ndarray
    numbers: np.ndarray
    steps: np.ndarray

    @staticmethod
    def of(problem: Problem) -> Ladders:
        """Of every attribute and level."""
        most = max(len(hierarchy.levels) for hierarchy in problem.hierarchies)
        first, labels = np.zeros((2, len(problem.hierarchies), most), dtype=np.int64)
        numbers, steps, begin = [], [], 0
        for a, hierarchy in enumerate(problem.hierarchies):
            for v, level in enumerate(hierarchy.levels):
                first[a, v], labels[a, v] = begin, len(level.labels)
                numbers.append(level.table)
                costs = problem.loss.costs[a][v].step if isinstance(problem.loss, CellLoss) else 0 * level.table
                steps.append(costs)
                begin += level.table.size
        return Ladders(first, labels, *(np.concatenate(parts).astype(np.uint32) for parts in (numbers, steps)))


class FinerNodes:
    """Which finer nodes are worth keeping the classes of; none any more where some turned out to have nearly as many as tuples."""

    def __init__(self, problem: Problem) -> None:
        width, self.times, self.lock = len(problem.hierarchies), Counter[tuple[int, ...]](), Lock()
        told = np.argsort([-entropies[0] for entropies in problem.entropies], kind="stable")
        self.telling, self.kept, self.refused = np.zeros(width, dtype=np.int64), 1, 0
        self.telling[told[: width // 3]] = 1

    def wanted(self, nodes: np.ndarray, tuples: int) -> np.ndarray:
        """Finer nodes whose classes are worth keeping from now on: not yet there, and wanted a second time."""
        with self.lock:
            if self.kept >= MOST or tuples < FEW or self.refused >= REFUSED:
                return nodes[:0]
            finer = list(map(tuple, (nodes * self.telling).tolist()))
            before = {one: self.times[one] for one in finer}
            self.times.update(finer)
            ready = [one for one, times in before.items() if times < WANTED <= self.times[one]]
            self.kept += len(ready)
        return np.array(ready, dtype=np.int64).reshape(-1, nodes.shape[1])


class _Scratch(local):
    """What each thread writes on, kept for the next nodes: touching fresh memory costs more than counting."""

    def __init__(self, tuples: int, table: int) -> None:
        self.slots = np.zeros(8 * tuples + DIRECT + HASHES, dtype=np.int64)
        self.table = np.empty(table, dtype=np.uint64)
        self.keys = np.empty(tuples, dtype=np.uint64)
        self.kept = np.empty((1 + FRESH) * tuples, dtype=np.uint32)
        self.kept_weights = np.empty(self.kept.size, dtype=np.int64)


@dataclass(eq=False)
class RolledUp:
    """Counts the nodes of a problem that asks for nothing but k, from tuples of one block; for whatever k, so it can be kept."""

    problem: Problem
    tuples: DistinctTuples
    digits: FusedDigits
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        width, size = len(self.problem.hierarchies), len(self.tuples)
        self.seen = _Seen.of(
            np.zeros((1, width), np.int64), np.array([0, size]), min(PLACES * size, max(4 * size, ENOUGH))
        )
        order = np.lexsort(self.digits.codes.T)  # those that are soon one class stand together
        self.seen.tuples[:size], self.seen.weights[:size] = np.arange(size), self.tuples.weights[order]
        self.ladders = Ladders.of(self.problem)
        narrow = np.uint16 if self.digits.width < 1 << 16 and self.tuples.offsets[-1] < 1 << 16 else np.uint32
        self.read = self.digits.codes[order].astype(narrow), self.tuples.codes[order].astype(narrow)
        dealt = np.array([a for group in self.digits.groups for a in group], dtype=np.int64)
        ends = np.cumsum([0, *map(len, self.digits.groups)])
        self.layout = dealt, ends, self.tuples.offsets
        self.scratch = _Scratch(size, self.digits.width)
        self.finer = FinerNodes(self.problem)

    def count(self, nodes: np.ndarray, k: int, most: int, histogram: np.ndarray = UNASKED) -> NodeCounts:
        """Count some nodes; what the suppressed cost only where they are at most so many. Adds to `histogram`, if it is given, for
        each node how many classes have each size (the last: or more)."""
        finer = self.finer.wanted(nodes, len(self.tuples))
        if len(finer):
            self._count(finer, k, -1, keep=True)
        return self._count(nodes, k, most, histogram)

    def _count(
        self, nodes: np.ndarray, k: int, most: int, histogram: np.ndarray = UNASKED, *, keep: bool = False
    ) -> NodeCounts:
        loss, own = self.problem.loss, self.scratch
        width, most = (loss.width, most) if isinstance(loss, CellLoss) else (1, -1)  # others are not counted by cost
        found = NodeCounts(np.empty((len(nodes), 6), np.int64), np.zeros((*nodes.shape, width), np.int64))
        ends = np.zeros(len(nodes) + 1, dtype=np.int64)
        written = (
            own.slots,
            own.table,
            own.keys,
            own.kept,
            own.kept_weights,
            ends,
            found.tallies,
            histogram,
            found.sizes,
        )
        count_nodes(nodes, *self.seen, *self.read, *self.layout, *self.ladders, k, most, keep, *written)
        if ends[-1]:
            self._keep(nodes, ends, own)
        return found

    def _keep(self, nodes: np.ndarray, ends: np.ndarray, own: _Scratch) -> None:
        """Keep the classes of those nodes that are worth it. Whoever counts meanwhile reads none of the places written here."""
        which, last = np.flatnonzero(np.diff(ends)), int(ends[-1])
        with self._lock:
            seen, used = self.seen, int(self.seen.bounds[-1])
            if used + last > seen.tuples.size:
                return
            seen.tuples[used : used + last], seen.weights[used : used + last] = own.kept[:last], own.kept_weights[:last]
            bounds = np.concatenate([seen.bounds, used + ends[which + 1]])
            self.seen = seen._replace(nodes=np.concatenate([seen.nodes, nodes[which]]), bounds=bounds)
