"""Checks nodes of the lattice by asking buckets, a few nodes a job; what few classes have is counted on the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from typing import Any, ClassVar

import numpy as np

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.suppression.suppressed_group import STEPS
from oboro.decide.lattice.tuples.distinct_tuples import DistinctTuples
from oboro.engines.bounded.bucketed_rows import BucketLook, ClassesAt, Joinable, SmallClasses, Survey, lean
from oboro.text import Message

__all__ = ["HELD", "BucketChecker", "NotBounded", "cut_of"]

HELD = 1 << 21  # classes that the driver holds: about 100 MB with what the search makes of them
AT_ONCE = 8  # nodes that are asked for in one job


class NotBounded(Exception):
    """This needs all rows on the driver; `why` says so."""

    def __init__(self, why: Message) -> None:
        super().__init__(why)
        self.why = why


def cut_of(problem: Problem, most: int) -> Levels:
    """The coarsest node of which it is certain that no class has more than `most` records: some column has no label of more.

    Where there is none, the one whose largest label is least. O(levels).
    """
    largest = [[int(counts.max(initial=0)) for counts in levels] for levels in problem.label_counts]
    cut = list(problem.lattice.top)
    while min(largest[a][level] for a, level in enumerate(cut)) > most and any(cut):
        below = [(largest[a][level - 1], a) for a, level in enumerate(cut) if level]
        _, lowered = min(below)
        cut[lowered] -= 1
    return tuple(cut)


@dataclass(frozen=True, eq=False)
class BucketChecker(NodeChecker):
    """A checker whose rows are in buckets. `asks` brings a look to them, and what they said back."""

    at_a_time: ClassVar[int | None] = AT_ONCE

    cut: Levels
    asks: Callable[[BucketLook, str], list[bytes]]
    known: dict[Levels, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    small: dict[Levels, tuple[int, np.ndarray]] = field(default_factory=dict)
    """Nodes of which only the small classes were counted."""
    held: list[NodeChecker] = field(default_factory=list)
    """Checkers of classes that are on the driver."""
    joinable: dict[Levels, NodeChecker] = field(default_factory=dict)
    """Of some nodes the classes that go or may join them: such a checker knows that one node."""

    @staticmethod
    def asking(problem: Problem, cut: Levels, asks: Callable[[BucketLook, str], list[bytes]]) -> BucketChecker:
        """A checker of every node."""
        widths = [one.levels[0].table.size for one in problem.hierarchies]
        if prod(width + 1 for width in widths) > 1 << 62:
            raise NotBounded(Message("error_engine.rows_wide"))
        none = DistinctTuples.counted([np.zeros(0, np.uint32) for _ in widths], widths, np.zeros(0, np.int64))
        return BucketChecker(problem, none, problem.lattice.bottom, cut, asks)

    def rebased(self, levels: Levels) -> BucketChecker:
        """Buckets stay as they are."""
        return self

    @property
    def weight(self) -> int:
        """How many rows a check has to read."""
        return self.problem.rows

    def closed(self, levels: Levels) -> bool:
        """Whether every class of a node lies in one bucket."""
        return all(level <= highest for level, highest in zip(levels, self.cut, strict=True))

    def at_once(self, levels: Levels) -> bool:
        """Whether a node needs no job."""
        return levels in self.known or levels in self.small or self._holding(levels) is not None

    def prepare(self, several: Sequence[Levels]) -> None:
        """Ask for those that are not known, a few a job."""
        open_ = [one for one in several if not self.at_once(one) and self.closed(one)]
        for first in range(0, len(open_), AT_ONCE):
            self._ask(tuple(open_[first : first + AT_ONCE]), whole=not self._by_small)

    def _ask(self, nodes: tuple[Levels, ...], *, whole: bool) -> None:
        """One job."""
        if whole:
            survey = Survey(lean(self.problem), nodes)
            self.known.update(zip(nodes, survey.together(self.asks(survey, "nodes")), strict=True))
        else:
            counts = SmallClasses(lean(self.problem), nodes)
            self.small.update(zip(nodes, counts.together(self.asks(counts, "nodes")), strict=True))

    @cached_property
    def _by_small(self) -> bool:
        """Whether small classes tell all of a node, unless its suppressed are too few to be a class."""
        problem = self.problem
        return isinstance(problem.loss, CellLoss) and problem.most_classes is None and problem.kept_risk is None

    def _sums(self, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """As `NodeChecker.survey` says them; of classes that are large enough only where that matters."""
        if levels in self.small:
            small, tally = self.small[levels]
            return np.array([small, 0, 0, 0, 0, 0]), tally
        return self.known[levels]

    def _too_few(self, levels: Levels) -> bool:
        """Whether the suppressed are too few to be a class, and any class that joins them makes them one."""
        small = self.small.get(levels, (0, None))[0]
        return 0 < small < self.problem.k and not self.problem.relaxed

    def _joinable(self, levels: Levels) -> NodeChecker:
        """What checks this one node."""
        if levels not in self.joinable:
            ranks = tuple(self.problem.label_ranks(a, level) for a, level in enumerate(levels))
            asked = Joinable(lean(self.problem), levels, ranks)
            self.joinable[levels] = self._of_classes(levels, *asked.together(self.asks(asked, "classes")))
        return self.joinable[levels]

    def check(self, levels: Levels, hurdle: float = inf, steps: int = STEPS) -> Node:
        """Check one node: from sums over its classes, or from the classes themselves."""
        if self._holding(levels) is None and self._space(self.problem.lattice.bottom) <= HELD:
            self._hold(self.problem.lattice.bottom)
        if self._holding(levels) is None and self.closed(levels):
            self.prepare([levels, *([] if self.known or self.small else self._first(levels))])
            if self._too_few(levels):
                return self._joinable(levels).check(levels, hurdle, steps)
            node = self.problem.node_of_sizes(levels, *self._sums(levels))
            if node is not None:
                return node
        return self.holding(levels).check(levels, hurdle, steps)

    def _first(self, levels: Levels) -> list[Levels]:
        """What is asked for with the first node: some from the finest to the coarsest, and what is next to them."""
        lattice = self.problem.lattice
        steps = [tuple(round(height * part / 7) for height in lattice.top) for part in range(1, AT_ONCE - 1)]
        near = [one for step in steps for one in (*lattice.parents(step), *lattice.children(step))]
        found = [one for one in dict.fromkeys([*steps, *near]) if one != levels and self.closed(one)]
        return found[: AT_ONCE - 1]

    def _holding(self, levels: Levels) -> NodeChecker | None:
        return next((one for one in self.held if one.can_check(levels)), None)

    def holding(self, levels: Levels) -> NodeChecker:
        """A checker of this node whose classes are here."""
        found = self._holding(levels)
        return found if found is not None else self._hold(self._finer(levels))

    def _hold(self, levels: Levels) -> NodeChecker:
        """Bring the classes of a node here."""
        if self._space(levels) > HELD:
            if levels not in self.known:
                self._ask((levels,), whole=True)
            classes = int(self.known[levels][0][1])
            if classes > HELD:
                raise NotBounded(Message("error_engine.rows_classes", classes=classes, most=HELD))
        asked = ClassesAt(lean(self.problem), levels)
        made = self._of_classes(levels, *asked.together(self.asks(asked, "classes")))
        self.held.append(made)
        return made

    def _of_classes(self, levels: Levels, labels: list[np.ndarray], sizes: np.ndarray) -> NodeChecker:
        codes = [self.code_of_label(a, level)[labels[a]] for a, level in enumerate(levels)]
        widths = [one.levels[0].table.size for one in self.problem.hierarchies]
        return NodeChecker(self.problem, DistinctTuples.counted(codes, widths, sizes), levels)

    def code_of_label(self, a: int, level: int) -> np.ndarray:
        """For each label one code that has it: it stands for all of them."""
        chosen = self.problem.hierarchies[a].levels[level]
        one = np.zeros(len(chosen.labels), np.int64)
        one[chosen.table] = np.arange(chosen.table.size)
        return one

    def _space(self, levels: Levels) -> int:
        """How many classes a node can have at most."""
        return prod(len(h.levels[level].labels) for h, level in zip(self.problem.hierarchies, levels, strict=True))

    def _finer(self, levels: Levels) -> Levels:
        """As fine as surely fits, so that other nodes are known with it."""
        found = list(levels)
        for a in range(len(found)):
            while found[a] and self._space((*found[:a], found[a] - 1, *found[a + 1 :])) <= HELD:
                found[a] -= 1
        return tuple(found)

    def classes_gone(self, node: Node) -> tuple[np.ndarray, ...] | None:
        """For each attribute the label of every class that goes; None where these are just the classes of fewer than k."""
        held = self._holding(node.levels) or self.joinable.get(node.levels)
        if held is None:
            return None
        classes = held.classes(node.levels)
        gone = np.unique(classes.labels[held.suppressed_tuples(node)])
        labels = held.labels_of(classes, gone)
        return tuple(labels[:, a] for a in range(labels.shape[1]))

    def suppressed_rows(self, node: Node) -> Any:
        """There are no rows here."""
        raise RuntimeError("rows are in buckets: ask for `classes_gone`")
