"""Which classes join the suppressed group, so that the group keeps every demand at the least loss: branch and bound.

The group starts with the classes that must go. Every class that may stay can join it; more suppression never loses less. So a set
of joined classes is *done* as soon as the group keeps every demand, and nothing more joins.

*Branching.* Where the group breaks a demand, the demand says how much is lacking and, for each class, at most how much it adds
(`GroupDemand.lacking`). Whatever set mends the group has a member that adds something. The members are tried in one order, each
without those before it: so every set is met once, and none is left out.

*Bounding.* The cheapest way to add up what is lacking, with the last class taken in part (a fractional knapsack), costs no more
than any set that mends the group. Sets that cannot lose less than the best so far are not looked at, nor are those for which the
limit on suppressed records leaves no room (a knapsack by size).

So the first answer to survive is the best, unless the search is cut short after a number of steps; then it says so, and what is
certain is a lower bound. Steps are counted, not seconds: the answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter

import numpy as np

from oboro.decide.lattice.suppression.group_demands import GroupDemand, LinearDemand

__all__ = ["CheapestJoin", "Join"]

SAME = 1e-12  # losses closer than this are equal; then fewer records decide
ROUNDING = 1e-9  # what sums of gains may be wrong by, as a part of what is lacking
DEPTH = 200  # more classes than this are not joined one after the other


@dataclass(frozen=True)
class Join:
    """What joins the suppressed group."""

    chosen: tuple[int, ...] | None
    """The classes that join; None where no set was found that is good enough."""
    loss: float
    least: float
    """No set of classes makes the group keep its demands at a smaller loss."""
    whole: bool
    """Whether every set was looked at or ruled out."""


@dataclass(eq=False)
class CheapestJoin:
    """A search for the classes that join. Classes are numbered in an order that does not depend on that of the rows."""

    demands: Sequence[GroupDemand]
    sizes: np.ndarray
    """How much each class takes of the limit."""
    costs: np.ndarray
    """At least how much each class adds to the loss, on the scale of `fold`."""
    room: int
    """How much the limit leaves."""
    value: Callable[[Sequence[int]], float]
    """The loss with some classes joined."""
    fold: Callable[[float], float]
    """From a loss to the scale on which costs add up."""
    unfold: Callable[[float], float]
    steps: int
    """How many groups are looked at before the search gives up."""
    hurdle: float = inf
    """Losses above this are of no interest."""
    best: tuple[float, int, tuple[int, ...]] | None = field(default=None, init=False)

    def run(self) -> Join:
        """Find the best set of classes. O(steps · classes · demands)."""
        self.left, self.base = self.steps, self.fold(self.value(()))
        self.high = inf if self.hurdle == inf else self.fold(self.hurdle)
        self.unpriced = not self.costs.any()  # then only what is joined already tells what it costs
        everybody = np.arange(self.sizes.size)
        least = self._try(list(map(attrgetter("base"), self.demands)), everybody, (), 0, 0.0)
        whole = self.left >= 0
        if self.best is None:
            return Join(None, inf, self.hurdle if whole else min(self.unfold(least), self.hurdle), whole)
        loss, _, chosen = self.best
        return Join(chosen, loss, loss if whole else min(loss, self.unfold(least)), whole)

    def _try(
        self, held: list[np.ndarray], allowed: np.ndarray, chosen: tuple[int, ...], size: int, cost: float
    ) -> float:
        """Look at one group and at those that grow from it; returns a bound on the loss of all of them."""
        self.left -= 1
        broken = [i for i, demand in enumerate(self.demands) if demand.broken(held[i])]
        if not broken:
            self.offer(chosen, size)
            return self.base + cost
        cost = max(cost, self.fold(self.value(chosen)) - self.base) if self.unpriced else cost
        allowed = allowed[self.sizes[allowed] <= self.room - size]
        bound, order, gap, gains = self._most_lacking(broken, held, allowed, size)
        least = self.base + cost + bound
        if self._hopeless(least, size) or self.left < 0 or len(chosen) >= DEPTH:
            self.left = -1 if len(chosen) >= DEPTH else self.left
            return least
        if self._one_is_enough(gap, gains):
            return self._cheapest_one(order, chosen, size, cost)
        for place, c in enumerate(order):
            rest = order[place:]
            if self._hopeless(self.base + cost + self._cover(gap, gains[place:], rest, size), size):
                break
            allowed = allowed[allowed != c]
            grown = [held[i] + demand.each[c] for i, demand in enumerate(self.demands)]
            self._try(grown, allowed, (*chosen, int(c)), size + int(self.sizes[c]), cost + float(self.costs[c]))
            if self.left < 0:
                break
        return least

    def _one_is_enough(self, gap: float, gains: np.ndarray) -> bool:
        """Whether any one of the classes mends the group for certain: as where the suppressed lack records, and a class has k."""
        alone = len(self.demands) == 1 and isinstance(self.demands[0], LinearDemand)
        return alone and not self.unpriced and bool(gains.size) and bool(gains.min() >= gap)

    def _cheapest_one(self, classes: np.ndarray, chosen: tuple[int, ...], size: int, cost: float) -> float:
        """The best of single classes, the cheapest first: more never loses less. Trying each with a bound took seconds."""
        ranked = classes[np.lexsort((classes, self.sizes[classes], np.round(self.costs[classes], 15)))]
        for c in ranked:
            bound, more = self.base + cost + float(self.costs[c]), size + int(self.sizes[c])
            if self._hopeless(bound, 0) or self.left < 0:
                break
            if not self._hopeless(bound, more):
                self.left -= 1
                self.offer((*chosen, int(c)), more)
        return self.base + cost + float(self.costs[ranked[0]])

    def _most_lacking(
        self, broken: list[int], held: list[np.ndarray], allowed: np.ndarray, size: int
    ) -> tuple[float, np.ndarray, float, np.ndarray]:
        """The demand that costs most to mend: what that costs at least, and the classes that help, best first."""
        found: tuple[float, np.ndarray, float, np.ndarray] | None = None
        for i in broken:
            gap, gains = self.demands[i].lacking(held[i], allowed)
            helping = gains > 0
            some, gains = allowed[helping], gains[helping]
            ratio = np.round(self.costs[some] / gains, 15)
            order = np.lexsort((some, np.round(self.sizes[some] / gains, 12), ratio))
            some, gains = some[order], gains[order]
            bound = self._cover(gap, gains, some, size)
            if found is None or bound > found[0]:
                found = (bound, some, gap, gains)
        assert found is not None
        return found

    def _cover(self, gap: float, gains: np.ndarray, classes: np.ndarray, size: int) -> float:
        """What it costs at least to add up `gap`; classes come by cost for what they add. Infinite where there is no room."""
        need = gap * (1 - ROUNDING)
        total = np.cumsum(gains)
        if not total.size or total[-1] < need:
            return inf
        sizes = self.sizes[classes]
        by_size = np.argsort(sizes / gains, kind="stable")
        if _fraction(need, gains[by_size], sizes[by_size]) > self.room - size + ROUNDING * self.room:
            return inf
        return _fraction(need, gains, self.costs[classes])

    def _hopeless(self, bound: float, size: int) -> bool:
        if bound == inf:
            return True
        high, most = self.high, inf
        if self.best is not None and self.fold(self.best[0]) <= high:
            high, most = self.fold(self.best[0]), self.best[1]
        return bound > high + SAME or (bound >= high - SAME and size >= most)

    def offer(self, chosen: tuple[int, ...], size: int) -> None:
        """Take a set that mends the group, if it is better than the best so far."""
        loss = self.value(chosen)
        if loss > self.hurdle + SAME:
            return
        if self.best is None or loss < self.best[0] - SAME or (loss <= self.best[0] + SAME and size < self.best[1]):
            self.best = (loss, size, chosen)


def _fraction(need: float, gains: np.ndarray, prices: np.ndarray) -> float:
    """The least price of `need`, gains by price, the last one in part."""
    total = np.cumsum(gains)
    last = int(np.searchsorted(total, need))
    if last >= total.size:
        return inf
    before = float(total[last - 1]) if last else 0.0
    return float(prices[:last].sum()) + float(prices[last]) * max(need - before, 0.0) / float(gains[last])
