"""A question to the lattice: demands on a table with roles and hierarchies, ready to be asked of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.decide.lattice.memory.class_sizes import Look
from oboro.decide.lattice.memory.remembering import RememberingChecker, RememberingSlices
from oboro.decide.lattice.objective import CellLoss
from oboro.errors import UsageError
from oboro.explorer.answers import NodeFigures
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.decide.lattice.nodes import Levels
    from oboro.decide.lattice.problem import Node, Problem
    from oboro.explorer.explored_table import ExploredTable
    from oboro.table.dataset import Dataset
    from oboro.table.hierarchy import Hierarchy
    from oboro.techniques.base import Work
    from oboro.techniques.demands.further.allowed_levels import AllowedLevels
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["Question"]


@dataclass(frozen=True, eq=False)
class Question:
    """What `k_anonymize` is asked, and what answers it. Everything that was looked at before is remembered."""

    table: ExploredTable
    technique: KAnonymize
    work: Work
    problem: Problem
    hierarchies: Mapping[str, Hierarchy]
    allowed: AllowedLevels
    """Among which levels the problem chooses; a node counts among these, an answer as the hierarchies do."""

    @staticmethod
    def of(table: ExploredTable, technique: KAnonymize, work: Work) -> Question:
        """Pose it; raises what the step would raise."""
        technique.require_people(work.schema.person)
        asked = technique.pose(work)
        if asked.problem is None:
            raise UsageError(Message("error_explorer.no_records"))
        return Question(table, technique, work, asked.problem, asked.hierarchies, asked.allowed)

    @property
    def names(self) -> list[str]:
        """The columns that are generalized, in the order of the levels."""
        return list(self.hierarchies)

    @cached_property
    def checker(self) -> RememberingChecker | RememberingSlices:
        """Checks nodes, and remembers them."""
        return self.table.looks.checker(self.problem)

    def prepare(self) -> None:
        """Make what a search needs and other questions share: digests, distinct tuples or laid out rows."""
        if self.technique.levels is None:
            self.node(self.problem.lattice.top)

    def levels(self, given: Mapping[str, int] | Sequence[int]) -> Levels:
        """Levels by column, or in the order of the columns, as a node; a `UsageError` where they are no node."""
        if not isinstance(given, Mapping | Sequence) or isinstance(given, str | bytes):
            raise UsageError(Message("error_explorer.levels_of", names=self.names, given=[repr(given)]))
        named = dict(given) if isinstance(given, Mapping) else dict(zip(self.names, given, strict=False))
        heights = {name: hierarchy.height for name, hierarchy in self.hierarchies.items()}
        if len(given) != len(heights) or set(named) != set(heights):
            raise UsageError(Message("error_explorer.levels_of", names=self.names, given=list(map(str, named))))
        odd = next((name for name, level in named.items() if not isinstance(level, Integral)), None)
        if odd is not None:
            raise UsageError(
                Message("error_explorer.no_whole_level", column=odd, level=repr(named[odd]), top=heights[odd])
            )
        wrong = [name for name, level in named.items() if not 0 <= int(level) <= heights[name]]
        if wrong:
            raise UsageError(
                Message("error_explorer.no_level", column=wrong[0], level=int(named[wrong[0]]), top=heights[wrong[0]])
            )
        levels = tuple(int(named[name]) for name in self.names)
        return self.allowed.relative(levels, self.names, self.technique.step)

    def named(self, levels: Levels) -> dict[str, int]:
        """A node's levels by column, as the hierarchies count them."""
        return dict(zip(self.names, self.allowed.absolute(levels), strict=True))

    def node(self, levels: Levels) -> Node:
        """Check a node for certain."""
        return self.checker.check(levels, inf)

    def figures(self, node: Node) -> NodeFigures:
        """What an answer says of a node."""
        loss = node.loss if node.feasible else None
        gone = node.suppressed + node.extra
        return NodeFigures(self.named(node.levels), loss, node.settled and node.feasible, gone, node.feasible)

    def known(self, levels: Levels) -> Look | None:
        """What is remembered of a node's classes."""
        return self.table.looks.looks.get(self.checker.division.of(levels))

    def gone(self, node: Node) -> np.ndarray:
        """Which records a node suppresses; the latest few are kept."""
        key = self.checker.division.question(node.levels), self.problem.limit
        return self.table.kept("gone", key, lambda: self.checker.suppressed_rows(node))

    def column_loss(self, levels: Levels, gone: np.ndarray | None) -> dict[str, float] | None:
        """What each column loses, with the records that are suppressed."""
        loss, out = self.problem.loss, {}
        if not isinstance(loss, CellLoss):
            return None
        for a, (name, level) in enumerate(zip(self.names, levels, strict=True)):
            one, codes = loss.costs[a][level], self.problem.columns[a].codes
            steps = np.zeros(0, dtype=np.int64) if gone is None else one.step[codes[gone]]
            out[name] = one.base + one.of_suppressed(np.bincount(steps, minlength=one.extra.size))
        return out

    @property
    def by_running(self) -> bool:
        """Whether no one choice of levels says what is released: classes have their own, or columns several hierarchies."""
        return self.technique.recoding == "local" or bool(self.technique.alternatives)

    @property
    def drops(self) -> bool:
        """Whether suppressed records are left out of the release."""
        return self.technique.suppressed == "drop"

    def released(self, levels: Levels | None = None) -> Dataset:
        """What the step makes of the table, with these levels or with those that it chooses; the latest few are kept. Nothing is
        released by that."""
        fixed = self.technique if levels is None else self.technique.model_copy(update={"levels": self.named(levels)})
        return self.table.kept("released", (id(self), levels), lambda: (self, fixed.run(self.work).data))[1]

    def why_not(self, top: Node) -> Message:
        """Why nothing can be released, where nothing can."""
        return self.technique.why_not(self.problem, top.suppressed, top.satisfying, self.names)

    @property
    def demands(self) -> dict[str, Any]:
        """As a recipe writes them."""
        written: dict[str, Any] = self.technique.model_dump(mode="json", exclude_defaults=True)
        return written
