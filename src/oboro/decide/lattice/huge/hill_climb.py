"""Lattices with more nodes than can be listed: a good node soon, better ones while there is time.

*Descent*: from the top, step by step to the finer neighbour that loses least, then by exchanges (one attribute
coarser, alone or with another one finer) until none helps. *Kicks*: from the best node some attributes are made coarser by
chance, and the descent begins there again. *Guesses*, in turns with them: of many nodes near the best ones those are checked
that lose least by a regression. Both go on as long as there is time, or without a time limit as long as that helps now and
then. The chance is the same on every machine. How far the best node can be is told by `BoxSearch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from operator import attrgetter

import numpy as np

from oboro.decide.lattice.huge.suppression_guess import SuppressionGuess
from oboro.decide.lattice.kernels.box_bounds import below_any
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import SearchLimits
from oboro.decide.lattice.search_progress import SearchProgress
from oboro.decide.lattice.sliced_check import SlicedChecker

__all__ = ["HillClimb"]

WORK = 3_000_000_000  # cells read before the exchanges stop by themselves: about ten seconds
KICKS = 200  # so many in a row that lead nowhere, and the climb rests
NEARLY, BACK = 1.03, 10  # what loses so much more is gone on from; after so many kicks in vain, from the best again
GUESSED, NEAR, LOOKS = (
    400,
    12,
    8,
)  # nodes that are guessed at a time, near so many of the best ones, and how many are checked
MANY = 64  # nodes that are worth a second thread, where several are counted in one call
SAME = 1e-12  # losses closer than this are equal


@dataclass(eq=False)
class HillClimb:
    """A hill climb from neighbour to neighbour. It remembers what it checked, and which nodes failed with everything below them."""

    problem: Problem
    checker: NodeChecker | SlicedChecker
    limits: SearchLimits
    tireless: bool = False
    """Whether it goes on however much it has read."""
    most: int = WORK
    """How much it reads otherwise."""
    nodes: dict[Levels, Node] = field(default_factory=dict)
    best: Node | None = None
    rest: Callable[[], None] = lambda: None
    """Called after each check, for whoever takes turns with the climb; it may set a better `best`, which the climb goes on from."""
    told: Callable[[], SearchProgress] | None = None
    """How far the search is that takes turns with the climb; without it, how far the climb is."""

    def __post_init__(self) -> None:
        self.failed, self.fails = np.zeros((64, len(self.problem.hierarchies)), dtype=np.int16), 0
        self.work, self.chance = 0, np.random.default_rng(0)
        loss = self.problem.loss
        self.guess = SuppressionGuess(self.problem, loss) if isinstance(loss, CellLoss) and not loss.largest else None
        self.elite: list[Node] = []

    def run(self, first: Sequence[Levels] = ()) -> None:
        """Descend, then exchange, until nothing helps or the time is over; from the best of `first`, if one can be released."""
        with ThreadPoolExecutor(2) as self.pool:
            self._start()
            self.check(first)
            self._improve()
            self._kick()

    def go_on(self, best: Node | None) -> None:
        """Begin again from the best node, which somebody else may have found."""
        fresh, self.best = best is not self.best, best
        with ThreadPoolExecutor(2) as self.pool:
            if fresh:
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
        """Begin again nearby, where chance leads, and slide down; until time is over or it no longer helps.

        What is a little worse than the best is gone on from too: most ways to a better node lead over such ones.
        """
        here, fruitless = self.best, 0
        while here is not None and self.best is not None and not self.over() and fruitless < KICKS:
            before, known = self.best, len(self.nodes)
            if self.guess is not None:
                self._look_at_guesses(self.guess)
            for node in self.check([self._nearby(here.levels)]):
                end = self._slide(node)
                here = end if end.loss < self.best.loss * NEARLY else here
            if self.best is not before:
                self._improve()
                here, fruitless = self.best, 0
            else:
                fruitless += 1 if len(self.nodes) > known else 5
                here = self.best if fruitless % BACK == 0 else here

    def _look_at_guesses(self, guess: SuppressionGuess) -> None:
        """Change some attributes of the best nodes by chance, and check what is guessed to lose least."""
        chance, tops = self.chance, np.array(self.problem.lattice.heights)
        near = np.array([node.levels for node in self.elite])[chance.integers(0, len(self.elite), GUESSED)]
        changed = chance.random(near.shape).argsort(axis=1) < chance.integers(2, 6, (GUESSED, 1))
        moved = near + changed * chance.choice([-2, -1, -1, 1, 1, 2], near.shape)
        drawn = np.unique(moved.clip(0, tops), axis=0)
        wanted = map(tuple, drawn[np.argsort(guess.outlook(drawn), kind="stable")].tolist())
        self.check(list(islice((one for one in wanted if one not in self.nodes and not self._hopeless(one)), LOOKS)))

    def _nearby(self, levels: Levels) -> Levels:
        """Some attributes coarser, by chance; now and then many of them, up to the top."""
        chance, tops = self.chance, np.array(self.problem.lattice.heights)
        kicked, most = np.array(levels), max(2, len(levels) // 2)
        some = chance.choice(kicked.size, size=min(kicked.size, int(chance.integers(2, most + 3))), replace=False)
        kicked[some] = np.minimum(kicked[some] + chance.integers(1, 4, some.size), tops[some])
        return tuple(kicked.tolist())

    def _slide(self, start: Node) -> Node:
        """Down to finer neighbours in an order of chance, the first that loses less each time: few are looked at."""
        here = start
        while not self.over():
            finer = list(self.problem.lattice.children(here.levels))
            order = [finer[i] for i in self.chance.permutation(len(finer))]
            better = self._first_better(here, order)
            if better is None:
                return here
            here = better
        return here

    def _first_better(self, here: Node, order: Sequence[Levels]) -> Node | None:
        for start in range(0, len(order), 2):
            found = [node for node in self.check(order[start : start + 2]) if node.feasible and node.rank < here.rank]
            if found:
                return min(found, key=lambda node: node.rank)
        return None

    def _start(self) -> None:
        """The coarsest node that can be released; below the top only where the top leaves too few suppressed."""
        checked = self.check([self.problem.lattice.top])
        while checked and self.best is None and not self.over():
            layer = sorted({child for node in checked for child in self.problem.lattice.children(node.levels)})[:500]
            checked = self.check(layer)

    def over(self) -> bool:
        """Whether time or work is used up."""
        return self.limits.over() or (not self.tireless and self.work > self.most)

    def check(self, wanted: Sequence[Levels]) -> list[Node]:
        """Check nodes, on both threads; those that must fail are left out."""
        new = [levels for levels in dict.fromkeys(wanted) if levels not in self.nodes and not self._hopeless(levels)]
        hurdle = inf if self.best is None else self.best.loss + SAME
        if self.checker.many_at_once and len(new) < MANY:
            found = (
                self.checker.check_all(new, hurdle) if new else []
            )  # two threads would take longer to meet than to count
        else:
            check = (
                map if isinstance(self.checker, SlicedChecker) else self.pool.map
            )  # slices use both threads themselves
            found = list(check(lambda levels: self.checker.check(levels, hurdle), new))
        if found:
            self._take_in(found)
        self.limits.report(self.told or self.progress)
        self.rest()
        return [self.nodes[levels] for levels in wanted if levels in self.nodes]

    def _take_in(self, found: list[Node]) -> None:
        """Remember checked nodes: which are the best, which failed, and how many records they suppress."""
        self.nodes.update((node.levels, node) for node in found)
        self.work += self.checker.weight * len(found[0].levels) * len(found)
        self._fail([node.levels for node in found if node.surely > self.problem.limit])
        self.elite = sorted((*self.elite, *(node for node in found if node.feasible)), key=attrgetter("rank"))[:NEAR]
        if self.elite and (self.best is None or self.elite[0].rank < self.best.rank):
            self.best = self.elite[0]
        if self.guess is not None:
            self.guess.learn(found)

    def _fail(self, levels: list[Levels]) -> None:
        """Remember nodes that suppress too many, in room that doubles."""
        end = self.fails + len(levels)
        if end > len(self.failed):
            self.failed = np.vstack([self.failed, np.zeros((end, self.failed.shape[1]), dtype=self.failed.dtype)])
        self.failed[self.fails : end] = np.array(levels).reshape(-1, self.failed.shape[1])
        self.fails = end

    def progress(self) -> SearchProgress:
        """How far the search is."""
        loss = None if self.best is None else self.best.loss
        return SearchProgress(len(self.nodes), len(self.nodes), self.problem.lattice.size, loss)

    def _hopeless(self, levels: Levels) -> bool:
        return below_any(np.array(levels, dtype=self.failed.dtype), self.failed[: self.fails])

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
        ordered = self._ordered(sorted(steps))
        for start in range(0, len(ordered), 16):
            if self.over() or self.best is not here:
                return
            self.check(ordered[start : start + 16])

    def _ordered(self, steps: list[Levels]) -> list[Levels]:
        """The most promising first."""
        loss = self.problem.loss
        if self.guess is not None and steps:
            return [steps[i] for i in np.argsort(self.guess.outlook(np.array(steps)), kind="stable")]
        return sorted(
            steps, key=lambda levels: loss.value(levels, None) if isinstance(loss, CellLoss) else -sum(levels)
        )
