"""More choices of levels than can be listed: our search beside ARX's heuristics, at the same time of the processor."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, inf
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.rows import BenchRow
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.limits import SearchProgress
from oboro.algorithms.lattice.losses import CellLoss, loss_of
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.search import search
from oboro.data.column import Column
from oboro.hierarchies.spec import HierarchySpec

__all__ = ["METHODS", "ArxSearch", "Method", "made_up", "pictures", "rows"]

COLUMNS = (10, 14, 18, 24)
QUICK, FULL_TIME = (2_000, 1.0), (20_000, 5.0)  # rows, and seconds of the processor for each method
PROOF = 30  # times as long for the proof on a fresh table: where others tie with us, nobody can lose less
K, SUPPRESS = 5, 0.1
KINDS = 40  # of people; what somebody's columns hold depends on their kind
Point = tuple[float, float]


def rows(*, quick: bool, progress: Callable[[str], None]) -> list[BenchRow]:
    """For each number of columns and method the loss in the end, and loss and bound as time goes on."""
    count, seconds = QUICK if quick else FULL_TIME
    found: list[BenchRow] = []
    for columns in COLUMNS[:2] if quick else COLUMNS:
        problem = made_up(columns, count)
        _ours(problem, 0.3)  # compiles what is not compiled yet
        progress(f"{columns} columns: ours")
        losses, bounds = _ours(problem, seconds)
        found += _told("oboro", columns, count, losses, bounds)
        for method in METHODS:
            progress(f"{columns} columns: ARX's {method}")
            found += _told(f"arx {method}", columns, count, _twin(problem, method, seconds))
        progress(f"{columns} columns: tables on which nothing was tuned")
        found += _fresh(columns, count // 2, seconds / 2.5)
    return found


def _fresh(columns: int, count: int, seconds: float) -> list[BenchRow]:
    """What everybody loses in the end on tables of another make."""
    problem = _factors(columns, count)
    row = partial(BenchRow, "many columns: fresh tables", parameters={"columns": columns, "n": count, "k": K})
    losses, bounds = _ours(problem, seconds)
    told = [row(method="oboro", metric="loss", ours=losses[-1][1], seconds=seconds)]
    told.append(row(method="oboro", metric="bound", ours=bounds[-1][1], seconds=seconds))
    told += [
        row(method="oboro", metric="optimum, proved", ours=loss, seconds=at)
        for at, loss in _proved(problem, PROOF * seconds)
    ]
    for method in METHODS:
        found = _twin(problem, method, seconds)
        told.append(row(method=f"arx {method}", metric="loss", ours=found[-1][1] if found else None, seconds=seconds))
    return told


def pictures(found: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Loss and bound over time, method by method."""
    from benchmarks.figures import draw_heuristics

    return draw_heuristics(found, folder)


def _told(
    method: str, columns: int, count: int, losses: Sequence[Point], bounds: Sequence[Point] = ()
) -> list[BenchRow]:
    parameters = {"columns": columns, "n": count, "k": K, "suppress": SUPPRESS}
    row = partial(BenchRow, "many columns: heuristics", method, parameters)
    last = losses[-1][0] if losses else 0.0
    told = [row("loss", losses[-1][1] if losses else None, seconds=last)]
    told += [row("bound", bounds[-1][1], seconds=bounds[-1][0])] if bounds else []
    each = partial(BenchRow, "many columns: over time", method)
    told += [each({**parameters, "cpu": round(at, 3)}, "loss so far", loss, seconds=at) for at, loss in losses]
    return told + [each({**parameters, "cpu": round(at, 3)}, "bound so far", bound, seconds=at) for at, bound in bounds]


def _ours(problem: Problem, seconds: float) -> tuple[list[Point], list[Point]]:
    """The loss of the best node and the bound, whenever they change, until the processor has worked so long."""
    start = time.process_time()
    losses: list[Point] = []
    bounds: list[Point] = []

    def tell(so_far: SearchProgress) -> None:
        now = time.process_time() - start
        if so_far.loss is not None and (not losses or so_far.loss < losses[-1][1]):
            losses.append((now, so_far.loss))
        if so_far.bound is not None and (not bounds or so_far.bound > bounds[-1][1] + 1e-3):
            bounds.append((now, so_far.bound))

    found = search(
        problem, prove=True, tell=tell, cancelled=lambda: time.process_time() - start > seconds, minimal=False
    )
    now = time.process_time() - start
    assert found.best is not None
    return [*losses, (now, found.best.loss)], [*bounds, (now, found.bound or 0.0)]


