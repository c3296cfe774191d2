"""Anytime search of a lattice with too many nodes to list: a hill climb for good nodes, branch and bound for a lower
bound.

*Descent*: from the top, step by step to the finer neighbour of least loss, then by exchanges (one attribute coarser,
alone or with another one finer) until none helps. *Kicks*: from the best node some attributes are made coarser at
random, and the descent begins there again. *Guesses*, in turns with them: of many nodes near the best ones those are
evaluated that lose least by a regression. Both go on as long as there is time, or without a time limit as long as they
improve the result now and then. Random numbers are the same on every machine. `BoxSearch` gives the gap between the
best node and the optimum.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product
from math import inf, prod
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels.dominance import below_any, least_of_box
from oboro.algorithms.lattice.limits import SearchLimits, SearchProgress
from oboro.algorithms.lattice.losses import CellLoss
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Node, Problem
from oboro.algorithms.lattice.sliced import SlicedChecker

if TYPE_CHECKING:
    from oboro.algorithms.lattice.search import SearchResult

__all__ = ["BlockBounds", "BlockOptima", "BoxSearch", "HillClimb", "HugeSearch", "SuppressionGuess", "part_of"]


# Lower bound by blocks of attributes ----------------------------------------------------------------------------------
# Lower bound on the loss of every node of a lattice: the attributes in a few large blocks, and the optimum of each
# block alone.
#
# Classes over fewer attributes are unions of classes, so records that a few levels suppress are suppressed at every
# node with these levels. A block's own lattice, with k alone and no requirement on the suppressed records, therefore
# has an optimum that its part of a node's loss never falls below. Such a lattice can be listed. The larger the blocks,
# the nearer the sum comes to the optimum of all: of eighteen columns 0.50 with blocks of 65,000 nodes, where small
# tables and boxes reach 0.35 in the same time, and the best loses 0.71. Columns with few levels are put together first:
# then a block of the same size has more columns, and loses more.


STAGES = (1 << 16, 600_000, 1 << 21, 1 << 23)  # nodes of a block
DUE = (500, 2_500, 12_000, 40_000)  # nodes that a climb has checked before each stage is worth its time
UNASKED = 2  # stages where nobody asked for a proof


def part_of(problem: Problem, some: list[int]) -> Problem:
    """Return the problem of some attributes alone, with k alone: no node of the whole suppresses fewer, or loses less
    by these.
    """
    loss = problem.loss
    assert isinstance(loss, CellLoss)
    return replace(
        problem,
        columns=tuple(problem.columns[a] for a in some),
        hierarchies=tuple(problem.hierarchies[a] for a in some),
        rules=(),
        population=None,
        most_classes=None,
        kept_risk=None,
        class_sizes=(),
        earnings=None,
        loss=CellLoss(loss.name, loss.weights[some], tuple(loss.costs[a] for a in some), loss.geometric),
        relaxed=True,
    )


@dataclass(eq=False)
class BlockOptima:
    """Lower bound that rises in stages. `solve` finds the optimum of a block, or a lower bound on its loss."""

    problem: Problem
    solve: Callable[[Problem], SearchResult]
    bound: float = -inf
    """No node loses less than this."""
    checked: int = 0
    known: dict[tuple[int, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stage = 0 if self._suits() else len(STAGES)

    def due(self, climbed: float) -> bool:
        """Return whether the next stage is worth its time, after a climb that evaluated so many nodes."""
        return self.stage < len(STAGES) and climbed >= DUE[self.stage]

    def advance(self) -> None:
        """Run one stage."""
        blocks, total = self._dealt(STAGES[self.stage]), 0.0
        self.stage += 1
        for block in blocks if len(blocks) > 1 else ():
            least = self._least(block)
            if least is None:
                return
            total += least
        self.bound = max(self.bound, self.problem.loss.unfold(total)) if len(blocks) > 1 else self.bound

    def _least(self, block: tuple[int, ...]) -> float | None:
        """Return a lower bound on the loss of a block, as the loss folds it; None where nothing is known."""
        if block not in self.known:
            part = part_of(self.problem, list(block))
            found = self.solve(part)
            self.checked += found.evaluated
            if found.bound is None:
                return None
            folded = part.loss.fold(found.bound)
            if not found.exact:
                return folded
            self.known[block] = folded
        return self.known[block]

    def _suits(self) -> bool:
        """Return whether the loss adds up over attributes, more suppressed never cost less, and a block takes no
        reading of all rows.
        """
        problem, loss = self.problem, self.problem.loss
        if not isinstance(loss, CellLoss) or loss.largest or problem.person is not None or problem.sliced:
            return False
        return all(one.extra.min(initial=0.0) >= 0.0 and one.bits >= 0.0 for costs in loss.costs for one in costs)

    def _dealt(self, most: int) -> list[tuple[int, ...]]:
        """The attributes in as few blocks as go, those with few levels first."""
        shape, entropies = self.problem.lattice.shape, self.problem.entropies
        blocks: list[list[int]] = []
        for a in sorted(range(len(shape)), key=lambda a: (shape[a], entropies[a][0])):
            if not blocks or prod(shape[b] for b in blocks[-1]) * shape[a] > most:
                blocks.append([])
            blocks[-1].append(a)
        return [tuple(sorted(block)) for block in blocks]


# Lower bound of a box -------------------------------------------------------------------------------------------------
# Lower bound on the loss of the nodes of a box of the lattice, from a few attributes at a time.
#
# Classes over fewer attributes are unions of classes. So a node suppresses at least as many records as any few of its
# levels do alone. The attributes are dealt into blocks; of each block's own lattice every node is known that suppresses
# few enough records. Where the loss adds up over attributes, the least losses of the blocks within a box add up to a
# bound for the box.


BLOCK_NODES = 600  # in a block; four times as many close a gap no sooner, and take four times as long to know


@dataclass(frozen=True, eq=False)
class BlockBounds:
    """Bounds for the boxes of one problem whose loss adds up over cells. Arrays of all blocks lie one after the other."""

    attributes: np.ndarray
    firsts: np.ndarray
    strides: np.ndarray
    base: np.ndarray
    """What levels lose without suppression, as `fold` counts; infinite where they suppress too many alone."""
    slope: np.ndarray
    """What each suppressed record adds at least."""
    surely: np.ndarray
    """How many records the levels suppress at least, whatever the others are."""
    alone: list[np.ndarray]
    """For each attribute and level what it loses alone, if the attribute that loses most decides; otherwise nothing."""

    @staticmethod
    def of(problem: Problem, over: Callable[[], bool]) -> BlockBounds:
        """Evaluate every block; once time is `over` the rest counts as suppressing nothing, which is safe."""
        loss, blocks = problem.loss, _dealt(problem)
        assert isinstance(loss, CellLoss)
        bases, slopes = loss.bounds(problem.limit)
        surely = [_suppressed(problem, some, over) for some in blocks]
        base = [
            np.where(gone > problem.limit, inf, _sums([bases[a] for a in some]))
            for some, gone in zip(blocks, surely, strict=True)
        ]
        slope = [_sums([slopes[a] for a in some]) for some in blocks]
        strides = [stride // gone.itemsize for gone in surely for stride in gone.strides]
        starts = np.cumsum([0, *(gone.size for gone in surely[:-1])])
        return BlockBounds(
            np.concatenate(blocks),
            np.cumsum([0, *map(len, blocks)]),
            np.concatenate([strides, starts]).astype(np.int64),
            _flat(base),
            _flat(slope),
            _flat(surely).astype(np.float64),
            [part * len(bases) for part in bases] if loss.largest and not loss.agreed else [],
        )

    def least(self, low: Levels, high: Levels, surely: int) -> float:
        """Lower bound on the loss, as `fold` counts, of the nodes between two nodes, if these suppress at least so
        many.
        """
        box, gone = (np.array(low), np.array(high)), float(surely)
        blocks = (self.attributes, self.firsts, self.strides, self.base, self.slope, self.surely)
        total = float(least_of_box(*box, gone, *blocks))
        return max([total, *(float(part[low[a] : high[a] + 1].min()) for a, part in enumerate(self.alone))])


def _flat(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts])


def _sums(parts: list[np.ndarray]) -> np.ndarray:
    """For every combination of levels the sum of one number each."""
    total = np.zeros([part.size for part in parts])
    for a, part in enumerate(parts):
        total += part.reshape([-1 if b == a else 1 for b in range(len(parts))])
    return total


def _suppressed(problem: Problem, some: list[int], over: Callable[[], bool]) -> np.ndarray:
    """Count the records, or people, that k alone suppresses at each node over some attributes; above the limit a lower
    bound.
    """
    part = part_of(problem, some)
    lattice, surely = part.lattice, np.zeros(part.lattice.shape, dtype=np.int64)
    checker = None if over() else NodeChecker.of(part)
    for levels in product(*(range(size - 1, -1, -1) for size in lattice.shape)):
        if checker is None or over():
            break
        if surely[levels] <= problem.limit:
            below = surely[lattice.below(levels)]
            np.maximum(below, checker.check(levels).surely, out=below)
    return surely


def _dealt(problem: Problem) -> list[list[int]]:
    """The attributes in blocks of few nodes; those with most entropy meet each other, for they constrain most."""
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


# Branch and bound over boxes ------------------------------------------------------------------------------------------
# Proof of optimality where the lattice cannot be listed: branch and bound over boxes.
#
# A *box* is the set of nodes between two nodes. Its coarsest node gives a lower bound on the suppressed records of each
# of its nodes; where these are too many, the box is done. Its levels give a lower bound on the loss of each of its
# nodes (`BlockBounds`; where classes are counted, its finest node does). A box that may hold a better node is cut in
# two at one attribute: the coarser half keeps the coarsest node, that of the finer half is evaluated. The box with the
# least lower bound comes first. So the bound of the first box is a bound for all open boxes; it rises, and when it
# meets the loss of the incumbent, that node is optimal.
#
# The sequence of steps depends on the problem alone, never on the machine; only the moment of the end does, where time
# is limited.


SAME = 1e-12  # losses closer than this are equal; then the lexicographically smallest levels win
TOGETHER = 8  # boxes that are cut at a time, on two threads
MOST = 2_000_000  # boxes that wait; with more, those that were cut last are taken first, which keeps few waiting
KEPT = 6  # of the nodes that were checked, the best

Box = tuple[float, int, Levels, Levels, int]
"""The bound of its nodes, its number, its finest and its coarsest node, and how many records each node suppresses at least."""


@dataclass(eq=False)
class BoxSearch:
    """Branch and bound that raises the lower bound on the optimum. `known` are nodes evaluated before."""

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
        """True if no box is left that may hold a better node."""
        return self.started and not self.waiting and not self.deep

    @property
    def bound(self) -> float:
        """Lower bound on the loss of all nodes except those that were evaluated."""
        waiting = [box[0] for box in (*self.waiting[:1], *self.deep)]
        if not self.started:
            return -inf
        return self.problem.loss.unfold(min(waiting)) if waiting else inf

    def unsure(self) -> list[Node]:
        """Evaluated nodes that might lose less than the best with other classes joined to the suppressed; the best
        first.
        """
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
        """Return whether no node of a box is better than the best, or as good and lexicographically smaller."""
        if self.best is None:
            return bound == inf
        fold = self.problem.loss.fold
        return bound > fold(self.best.loss + SAME) or (bound >= fold(self.best.loss - SAME) and low >= self.best.levels)

    def _where(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Choose the attribute and level after which a box is cut: both halves are expected to end soon."""
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
    """Return the number of nodes of a box."""
    return prod(last - first + 1 for first, last in zip(low, high, strict=True))


