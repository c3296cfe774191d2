"""Proving which node is the best where the lattice cannot be listed: branch and bound over boxes.

A *box* is every node between two nodes. Its coarsest node tells how many records each of its nodes suppresses at least; where these
are too many, the box is done. Its levels tell what each of its nodes loses at least (`BlockBounds`; where classes are counted, its
finest node tells). A box that may hold a better node is cut in two at one attribute: the coarser half keeps the coarsest node, that
of the finer half is checked. The box that may lose least comes first. So the bound of the first box is a bound for everything that
is still open; it rises, and when it meets the loss of the best node, that node is the best of all.

What is done depends on the problem alone, never on the machine: only when it ends does, where time is limited.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, prod

import numpy as np

from oboro.decide.lattice.huge.block_bounds import BlockBounds
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.sliced_check import SlicedChecker

__all__ = ["BoxSearch"]

SAME = 1e-12  # losses closer than this are equal; then the lexicographically smallest levels win
TOGETHER = 8  # boxes that are cut at a time, on two threads
MOST = 2_000_000  # boxes that wait; with more, those that were cut last are taken first, which keeps few waiting
KEPT = 6  # of the nodes that were checked, the best

Box = tuple[float, int, Levels, Levels, int]
"""The bound of its nodes, its number, its finest and its coarsest node, and how many records each node suppresses at least."""


@dataclass(eq=False)
class BoxSearch:
    """A search that closes in on the best node from below. `known` are nodes that were checked before."""

    problem: Problem
    checker: NodeChecker | SlicedChecker
    known: Mapping[Levels, Node] = field(default_factory=dict)
    best: Node | None = None

    def __post_init__(self) -> None:
        self.checked, self.numbered, self.open_nodes = 0, 0, self.problem.lattice.size
        self.feasible: list[Node] = []
        self.open_groups: list[Node] = []
        self.waiting: list[Box] = []
        self.deep: list[Box] = []
        self.blocks: BlockBounds | None = None
        self.started = False
        self.cuts = _cuts(self.problem)

    def run(self, over: Callable[[], bool], tell: Callable[[], None] = lambda: None) -> None:
        """Cut boxes until none can hold a better node, or it is `over`; may be called again to go on."""
        with ThreadPoolExecutor(2) as self.pool:
            if not self.started:
                self._start(over)
            while (self.waiting or self.deep) and not over():
                self._cut(self._taken())
                tell()

    @property
    def done(self) -> bool:
        """Whether no box is left that may hold a better node."""
        return self.started and not self.waiting and not self.deep

    @property
    def bound(self) -> float:
        """No node loses less than this, except those that were checked."""
        waiting = [box[0] for box in (*self.waiting[:1], *self.deep)]
        if not self.started:
            return -inf
        return self.problem.loss.unfold(min(waiting)) if waiting else inf

    def unsure(self) -> list[Node]:
        """Checked nodes that might lose less than the best with other classes joined to the suppressed; the best first."""
        high = inf if self.best is None else self.best.loss - SAME
        found = {node.levels: node for node in self.open_groups if node.least < high}
        return sorted(found.values(), key=lambda node: (round(node.least, 12), node.levels))

    def record(self, node: Node) -> None:
        """Note a node's result."""
        if self.open_groups:
            self.open_groups = [one for one in self.open_groups if one.levels != node.levels]
        if node.least > -inf:
            self.open_groups.append(node)
        if node.feasible and (len(self.feasible) < KEPT or node.rank < self.feasible[-1].rank):
            self.feasible = sorted({one.levels: one for one in (*self.feasible, node)}.values(), key=lambda n: n.rank)
            del self.feasible[KEPT:]
            if self.best is None or node.rank < self.best.rank:
                self.best = node

    def _start(self, over: Callable[[], bool]) -> None:
        for node in self.known.values():
            self.record(node)
        if isinstance(self.problem.loss, CellLoss):
            self.blocks = BlockBounds.of(self.problem, over)
        self.started, self.open_nodes = True, 0
        bottom, top = self.problem.lattice.bottom, self.problem.lattice.top
        wanted = [top] if self.blocks is not None else [top, bottom]
        self._push(bottom, top, 0, -inf, {node.levels: node for node in self._check(wanted)})

    def _taken(self) -> list[Box]:
        """The boxes to cut next."""
        if self.deep or len(self.waiting) > MOST:
            taken = [self.deep.pop() if self.deep else heapq.heappop(self.waiting)]
        else:
            taken = [heapq.heappop(self.waiting) for _ in range(min(TOGETHER, len(self.waiting)))]
        self.open_nodes -= sum(_nodes(low, high) for _, _, low, high, _ in taken)
        return taken

    def _cut(self, boxes: Iterable[Box]) -> None:
        """Cut boxes in two; their new coarsest (or finest) nodes are checked together."""
        halves: list[tuple[Levels, Levels, int, float]] = []
        wanted: list[Levels] = []
        for bound, _, low, high, surely in boxes:
            if low == high or self._hopeless(bound, low):
                continue
            a, level = self._where(low, high)
            above, below = (*low[:a], level + 1, *low[a + 1 :]), (*high[:a], level, *high[a + 1 :])
            for first, last, new in ((above, high, above), (low, below, below)):
                if not self._hopeless(max(bound, self._least(first, last, surely)), first):
                    halves.append((first, last, surely, bound))
                    wanted += [new] if self.blocks is None or new is below else []
        seen = {node.levels: node for node in self._check(wanted)}
        for low, high, surely, bound in halves:
            self._push(low, high, surely, bound, seen)

    def _push(self, low: Levels, high: Levels, surely: int, bound: float, seen: Mapping[Levels, Node]) -> None:
        """Let a box wait, unless none of its nodes can be better than the best."""
        top = seen.get(high)
        if top is not None:
            surely = max(surely, top.surely)
            if top.surely > self.problem.limit or (self.problem.monotone and not top.satisfying):
                return
        bound = max(bound, self._least(low, high, surely))
        if low in seen and seen[low].floor > -inf:
            bound = max(bound, seen[low].floor)
        if low != high and not self._hopeless(bound, low):
            self.numbered += 1
            self.open_nodes += _nodes(low, high)
            box = (bound, self.numbered, low, high, surely)
            if len(self.waiting) > MOST:
                self.deep.append(box)
            else:
                heapq.heappush(self.waiting, box)

    def _least(self, low: Levels, high: Levels, surely: int) -> float:
        return -inf if self.blocks is None else self.blocks.least(low, high, min(surely, self.problem.limit))

    def _hopeless(self, bound: float, low: Levels) -> bool:
        """Whether no node of a box is better than the best, or as good and lexicographically smaller."""
        if self.best is None:
            return bound == inf
        fold = self.problem.loss.fold
        return bound > fold(self.best.loss + SAME) or (bound >= fold(self.best.loss - SAME) and low >= self.best.levels)

    def _where(self, low: Levels, high: Levels) -> tuple[int, int]:
        """After which level of which attribute a box is cut: where both halves are expected to end soon."""
        best, found = -1.0, (-1, -1)
        for a, (first, last) in enumerate(zip(low, high, strict=True)):
            if first < last:
                score, level = self.cuts[a][first, last]
                if score > best:
                    best, found = score, (a, level)
        return found

    def _check(self, wanted: list[Levels]) -> list[Node]:
        """Check nodes, two at a time with the same hurdle; those that were checked before are known."""
        new = [levels for levels in dict.fromkeys(wanted) if levels not in self.known]
        hurdle = inf if self.best is None else self.best.loss + SAME
        if self.checker.many_at_once:
            found = self.checker.check_all(new, hurdle) if new else []
        else:
            each = map if isinstance(self.checker, SlicedChecker) or len(new) < 2 else self.pool.map
            found = list(each(lambda levels: self.checker.check(levels, hurdle), new))
        for node in found:
            self.record(node)
        self.checked += len(found)
        return [*found, *(self.known[levels] for levels in wanted if levels in self.known)]


def _cuts(problem: Problem) -> list[dict[tuple[int, int], tuple[float, int]]]:
    """For each attribute, and each first and last level of a box: how good it is to cut there, and after which level.

    The coarser half ends by what its levels lose more, the finer one by the entropy that its coarsest node has more. Of seven
    mixtures of the two, this one closed the gap of fourteen columns of Adult soonest.
    """
    loss, cuts = problem.loss, []
    prices = loss.bounds(problem.limit)[0] if isinstance(loss, CellLoss) else [-one for one in problem.entropies]
    for price, entropy in zip(prices, problem.entropies, strict=True):
        found = {}
        for first, last in combinations(range(price.size), 2):
            more = np.maximum(price[first + 1 : last + 1] - price[first], 0.0) + 1e-9
            told = np.sqrt(np.maximum(entropy[first:last] - entropy[last], 0.0)) + 1e-9
            place = int((more * told).argmax())
            found[first, last] = float((more * told)[place]), first + place
        cuts.append(found)
    return cuts


def _nodes(low: Levels, high: Levels) -> int:
    """How many nodes a box has."""
    return prod(last - first + 1 for first, last in zip(low, high, strict=True))
