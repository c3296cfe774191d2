"""Status of every node of a lattice: satisfied, failed, waiting, and the next nodes to evaluate."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels import dominance
from oboro.algorithms.lattice.losses import CellLoss
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Node, Problem

if TYPE_CHECKING:
    from oboro.algorithms.lattice.limits import SearchProgress
    from oboro.algorithms.lattice.sliced import SlicedChecker

__all__ = ["FailureCurve", "NodeStatus"]


SAME = 1e-12  # losses closer than this are equal; then the lexicographically smallest levels win
BINS = 256
MIDDLES = np.arange(BINS) + 0.5
FEW = (
    1 << 14
)  # nodes up to which only those are checked that may be the best: a fifth less time for nine columns of Adult
NOTED = attrgetter("levels", "satisfying", "surely", "suppressed", "floor")  # of a node


@dataclass(eq=False)
class NodeStatus:
    """Status of every node; arrays are flat, in lexicographic order of the levels."""

    problem: Problem
    checker: NodeChecker | SlicedChecker
    nodes: dict[Levels, Node] = field(default_factory=dict)
    best: Node | None = None
    open: dict[Levels, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lattice, loss = self.problem.lattice, self.problem.loss
        self.lattice, self.shape = lattice, np.array(lattice.shape)
        self.focused, self.whole = lattice.bottom, self.checker
        self.satisfies = np.zeros(lattice.shape, dtype=bool)
        self.fails = np.zeros(lattice.shape, dtype=bool)
        self.seen = np.zeros(lattice.shape, dtype=bool)
        self.covered = np.zeros(lattice.shape, dtype=bool)  # a satisfying node is known at or below
        self.surely = np.zeros(lattice.shape, dtype=np.int32)  # records that are suppressed at least
        if isinstance(loss, CellLoss):
            bases, slopes = loss.bounds(self.problem.limit)
            self.base, self.slope = lattice.sums(bases), lattice.sums(slopes)
        else:
            self.base, self.slope = np.full(lattice.shape, -1.0), np.zeros(lattice.shape)
        self.failure_curve = FailureCurve(self.problem)
        self.tried, self.paid = set[Levels](), 1  # nodes that were checked only for what they settle, and how many did

    @property
    def hurdle(self) -> float:
        """A loss above this is of no interest any more."""
        return inf if self.best is None else self.best.loss + SAME

    def check(self, levels: Levels) -> Node:
        """Evaluate a node, if not yet done, and note what follows for others."""
        if levels not in self.nodes:
            self.record(self.checker.check(levels))
        return self.nodes[levels]

    def record(self, *found: Node) -> None:
        """Note the results of nodes and what follows from them."""
        if not found:
            return
        problem = self.problem
        levels, passed, surely, suppressed, floors = map(np.array, zip(*map(NOTED, found), strict=True))
        down = (surely > problem.limit) | (~passed & problem.monotone)
        up = passed & (problem.monotone | ((suppressed == 0) & problem.joinable))
        least = np.minimum(surely, problem.limit).astype(np.int32)
        marks = self.satisfies, self.fails, self.seen, self.covered, self.surely, self.base
        dominance.note(levels, self.shape, passed, down, up, least, floors, *map(np.ravel, marks))
        for node in found:
            self.nodes[node.levels] = node
            self.open.pop(node.levels, None)
            if node.open:
                self.open[node.levels] = node
            if node.feasible and (self.best is None or node.rank < self.best.rank):
                self.best = node
            self.paid += node.levels in self.tried and node.surely > problem.limit
        places = np.ravel_multi_index(tuple(levels.T), self.lattice.shape)
        self.failure_curve.learn(self.failure_curve.entropy[places], ~passed)

    def remember(self, known: dict[Levels, float], floors: dict[Levels, float]) -> None:
        """Take over results of other searches: lower bounds on the suppressed records of nodes, valid for every finer
        one too, and lower bounds on their losses, valid for every coarser one too.

        The most promising one that seems to satisfy is checked: a good answer to begin with rules out most others.
        """
        if floors:
            least = np.full(self.lattice.size, -inf)
            least[self._places(floors)] = list(floors.values())
            np.maximum(self.base, self.lattice.greatest_below(least.reshape(self.lattice.shape)), out=self.base)
        if not known:
            return
        flat, small = self._places(known), np.array(list(known.values()))
        surely = np.zeros(self.lattice.size)
        surely[flat] = small
        surely = self.lattice.greatest_above(surely.reshape(self.lattice.shape))
        self.fails |= surely > self.problem.limit
        np.maximum(self.surely, np.minimum(surely, self.problem.limit).astype(np.int32), out=self.surely)
        self.failure_curve.learn(self.failure_curve.entropy[flat], small > self.problem.limit)
        if (small <= self.problem.limit).any():
            self.check(self._least_of(flat[small <= self.problem.limit]))

    def _places(self, nodes: dict[Levels, float]) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(tuple(np.array(list(nodes)).T), self.lattice.shape))

    def _least_of(self, places: np.ndarray) -> Levels:
        """Of some nodes the one that loses least, as far as its bound tells."""
        bounds = (self.base + self.slope * self.surely).ravel()[places]
        return tuple(int(level) for level in np.unravel_index(places[bounds.argmin()], self.lattice.shape))

    def progress(self) -> SearchProgress:
        """Return the progress of the search."""
        from oboro.algorithms.lattice.limits import SearchProgress

        settled = int((self.seen | self.satisfies | self.fails).sum())
        loss = None if self.best is None else self.best.loss
        return SearchProgress(len(self.nodes), settled, self.lattice.size, loss)

    def undecided(self) -> np.ndarray:
        """Nodes that might still be minimal."""
        return np.asarray(~(self.satisfies | self.fails | self.covered)).ravel()

    def promising(self) -> np.ndarray:
        """Nodes that might still be better than the best, or as good and lexicographically smaller."""
        low, high, before = inf, inf, 0
        if self.best is not None:
            fold = self.problem.loss.fold
            low, high = fold(self.best.loss - SAME), fold(self.best.loss + SAME)
            before = int(np.ravel_multi_index(self.best.levels, self.lattice.shape))
        out = np.empty(self.lattice.size, dtype=bool)
        fails, seen, surely = self.fails.ravel(), self.seen.ravel(), self.surely.ravel()
        dominance.promising(fails, seen, self.base.ravel(), self.slope.ravel(), surely, low, high, before, out)
        return out

    def unsure(self) -> list[Node]:
        """Checked nodes that might be better than the best with other classes joined to the suppressed; the best first."""
        high = inf if self.best is None else self.best.loss - SAME
        found = [node for node in self.nodes.values() if -inf < node.least < high]
        return sorted(
            {*found, *(self.left_open() if self.open else ())}, key=lambda node: (round(node.least, 12), node.levels)
        )

    def left_open(self) -> list[Node]:
        """Nodes of which it is not yet known which classes join the suppressed, and that might be the best."""
        return [node for node in self.open.values() if node.least <= self.hurdle]

    def choose(self, open_: np.ndarray, most: int, *, fill: bool = False) -> list[Levels]:
        """Choose nodes whose results are expected to settle most of the waiting ones; of two comparable ones only the
        better, or with `fill` the others after them, as many as are requested.
        """
        below, above = np.empty(open_.size, dtype=np.int32), np.ones(open_.size, dtype=np.int32)
        dominance.count_below(open_, self.shape, below)
        if self.problem.monotone:
            dominance.count_above(open_, self.shape, above)
        sure, (centre, width) = self.satisfies.ravel(), self.failure_curve.fit()
        settled = (self.seen | self.fails | self.satisfies).ravel() if self.seen.size > FEW else ~open_
        out = np.empty((most, self.shape.size), dtype=np.int64)
        entropy = self.failure_curve.entropy
        trust = min(1.0, 2.0 * self.paid / (len(self.tried) + 2.0))
        found = dominance.choose(
            open_, settled, trust, sure, entropy, centre, width, below, above, self.shape, fill, out
        )
        chosen = list(map(tuple, out[:found].tolist()))
        waiting = open_[np.ravel_multi_index(tuple(out[:found].T), self.lattice.shape)]
        self.tried.update(compress(chosen, ~waiting))
        return chosen

    def focus(self, waiting: np.ndarray) -> None:
        """Join the tuples that agree on some levels, where no waiting node is finer than these: fewer to read."""
        least = self.shape - 1
        dominance.meet(waiting, self.shape, least)
        meet = tuple(least.tolist())
        if meet != self.focused:
            wide = (
                self.checker if self.checker.can_check(meet) else self.whole
            )  # other questions may wait for finer nodes again
            self.checker, self.focused = wide.rebased(meet), meet

    def bound(self) -> float:
        """Lower bound on the loss of all nodes that can be released."""
        best = inf if self.best is None else self.best.loss
        best = min([best, *(node.least for node in self.unsure())])
        waiting = self.promising()
        if not waiting.any():
            return best
        least = float((self.base + self.slope * self.surely).ravel()[waiting].min())
        return min(best, max(self.problem.loss.unfold(least), self.problem.least_loss))


class FailureCurve:
    """Probability that each node fails: a curve over the sum of its levels' entropies, refitted with every result."""

    def __init__(self, problem: Problem) -> None:
        self.entropy = problem.lattice.sums(problem.entropies).ravel()
        self.step = max(float(self.entropy.max()), 1e-9) / (BINS - 1)
        self.failed, self.passed = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
        usual = float(np.log(max(problem.people, 1) / problem.k))
        # Two imaginary results keep the curve sensible until real ones arrive.
        self.learn(np.array([usual - 3.0, usual + 1.0]), np.array([False, True]))

    def learn(self, entropies: np.ndarray, failed: np.ndarray) -> None:
        """Add results of nodes with these entropies."""
        places = np.clip(entropies / self.step, 0, BINS - 1).astype(np.int64)
        np.add.at(self.failed, places[failed], 1)
        np.add.at(self.passed, places[~failed], 1)

    def fit(self) -> tuple[float, float]:
        """Fit the centre that puts fewest results on the wrong side, and the width from how far those stray."""
        wrong = (self.failed - self.passed).cumsum()
        centre = float(np.flatnonzero(wrong == wrong.min()).mean()) + 0.5
        strays = np.where(centre >= MIDDLES, self.failed, self.passed)
        stray = float(np.abs(MIDDLES - centre) @ strays) / max(int(strays.sum()), 1)
        return centre * self.step, max(0.25, stray * self.step)