def _proved(problem: Problem, seconds: float) -> list[Point]:
    """When the optimum was proved, and its loss; nothing where so many seconds of the processor are not enough."""
    start = time.process_time()
    found = search(problem, prove=True, cancelled=lambda: time.process_time() - start > seconds, minimal=False)
    return [(time.process_time() - start, found.best.loss)] if found.exact and found.best is not None else []


def _twin(problem: Problem, method: Method, seconds: float) -> list[Point]:
    start = time.process_time()
    losses: list[Point] = []
    twin = ArxSearch(
        problem,
        lambda: time.process_time() - start > seconds,
        found=lambda loss: losses.append((time.process_time() - start, loss)),
    )
    twin.run(method)
    return [*losses, (time.process_time() - start, twin.best)] if losses else []


def made_up(columns: int, count: int) -> Problem:
    """Made-up people of some kinds: columns hang together, as in real tables, each with a ladder of two to four levels."""
    rng = np.random.default_rng(columns)
    kinds, held, ladders = rng.integers(0, KINDS, count), [], []
    for a in range(columns):
        width = int(rng.choice([4, 6, 9, 12, 20]))
        usual, stray = rng.integers(0, width, KINDS)[kinds], rng.geometric(0.45, count) - 1
        values = (usual + stray * rng.choice([-1, 1], count)) % width
        values = np.where(rng.random(count) < 0.25, rng.integers(0, width, count), values)
        steps = [step for step in (3, 9) if step < width]
        ladder = [[f"{v:02d}", *(f"{step}×{v // step}" for step in steps), "*"] for v in range(width)]
        held.append(Column.of([f"{v:02d}" for v in values]))
        ladders.append(HierarchySpec(rows=ladder).build(f"a{a}", held[-1]))
    table, trees = tuple(held), tuple(ladders)
    loss = loss_of("loss", table, trees, [1.0] * columns, K)
    return Problem(table, trees, K, int(count * SUPPRESS), (), loss)


def _factors(columns: int, count: int) -> Problem:
    """Made-up people of four hidden traits that every column follows more or less, cut into two to thirty unequal parts."""
    rng = np.random.default_rng(1000 * columns + 1)
    hidden, held, ladders = rng.normal(size=(count, 4)), [], []
    for a in range(columns):
        width = int(rng.choice([2, 3, 5, 8, 15, 30]))
        follows = hidden @ rng.normal(size=4) * rng.choice([0.3, 1.0, 2.0]) + rng.normal(size=count)
        values = np.searchsorted(np.quantile(follows, np.sort(rng.random(width - 1))), follows)
        steps = [step for step in (5, 10) if step < width]
        ladder = [[f"{v:02d}", *(f"{step}×{v // step}" for step in steps), "*"] for v in range(width)]
        held.append(Column.of([f"{v:02d}" for v in values]))
        ladders.append(HierarchySpec(rows=ladder).build(f"a{a}", held[-1]))
    table, trees = tuple(held), tuple(ladders)
    return Problem(table, trees, K, int(count * SUPPRESS), (), loss_of("loss", table, trees, [1.0] * columns, K))


# ---------------------------------------------------------------------------------------------------------------------
# The heuristics of ARX for lattices that cannot be searched whole, as its source describes them (3.9).
#
# - *bottom_up* (LIGHTNING; Prasser, Bild, Eicher, Spengler, Kuhn 2016): best first from the bottom. The node that loses least is
#   expanded into its coarser neighbours; every so often (as many steps as the lattice is high) a walk goes on to the best neighbour
#   until it ends. Nodes are left out whose generalization alone loses as much as the best.
# - *top_down*: best first from the top, into finer neighbours.
# - *genetic* (Wan and others 2017): two populations; of each generation the fittest stay, others are crossed or changed by chance.
#
# A node that suppresses too much has a loss too, with all those suppressed who must be: that is what these searches follow. The
# looks at nodes are ours, so the methods are compared by what they look at, and time is that of the processor.


Method = Literal["bottom_up", "top_down", "genetic"]
METHODS: tuple[Method, ...] = ("bottom_up", "top_down", "genetic")
PEOPLE, ELITE, CROSSED, PARENTS, MUTATED = 100, 0.2, 0.2, 0.2, 0.2  # as ARX has them


