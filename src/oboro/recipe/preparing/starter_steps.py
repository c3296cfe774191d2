"""The steps of a starter recipe: what is done with the roles that were guessed, so that the release is safe as it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from oboro.recipe.roles.column_guess import ColumnGuess
from oboro.recipe.roles.guess_roles import Roles
from oboro.table.dataset import Column, Dataset
from oboro.table.schema import Role
from oboro.text import Message

__all__ = ["StarterStep", "smallest_class", "starter_steps"]

ROOM = 2  # times k people for each combination of labels: then one level for all keeps much, with the same labels everywhere
MANY = 15  # quasi-identifiers: beyond, groups of 5 span most values of each
MOST_ALIKE = 0.9  # a secret that more people share can hardly be made diverse


@dataclass(frozen=True)
class StarterStep:
    """One step as a recipe writes it, and what is said above it."""

    step: str
    parameters: dict[str, Any]
    comments: tuple[Message, ...]

    @property
    def content(self) -> dict[str, Any]:
        """As in a recipe."""
        return {self.step: self.parameters}


def smallest_class(people: int) -> int:
    """k by the size of the table: 5, in small tables a tenth of the people, and never fewer than 2.

    >>> [smallest_class(people) for people in (10, 30, 50_000)]
    [2, 3, 5]
    """
    return min(5, max(2, people // 10))


def starter_steps(roles: Roles, data: Dataset, people: int) -> list[StarterStep]:
    """What is done, in order; k by the number of people."""
    k = smallest_class(people)
    steps = []
    if identifiers := roles.named(Role.IDENTIFIER):
        steps.append(StarterStep("drop_columns", {"attributes": identifiers}, (Message("starter.pseudonyms"),)))
    if secrets := roles.exact_secrets:
        parameters = {"attributes": secrets, "k": k, "method": "hansen", "missing": "join"}
        steps.append(StarterStep("partition_univariate", parameters, (Message("starter.means", k=k),)))
    if roles.named(Role.QUASI):
        steps.append(_classes(roles, data, k, people))
    return [*steps, StarterStep("shuffle", {}, (Message("starter.shuffle"),))]


def _classes(roles: Roles, data: Dataset, k: int, people: int) -> StarterStep:
    """One level for all where the classes have room for it; else each group has ranges of its own, which keeps far more."""
    secrets = roles.named(Role.SENSITIVE)
    diverse = {name: 2 for name in secrets if _can_be_diverse(data, name, roles.person)}
    demands: dict[str, Any] = {"l_diversity": diverse} if diverse else {}
    alike = [name for name in secrets if name not in diverse]
    warning = (Message("starter.alike", secrets=alike, share=MOST_ALIKE),) if alike else ()
    if _combinations(roles, data) * ROOM * k <= people:
        said = Message("starter.classes", k=k, share=0.02)
        return StarterStep("k_anonymize", {"k": k, "suppress": 0.02, **demands}, (said, *warning))
    comments = Message("starter.groups", k=k), _fewer(len(roles.named(Role.QUASI))), *warning
    return StarterStep("local_recode", {"k": k, **demands}, comments)


def _fewer(quasi: int) -> Message:
    """What fewer quasi-identifiers would give; of very many, hardly anybody knows all."""
    return Message("starter.one_level") if quasi <= MANY else Message("starter.very_many", columns=quasi)


def _combinations(roles: Roles, data: Dataset) -> int:
    """How many combinations of labels there could be, were each quasi-identifier generalized by one level."""
    return prod(_labels(roles.columns[name], data[name]) for name in roles.named(Role.QUASI))


def _labels(one: ColumnGuess, column: Column) -> int:
    if one.hierarchy is None:
        return len(column.values)
    levels = one.hierarchy.build(one.name, column, Path(".")).levels
    return len(levels[min(1, len(levels) - 1)].labels)


def _can_be_diverse(data: Dataset, name: str, person: str | None) -> bool:
    """Whether groups can differ: not where nearly everybody has one of the values, in any of their rows."""
    counts, everybody = data[name].counts, data.rows
    if person is not None:
        owners, values = data[person], data[name]
        pairs = np.unique(owners.codes.astype(np.int64) * len(values.values) + values.codes)
        counts, everybody = np.bincount(pairs % len(values.values)), int(np.count_nonzero(owners.counts))
    return bool(len(counts) > 1 and counts.max() <= MOST_ALIKE * everybody)