# Regression of suppressed records -------------------------------------------------------------------------------------
# Estimate of the records that a node suppresses, from the nodes evaluated so far.
#
# The loss of levels without suppression is known at once; the number of records they suppress takes a reading of the
# table. The logarithm of that number is nearly a sum over attributes. So a linear regression on the steps of the levels
# estimates it, and the search evaluates the most promising nodes first. A wrong estimate costs an evaluation, and never
# changes the answer.


FAR = 4  # a node that suppresses so many times the limit counts as suppressing that: a look at it ends early
SLACK = 1.15  # what is guessed to suppress so many times the limit may still keep within it


@dataclass(eq=False)
class SuppressionGuess:
    """Regression that learns from every evaluated node. Learning is O(steps²) a node, a guess O(steps), after O(steps³)
    for all.
    """

    problem: Problem
    loss: CellLoss

    def __post_init__(self) -> None:
        heights = self.problem.lattice.heights
        self.attribute = np.repeat(np.arange(len(heights)), heights)
        self.step = np.concatenate([np.arange(1, height + 1) for height in heights])
        size = self.step.size + 1
        self.products, self.sums = np.eye(size), np.zeros(size)
        self.base = [np.array([one.base for one in costs]) for costs in self.loss.costs]
        self.extra = [
            np.array([one.extra.mean() if one.extra.size else 0.0 for one in costs]) for costs in self.loss.costs
        ]
        if self.loss.geometric:
            self.extra = [extra / (1 + base) for base, extra in zip(self.base, self.extra, strict=True)]
            self.base = [np.log1p(base) for base in self.base]

    def learn(self, nodes: Sequence[Node]) -> None:
        """Add some evaluated nodes to the regression."""
        steps = self._steps(np.array([node.levels for node in nodes]))
        most = FAR * self.problem.limit + 10
        seen = np.log1p(np.minimum([node.surely for node in nodes], most))
        self.products += steps.T @ steps
        self.sums += steps.T @ seen

    def outlook(self, levels: np.ndarray) -> np.ndarray:
        """Estimate the loss of each row of levels, for comparing: those that probably suppress too many come last."""
        weights = np.linalg.solve(self.products, self.sums)
        gone = np.expm1((self._steps(levels) @ weights).clip(0, 30))
        total = np.zeros(len(levels))
        for a, weight in enumerate(self.loss.weights):
            at = levels[:, a]
            total += weight * (self.base[a][at] + self.extra[a][at] * np.minimum(gone, self.problem.limit))
        return np.where(gone > SLACK * self.problem.limit + 1, total.max(initial=0.0) + 1 + gone, total)

    def _steps(self, levels: np.ndarray) -> np.ndarray:
        """For each node a one, and for each attribute and level whether the node is as coarse."""
        return np.hstack([np.ones((len(levels), 1)), levels[:, self.attribute] >= self.step])