@dataclass(eq=False)
class ArxSearch:
    """One search; `over` says when its time is up. `best` is the least loss so far of a node within the limit."""

    problem: Problem
    over: Callable[[], bool]
    seed: int = 0
    best: float = inf
    levels: Levels | None = None
    checked: int = 0
    found: Callable[[float], None] = lambda loss: None
    """Hears of every better loss."""
    losses: dict[Levels, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = replace(self.problem, limit=self.problem.rows, relaxed=True)
        self.checker, self.lattice = NodeChecker.of(whole), self.problem.lattice
        self.expanded: set[Levels] = set()

    def run(self, method: Method) -> None:
        """Search until time is up or nothing is left."""
        {"bottom_up": self._bottom_up, "top_down": self._top_down, "genetic": self._genetic}[method]()

    def loss(self, levels: Levels) -> float:
        """What a node loses with everybody suppressed who must be; looked at once."""
        if levels not in self.losses:
            node = self.checker.check(levels)
            self.losses[levels] = node.loss
            self.checked += 1
            if node.suppressed <= self.problem.limit and node.loss < self.best:
                self.best, self.levels = node.loss, levels
                self.found(node.loss)
        return self.losses[levels]

    def _bottom_up(self) -> None:
        bottom, every, step = self.lattice.bottom, max(sum(self.lattice.heights), 1), 0
        queue = [(self.loss(bottom), bottom)]
        while queue and not self.over():
            levels = heapq.heappop(queue)[1]
            if levels in self.expanded or self._least(levels) >= self.best:
                continue
            step += 1
            following = self._expand(queue, levels, self.lattice.parents(levels))
            while step % every == 0 and following is not None and not self.over():
                following = self._expand(queue, following, self.lattice.parents(following))

    def _top_down(self) -> None:
        queue = [(self.loss(self.lattice.top), self.lattice.top)]
        while queue and not self.over():
            levels = heapq.heappop(queue)[1]
            if levels not in self.expanded:
                self._expand(queue, levels, self.lattice.children(levels))

    def _expand(self, queue: list[tuple[float, Levels]], levels: Levels, others: Iterator[Levels]) -> Levels | None:
        """Look at neighbours and let them wait; returns the one that loses least."""
        best: Levels | None = None
        for other in others:
            if self.over():
                return None
            if other not in self.expanded:
                heapq.heappush(queue, (self.loss(other), other))
                if best is None or self.loss(other) < self.loss(best):
                    best = other
        self.expanded.add(levels)
        return best

    def _least(self, levels: Levels) -> float:
        """What the levels lose without suppression."""
        assert isinstance(self.problem.loss, CellLoss)
        return self.problem.loss.value(levels, None)

    def _genetic(self) -> None:
        rng, heights = np.random.default_rng(self.seed), self.lattice.heights
        size, columns = len(heights) + PEOPLE, len(heights)
        first = [tuple(h if j <= i else 0 for j, h in enumerate(heights)) for i in range(columns)]
        first += [self._drawn(rng) for _ in range(size - columns)]
        groups = [first, [self._drawn(rng) for _ in range(size)]]
        while not self.over():
            for group in groups:
                group.sort(key=self._fit)
                self._next(group, rng)

    def _fit(self, levels: Levels) -> float:
        return inf if self.over() and levels not in self.losses else self.loss(levels)

    def _drawn(self, rng: np.random.Generator) -> Levels:
        return tuple(round(rng.random() * height) for height in self.lattice.heights)

    def _next(self, group: list[Levels], rng: np.random.Generator) -> None:
        """One generation: the elite stays, the last ones are crossed, those between are changed."""
        size, old = len(group), list(group)
        crossed, elite = ceil(CROSSED * size), ceil(ELITE * size)
        for i in range(crossed):
            one, other = (self._parent(old[: ceil(PARENTS * size)], rng) for _ in range(2))
            group[size - i - 1] = tuple(a if rng.random() < 0.5 else b for a, b in zip(one, other, strict=True))
        for i in range(elite, size - crossed):
            group[i] = self._changed(old[int(rng.integers(size))], rng)

    def _parent(self, fit: Sequence[Levels], rng: np.random.Generator) -> Levels:
        """One of the fittest, by how much less than the worst of them it loses."""
        losses = np.array([self._fit(levels) for levels in fit])
        known = bool(np.isfinite(losses).all())  # when the time is up in the midst of a generation, some losses are not
        spread = losses.max() - losses.min() if known else 0.0
        chance = (losses.max() - losses) / spread if spread > 0 else np.ones(len(fit))
        return fit[int(rng.choice(len(fit), p=chance / chance.sum()))]

    def _changed(self, levels: Levels, rng: np.random.Generator) -> Levels:
        most = ceil(MUTATED * len(levels))
        places = rng.permutation(len(levels))[: int(rng.integers(most + 1))]
        drawn = self._drawn(rng)
        return tuple(drawn[a] if a in places else level for a, level in enumerate(levels))
