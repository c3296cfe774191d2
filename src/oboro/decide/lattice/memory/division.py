"""How the nodes of a problem divide its records, as keys of what is remembered of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from oboro.decide.lattice.memory.known_nodes import KnownNodes
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Problem

__all__ = ["Division", "digest_of"]


def digest_of(*arrays: np.ndarray) -> bytes:
    """What stands for the content of arrays."""
    out = blake2b(digest_size=16)
    for array in arrays:
        out.update(f"{array.dtype}{array.shape}".encode())
        out.update(np.ascontiguousarray(array).data)
    return out.digest()


@dataclass(frozen=True, eq=False)
class Division:
    """How the nodes of a problem divide its records, as keys of what is remembered."""

    problem: Problem
    digest: Callable[[np.ndarray], bytes]
    space: KnownNodes = field(default_factory=KnownNodes)
    """What is known of the nodes of this very lattice."""

    @cached_property
    def parts(self) -> tuple[tuple[tuple[bytes, bytes] | None, ...], ...]:
        """For each attribute and level: whose values are put under which labels; None where there is only one label."""
        digest = self.digest
        return tuple(
            tuple((digest(column.codes), digest(one.table)) if len(one.labels) > 1 else None for one in tree.levels)
            for column, tree in zip(self.problem.columns, self.problem.hierarchies, strict=True)
        )

    @cached_property
    def asked(self) -> tuple[Any, ...]:
        """What is asked of classes beyond k."""
        problem, digest = self.problem, self.digest
        rules = [
            (rule.kind, rule.count, rule.level, rule.of_people, *map(digest, (rule.codes, rule.whole, rule.tree)))
            for rule in problem.rules
        ]
        crowd = problem.population
        people = crowd and (tuple(map(digest, crowd.codes)), crowd.least, crowd.low, crowd.high)
        return (tuple(rules), people, None if problem.person is None else self.digest(problem.person.codes))

    @cached_property
    def tuples(self) -> tuple[Any, ...]:
        """What distinct tuples depend on: the values, the secrets and the people."""
        columns = tuple(self.digest(column.codes) for column in self.problem.columns)
        secrets = tuple(self.digest(codes) for codes in self.problem.secrets)
        return ("tuples", columns, secrets, self.asked[1:])

    @cached_property
    def slices(self) -> tuple[Any, ...]:
        """What slices of rows depend on: values and hierarchies."""
        return ("slices", self.parts)

    @cached_property
    def cost(self) -> tuple[Any, ...]:
        """What losses are made from."""
        loss = self.problem.loss
        figures = [getattr(loss, one.name) for one in fields(loss)]
        odd = tuple(one for one in figures if isinstance(one, bool | int | float | str))
        if not isinstance(loss, CellLoss):
            return odd
        paid = np.array([[one.base, one.extra.size] for costs in loss.costs for one in costs])
        added = [part for costs in loss.costs for one in costs for part in (one.step, one.extra)]
        return (odd, digest_of(loss.weights, paid, *added))

    def of(self, levels: Levels) -> tuple[Any, ...]:
        """The key of a look: the same for nodes that divide the records alike."""
        held = frozenset(part for a, level in enumerate(levels) if (part := self.parts[a][level]) is not None)
        return (held, self.asked)

    def question(self, levels: Levels) -> tuple[Any, ...]:
        """The key of a node that was checked: nothing but the limit is missing in it."""
        return (levels, *self._questioned)

    @cached_property
    def _questioned(self) -> tuple[Any, ...]:
        problem = self.problem
        odd = (problem.most_classes, problem.whole_people, problem.relaxed, *_further(problem))
        return (problem.k, self.cost, self.asked, odd)


def _further(problem: Problem) -> list[Any]:
    """Every other plain parameter of a problem, whatever it will be."""
    held = (getattr(problem, one.name) for one in fields(problem))
    return [value for value in held if isinstance(value, bool | float | str)]
