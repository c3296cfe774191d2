"""Suppressed records as one class: verify every requirement on it, and choose the classes that join it at the least
loss.

A person who matches no released class must be among the suppressed, so these are a class that must be safe itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from oboro.algorithms.lattice import constraints
from oboro.algorithms.lattice.constraints import Rule
from oboro.algorithms.lattice.kernels import dominance, nodes
from oboro.algorithms.lattice.kernels.nodes import judge_counted
from oboro.algorithms.lattice.losses import CellLoss, ClassLoss

if TYPE_CHECKING:
    from oboro.algorithms.lattice.constraints import Population
    from oboro.algorithms.lattice.evaluator import NodeChecker
    from oboro.algorithms.lattice.losses import ClassPayments
    from oboro.algorithms.lattice.nodes import Levels
    from oboro.algorithms.lattice.problem import NodeClasses

__all__ = [
    "ALL",
    "MAX_GROUPS_TRIED",
    "UNASKED",
    "CheapestJoin",
    "Completed",
    "CoveredSums",
    "FewClasses",
    "GroupDemand",
    "Join",
    "JointBound",
    "LinearDemand",
    "PeopleDemand",
    "PopulationDemand",
    "RuleDemand",
    "SizeLimit",
    "SizesDemand",
    "ask_rule",
    "complete",
    "joining",
    "joint_bound",
]


# Requirements on the suppressed records -------------------------------------------------------------------------------
# What each requirement asks of the suppressed group, and upper bounds on what a class adds to it.
#
# A demand sees the group as a vector of counts (`base`), and a class as another (`each`); counts add up as classes
# join. Groups that satisfy a demand lie, for every demand here, in a convex cone. So where a group does not, a
# half-space separates it from all that do: a weight for each count whose weighted sum is negative for the group, and
# not negative for any group that satisfies the demand. What is lacking is that sum; a class adds its own. This holds
# for
#
# - size, k-map, δ-presence, alpha, the number of classes and the mean risk: the demand is such a sum itself;
# - t-closeness: the distance is the greatest of finitely many such sums (one for each choice of signs);
# - recursive (c, l)-diversity: c · (all without any l − 1 values) − (any one value) must be positive, for every choice
#   of these;
# - entropy l-diversity: the sum of h · log(p / l) over a distribution's own shares p is a tangent of a concave
#   function, so it is at least that function at every other group.
#
# Distinct l-diversity lacks values, and a class adds at most as many as it has and the group has not. Where people are
# counted, a person may be in both, and only this is known: a class is needed that has a person or a value that the
# group has not.


@dataclass(frozen=True, eq=False)
class GroupDemand:
    """Requirement on the suppressed group, whose counts add up as classes join."""

    base: np.ndarray
    """The counts of those who must go."""
    each: np.ndarray
    """The counts of each class that may join: a row each."""

    summed: ClassVar[bool] = False
    """Whether weighted sums tell much of what is lacking, whoever joins."""

    def broken(self, held: np.ndarray) -> bool:
        """Return whether a group with these counts violates the requirement."""
        raise NotImplementedError

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the amount that a violating group lacks, and upper bounds on what each of some classes adds.

        Every set of classes that mends the group adds at least as much as is lacking. Where nothing else is known, some class is
        needed.
        """
        return 1.0, np.ones(classes.size)

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return what the group that must be suppressed lacks, and what each class adds: every set that mends it adds
        up so much.

        The sum is one that counts like `held`, perhaps in parts, come short of, if any is known.
        """
        return None


@dataclass(frozen=True, eq=False)
class LinearDemand(GroupDemand):
    """Requirement that a weighted sum of the counts reaches a number."""

    weights: np.ndarray
    least: float

    summed: ClassVar[bool] = True

    def broken(self, held: np.ndarray) -> bool:
        """Return whether the sum is too small."""
        return bool(held @ self.weights < self.least)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what the sum lacks, and what each class adds to it."""
        gap = float(self.least - held @ self.weights)
        return (gap, self.each[classes] @ self.weights) if gap > 0 else super().lacking(held, classes)

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return the sum itself."""
        return float(self.least - self.base @ self.weights), self.each @ self.weights


@dataclass(frozen=True, eq=False)
class RuleDemand(GroupDemand):
    """Rule about the sensitive values of the group."""

    rule: Rule

    summed: ClassVar[bool] = True

    def broken(self, held: np.ndarray) -> bool:
        """Return whether these values violate the rule; an empty group violates none."""
        return bool(held.any()) and self.rule.breaks(held)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """By a half-space that has every group that keeps the rule on its other side."""
        gap, gains = self.rule.lacking(held, self.each[classes])
        return (gap, gains) if gap > 0 else super().lacking(held, classes)

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """That of a half-space which does not depend on who joins."""
        return self.rule.lacking_at(held, self.base, self.each)


# Branch and bound over joining classes --------------------------------------------------------------------------------
# Classes that join the suppressed group, so that the group satisfies every requirement at the least loss: branch and
# bound.
#
# The group starts with the classes that must be suppressed. Every other class can join it; more suppression never loses
# less. So a set of joined classes is *done* as soon as the group satisfies every demand, and nothing more joins.
#
# *Bounding.* Where the group violates a demand, the demand gives the amount lacking and, for each class, an upper bound
# on what it adds (`GroupDemand.lacking`). The cheapest way to add up what is lacking, with the last class taken in part
# (a fractional knapsack), costs no more than any set that mends the group. Sets that cannot lose less than the best so
# far are pruned, as are those for which the suppression limit leaves no room (a knapsack by size). Where that is not
# enough, one sum is made that covers all demands at once (`joint_bound`).
#
# *Branching.* The class that was taken in part joins, or it stays. So every set is met once, and none is left out. To
# try the classes one after the other, each without those before it, took much longer: one of 900 records that is
# needed, and is the last by its price, was not settled among fifty classes in 40,000 steps; now in a few.
#
# So the first answer to survive is the best, unless the search is cut short after a number of steps; then the result
# says so and gives a lower bound. Steps are counted, not seconds: the answer is the same on every machine.


SAME = 1e-12  # losses closer than this are equal; then fewer records decide
ROUNDING = 1e-9  # what sums of gains may be wrong by, as a part of what is lacking
QUICK = 48  # groups looked at before a bound on all demands at once is worth its time
DEPTH = 300  # so many are in doubt at a time
COMPILED = 25  # compiled steps that count for one
NEVER = 1 << 62


@dataclass(frozen=True)
class Join:
    """Classes that join the suppressed group."""

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
    """Search for the classes that join. Classes are numbered in an order that does not depend on that of the rows."""

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
        """Return the greatest cost of interest, and the number of records from which a set of that cost is of none."""
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
        """Return whether any one of the classes mends the group for certain: as where the suppressed lack records, and
        a class has k.
        """
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


# Compiled branch and bound --------------------------------------------------------------------------------------------
# Compiled search for the classes that join the suppressed group, for hard cases.
#
# It works on weighted sums only, none of which depends on the joining classes (`GroupDemand.valid_sum`). Where all of
# them are reached, the demands are verified; one that is still violated gives a new sum, or, if it has none, the search
# goes on with another class.


MOST = 200  # sums that are kept; with more, classes are decided on one by one
ASKED = 20  # steps that it counts for to ask the demands


class CoveredSums:
    """A search over some classes; those of `surely` have joined already. Other classes stay."""

    def __init__(
        self, demands: Sequence[GroupDemand], sizes: np.ndarray, costs: np.ndarray, room: int, surely: np.ndarray
    ) -> None:
        self.demands, self.sizes, self.costs, self.room = demands, sizes, costs, room
        self.held = [demand.base + demand.each[surely].sum(axis=0) for demand in demands]
        self.surely, self.rows = surely, 0

    def of(self, classes: np.ndarray) -> CoveredSums:
        """The classes that are in doubt."""
        self.classes, count = classes, classes.size
        self.each = [demand.each[classes] for demand in self.demands]
        by_cost, by_size = np.empty((2, MOST, count), dtype=np.int64)
        self.sums = dominance.Sums(np.empty((MOST, count)), by_cost, by_size, np.zeros(MOST, dtype=np.int64))
        decided, line = np.zeros(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        self.walk = dominance.Walk(
            np.zeros(2, np.int64), decided, line, np.zeros((count + 1, MOST)), np.zeros(count + 1), np.zeros_like(line)
        )
        self.walk.costs[0], self.walk.sizes[0] = self.costs[self.surely].sum(), self.sizes[self.surely].sum()
        return self

    def add(self, gap: float, gains: np.ndarray) -> bool:
        """A sum that must be reached, as all classes add to it; returns whether those that joined do not reach it."""
        gap, gains, wrong = gap - float(gains[self.surely].sum()), gains[self.classes], float(np.abs(gains).sum())
        lacking, row = gap - ROUNDING * (abs(gap) + wrong), self.rows
        sizes, costs, helping = self.sizes[self.classes], self.costs[self.classes], np.flatnonzero(gains > 0)
        for order, prices in ((self.sums.by_cost, costs), (self.sums.by_size, sizes)):
            order[row, : helping.size] = helping[np.argsort(prices[helping] / gains[helping], kind="stable")]
        self.sums.gains[row], self.sums.helping[row], self.rows = gains, helping.size, row + 1
        line = self.walk.classes[: self.walk.place[0]]
        joined = np.where(self.walk.decided[line] == 1, gains[line], 0.0)
        self.walk.lacking[: line.size + 1, row] = lacking - np.append(0.0, np.cumsum(joined))
        return bool(self.walk.lacking[line.size, row] > 0)

    def run(self, steps: int, price: float, high: Callable[[], tuple[float, int]], offer: Callable[..., None]) -> int:
        """Offer every set that mends the group and may be better than the best (`high`: its cost and size); returns steps left."""
        self.walk.place[1], action = steps, dominance.ENTER
        asked = (self.costs[self.classes], self.sizes[self.classes], self.room, price)
        while True:
            told = dominance.cheapest_cover(action, self.sums, self.rows, *asked, *high(), self.walk)
            if told != dominance.REACHED:
                return int(self.walk.place[1])
            self.walk.place[1] -= ASKED
            action = self._ask(offer)

    def _ask(self, offer: Callable[..., None]) -> int:
        """Return whether the group where the walk stands keeps every demand, and how to go on."""
        chosen = np.flatnonzero(self.walk.decided == 1)
        held = [some + each[chosen].sum(axis=0) for some, each in zip(self.held, self.each, strict=True)]
        broken = [(one, some) for one, some in zip(self.demands, held, strict=True) if one.broken(some)]
        if not broken:
            offer((*self.surely.tolist(), *self.classes[chosen].tolist()), int(self.walk.sizes[self.walk.place[0]]))
            return dominance.LEAVE
        more = [one.valid_sum(some) for one, some in broken] if self.rows + len(broken) <= MOST else []
        lacking = [self.add(*one) for one in more if one is not None]
        return dominance.ENTER if any(lacking) else dominance.SPLIT


# Joint lower bound ----------------------------------------------------------------------------------------------------
# One weighted sum that bounds for all requirements at once the cost of mending the suppressed group.
#
# Each demand alone implies: whatever set of classes mends the group adds at least as much as it lacks
# (`GroupDemand.valid_sum`). Any mixture of such sums, none with a negative part, is one too, also with that of the room
# that the limit leaves. The mixture under which the cheapest fractional set costs most is the dual of a linear program;
# it is sought by steps along a subgradient, and new sums are taken where the fractional set still violates a demand.
# Every mixture is sound; a good one leaves few classes in doubt:
#
# - a class that costs so much more than it is worth that no better set has it stays;
# - a class without which no better set is left joins.


ROUNDS = 8  # in each, sums are added where the fractional set breaks a demand
SUBGRADIENT_STEPS = 60  # along a subgradient, in each round
PATIENCE = 5  # steps without a better bound before they become shorter


@dataclass(frozen=True, eq=False)
class JointBound:
    """Joint lower bound, and the sum it comes from."""

    least: float
    """What the classes that join cost at least."""
    gap: float
    """What the sum of the gains of these classes must reach."""
    gains: np.ndarray
    sums: tuple[tuple[float, np.ndarray], ...]
    """Those that were mixed, without that of the room."""
    reduced: np.ndarray
    """What each class costs beyond what it adds: with it (or, where that is negative, without it) the bound rises by so much."""


def joint_bound(
    demands: Sequence[GroupDemand], sizes: np.ndarray, costs: np.ndarray, room: int, high: float
) -> JointBound | None:
    """Find a good mixture, if there is any; `high` is what the best known set costs. O(rounds · steps · sums ·
    classes).
    """
    scale = float(costs.max(initial=0.0))
    if scale <= 0 or not np.isfinite(high):
        return None
    sums = [_scaled(-float(room), -sizes.astype(np.float64))]
    sums += [_scaled(*one) for demand in demands if (one := demand.valid_sum(demand.base)) is not None]
    parts, found = _best_alone(sums, costs), None
    for _ in range(ROUNDS):
        gaps, gains = np.array([gap for gap, _ in sums]), np.stack([gain for _, gain in sums])
        parts = np.append(parts, np.zeros(gaps.size - parts.size))
        parts, taken = _mixed(parts, gaps, gains, costs, high)
        found = _bound(parts, gaps, gains, costs, sums)
        more = [one for demand in demands if (one := demand.valid_sum(demand.base + taken @ demand.each)) is not None]
        broken = [_scaled(gap, gain) for gap, gain in more if gain @ taken < gap * (1 - 1e-4) - 1e-12]
        if not broken or found.least > high:
            break
        sums += broken
    return found


def _scaled(gap: float, gains: np.ndarray) -> tuple[float, np.ndarray]:
    """The same sum in a measure in which the greatest gain is 1."""
    most = float(np.abs(gains).max(initial=0.0)) or 1.0
    return gap / most, gains / most


def _best_alone(sums: Sequence[tuple[float, np.ndarray]], costs: np.ndarray) -> np.ndarray:
    """A first mixture: the one sum that tells most by itself, at the price at which the cheapest classes reach it in part."""
    best, parts = 0.0, np.zeros(len(sums))
    for i, (gap, gains) in enumerate(sums):
        helping = np.flatnonzero(gains > 0)
        prices = costs[helping] / gains[helping]
        order = np.argsort(prices, kind="stable")
        last = int(np.searchsorted(np.cumsum(gains[helping][order]), gap))
        if gap <= 0 or last >= order.size:
            continue
        price = float(prices[order[last]])
        least = price * gap + float(np.minimum(costs - price * gains, 0.0).sum())
        if least > best:
            best, parts = least, np.eye(len(sums))[i] * price
    return parts


def _mixed(
    parts: np.ndarray, gaps: np.ndarray, gains: np.ndarray, costs: np.ndarray, high: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best mixture that steps along a subgradient find from a first one, and how much of each class was taken on the way."""
    best, kept, length, since = -np.inf, parts, 1.0, 0
    share, taken = 0.0, np.zeros(costs.size)
    for _ in range(SUBGRADIENT_STEPS):
        reduced = costs - parts @ gains
        some = (reduced < 0).astype(np.float64)
        least = float(parts @ gaps + reduced @ some)
        since += 1
        if least > best:
            best, kept, since = least, parts, 0
        length, since = (length / 2, 0) if since >= PATIENCE else (length, since)
        lacking = gaps - gains @ some
        square = float(lacking @ lacking)
        if square == 0.0:
            return kept, some
        step = length * max(high - least, 1e-6 * float(costs.max())) / square
        parts = np.maximum(parts + step * lacking, 0.0)
        share += step
        taken += (some - taken) * (step / share)
    return kept, taken