# Hill climb -----------------------------------------------------------------------------------------------------------


WORK = 3_000_000_000  # cells read before the exchanges stop by themselves: about ten seconds
KICKS = 200  # so many in a row that lead nowhere, and the climb rests
NEARLY, BACK = 1.03, 10  # what loses so much more is gone on from; after so many kicks in vain, from the best again
GUESSED, NEAR, LOOKS = (
    400,
    12,
    8,
)  # nodes that are guessed at a time, near so many of the best ones, and how many are checked
MANY = 64  # nodes that are worth a second thread, where several are counted in one call


@dataclass(eq=False)
class HillClimb:
    """Hill climb from neighbour to neighbour. It remembers the nodes it evaluated, and those that failed with
    everything below them.
    """

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
        """Begin again from the best node, which may have been found by another search."""
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
        """Return whether time or work is used up."""
        return self.limits.over() or (not self.tireless and self.work > self.most)

    def check(self, wanted: Sequence[Levels]) -> list[Node]:
        """Evaluate nodes, on both threads; those that must fail are left out."""
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
        """Return the progress of the search."""
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


# Anytime search -------------------------------------------------------------------------------------------------------
# Search of a lattice that cannot be listed: climb to a good node, then raise the lower bound to prove how good it is.
#
# The two take turns, so that a bound is known soon: the climb begins at random nodes and continues from nodes that the
# proof found. Without a limit both end after an amount of work; with `prove` they go on until the optimum is proven.


