"""Nodes counted from columns of labels, where nothing but k is asked and losses add up over cells.

A check of 20,000 tuples took 270 to 830 µs where keys were looked up digit by digit, tuple by tuple. Columns that lie side by side
are multiplied and added several tuples at a time, and a node that fails needs no hash table: tuples that fall together by chance
only make classes larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from threading import local
from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.lattice.kernels.columns.column_counts import EXACT, UNKNOWN, count_columns
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import WRONG_BY, Node, Problem
from oboro.decide.lattice.tuples.distinct_tuples import DistinctTuples
from oboro.decide.lattice.tuples.rolled_up import Ladders, NodeCounts
from oboro.table.dataset import smallest_unsigned

if TYPE_CHECKING:
    from oboro.decide.lattice.node_check import NodeChecker

__all__ = ["LabelColumns", "columns_of", "lie_near"]

MOST = 1 << 18  # tuples, above which columns no longer stay near the processor
ROOM = 1 << 28  # bytes for all columns
LARGE = 1 << 16  # labels of a level, or a k, that two bytes do not number


def lie_near(problem: Problem, tuples: int) -> bool:
    """Whether columns of so many tuples are few and short enough to stay near the processor."""
    levels = [len(level.labels) for hierarchy in problem.hierarchies for level in hierarchy.levels]
    return tuples <= MOST and 2 * len(levels) * tuples <= ROOM and max(levels) < LARGE


def columns_of(
    problem: Problem, codes: np.ndarray, offsets: np.ndarray, kind: type[np.unsignedinteger] = np.uint16
) -> tuple[np.ndarray, np.ndarray]:
    """The label of each tuple on each level of each attribute, a column each; and which column is of which level."""
    first = np.zeros((len(problem.hierarchies), max(problem.lattice.shape)), dtype=np.int64)
    columns: list[np.ndarray] = []
    for a, hierarchy in enumerate(problem.hierarchies):
        own = codes[:, a] - offsets[a]
        for v, level in enumerate(hierarchy.levels):
            first[a, v] = len(columns)
            columns.append(level.table.astype(kind)[own])
    return np.stack(columns), first


class _Scratch(local):
    """What each thread writes on."""

    def __init__(self, tuples: int, counts: int, slots: int, kind: type) -> None:
        self.keys = np.empty(tuples, dtype=np.uint32)
        self.counts: np.ndarray = np.zeros(counts, dtype=kind)
        self.slots = np.zeros(slots, dtype=np.uint32)


class LabelColumns:
    """Counts the nodes of a problem. What it cannot tell is left to `RolledUp`."""

    def __init__(self, problem: Problem, tuples: DistinctTuples) -> None:
        self.problem, self.tuples, self.ladders = problem, tuples, Ladders.of(problem)
        kind = smallest_unsigned(int(self.ladders.labels.max()))
        self.columns, self.first = columns_of(problem, tuples.codes, tuples.offsets, kind)
        narrow = np.uint8 if 2 * problem.k < 1 << 8 else np.uint16
        self.weights = np.minimum(tuples.weights, problem.k).astype(narrow)
        self.classes = min(len(tuples), problem.rows // problem.k + max(problem.limit, 0))
        size = 2 << len(tuples).bit_length()
        self.scratch = _Scratch(len(tuples), size, min(2 << self.classes.bit_length(), size), narrow)

    @staticmethod
    def of(problem: Problem, tuples: DistinctTuples) -> LabelColumns | None:
        """The columns of a problem, if its nodes are counted sooner from them."""
        suits = lie_near(problem, len(tuples)) and 2 * problem.k < LARGE and isinstance(problem.loss, CellLoss)
        return LabelColumns(problem, tuples) if suits else None

    def check(self, checker: NodeChecker, chosen: Sequence[Levels], hurdle: float) -> list[Node | None]:
        """Several nodes; None where good classes must be suppressed in addition, or classes must be told one by one."""
        nodes, problem = np.array(chosen, dtype=np.int64), self.problem
        known, counts = self.count(nodes, problem.limit, problem.loss.fold(hurdle))
        if not known.all() and len(self.tuples.blocks) == 1:
            rest = checker.rolled_up.count(nodes[~known], problem.k, problem.limit)
            counts.sizes[~known], counts.tallies[~known], known = rest.sizes, rest.tallies, np.ones_like(known)
        told = zip(chosen, *counts, known.tolist(), strict=True)
        return [
            problem.node_of_sizes(levels, sums, tally, hurdle) if sure else None for levels, sums, tally, sure in told
        ]

    def count(self, nodes: np.ndarray, most: int, hurdle: float = inf) -> tuple[np.ndarray, NodeCounts]:
        """Which nodes are known, and what is counted of them: of those that suppress too many only at least how many.

        What the suppressed cost is not counted for nodes that lose more than `hurdle`, as the loss folds it.
        """
        loss, own = self.problem.loss, self.scratch
        assert isinstance(loss, CellLoss)
        tallies, found = np.zeros((*nodes.shape, loss.width), np.int64), np.zeros((len(nodes), 3), np.int64)
        read = self.tuples.codes, self.tuples.offsets, self.ladders.first, self.ladders.steps
        held = self.columns, self.first, self.ladders.labels, self.weights
        k, lost = self.problem.k, self.problem.least_lost(nodes)
        written = own.keys, own.counts, own.slots, tallies, found
        count_columns(nodes, *held, *read, k, most, self.classes, lost, hurdle + WRONG_BY, *written)
        known, gone, kept = found.T
        few = (known == EXACT) & (gone > 0) & (gone < self.problem.k)  # then the smallest class decides
        sizes = np.zeros((len(nodes), 6), np.int64)
        sizes[:, 0], sizes[:, 2] = gone, kept
        return (known != UNKNOWN) & ~few, NodeCounts(sizes, tallies)
