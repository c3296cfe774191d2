"""Checkers that remember: each division of the records is looked at once, whatever is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import Any

import numpy as np

from oboro.decide.lattice.judged_classes import NodeClasses
from oboro.decide.lattice.memory.class_sizes import Look
from oboro.decide.lattice.memory.division import Division
from oboro.decide.lattice.memory.look_memory import LookMemory
from oboro.decide.lattice.memory.sliced_sizes import sliced_sizes
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.sliced_check import SlicedChecker
from oboro.decide.lattice.tuples.rolled_up import RolledUp
from oboro.decide.lattice.worth.class_payments import ClassPayments

__all__ = ["RememberingChecker", "RememberingSlices"]

FEW_SIZES = 1024  # sizes of classes that are told apart in a quick look


def _answered(division: Division, look: Look, levels: Levels) -> Node | None:
    """A node that fails, from what is remembered; None where it may satisfy, or what it loses at least is not known."""
    problem = division.problem
    small, floor = look.small(problem.k) + look.gone, _floor(division, look, levels)
    if small <= problem.limit or not look.answers(problem.k) or floor is None:
        return None
    return Node(levels, small, _surely(problem, look), 0, False, inf, floor)


def _floor(division: Division, look: Look, levels: Levels) -> float | None:
    """What a node and everything coarser loses at least; None where classes must be read for it."""
    loss = division.problem.loss
    if isinstance(loss, CellLoss):
        return -inf
    if isinstance(loss, ClassPayments):
        return division.space.floors.get(division.cost, {}).get(levels)
    return loss.floor(look.classes, look.squares)


def _surely(problem: Problem, look: Look) -> int:
    """How many records go at least: in every finer node as many."""
    strong = look.gone == 0 or not look.whole or all(rule.strong for rule in problem.rules)
    return look.small(problem.k) + (look.gone if strong and problem.population is None else look.surely)


def _known(problem: Problem, division: Division) -> dict[Levels, float]:
    """Of every node of the lattice that was looked at, how many records are surely suppressed."""
    if not _remembers(problem) or _unlike_others(problem):
        return {}
    return division.space.told("surely", problem.k, partial(_surely, problem))


def _floors(problem: Problem, division: Division) -> dict[Levels, float]:
    """Of every node of the lattice that was looked at, what it and everything coarser loses at least."""
    loss = problem.loss
    if isinstance(loss, CellLoss):
        return {}
    if isinstance(loss, ClassPayments):
        return dict(division.space.floors.get(division.cost, {}))
    return division.space.told(division.cost, problem.k, lambda look: loss.floor(look.classes, look.squares))


def _reused(memory: LookMemory, division: Division, levels: Levels, ask: Callable[[], Node], *, certain: bool) -> Node:
    """A node that was checked with the same question, whatever the limit was; checked now if there is none.

    Where nothing joined the suppressed, a node is the same under every limit that it does not exceed. Otherwise only under the
    same, and if it was asked for `certain`, not only whether it is better than another.
    """
    known = _checked(memory, division, levels)
    if known is not None:
        memory.hits += 1
        return known
    return _kept(memory, division, ask(), certain=certain)


def _checked(memory: LookMemory, division: Division, levels: Levels) -> Node | None:
    """A node that was checked with the same question."""
    key, limit = division.question(levels), division.problem.limit
    known = memory.nodes.get((*key, limit)) or memory.nodes.get(key)
    return known if known is not None and known.suppressed <= limit else None


def _kept(memory: LookMemory, division: Division, node: Node, *, certain: bool) -> Node:
    """The node, remembered where it will be the same."""
    key, limit = division.question(node.levels), division.problem.limit
    if node.feasible and node.settled and node.extra == 0:
        memory.keep(memory.nodes, key, node)
    elif certain and node.settled and node.least == -inf:
        memory.keep(memory.nodes, (*key, limit), node)
    return node


def _unlike_others(problem: Problem) -> bool:
    """Whether more decides than what is kept tells: limits on the sizes of all classes, labels that a reader cannot tell apart."""
    unclear = problem.population is not None and problem.population.unclear is not None
    return bool(problem.class_sizes) or unclear or problem.earnings is not None


def _remembers(problem: Problem) -> bool:
    """Whether a class is suppressed by what it is alone, so that sizes and rules tell how much goes."""
    of_all = problem.most_classes is not None or problem.kept_risk is not None or bool(problem.class_sizes)
    return not problem.whole_people and not of_all


@dataclass(frozen=True, eq=False)
class RememberingChecker(NodeChecker):
    """A checker of distinct tuples that looks at each division of the records once."""

    memory: LookMemory = field(kw_only=True)
    division: Division = field(kw_only=True)

    def check(self, levels: Levels, hurdle: float = inf, *more: Any) -> Node:
        """Check one node, from memory where that is enough."""
        if _unlike_others(self.problem):
            return NodeChecker.check(self, levels, hurdle, *more)
        if self.many_at_once and not more:
            return self.check_all([levels], hurdle)[0]
        failed = self._failed(levels) if _remembers(self.problem) else None
        if failed is not None:
            return failed
        ask = partial(self._asked, levels, hurdle, *more)
        return _reused(self.memory, self.division, levels, ask, certain=hurdle == inf)

    def _asked(self, levels: Levels, hurdle: float, *more: Any) -> Node:
        """Check a node; what a loss over classes is at least there is kept."""
        node = NodeChecker.check(self, levels, hurdle, *more)
        if isinstance(self.problem.loss, ClassPayments):
            self.division.space.floors.setdefault(self.division.cost, {})[levels] = node.floor
        return node

    def _failed(self, levels: Levels) -> Node | None:
        """The node, if it suppresses too much; a look is only taken where no other tells."""
        look = self.memory.look(self.division, levels)
        if look is not None and look.answers(self.problem.k):
            failed = _answered(self.division, look, levels)
            if failed is not None or look.whole:
                self.memory.hits += failed is not None
                return failed
        look = self._look(levels)
        return _answered(self.division, look, levels)

    @property
    def known(self) -> dict[Levels, float]:
        """Of every node that was looked at, how many records are surely suppressed."""
        return _known(self.problem, self.division)

    @property
    def floors(self) -> dict[Levels, float]:
        """Of every node that was looked at, what it and everything coarser loses at least."""
        return _floors(self.problem, self.division)

    @property
    def many_at_once(self) -> bool:
        """Whether several nodes are checked sooner together than one by one."""
        return self.counts_sizes and self._quick

    @cached_property
    def rolls_rules(self) -> bool:
        """What is remembered is told by judging class by class."""
        return False

    @property
    def _quick(self) -> bool:
        """Whether the sizes of classes tell who is suppressed, and are counted without numbering the classes."""
        problem = self.problem
        few = problem.only_k and problem.k <= FEW_SIZES and len(self.tuples.blocks) == 1
        return few and _remembers(problem)

    @cached_property
    def rolled_up(self) -> RolledUp:
        """As every checker's; what it kept for other questions is found again."""
        cost = self.division.cost if isinstance(self.problem.loss, CellLoss) else ()
        key = (self.division.tuples, self.division.slices, cost, self.base)
        return self.memory.rolled_up(key, lambda: RolledUp(self.problem, self.tuples, self.digits[0]))

    def check_all(self, chosen: Sequence[Levels], hurdle: float = inf, *, later: bool = False) -> list[Node]:
        """Check several nodes; those that memory cannot tell together."""
        if not self.many_at_once:
            return [self.check(levels, hurdle) for levels in chosen]
        found = {levels: self._recalled(levels) for levels in chosen}
        unknown = [levels for levels, node in found.items() if node is None]
        self.memory.hits += len(found) - len(unknown)
        new = dict(zip(unknown, self._counted(unknown, hurdle), strict=True))
        return [found[levels] or new[levels] for levels in chosen]

    def _counted(self, chosen: Sequence[Levels], hurdle: float) -> list[Node]:
        """Check several nodes by counting their classes, and remember them."""
        if not chosen:
            return []
        problem, sizes = self.problem, np.zeros((len(chosen), FEW_SIZES + 1), dtype=np.int64)
        assert all(map(self.can_check, chosen)), "a node finer than what the tuples were joined by"
        counts = self.rolled_up.count(np.array(chosen, dtype=np.int64), problem.k, problem.limit, sizes)
        nodes = []
        for levels, sums, tally, held in zip(chosen, *counts, sizes, strict=True):
            self._keep_sizes(levels, held, int(sums[3]))
            node = problem.node_of_sizes(levels, sums, tally, hurdle) or self.completed(levels, hurdle)
            certain = hurdle == inf and node.satisfying
            nodes.append(_kept(self.memory, self.division, node, certain=certain))
        return nodes

    def _keep_sizes(self, levels: Levels, held: np.ndarray, squares: int) -> Look:
        """Remember how many classes have each size, unless that is known."""
        look = self.memory.look(self.division, levels)
        if look is None or not look.answers(self.problem.k):
            look = Look.of_histogram(held, FEW_SIZES, self.problem.rows, squares)
            self.memory.keep_look(self.division, levels, look)
        return look

    def _recalled(self, levels: Levels) -> Node | None:
        """The node, if memory tells it: that it fails, or what it is worth."""
        look = self.memory.look(self.division, levels) if _remembers(self.problem) else None
        failed = None if look is None else _answered(self.division, look, levels)
        return failed or _checked(self.memory, self.division, levels)

    def at_once(self, levels: Levels) -> bool:
        """Whether memory is enough to check a node."""
        return not _unlike_others(self.problem) and self._recalled(levels) is not None

    def sizes(self, levels: Levels) -> Look:
        """The sizes of all classes, whether a rule suppresses them or not."""
        key = (self.division.of(levels)[0], ((), None, self.division.asked[-1]))
        look = self.memory.looks.get(key)
        if look is None:
            look = self._sizes(self.classes(levels))
            self.memory.keep(self.memory.looks, key, look)
        return look

    @staticmethod
    def _sizes(classes: NodeClasses) -> Look:
        held = classes.sizes > 0  # a class may have people of the population and no record
        counted, sizes = (classes.sizes if classes.persons is None else classes.persons)[held], classes.sizes[held]
        return Look.of(counted, sizes, classes=int(sizes.size), squares=int(np.dot(sizes, sizes)))

    def rebased(self, levels: Levels) -> NodeChecker:
        """As every checker; what was rebased before is found again."""
        found = self.memory.rebased((self.division.tuples, self.division.slices, levels))
        if found is None:
            made = NodeChecker.rebased(self, levels)
            found = made.tuples, made.base
            self.memory.keep_rebased((self.division.tuples, self.division.slices, levels), found)
        return replace(self, tuples=found[0], base=found[1])

    def _look(self, levels: Levels) -> Look:
        """Look at a node's classes, and remember them."""
        if self._quick:
            sizes = np.zeros((1, FEW_SIZES + 1), dtype=np.int64)
            counts = self.rolled_up.count(np.array([levels]), self.problem.k, -1, sizes)
            return self._keep_sizes(levels, sizes[0], int(counts.sizes[0, 3]))
        look = self._judged_sizes(levels)
        self.memory.keep_look(self.division, levels, look)
        return look

    def _judged_sizes(self, levels: Levels) -> Look:
        """The sizes of those classes that no rule suppresses."""
        problem, classes = self.problem, self.classes(levels)
        if not problem.rules and problem.population is None:
            return self._sizes(classes)
        counted = classes.sizes if classes.persons is None else classes.persons
        figures: dict[str, Any] = {"classes": int(np.count_nonzero(classes.sizes)), "squares": _squares(classes)}
        judged = self.judge(classes)
        by_rule = judged.gone & (counted >= problem.k)
        figures |= {"least": problem.k, "gone": int(classes.sizes[by_rule].sum())}
        figures["whole"] = judged.asked
        figures["surely"] = max(0, judged.surely - int(classes.sizes[counted < problem.k].sum()))
        return Look.of(counted[~by_rule], classes.sizes[~by_rule], **figures)


