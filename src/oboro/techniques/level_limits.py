"""Limits on the levels of a column, as a recipe states them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from oboro.algorithms.lattice.losses import CellLoss, ClassLoss
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Node, Problem
from oboro.algorithms.lattice.search import SearchResult
from oboro.data.matching import Value, matched
from oboro.data.parameters import Parameters
from oboro.errors import ColumnError, PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.schema import Attribute
from oboro.techniques.base import Outcome, Work
from oboro.text import Message, Raw

if TYPE_CHECKING:
    from oboro.algorithms.lattice.local_recoding import Recoding

__all__ = ["MOST_CHOICES", "AllowedLevels", "LevelLimits", "best_of_hierarchies"]


# Alternative hierarchies ----------------------------------------------------------------------------------------------
# Several hierarchies for one column: the step runs with each, and the outcome with the least loss is taken.


MOST_CHOICES = 64  # each is a search of its own


def best_of_hierarchies(
    work: Work, alternatives: Mapping[str, Sequence[HierarchySpec]], step: str, once: Callable[[Work], Outcome]
) -> Outcome:
    """The outcome with the least loss over every choice of hierarchies: each column's own one, or an alternative of it.

    Of equal losses the first choice, the columns' own hierarchies being the first of all. Where none keeps the promise, the error
    of the columns' own hierarchies is raised. What is found is not for the next delivery: levels are those of one hierarchy.
    """
    work.schema.require(work.data, alternatives, step)
    if coarse := [name for name in alternatives if name in work.schema.remaining]:
        raise UsageError(Message("error_technique.alternatives_after", step=step, columns=coarse))
    count = 1
    for some in alternatives.values():
        count *= len(some) + 1
    if count > MOST_CHOICES:
        raise UsageError(Message("error_technique.alternatives", step=step, choices=count, most=MOST_CHOICES))
    best, failure, sure = None, None, True
    for numbers, one in _choices(work, alternatives):
        try:
            found = once(one)
        except PromiseError as error:
            failure = failure or error
            continue
        loss = found.facts.get("loss", {"value": 0.0, "exact": True})
        sure = sure and bool(loss.get("exact"))
        rank = [round(part, 12) for part in loss.get("ranks", [loss["value"]])]
        if best is None or rank < best[0]:
            facts = {name: fact for name, fact in found.facts.items() if name != "again"}
            best = rank, {**facts, "hierarchies": numbers}, found
    if best is None:
        assert failure is not None
        raise failure
    return replace(best[2], facts=_as_sure(best[1], sure))


def _choices(work: Work, alternatives: Mapping[str, Sequence[HierarchySpec]]) -> Iterator[tuple[dict[str, int], Work]]:
    known = work.schema.attributes
    own = {name: known[name].hierarchy if name in known else None for name in alternatives}
    for chosen in product(*(range(len(some) + 1) for some in alternatives.values())):
        numbers = dict(zip(alternatives, chosen, strict=True))
        changed = dict(known)
        for name, number in numbers.items():
            spec = own[name] if number == 0 else alternatives[name][number - 1]
            changed[name] = known.get(name, Attribute()).model_copy(update={"hierarchy": spec})
        coming = {name: one for name, one in work.schema.coming.items() if not numbers.get(name)}
        yield numbers, replace(work, schema=replace(work.schema, attributes=changed, coming=coming))


def _as_sure(facts: dict[str, Any], sure: bool) -> dict[str, Any]:
    """The best of all choices is certain only where each was."""
    if sure or "loss" not in facts:
        return facts
    return {**facts, "loss": {**facts["loss"], "exact": False, "bound": None}}


# Allowed levels -------------------------------------------------------------------------------------------------------
# Levels from which a search may choose: a least and a greatest one, forbidden labels, values to preserve.


T = TypeVar("T")


@dataclass(frozen=True)
class AllowedLevels:
    """For each column the levels that may be chosen, ascending. A search counts its levels among these."""

    levels: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(hierarchies: Mapping[str, Hierarchy], limits: Mapping[str, LevelLimits], step: str) -> AllowedLevels:
        """The levels that keep all limits. Raises `PromiseError` where none is left."""
        if not limits.keys() <= hierarchies.keys():
            unknown = [name for name in limits if name not in hierarchies]
            raise UsageError(Message("error_technique.limits_of", step=step, names=list(hierarchies), unknown=unknown))
        every = {name: tuple(range(hierarchy.height + 1)) for name, hierarchy in hierarchies.items()}
        for name, limit in limits.items():
            every[name] = _allowed(hierarchies[name], limit, step)
        return AllowedLevels(tuple(every.values()))

    def restrict(self, problem: Problem) -> Problem:
        """The same problem with nothing but these levels: hierarchies, losses, and what classes earn."""
        pairs, loss, earnings = zip(problem.hierarchies, self.levels, strict=True), problem.loss, problem.earnings
        if isinstance(loss, CellLoss):
            loss = replace(loss, costs=self._picked(loss.costs))
        elif not isinstance(loss, ClassLoss):
            loss = replace(loss, leaves=self._picked(loss.leaves))
        return replace(
            problem,
            hierarchies=tuple(hierarchy.picking(levels) for hierarchy, levels in pairs),
            loss=loss,
            earnings=None if earnings is None else replace(earnings, leaves=self._picked(earnings.leaves)),
        )

    def _picked(self, parts: Sequence[Sequence[T]]) -> tuple[tuple[T, ...], ...]:
        """Of what each column has for each level, that of these levels."""
        return tuple(tuple(part[i] for i in levels) for part, levels in zip(parts, self.levels, strict=True))

    def absolute(self, levels: Levels) -> Levels:
        """The levels of the hierarchies that a search means."""
        return tuple(allowed[i] for allowed, i in zip(self.levels, levels, strict=True))

    def given(self, levels: Mapping[str, int], names: list[str], step: str) -> Levels:
        """What a search calls the levels that were given, one for each column."""
        if set(levels) != set(names):
            raise UsageError(Message("error_technique.levels_of", step=step, names=names))
        return self.relative(tuple(levels[name] for name in names), names, step)

    def relative(self, levels: Levels, names: list[str], step: str) -> Levels:
        """What a search calls these levels. Raises `UsageError` where one is not allowed."""
        both = list(zip(names, self.levels, levels, strict=True))
        if odd := [name for name, allowed, level in both if level not in allowed]:
            raise UsageError(Message("error_technique.level_not_allowed", step=step, names=odd))
        return tuple(allowed.index(level) for _, allowed, level in both)

    def found(self, found: SearchResult) -> SearchResult:
        """What a search found, in the levels of the hierarchies."""
        return replace(
            found,
            best=None if found.best is None else self._node(found.best),
            top=self._node(found.top),
            minimal=None if found.minimal is None else [self.absolute(one) for one in found.minimal],
            runners_up=[self._node(one) for one in found.runners_up],
        )

    def recoded(self, recoded: Recoding) -> Recoding:
        """What local recoding chose, in the levels of the hierarchies."""
        return replace(recoded, nodes=[self.absolute(node) for node in recoded.nodes])

    def _node(self, node: Node) -> Node:
        return replace(node, levels=self.absolute(node.levels))


def _allowed(hierarchy: Hierarchy, limits: LevelLimits, step: str) -> tuple[int, ...]:
    every = range(hierarchy.height + 1)
    last = hierarchy.height if limits.greatest is None else limits.greatest
    if last > hierarchy.height or limits.least > hierarchy.height:
        told = {"column": hierarchy.name, "height": hierarchy.height, "level": max(limits.least, last)}
        raise UsageError(Message("error_technique.level_too_high", step=step, **told))
    forbidden, required = _texts(limits.forbidden), _texts(limits.required)
    kept = [
        level
        for level in every
        if limits.least <= level <= last
        and not _holds(hierarchy, level, forbidden)
        and _keeps(hierarchy, level, required)
    ]
    if not kept:
        raise PromiseError(Message("error_technique.no_level_allowed", step=step, column=hierarchy.name))
    return tuple(kept)


def _texts(values: list[Any]) -> pa.Array:
    return pa.array([str(value) for value in values], pa.string())


def _holds(hierarchy: Hierarchy, level: int, labels: pa.Array) -> bool:
    """Whether a level has one of these labels."""
    return bool(len(labels)) and bool((matched(hierarchy.levels[level].labels, labels) >= 0).any())


def _keeps(hierarchy: Hierarchy, level: int, values: pa.Array) -> bool:
    """Whether each of these values is still told on a level: it has a label of its own, which no other value has."""
    if not len(values):
        return True
    place = matched(values, hierarchy.levels[0].labels)
    if (place < 0).any():
        lacking = [Raw(values[int(i)].as_py()) for i in np.flatnonzero(place < 0)]
        raise ColumnError(Message("error_technique.required_lacking", column=hierarchy.name, values=lacking))
    table = hierarchy.levels[level].table
    under = np.bincount(table, minlength=len(hierarchy.levels[level].labels))
    own = matched(values, hierarchy.levels[level].labels)
    return bool((under[table[place]] == 1).all() and (own == table[place]).all())


# Level limits ---------------------------------------------------------------------------------------------------------


class LevelLimits(Parameters):
    """What limits the levels of one column."""

    least: int = Field(default=0, ge=0)
    """The finest level that may be chosen."""
    greatest: int | None = Field(default=None, ge=0)
    """The coarsest level that may be chosen; without it: the hierarchy's last."""
    forbidden: list[Value] = Field(default_factory=list)
    """Values and labels that must not stand in the release."""
    required: list[Value] = Field(default_factory=list)
    """Values that must stay as they are wherever a record is not suppressed."""
