"""The steps of a starter recipe: what is done with the roles that were guessed, so that the release is safe as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oboro.recipe.roles.guess_roles import Roles
from oboro.table.dataset import Dataset
from oboro.table.schema import Role
from oboro.text import Message

__all__ = ["StarterStep", "smallest_class", "starter_steps"]

FEW_QUASI = 5  # up to so many, one level for all keeps much, and labels are the same everywhere
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


def starter_steps(roles: Roles, data: Dataset, k: int, means: list[str]) -> list[StarterStep]:
    """What is done, in order; `means` are the sensitive numbers that single somebody out."""
    steps = []
    if identifiers := roles.named(Role.IDENTIFIER):
        steps.append(StarterStep("drop_columns", {"attributes": identifiers}, (Message("starter.pseudonyms"),)))
    if means:
        parameters = {"attributes": means, "k": k, "method": "hansen", "missing": "join"}
        steps.append(StarterStep("partition_univariate", parameters, (Message("starter.means", k=k),)))
    if quasi := roles.named(Role.QUASI):
        steps.append(_classes(roles, data, k, len(quasi)))
    return [*steps, StarterStep("shuffle", {}, (Message("starter.shuffle"),))]


def _classes(roles: Roles, data: Dataset, k: int, count: int) -> StarterStep:
    """Full-domain generalization for few quasi-identifiers; for many, each group has ranges of its own."""
    diverse = {name: 2 for name in roles.named(Role.SENSITIVE) if _can_be_diverse(data, name)}
    demands: dict[str, Any] = {"l_diversity": diverse} if diverse else {}
    if count <= FEW_QUASI:
        said = Message("starter.classes", k=k, share=0.02)
        return StarterStep("k_anonymize", {"k": k, "suppress": 0.02, **demands}, (said,))
    said = Message("starter.groups", k=k, columns=count)
    return StarterStep("local_recode", {"k": k, **demands}, (said, Message("starter.one_level")))


def _can_be_diverse(data: Dataset, name: str) -> bool:
    counts = data[name].counts
    return bool(len(counts) > 1 and counts.max() <= MOST_ALIKE * data.rows)
