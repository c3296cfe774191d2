"""The heuristics of ARX for lattices that cannot be searched whole, as its source describes them (3.9).

- *bottom_up* (LIGHTNING; Prasser, Bild, Eicher, Spengler, Kuhn 2016): best first from the bottom. The node that loses least is
  expanded into its coarser neighbours; every so often (as many steps as the lattice is high) a walk goes on to the best neighbour
  until it ends. Nodes are left out whose generalization alone loses as much as the best.
- *top_down*: best first from the top, into finer neighbours.
- *genetic* (Wan and others 2017): two populations; of each generation the fittest stay, others are crossed or changed by chance.

A node that suppresses too much has a loss too, with all those suppressed who must be: that is what these searches follow. The looks
at nodes are ours, so the methods are compared by what they look at, and time is that of the processor.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Literal

import numpy as np

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Problem

__all__ = ["METHODS", "ArxSearch", "Method"]

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
