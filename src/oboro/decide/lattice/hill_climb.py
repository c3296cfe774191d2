"""Lattices with more nodes than can be listed: a good node soon, better ones while there is time, and how far the
best can be.

*Descent*: from the top, step by step to the finer neighbour that loses least, then by exchanges (one attribute
coarser, alone or with another one finer) until none helps. *Kicks*: from the best node some attributes are made coarser by
chance, and the descent begins there again, as long as there is time, or without a time limit as long as that helps now and
then. The chance is the same on every machine. *Bound*: whatever the best node is, on any few of its attributes it must
suppress no more than the limit either, because classes over fewer attributes are unions. So the attributes are dealt
into blocks, each block's lattice is settled exactly, and the least losses of the blocks add up to a bound for the
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import inf, prod

import numpy as np

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import SearchLimits, SearchProgress
from oboro.decide.lattice.sliced_check import SlicedChecker

__all__ = ["HillClimb", "block_bound"]

WORK = 3_000_000_000  # cells read before the exchanges stop by themselves: about ten seconds
BLOCK_NODES = 50_000
KICKS = 40  # so many in a row that lead nowhere, and the climb ends; with a time limit, a hundred times as many
SAME = 1e-12  # losses closer than this are equal


@dataclass(eq=False)
class HillClimb:
    """A hill climb from neighbour to neighbour. It remembers what it checked, and which nodes failed with everything below them."""

    problem: Problem
    checker: NodeChecker | SlicedChecker
    limits: SearchLimits
    nodes: dict[Levels, Node] = field(default_factory=dict)
    best: Node | None = None

    def __post_init__(self) -> None:
        self.failed = np.zeros((0, len(self.problem.hierarchies)), dtype=np.int64)
        self.work = 0

    def run(self) -> None:
        """Descend, then exchange, until nothing helps or the time is over."""
        with ThreadPoolExecutor(2) as self.pool:
            self._start()
            self._improve()
            self._kick()

    def _improve(self) -> None:
        """Descend and exchange from the best node until neither helps."""
        while self.best is not None and not self.over():
            before = self.best
            self._descend(self.best)
            self._exchange()
            if self.best is before:
                return

    def _kick(self) -> None:
        """Begin again near the best node, where chance leads; until time is over or it no longer helps."""
        chance, fruitless = np.random.default_rng(0), 0
        while self.best is not None and not self.over() and fruitless < self._patience:
            before, known = self.best, len(self.nodes)
            levels, tops = np.array(before.levels), np.array(self.problem.lattice.heights)
            some = chance.choice(levels.size, size=min(levels.size, int(chance.integers(2, 5))), replace=False)
            levels[some] = np.minimum(levels[some] + chance.integers(1, 3, some.size), tops[some])
            for node in self.check([tuple(levels.tolist())]):
                self._descend(node)
            if self.best is not before:
                self._improve()
                fruitless = 0
            else:
                fruitless += 1 if len(self.nodes) > known else 5

    @property
    def _patience(self) -> int:
        return KICKS if self.limits.seconds is None else KICKS * 100

    def _start(self) -> None:
        """The coarsest node that can be released; below the top only where the top leaves too few suppressed."""
        checked = self.check([self.problem.lattice.top])
        while checked and self.best is None and not self.over():
            layer = sorted({child for node in checked for child in self.problem.lattice.children(node.levels)})[:500]
            checked = self.check(layer)

    def over(self) -> bool:
        """Whether time or work is used up."""
        return self.limits.over() or (self.limits.seconds is None and self.work > WORK)

    def check(self, wanted: Sequence[Levels]) -> list[Node]:
        """Check nodes, on both threads; those that must fail are left out."""
        new = [levels for levels in dict.fromkeys(wanted) if levels not in self.nodes and not self._hopeless(levels)]
        check = map if isinstance(self.checker, SlicedChecker) else self.pool.map  # slices use both threads themselves
        hurdle = inf if self.best is None else self.best.loss + SAME
        for node in check(lambda levels: self.checker.check(levels, hurdle), new):
            self.nodes[node.levels] = node
            self.work += self.checker.weight * len(node.levels)
            if node.surely > self.problem.limit:
                self.failed = np.vstack([self.failed, node.levels])
            if node.feasible and (self.best is None or node.rank < self.best.rank):
                self.best = node
        self.limits.report(self.progress)
        return [self.nodes[levels] for levels in wanted if levels in self.nodes]

    def progress(self) -> SearchProgress:
        """How far the search is."""
        loss = None if self.best is None else self.best.loss
        return SearchProgress(len(self.nodes), len(self.nodes), self.problem.lattice.size, loss)

    def _hopeless(self, levels: Levels) -> bool:
        return bool((self.failed >= np.array(levels)).all(axis=1).any())

    def _descend(self, start: Node) -> None:
        here: Node | None = start
        while here is not None and not self.over():
            finer = [node for node in self.check(list(self.problem.lattice.children(here.levels))) if node.feasible]
            best = min(finer, key=lambda node: node.rank, default=None)
            here = best if best is not None and best.rank < here.rank else None

    def _exchange(self) -> None:
        """Try every pair: one attribute a level coarser, another one or two levels finer; the most promising first."""
        lattice = self.problem.lattice
        here = self.best
        assert here is not None
        steps: set[Levels] = set(lattice.parents(here.levels))
        for coarser in lattice.parents(here.levels):
            for once in lattice.children(coarser):
                steps.update([once, *lattice.children(once)])
        steps.discard(here.levels)
        ordered = sorted(steps, key=lambda levels: (self._outlook(levels), levels))
        for start in range(0, len(ordered), 16):
            if self.over() or self.best is not here:
                return
            self.check(ordered[start : start + 16])

    def _outlook(self, levels: Levels) -> float:
        loss = self.problem.loss
        return loss.value(levels, None) if isinstance(loss, CellLoss) else -float(sum(levels))


def block_bound(problem: Problem, optimum: Callable[[Problem], float | None]) -> float | None:
    """A lower bound on the loss of every node that can be released; None where the loss is not a sum over attributes.

    `optimum` finds the least loss of a smaller problem.
    """
    loss = problem.loss
    if not isinstance(loss, CellLoss):
        return None
    total = 0.0
    for block in _blocks(problem):
        part = replace(
            problem,
            columns=tuple(problem.columns[a] for a in block),
            hierarchies=tuple(problem.hierarchies[a] for a in block),
            rules=(),
            population=None,
            most_classes=None,
            class_sizes=(),
            loss=replace(loss, weights=loss.weights[block], costs=tuple(loss.costs[a] for a in block)),
            relaxed=True,
        )
        least = optimum(part)
        if least is None:
            return None
        total = max(total, least) if loss.largest else total + loss.fold(least)
    return total if loss.largest else loss.unfold(total)


def _blocks(problem: Problem) -> list[list[int]]:
    """Deal the attributes into blocks of few nodes; those with most entropy meet each other, for they constrain most."""
    order = sorted(range(len(problem.columns)), key=lambda a: -problem.entropies[a][0])
    blocks: list[list[int]] = []
    for a in order:
        for block in blocks:
            if prod(problem.lattice.shape[b] for b in block) * problem.lattice.shape[a] <= BLOCK_NODES:
                block.append(a)
                break
        else:
            blocks.append([a])
    return blocks