def _bound(
    parts: np.ndarray, gaps: np.ndarray, gains: np.ndarray, costs: np.ndarray, sums: list[tuple[float, np.ndarray]]
) -> JointBound:
    gap, gain = float(parts @ gaps), parts @ gains
    wrong = ROUNDING * float(parts @ (np.abs(gaps) + np.abs(gains).sum(axis=1)))
    reduced = costs - gain
    least = gap - wrong + float(np.minimum(reduced, 0.0).sum())
    return JointBound(least - ROUNDING * float(costs.sum()), gap - wrong, gain, tuple(sums[1:]), reduced)


# Requirements on people, populations and numbers of classes -----------------------------------------------------------
# Requirements on the suppressed group that few recipes make.


@dataclass(frozen=True, eq=False)
class PeopleDemand(GroupDemand):
    """k people, and a rule about whose values are counted by people. Counts are of pairs of a person and a value."""

    k: int
    persons: np.ndarray
    """Whose each pair is."""
    values: np.ndarray
    """Which value each pair has."""
    rule: Rule | None

    def broken(self, held: np.ndarray) -> bool:
        """Return whether these pairs are too few people, or violate the rule; an empty group violates none."""
        there = held > 0
        people = int(np.unique(self.persons[there]).size)
        if people == 0 or people < self.k:
            return people > 0
        if self.rule is None:
            return False
        return self.rule.breaks(np.bincount(self.values[there], minlength=self.rule.whole.size), people)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """A class is needed that has a pair that the group has not."""
        return 1.0, (self.each[classes][:, held == 0] > 0).any(axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PopulationDemand(LinearDemand):
    """k-map or one limit of δ-presence. Counts: the group's records, and the people who fit no class that stays."""

    judge: Callable[[int, int], bool]
    """Whether so many records and people break the limit; as classes are judged, after one division."""

    summed: ClassVar[bool] = False

    def broken(self, held: np.ndarray) -> bool:
        """Return whether the limit is violated."""
        return self.judge(int(held[0]), int(held[1]))

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return None: where no record is suppressed, nothing is required."""
        return None


@dataclass(frozen=True, eq=False)
class FewClasses(GroupDemand):
    """Few classes for the records, so that the mean risk is low. Counts: the classes that joined, the records suppressed."""

    classes: int
    """Classes that may stay."""
    records: int
    """Of the whole table."""
    most: int | None
    """So many classes at most, the group being one."""
    risk: float | None
    """So many classes a record at most among those who stay."""

    def broken(self, held: np.ndarray) -> bool:
        """Return whether too many classes stay."""
        joined, gone = int(held[0]), int(held[1])
        stay, left = self.classes - joined, self.records - gone
        if self.most is not None and stay + (gone > 0) > self.most:
            return True
        return self.risk is not None and left > 0 and stay / left > self.risk

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """Return how many classes are too many: all, or of those that stay."""
        joined, gone = int(held[0]), int(held[1])
        stay, left = self.classes - joined, self.records - gone
        if self.most is not None and stay + (gone > 0) > self.most:
            return float(stay + 1 - self.most), np.ones(classes.size)
        assert self.risk is not None
        gap = stay - self.risk * left
        return (gap, 1.0 - self.risk * self.each[classes, 1]) if gap > 0 else super().lacking(held, classes)


# Verdicts by rule -----------------------------------------------------------------------------------------------------
# Classes that violate a rule about sensitive values: counted class by class, as soon as enough is known.


ALL = 1 << 62
NOBODY = np.empty(0, dtype=np.int32)
UNASKED = np.empty(0, dtype=np.int64)
MANY = 4096  # tuples from which on values are counted by class; below, no compiled code is worth its loading
COUNTERS = 1 << 22  # counters of a class and a value


def ask_rule(
    checker: NodeChecker, i: int, classes: NodeClasses, verdicts: np.ndarray, most: int, least: np.ndarray = UNASKED
) -> None:
    """Raise the verdicts of classes that violate a rule to 1, of those that are undecided to 2.

    The tuples are counted as they come, or class by class where people are counted or there are too many values. The first takes
    half the time. It stops once the classes that break a rule have more than `most` records. `least` gets for each at least how
    many of its records go in every finer node, if that is asked and the rule tells it; then these decide when to stop.
    """
    rule, tuples = checker.problem.rules[i], checker.tuples
    least = least if rule.joinable and not rule.strong else UNASKED
    how = (rule.kind, rule.count, rule.level, rule.whole, rule.tree)
    asked = np.flatnonzero(verdicts == 0)
    if tuples.persons is not None or len(tuples) < MANY or asked.size * rule.whole.size > COUNTERS:
        order, starts = classes.members
        persons = NOBODY if tuples.persons is None else tuples.persons
        nodes.judge(order, starts, tuples.secrets[i], tuples.weights, persons, *how, least, verdicts)
        return
    gone = verdicts == 1
    left = most - int((least[gone] if least.size else classes.sizes[gone]).sum())
    if left < 0:
        return
    place, held = np.full(verdicts.size, -1), np.zeros((asked.size, rule.whole.size), dtype=np.int64)
    place[asked] = np.arange(asked.size)
    rest = (tuples.secrets[i], tuples.weights, classes.sizes, *how, left, held, least, verdicts)
    judge_counted(classes.labels, place, asked, *rest)


# Limits on class sizes ------------------------------------------------------------------------------------------------
# Limits on the sizes of all classes of a release together: the share of records at risk, or an estimate of unique
# people.
#
# - *Records at risk*: at most a share of the records is in classes smaller than some size (2: unique records). A
# coarser node has no more such records, suppressed ones included: so the excess must be suppressed in every finer node
# too.
# - *An estimate* from the sizes: it need neither grow nor shrink with coarser levels, so one node implies nothing for
#   another.
#
# The suppressed records are a class like any other.


@dataclass(frozen=True, eq=False)
class SizeLimit:
    """One limit: a part of the records in small classes, or an estimate."""

    small: int = 0
    """Classes with fewer records are at risk."""
    share: float = 1.0
    """This part of all records may be in such classes."""
    estimated: Callable[[np.ndarray], bool] | None = None
    """Whether classes of these sizes are estimated to break a limit."""

    def broken(self, sizes: np.ndarray) -> bool:
        """Return whether a release with classes of these sizes violates the limit. One division, as the verifier's."""
        if self.estimated is not None:
            return self.estimated(sizes)
        return int(sizes[sizes < self.small].sum()) / max(1, int(sizes.sum())) > self.share

    def broken_by(self, sizes: np.ndarray, gone: np.ndarray, relaxed: bool) -> bool:
        """Return whether the remaining classes, and the suppressed as one more unless they are left out, violate the
        limit.
        """
        together = 0 if relaxed else int(sizes[gone].sum())
        left = np.append(sizes[~gone], together)
        return self.broken(left[left > 0])

    def excess_of(self, sizes: np.ndarray, rows: int) -> int:
        """Lower bound on the number of suppressed records, where classes of these sizes may stay."""
        return self.excess(int(sizes[sizes < self.small].sum()), rows)

    def excess(self, small: int, rows: int) -> int:
        """Lower bound on the number of suppressed records, given `small` records at risk in classes that may stay."""
        if self.estimated is not None:
            return 0
        allowed = int(self.share * rows) + 1
        while allowed / max(1, rows) > self.share:
            allowed -= 1
        return max(0, small - allowed)


@dataclass(frozen=True, eq=False)
class SizesDemand(GroupDemand):
    """A limit on the sizes of all classes. Counts: how many classes of each size joined, then the suppressed records."""

    distinct: np.ndarray
    """The different sizes of the classes that may stay."""
    stay: np.ndarray
    """How many classes may stay of each size."""
    limit: SizeLimit
    rows: int

    def broken(self, held: np.ndarray) -> bool:
        """Return whether the remaining classes and the group together violate the limit."""
        left, gone = np.repeat(self.distinct, self.stay - held[:-1]), int(held[-1])
        return self.limit.broken(np.append(left, gone) if gone else left)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """Return how many records at risk are too many; a class at risk takes its own away."""
        risky = np.where(self.distinct < self.limit.small, self.distinct, 0)
        gap = self.limit.excess(int(risky @ (self.stay - held[:-1])), self.rows)
        if gap <= 0:
            return super().lacking(held, classes)
        return float(gap), (self.each[classes, :-1] @ risky).astype(np.float64)


# Suppressed group -----------------------------------------------------------------------------------------------------


MAX_GROUPS_TRIED = 12  # groups looked at before a node is left open; most are ruled out by others later
COUNTS = 1 << 23  # counts of all classes that may join, for one demand; with more, only the smallest classes are tried
ESTIMATES = 40  # estimates take long: so many groups are looked at for one of them
KEYS = 64  # classes by which values are put into an order that does not depend on that of the rows


@dataclass(frozen=True, eq=False)
class Completed:
    """Suppressed records in the end, if a good enough set was found."""

    classes: NodeClasses | None
    loss: float
    least: float = -inf
    """What the node loses at least, where the best was not found for certain; else −inf."""
    joined: tuple[Levels, ...] = ()


def complete(
    checker: NodeChecker, classes: NodeClasses, hurdle: float = inf, steps: int = MAX_GROUPS_TRIED
) -> Completed:
    """Let those classes join the suppressed that make them a safe class at the least loss, within the limit.

    Of equal losses the fewest records; of these, what is found first in an order of sizes and texts. Losses above `hurdle` are of
    no interest: of such a node it is only known that it does not lose less.
    """
    problem = checker.problem
    if not classes.thinned and checker.keeps(classes):
        return Completed(classes, checker.loss(classes))
    if problem.whole_people:
        return _whole_people(checker, classes)
    if problem.relaxed and not classes.thinned and not problem.class_sizes:
        return Completed(None, inf)
    room = problem.limit - int(classes.sizes[classes.gone].sum())
    candidates = checker.smallest_first(classes, room)
    group = _Group(checker, classes, candidates)
    nothing = group.value(())
    if nothing > hurdle:
        return Completed(None, inf, nothing)
    found = group.search(room, hurdle, steps)
    sure = found.whole and (found.chosen is not None or hurdle == inf)
    least = -inf if sure else found.least
    if group.candidates.size < candidates.size:
        least = nothing
    if found.chosen is None:
        return Completed(None, inf, least)
    chosen = group.candidates[list(found.chosen)]
    joined = tuple(sorted(map(tuple, checker.labels_of(classes, chosen).tolist())))
    return Completed(joining(classes, chosen), found.loss, least, joined)


def joining(classes: NodeClasses, chosen: np.ndarray) -> NodeClasses:
    """Return the classes with some more of them suppressed."""
    gone = classes.gone.copy()
    gone[chosen] = True
    return replace(classes, gone=gone, thinned=0)


def _whole_people(checker: NodeChecker, classes: NodeClasses) -> Completed:
    """The people of small classes go first: that need not be the best, so nothing is certain but the loss of those who must go."""
    found, least = constraints.complete(checker, classes), checker.loss(classes)
    return Completed(None, inf, least) if found is None else Completed(found, checker.loss(found), least)


class _Group:
    """Suppressed records of a node, and the classes that may join them."""

    def __init__(self, checker: NodeChecker, classes: NodeClasses, candidates: np.ndarray) -> None:
        self.checker, self.problem, self.classes = checker, checker.problem, classes
        widths = list(map(attrgetter("whole.size"), self.problem.rules))
        if self.problem.person is not None:
            widths = [len(checker.tuples)]
        if self.problem.class_sizes:
            widths.append(int(np.unique(classes.sizes).size) + 1)
        self.candidates = candidates[: max(1, COUNTS // max(widths, default=1))]
        self.sizes = classes.sizes[self.candidates]
        self.stay = int((~classes.gone & (classes.sizes > 0)).sum())
        self.gone = int(classes.sizes[classes.gone].sum())
        self.place = np.full(classes.sizes.size, -1)
        self.place[self.candidates] = np.arange(self.candidates.size)
        self.value, self.costs = self._cells() if isinstance(self.problem.loss, CellLoss) else self._classes()

    def search(self, room: int, hurdle: float, steps: int) -> Join:
        """The best classes to join."""
        loss = self.problem.loss
        demands = self.demands()
        limits = self.problem.class_sizes
        if limits and any(one.estimated is not None for one in limits):
            steps = min(steps, ESTIMATES)
        join = CheapestJoin(demands, self.sizes, self.costs, room, self.value, loss.fold, loss.unfold, steps, hurdle)
        if self.problem.class_sizes or self.classes.thinned:
            self._offer_smallest(join, room)
        return join.run()

    def _offer_smallest(self, join: CheapestJoin, room: int) -> None:
        """A first answer: as few of the smallest classes as are enough, so that there is one where very many must join."""
        most = int(np.searchsorted(np.cumsum(self.sizes), room, side="right"))
        low, high = 0, most
        if not self._enough(join.demands, most):
            return
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._enough(join.demands, middle) else (middle + 1, high)
        join.offer(tuple(range(high)), int(self.sizes[:high].sum()))

    @staticmethod
    def _enough(demands: Sequence[GroupDemand], first: int) -> bool:
        return not any(one.broken(one.base + one.each[:first].sum(axis=0)) for one in demands)

    def demands(self) -> Sequence[GroupDemand]:
        """Requirements on the suppressed records, and on the number of classes."""
        problem, least = self.problem, self.problem.least_suppressed
        few = [] if problem.most_classes is None and problem.kept_risk is None else self._few_classes()
        few += self._class_sizes() if problem.class_sizes else []
        if problem.relaxed:
            return few
        if problem.person is not None:
            return [*few, *self._of_people()]
        if self.gone or least > problem.k:  # a class that joins has k records itself
            few.append(LinearDemand(np.array([self.gone]), self.sizes[:, np.newaxis], np.ones(1), float(least)))
        few += [] if problem.population is None else self._population(problem.population)
        return [*few, *map(self._of_rule, range(len(problem.rules)))]

    def _few_classes(self) -> list[GroupDemand]:
        most, risk = None if self.problem.relaxed else self.problem.most_classes, self.problem.kept_risk
        if most is None and risk is None:
            return []

        each = np.stack([np.ones_like(self.sizes), self.sizes], axis=1)
        return [FewClasses(np.array([0, self.gone]), each, self.stay, self.problem.rows, most, risk)]

    def _class_sizes(self) -> list[GroupDemand]:
        """Limits on the sizes of all classes."""

        stay = self.classes.sizes[~self.classes.gone & (self.classes.sizes > 0)]
        distinct, counts = np.unique(stay, return_counts=True)
        each = np.zeros((self.sizes.size, distinct.size + 1), dtype=np.int64)
        each[np.arange(self.sizes.size), np.searchsorted(distinct, self.sizes)] = 1
        base = np.zeros(distinct.size + 1, dtype=np.int64)
        if not self.problem.relaxed:
            each[:, -1], base[-1] = self.sizes, self.gone
        return [SizesDemand(base, each, distinct, counts, one, self.problem.rows) for one in self.problem.class_sizes]

    def _population(self, population: Population) -> list[GroupDemand]:
        """k-map, the greatest and the least presence."""

        people = self.classes.if_suppressed
        if people is None:
            return []
        base = np.array([self.gone, int(people[self.classes.gone].sum())])
        each = np.stack([self.sizes, people[self.candidates]], axis=1)
        least, low, high, more = population.least, population.low, population.high, self.classes.open_people
        return [
            PopulationDemand(base, each, np.array([0.0, 1.0]), least, lambda size, some: size > 0 and some < least),
            PopulationDemand(base, each, np.array([-1.0, high]), 0.0, lambda size, some: _above(size, some, high)),
            PopulationDemand(
                base,
                each,
                np.array([1.0, -low]),
                low * more,
                lambda size, some: some + more > 0 and size / (some + more) < low,
            ),
        ]

    def _of_rule(self, i: int) -> GroupDemand:
        rule, tuples = self.problem.rules[i], self.checker.tuples
        width = rule.whole.size
        cells = self.place[self.classes.labels] * width + tuples.secrets[i]
        inside = self.place[self.classes.labels] >= 0
        size = self.candidates.size * width
        each = np.bincount(cells[inside], weights=tuples.weights[inside], minlength=size).astype(np.int64)
        out = self.classes.out
        base = np.bincount(tuples.secrets[i][out], weights=tuples.weights[out], minlength=width).astype(np.int64)
        return _ordered(RuleDemand(base, each.reshape(-1, width), rule))

    def _of_people(self) -> list[GroupDemand]:
        """Pairs of a person and a value, rule by rule; without a rule every person is a pair."""

        tuples, k = self.checker.tuples, self.problem.k
        assert tuples.persons is not None
        found: list[GroupDemand] = []
        for rule, secrets in zip(self.problem.rules or (None,), tuples.secrets or (None,), strict=True):
            values = np.zeros(len(tuples), dtype=np.int64) if secrets is None else secrets.astype(np.int64)
            width = 1 if rule is None else rule.whole.size
            pairs, which = np.unique(tuples.persons.astype(np.int64) * width + values, return_inverse=True)
            base, each = np.zeros(pairs.size, bool), np.zeros((self.candidates.size, pairs.size), dtype=np.int64)
            base[which[self.classes.out]] = True
            place = self.place[self.classes.labels]
            each[place[place >= 0], which[place >= 0]] = 1
            found.append(PeopleDemand(base.astype(np.int64), each, k, pairs // width, pairs % width, rule))
        return found

    def _cells(self) -> tuple[Callable[[Sequence[int]], float], np.ndarray]:
        """The loss with some classes joined, and what each adds at least, where cells are counted."""
        loss, levels = self.problem.loss, self.classes.levels
        assert isinstance(loss, CellLoss)
        tally = self.checker.tallied(self.classes)
        order, starts = self.classes.members
        some = self.checker.tuples.codes[
            order[starts[self.candidates]]
        ]  # any member tells what a record of the class is charged
        steps, attributes = self.checker.steps(levels)[some].astype(np.int64), np.arange(len(levels))

        def value(joined: Sequence[int]) -> float:
            counts = tally.copy()
            for c in joined:
                counts[attributes, steps[c]] += self.sizes[c]
            return loss.value(levels, counts if joined or self.gone else None)

        most = min(int(self.sizes.sum()), self.problem.limit - self.gone)  # more than that cannot join
        slopes = loss.slopes(levels, tally, most)
        extras = np.zeros(self.candidates.size)
        for a, level in enumerate(levels):
            extras += slopes[a] * loss.costs[a][level].extra[steps[:, a]]
        return value, extras * self.sizes

    def _payments(self, loss: ClassPayments) -> tuple[Callable[[Sequence[int]], float], np.ndarray]:
        """The loss with some classes joined, and what each adds, where every class pays a part."""
        paid, classes = loss.paid(self.checker, self.classes), self.classes
        kept = ~classes.gone & (classes.sizes > 0)

        def value(joined: Sequence[int]) -> float:
            left = kept.copy()
            left[self.candidates[list(joined)]] = False
            return loss.total(paid[left], self.gone + int(self.sizes[list(joined)].sum()))

        return value, np.maximum(self.sizes * loss.of_suppressed - paid[self.candidates], 0.0)

    def _classes(self) -> tuple[Callable[[Sequence[int]], float], np.ndarray]:
        """The loss with some classes joined, and what each adds at least, where classes are counted."""
        loss, sizes = self.problem.loss, self.classes.sizes[~self.classes.gone]
        assert not isinstance(loss, CellLoss)
        if not isinstance(loss, ClassLoss):
            return self._payments(loss)
        squares = int(np.dot(sizes, sizes))

        def value(joined: Sequence[int]) -> float:
            more = self.sizes[list(joined)]
            return loss.value(self.stay - more.size, squares - int(np.dot(more, more)), self.gone + int(more.sum()))

        if not self.gone and loss.name != "discernibility":
            return value, np.zeros(self.sizes.size)  # the first class that joins only changes its name
        return value, loss.added(self.sizes, self.stay)


def _above(size: int, people: int, high: float) -> bool:
    return size > 0 and high < 1 and (people == 0 or size / people > high)


def _ordered(demand: RuleDemand) -> RuleDemand:
    """The same with values in an order that does not depend on that of the rows: sums then round alike."""
    rule = demand.rule
    if rule.fixed_codes:
        return demand
    order = np.lexsort([*demand.each[:KEYS], demand.base, rule.whole])
    turned: Rule = replace(rule, whole=rule.whole[order], tree=np.ascontiguousarray(rule.tree[:, order]))
    return RuleDemand(demand.base[order], np.ascontiguousarray(demand.each[:, order]), turned)