@dataclass(eq=False)
class RememberingSlices(SlicedChecker):
    """A checker of very many rows that looks at each division of the records once."""

    memory: LookMemory = field(kw_only=True)
    division: Division = field(kw_only=True)

    @property
    def known(self) -> dict[Levels, float]:
        """Of every node that was looked at, how many records are surely suppressed."""
        return _known(self.problem, self.division)

    @cached_property
    def checker(self) -> NodeChecker:
        """For nodes where whole classes must be suppressed in addition; tuples are made once for all questions."""
        return self.memory.tuple_checker(self.problem, self.division)

    def sizes(self, levels: Levels) -> Look:
        """The sizes of all classes."""
        look = self.memory.look(self.division, levels)
        if look is None or not look.answers(self.problem.k):
            look = sliced_sizes(self, levels)
            self.memory.keep_look(self.division, levels, look)
        else:
            self.memory.hits += 1
        return look

    def check(self, levels: Levels, hurdle: float = inf, *more: Any) -> Node:
        """Check one node, from memory where that is enough."""
        look = self.sizes(levels)
        return _answered(self.division, look, levels) or self._satisfying(levels, look, hurdle, *more)

    def _satisfying(self, levels: Levels, look: Look, hurdle: float, *more: Any) -> Node:
        """The loss of a node that satisfies; only bounded from below where that is too much."""
        loss, small = self.problem.loss, look.small(self.problem.k)
        if isinstance(loss, CellLoss):
            least = loss.value(levels, _least_tally(loss, levels, small))
            if small and least > hurdle:
                return Node(levels, small, small, 0, True, least, settled=False)
        ask = partial(SlicedChecker.check, self, levels, hurdle, *more)
        if small == 0 and isinstance(loss, CellLoss):  # nobody is suppressed: levels alone say what is lost
            ask = partial(Node, levels, 0, 0, 0, True, loss.value(levels, None))
        return _reused(self.memory, self.division, levels, ask, certain=hurdle == inf)


def _squares(classes: NodeClasses) -> int:
    return int(np.dot(classes.sizes, classes.sizes))


def _least_tally(loss: CellLoss, levels: Levels, suppressed: int) -> np.ndarray:
    """As if every suppressed record were one whose suppression adds least."""
    out = np.zeros((len(levels), loss.width), dtype=np.int64)
    for a, level in enumerate(levels):
        out[a, int(np.argmin(loss.costs[a][level].extra))] = suppressed
    return out
