"""Which classes join the suppressed group, so that the group keeps every demand at the least loss: branch and bound.

The group starts with the classes that must go. Every class that may stay can join it; more suppression never loses less. So a set
of joined classes is *done* as soon as the group keeps every demand, and nothing more joins.

*Bounding.* Where the group breaks a demand, the demand says how much is lacking and, for each class, at most how much it adds
(`GroupDemand.lacking`). The cheapest way to add up what is lacking, with the last class taken in part (a fractional knapsack),
costs no more than any set that mends the group. Sets that cannot lose less than the best so far are not looked at, nor are those
for which the limit on suppressed records leaves no room (a knapsack by size). Where that is not enough, one sum is made that tells
of all demands at once (`joint_bound`).

*Branching.* The class that was taken in part joins, or it stays. So every set is met once, and none is left out. To try the
classes one after the other, each without those before it, took much longer: one of 900 records that is needed, and is the last by
its price, was not settled among fifty classes in 40,000 steps; now in a few.

So the first answer to survive is the best, unless the search is cut short after a number of steps; then it says so, and what is
certain is a lower bound. Steps are counted, not seconds: the answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.suppression.group_demands import GroupDemand, LinearDemand

__all__ = ["CheapestJoin", "Join"]

SAME = 1e-12  # losses closer than this are equal; then fewer records decide
ROUNDING = 1e-9  # what sums of gains may be wrong by, as a part of what is lacking
QUICK = 48  # groups looked at before a bound on all demands at once is worth its time
DEPTH = 300  # so many are in doubt at a time
COMPILED = 25  # compiled steps that count for one
NEVER = 1 << 62


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


class _Lack(NamedTuple):
    """A demand that is broken, and what it takes to mend it."""

    cost: float
    size: int
    classes: np.ndarray
    """Those that help, by cost for what they add."""
    gap: float
    gains: np.ndarray


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
        everybody, filled = np.arange(self.sizes.size), self.sizes > 0
        self.base = self.fold(self.value(()))
        self.price = float((self.costs[filled] / self.sizes[filled]).min()) if filled.any() else 0.0
        self.high = inf if self.hurdle == inf else self.fold(self.hurdle)
        self.unpriced = not self.costs.any()  # then only what is joined already tells what it costs
        summed = not self.unpriced and all(map(attrgetter("summed"), self.demands))
        self.left, self.deep = min(self.steps, QUICK) if summed else self.steps, 0
        least = self._try(list(map(attrgetter("base"), self.demands)), everybody, (), 0, 0.0)
        if self.left < 0:
            self._offer_rounded()
            if self.steps > QUICK and summed:
                least = max(least, self._compiled())
        whole = self.left >= 0
        if self.best is None:
            return Join(None, inf, self.hurdle if whole else min(self.unfold(least), self.hurdle), whole)
        loss, _, chosen = self.best
        return Join(chosen, loss, loss if whole else min(loss, self.unfold(least)), whole)

    def _compiled(self) -> float:
        """Search again with a bound on all demands at once, without the classes of which it tells that they stay or join."""
        from oboro.decide.lattice.suppression.covered_sums import CoveredSums
        from oboro.decide.lattice.suppression.joint_bound import joint_bound

        high, everybody = self._high()[0], np.arange(self.sizes.size)
        joint = joint_bound(self.demands, self.sizes, self.costs, self.room, high)
        surely, doubtful, least = everybody[:0], everybody, 0.0
        if joint is not None:
            beyond, least = high + SAME - joint.least, joint.least
            surely, doubtful = everybody[-joint.reduced > beyond], everybody[np.abs(joint.reduced) <= beyond]
            if beyond < 0:
                self.left = self.steps
                return self.base + least
        sums = CoveredSums(self.demands, self.sizes, self.costs, self.room, surely).of(doubtful)
        for gap, gains in () if joint is None else (*joint.sums, (joint.gap, joint.gains)):
            sums.add(gap, gains)
        self.left = sums.run(COMPILED * self.steps, self.price, self._high, self.offer)
        return self.base + least

    def _high(self) -> tuple[float, int]:
        """What a set may cost to be of interest, and with how many records it is not, if it costs as much."""
        if self.best is None or self.fold(self.best[0]) > self.high:
            return self.high - self.base, NEVER
        return self.fold(self.best[0]) - self.base, self.best[1]

    def _offer_rounded(self) -> None:
        """A first answer where none was found: as many of the cheapest classes as mend one demand after the other."""
        if self.best is not None:
            return
        held, chosen, size = list(map(attrgetter("base"), self.demands)), list[int](), 0
        while broken := [i for i, demand in enumerate(self.demands) if demand.broken(held[i])]:
            left = np.setdiff1d(np.arange(self.sizes.size), chosen)
            lack = self._most_lacking(broken, held, left[self.sizes[left] <= self.room - size], size)
            if lack.cost == inf:
                return
            enough = int(np.searchsorted(np.cumsum(lack.gains), lack.gap * (1 - ROUNDING)))
            taken = lack.classes[: enough + 1]
            chosen, size = [*chosen, *taken.tolist()], size + int(self.sizes[taken].sum())
            held = [some + demand.each[taken].sum(axis=0) for some, demand in zip(held, self.demands, strict=True)]
        if size <= self.room:
            needed = self._needed(chosen, held)
            self.offer(tuple(needed), int(self.sizes[needed].sum()))

    def _try(
        self, held: list[np.ndarray], allowed: np.ndarray, chosen: tuple[int, ...], size: int, cost: float
    ) -> float:
        """Look at one group and at those that grow from it; returns a bound on the loss of all of them."""
        self.left, self.deep = self.left - 1, self.deep + 1
        broken = [i for i, demand in enumerate(self.demands) if demand.broken(held[i])]
        if not broken:
            if not self._hopeless(self.base + cost, size):
                self.offer(chosen, size)
            return self.base + cost
        cost = max(cost, self.fold(self.value(chosen)) - self.base) if self.unpriced else cost
        allowed = allowed[self.sizes[allowed] <= self.room - size]
        lack = self._most_lacking(broken, held, allowed, size)
        least = cost + lack.cost
        if least < inf:  # no set has a part of a record
            least = max(least, self.price * (size + lack.size))
        least += self.base
        if self._hopeless(least, size + lack.size) or self.left < 0:
            return least
        if self.deep > DEPTH:
            self.left = -1
        elif self._one_is_enough(lack.gap, lack.gains):
            return self._cheapest_one(lack.classes, chosen, size, cost)
        else:
            self._branch(held, allowed, chosen, size, cost, lack)
        return least

    def _branch(
        self,
        held: list[np.ndarray],
        allowed: np.ndarray,
        chosen: tuple[int, ...],
        size: int,
        cost: float,
        lack: _Lack,
    ) -> None:
        """With and then without the class that the cheapest fractional set takes in part: both bounds rise most."""
        c = lack.classes[int(np.searchsorted(np.cumsum(lack.gains), lack.gap * (1 - ROUNDING)))]
        rest, deep = allowed[allowed != c], self.deep
        grown = [some + demand.each[c] for some, demand in zip(held, self.demands, strict=True)]
        self._try(grown, rest, (*chosen, int(c)), size + int(self.sizes[c]), cost + float(self.costs[c]))
        self.deep = deep
        if self.left >= 0:
            self._try(held, rest, chosen, size, cost)

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

    def _most_lacking(self, broken: list[int], held: list[np.ndarray], allowed: np.ndarray, size: int) -> _Lack:
        """The demand that costs most to mend: what that takes at least, and the classes that help, best first."""
        found: _Lack | None = None
        for i in broken:
            gap, gains = self.demands[i].lacking(held[i], allowed)
            helping = gains > 0
            some, gains = allowed[helping], gains[helping]
            ratio = np.round(self.costs[some] / gains, 15)
            order = np.lexsort((some, np.round(self.sizes[some] / gains, 12), ratio))
            lack = self._cover(gap, gains[order], some[order], size)
            if found is None or lack.cost > found.cost:
                found = lack
        assert found is not None
        return found

    def _cover(self, gap: float, gains: np.ndarray, classes: np.ndarray, size: int) -> _Lack:
        """What it takes at least to add up `gap`; classes come by cost for what they add. Infinite where there is no room."""
        need, sizes = gap * (1 - ROUNDING), self.sizes[classes]
        if gains.sum() < need * (1 - ROUNDING):
            return _Lack(inf, 0, classes, gap, gains)
        by_size = np.argsort(sizes / gains, kind="stable")
        records = _fraction(need, gains[by_size], sizes[by_size])
        fits = records <= self.room - size + ROUNDING * self.room
        cost = _fraction(need, gains, self.costs[classes]) if fits else inf
        return _Lack(cost, ceil(records - ROUNDING * self.room) if fits else 0, classes, gap, gains)

    def _needed(self, chosen: list[int], held: list[np.ndarray]) -> list[int]:
        """Those of some classes without which the group would break a demand; the dearest go first."""
        left = set(chosen)
        for c in sorted(chosen, key=lambda c: (-self.costs[c], c)):
            less = [some - demand.each[c] for some, demand in zip(held, self.demands, strict=True)]
            if not any(demand.broken(some) for some, demand in zip(less, self.demands, strict=True)):
                left.remove(c)
                held = less
        return sorted(left)

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
