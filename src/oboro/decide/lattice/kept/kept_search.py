"""Searching the lattice where nobody may be suppressed.

What a node loses is then known before it is judged, and it either holds or fails: no class can be left out or join the suppressed.
So nodes are chosen, judged and noted in compiled code, which comes back when one holds. Adult with one sensitive column took 20 to
40 ms, of which most was spent in Python around the nodes and on keeping classes of finer ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import inf, log, prod
from operator import le

import numpy as np

from oboro.decide.lattice import node_check
from oboro.decide.lattice.kept.kept_rows import KeptRows
from oboro.decide.lattice.kernels.kept import kept_nodes as kernels
from oboro.decide.lattice.kernels.node_marks import meet, note, promising
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.node_status import BINS, FEW, SAME
from oboro.decide.lattice.nodes import Lattice, Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import SearchLimits
from oboro.decide.lattice.search_progress import SearchProgress

__all__ = ["KeptSearch", "suits"]

AT_A_TIME = 32  # nodes that are judged before it is asked whether time is up, and which levels are out of the question;
CELLS = 1 << 27  # fewer where all levels of all rows are more than these: a tenth of a second
FEWER = 0.8  # rows are joined again where so many are left
MANY = 1 << 19  # rows
VALUES = 256  # combinations of sensitive values, for each class counts them all
LARGE = 1 << 16  # values that two bytes number


def suits(problem: Problem) -> bool:
    """Whether a problem is searched this way: nobody may be suppressed, and what a finer node keeps every coarser one keeps.

    Where only k is asked, `label_columns` is as fast. With a million rows, classes of finer nodes are, and with many nodes what
    follows from one takes longer than to judge it.
    """
    if problem.limit != 0 or problem.lattice.size > FEW or not (problem.monotone and problem.only_rules):
        return False
    if not max(node_check.ROLLED, 1) <= problem.rows <= MANY:
        return False
    if not isinstance(problem.loss, CellLoss) or problem.loss.largest or problem.k < 1:
        return False
    few = prod(rule.whole.size for rule in problem.rules) <= VALUES
    return few and max(len(column.values) for column in problem.columns) <= LARGE


class KeptSearch:
    """What is known of every node that is nowhere finer than `low`; what is finer there fails."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.rows = problem, KeptRows(problem)
        self.low = self.rows.finest_alone()
        self.rows.join(self.low)
        self.read, self.room = self.rows.above(self.low)
        self.lattice = Lattice(tuple(np.subtract(problem.lattice.heights, self.low).tolist()))
        self.shape, size = np.array(self.lattice.shape), self.lattice.size
        assert isinstance(problem.loss, CellLoss)
        base = self._sums(problem.loss.bounds(0)[0])
        satisfies, fails, seen, covered = np.zeros((4, size), dtype=bool)
        self.marks = kernels.KeptMarks(satisfies, fails, seen, covered, np.zeros(size, dtype=np.int32), base)
        self.slope, self.counts = np.zeros(size), np.ones((2, size), dtype=np.int32)
        self.curve = self._curve(self._sums(problem.entropies))
        self.nodes: dict[Levels, Node] = {}
        self.best: Node | None = None
        self.joined = self.lattice.bottom

    def _sums(self, parts: Iterable[np.ndarray]) -> np.ndarray:
        return self.lattice.sums([part[least:] for part, least in zip(parts, self.low, strict=True)]).ravel()

    def _curve(self, entropy: np.ndarray) -> kernels.Curve:
        """As `FailureCurve` begins."""
        step = max(float(entropy.max()), 1e-9) / (BINS - 1)
        failed, passed = np.zeros((2, BINS), dtype=np.int64)
        usual = log(self.problem.rows / self.problem.k)
        for row, one in ((failed, usual + 1.0), (passed, usual - 3.0)):
            row[min(max(int(one / step), 0), BINS - 1)] += 1
        return kernels.Curve(entropy, step, failed, passed, np.array([0, 1]))

    def run(self, limits: SearchLimits, minimal: bool, first: Iterable[Levels]) -> bool:
        """Search; False where nothing holds, which is for others to explain."""
        self._settle(np.array([self.lattice.top]), 1, minimal)
        if self.best is None:
            return False
        for levels in first:
            if all(map(le, self.low, levels)):
                self._settle(np.array([levels]) - self.low, 1, minimal)
        most = min(AT_A_TIME, 1 + CELLS // self.read.columns.size)
        for every in (True, False) if minimal else (False,):
            nothing = np.empty((0, self.shape.size), dtype=np.int64)
            while not limits.over() and self._settle(nothing, most, every):
                limits.report(self.progress)
        return True

    def _settle(self, first: np.ndarray, most: int, every: bool) -> int:
        """Judge some nodes; how many. With `every`, whatever they lose."""
        nodes, told = np.empty((most, self.shape.size), dtype=np.int64), np.empty(most, dtype=np.int64)
        asked = first, every, *self._hurdle(), self.problem.k, self.shape, self.read, self.rows.rules
        state = self.rows.own, self.room, self.marks, self.curve, self.counts, self.slope
        judged = int(kernels.settle_kept(*asked, *state, nodes, told))
        for place in nodes[:judged][told[:judged] == kernels.HOLDS]:
            self._hold(place)
        if judged and told[judged - 1] == kernels.UNCLEAR:
            self._look_closer(nodes[judged - 1])
        elif judged == most:
            self._focus(every)
        return judged

    def _hurdle(self) -> tuple[float, float, int]:
        """What a node must lose to be the best; of equal ones the first is."""
        if self.best is None:
            return inf, inf, 0
        fold, levels = self.problem.loss.fold, np.subtract(self.best.levels, self.low)
        place = int(np.ravel_multi_index(tuple(levels), self.lattice.shape))
        return fold(self.best.loss - SAME), fold(self.best.loss + SAME), place

    def _hold(self, place: np.ndarray) -> None:
        """A node can be released."""
        levels = tuple((place + self.low).tolist())
        assert isinstance(self.problem.loss, CellLoss)
        node = Node(levels, 0, 0, 0, True, self.problem.loss.value(levels, None))
        self.nodes[levels] = node
        if self.best is None or node.rank < self.best.rank:
            self.best = node

    @cached_property
    def checker(self) -> NodeChecker:
        """What judges a node in exact arithmetic."""
        return NodeChecker.of(self.problem)

    def _look_closer(self, place: np.ndarray) -> None:
        """Judge a node class by class, in exact arithmetic."""
        holds = np.array([self.checker.completed(tuple((place + self.low).tolist())).satisfying])
        nothing = np.zeros(1, dtype=np.int32), np.full(1, -inf)
        note(place[np.newaxis], self.shape, holds, ~holds, holds, *nothing, *self.marks)
        if holds[0]:
            self._hold(place)

    def _focus(self, every: bool) -> None:
        """Join the rows that agree on all levels that are still waiting, where that makes them fewer."""
        least = self.shape - 1
        meet(self.waiting(every), self.shape, least)
        levels = tuple(least.tolist())
        if levels == self.joined:
            return
        before, self.joined = self.rows.secrets.size, levels
        self.rows.join(tuple(np.add(levels, self.low).tolist()))
        if self.rows.secrets.size < FEWER * before:
            self.read, self.room = self.rows.above(self.low)

    def waiting(self, every: bool) -> np.ndarray:
        """Which nodes may still be better than the best; with `every`, which are not settled."""
        out = np.empty(self.lattice.size, dtype=bool)
        if every:
            return np.asarray(~(self.marks.satisfies | self.marks.fails))
        known = self.marks.fails, self.marks.seen, self.marks.base, self.slope, self.marks.surely
        promising(*known, *self._hurdle(), out)
        return out

    def progress(self) -> SearchProgress:
        """How far the search is."""
        loss = None if self.best is None else self.best.loss
        return SearchProgress(self.evaluated, self._settled, self.problem.lattice.size, loss)

    @property
    def _settled(self) -> int:
        """Nodes of which it is known whether they hold."""
        outside = self.problem.lattice.size - self.lattice.size
        return outside + int((self.marks.fails | self.marks.satisfies).sum())

    @property
    def evaluated(self) -> int:
        """Nodes that were judged."""
        return int(self.marks.seen.sum())

    @property
    def tagged(self) -> int:
        """Nodes that were settled by others."""
        return self._settled - self.evaluated

    def minimal(self) -> list[Levels] | None:
        """All minimal nodes, if every node is settled."""
        if self.waiting(True).any():
            return None
        found = self.lattice.minimal(self.marks.satisfies.reshape(self.lattice.shape))
        return [tuple(np.add(levels, self.low).tolist()) for levels in found]

    def bound(self) -> float | None:
        """No node that can be released loses less than this."""
        if self.best is None or not (waiting := self.waiting(False)).any():
            return None if self.best is None else self.best.loss
        least = self.problem.loss.unfold(float(self.marks.base[waiting].min()))
        return min(self.best.loss, max(least, self.problem.least_loss))
