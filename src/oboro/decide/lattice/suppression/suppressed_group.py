"""The suppressed records of a node as one class: whether they keep every demand, and which classes join them so that they do.

Whoever fits no released class must be among the suppressed, so these are a class that must be safe itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.class_rules import Rule
from oboro.decide.lattice import whole_people
from oboro.decide.lattice.objective import CellLoss, ClassLoss
from oboro.decide.lattice.suppression.cheapest_join import CheapestJoin, Join
from oboro.decide.lattice.suppression.group_demands import GroupDemand, LinearDemand, RuleDemand

if TYPE_CHECKING:
    from oboro.decide.lattice.judged_classes import NodeClasses
    from oboro.decide.lattice.node_check import NodeChecker
    from oboro.decide.lattice.nodes import Levels
    from oboro.decide.lattice.population_limits import Population
    from oboro.decide.lattice.worth.class_payments import ClassPayments

__all__ = ["STEPS", "Completed", "complete", "joining"]

STEPS = 12  # groups looked at before a node is left open; most are ruled out by others later
COUNTS = 1 << 23  # counts of all classes that may join, for one demand; with more, only the smallest classes are tried
ESTIMATES = 40  # estimates take long: so many groups are looked at for one of them
KEYS = 64  # classes by which values are put into an order that does not depend on that of the rows


@dataclass(frozen=True, eq=False)
class Completed:
    """Who is suppressed in the end, if anything good enough was found."""

    classes: NodeClasses | None
    loss: float
    least: float = -inf
    """What the node loses at least, where the best was not found for certain; else −inf."""
    joined: tuple[Levels, ...] = ()


def complete(checker: NodeChecker, classes: NodeClasses, hurdle: float = inf, steps: int = STEPS) -> Completed:
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
    """The classes with some more of them suppressed."""
    gone = classes.gone.copy()
    gone[chosen] = True
    return replace(classes, gone=gone, thinned=0)


def _whole_people(checker: NodeChecker, classes: NodeClasses) -> Completed:
    """The people of small classes go first: that need not be the best, so nothing is certain but the loss of those who must go."""
    found, least = whole_people.complete(checker, classes), checker.loss(classes)
    return Completed(None, inf, least) if found is None else Completed(found, checker.loss(found), least)


class _Group:
    """What is known of the suppressed and of the classes that may join them."""

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
        """What the suppressed must keep, and what the number of classes must."""
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
        from oboro.decide.lattice.suppression.people_demands import FewClasses

        each = np.stack([np.ones_like(self.sizes), self.sizes], axis=1)
        return [FewClasses(np.array([0, self.gone]), each, self.stay, self.problem.rows, most, risk)]

    def _class_sizes(self) -> list[GroupDemand]:
        """Limits on the sizes of all classes."""
        from oboro.decide.lattice.suppression.size_limits import SizesDemand

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
        from oboro.decide.lattice.suppression.people_demands import PopulationDemand

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
        from oboro.decide.lattice.suppression.people_demands import PeopleDemand

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
