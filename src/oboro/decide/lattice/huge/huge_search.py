"""Searching a lattice that cannot be listed: climb to a good node, then prove from below how good it is.

The two take turns, so that a bound is known soon: the climb begins where chance leads it and goes on from what the proof found.
Without a limit both end after an amount of work; whoever wants the optimum whatever it takes lets them go on until it is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from oboro.decide.lattice.huge.block_optima import UNASKED, BlockOptima
from oboro.decide.lattice.huge.box_search import BoxSearch
from oboro.decide.lattice.huge.hill_climb import HillClimb
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search_limits import SearchLimits
from oboro.decide.lattice.search_progress import SearchProgress
from oboro.decide.lattice.sliced_check import SlicedChecker

if TYPE_CHECKING:
    from oboro.decide.lattice.search import SearchResult

__all__ = ["HugeSearch"]

PROVING = 3_000_000_000  # cells that the proof reads before it stops by itself: about ten seconds
EACH = 60_000  # cells that a check counts for, however few it reads
TURN, SHARE = 500, 2  # checks of the climb before the proof gets its turn, and how many of them for one of the proof
LONGER = (2000, 40_000)  # groups looked at for the classes that join the suppressed, where the answer hangs on it


@dataclass(eq=False)
class HugeSearch:
    """A search of one problem. `prove`: it goes on until the optimum is known, or the time is up."""

    problem: Problem
    checker: NodeChecker | SlicedChecker
    limits: SearchLimits
    prove: bool = False
    first: tuple[Levels, ...] = ()
    """Nodes that are checked first."""
    solve: Callable[[Problem], SearchResult] | None = None
    """What finds the optimum of a lattice that can be listed."""

    def __post_init__(self) -> None:
        tireless = self.prove or self.limits.seconds is not None
        self.climb = HillClimb(self.problem, self.checker, self.limits, tireless)
        self.boxes = BoxSearch(self.problem, self.checker, self.climb.nodes)
        self.climb.rest, self.climb.told, self.turn = self._prove_between, self.progress, 0
        self.optima = None if self.solve is None else BlockOptima(self.problem, self.solve)

    def run(self) -> None:
        """Climb and prove in turns, and climb again from what the proof found; where the climb rests the proof goes on alone."""
        self.climb.run(self.first)
        turn = TURN
        while True:
            self._bound_by_blocks(inf)
            self._prove(turn)  # at least one look, which tells a bound
            if self.over() or self.boxes.done:
                break
            found = self.boxes.best
            self.climb.go_on(found)
            turn = (
                2 * turn if self.climb.best is found else TURN
            )  # a climb that leads nowhere waits longer for its next turn
        self._make_sure()

    def _prove_between(self) -> None:
        """The proof's turn, each time the climb has checked so much."""
        self._bound_by_blocks(len(self.climb.nodes))
        climbed = len(self.climb.nodes) - self.boxes.checked * SHARE
        behind = self.optima is not None and self.boxes.bound < self.optima.bound  # boxes wait until the climb rests
        if climbed >= TURN and not behind and not self.over() and not self.boxes.done:
            self._prove(TURN // SHARE)

    def _bound_by_blocks(self, climbed: float) -> None:
        """The next stage of the bound by large blocks, where it is worth its time after so many nodes of the climb."""
        asked = self.prove or self.limits.seconds is not None
        if self.optima is None or self.over() or not (asked or self.optima.stage < UNASKED):
            return
        if self.optima.due(climbed):
            self.optima.advance()
            self._tell()

    def _prove(self, checks: int) -> None:
        """Check so much for the proof, or until it finds a better node to climb from."""
        if self.climb.best is not None and self.climb.best is not self.boxes.best:
            self.boxes.record(self.climb.best)
        self.turn, known = self.boxes.checked + checks, self.boxes.best
        self.boxes.run(
            lambda: self.over() or self.boxes.best is not known or self.boxes.checked >= self.turn, self._tell
        )
        self.climb.best = self.boxes.best

    def over(self) -> bool:
        """Whether time is up, or enough was read where nobody asked for a proof."""
        read = self.boxes.checked * (self.checker.weight * len(self.problem.columns) + EACH)
        return self.limits.over() or (self.limits.seconds is None and not self.prove and read > PROVING)

    def _make_sure(self) -> None:
        """Look longer for the best classes to join the suppressed where that could change the answer."""
        for steps, node in ((steps, node) for steps in LONGER for node in self.boxes.unsure()):
            best = self.boxes.best
            if self.limits.over():
                return
            if best is None or node.least < best.loss:
                hurdle = inf if best is None else best.loss
                self.boxes.record(self.checker.check(node.levels, hurdle, steps))

    def _tell(self) -> None:
        self.limits.report(self.progress)

    def progress(self) -> SearchProgress:
        """How far the search is."""
        best, size = self.boxes.best, self.problem.lattice.size
        if self.climb.best is not None and (best is None or self.climb.best.rank < best.rank):
            best = self.climb.best  # the proof has not heard of it yet
        settled, loss = size - self.boxes.open_nodes, None if best is None else best.loss
        bound = self.bound if loss is None or self.bound is None else min(self.bound, loss)
        return SearchProgress(self.evaluated, settled, size, loss, bound)

    @property
    def evaluated(self) -> int:
        """How many nodes were checked."""
        return min(len(self.climb.nodes) + self.boxes.checked, self.problem.lattice.size)

    @property
    def exact(self) -> bool:
        """Whether the best node is known to be the best of all (or that there is none)."""
        return self.boxes.done and not self.boxes.unsure()

    @property
    def bound(self) -> float | None:
        """No node that can be released loses less than this; None where nothing is known."""
        best = self.boxes.best
        waiting = self.boxes.bound if self.optima is None else max(self.boxes.bound, self.optima.bound)
        least = min([inf if best is None else best.loss, waiting, *(one.least for one in self.boxes.unsure())])
        return None if least in (inf, -inf) else max(least, self.problem.least_loss)

    @property
    def feasible(self) -> list[Node]:
        """The best nodes that were checked, the best first."""
        return self.boxes.feasible or sorted(
            (node for node in self.climb.nodes.values() if node.feasible), key=lambda node: node.rank
        )