PROVING = 3_000_000_000  # cells that the proof reads before it stops by itself: about ten seconds
EACH = 60_000  # cells that a check counts for, however few it reads
TURN, SHARE = 500, 2  # checks of the climb before the proof gets its turn, and how many of them for one of the proof
LONGER = (2000, 40_000)  # groups looked at for the classes that join the suppressed, where the answer hangs on it


@dataclass(eq=False)
class HugeSearch:
    """Search of a lattice that cannot be listed. With `prove` it goes on until the optimum is proven, or the time is
    up.
    """

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
        """Climb and prove in turns, and climb again from the proof's nodes; where the climb rests the proof goes on
        alone.
        """
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
        """Return whether time is up, or enough was read where no proof was requested."""
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
        """Return the progress of the search."""
        best, size = self.boxes.best, self.problem.lattice.size
        if self.climb.best is not None and (best is None or self.climb.best.rank < best.rank):
            best = self.climb.best  # the proof has not heard of it yet
        settled, loss = size - self.boxes.open_nodes, None if best is None else best.loss
        bound = self.bound if loss is None or self.bound is None else min(self.bound, loss)
        return SearchProgress(self.evaluated, settled, size, loss, bound)

    @property
    def evaluated(self) -> int:
        """Number of evaluated nodes."""
        return min(len(self.climb.nodes) + self.boxes.checked, self.problem.lattice.size)

    @property
    def exact(self) -> bool:
        """True if the best node is proven optimal (or no node can be released)."""
        return self.boxes.done and not self.boxes.unsure()

    @property
    def bound(self) -> float | None:
        """Lower bound on the loss of all nodes that can be released; None where nothing is known."""
        best = self.boxes.best
        waiting = self.boxes.bound if self.optima is None else max(self.boxes.bound, self.optima.bound)
        least = min([inf if best is None else best.loss, waiting, *(one.least for one in self.boxes.unsure())])
        return None if least in (inf, -inf) else max(least, self.problem.least_loss)

    @property
    def feasible(self) -> list[Node]:
        """The best evaluated nodes, the best first."""
        return self.boxes.feasible or sorted(
            (node for node in self.climb.nodes.values() if node.feasible), key=lambda node: node.rank
        )
