"""What each demand asks of the suppressed group, and at most how much a class adds to what the group lacks.

A demand sees the group as a vector of counts (`base`), and a class as another (`each`); whoever joins adds up. A group that keeps
a demand lies, for every demand here, in a convex cone. So where a group does not, a half-space separates it from all that do: a
weight for each count whose weighted sum is negative for the group, and not negative for any group that keeps the demand. What is
lacking is that sum; a class adds its own. This holds for

- size, k-map, δ-presence, alpha, the number of classes and the mean risk: the demand is such a sum itself;
- t-closeness: the distance is the greatest of finitely many such sums (one for each choice of signs);
- recursive (c, l)-diversity: c · (all without any l − 1 values) − (any one value) must be positive, for every choice of these;
- entropy l-diversity: the sum of h · log(p / l) over a distribution's own shares p is a tangent of a concave function, so it is at
  least that function at every other group.

Distinct l-diversity lacks values, and a class adds at most as many as it has and the group has not. Where people are counted,
somebody may be in both, and only this is known: a class is needed that has a person or a value that the group has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oboro.decide.class_rules import Rule

__all__ = ["GroupDemand", "LinearDemand", "RuleDemand"]


@dataclass(frozen=True, eq=False)
class GroupDemand:
    """A demand on the suppressed group, whose counts add up as classes join."""

    base: np.ndarray
    """The counts of those who must go."""
    each: np.ndarray
    """The counts of each class that may join: a row each."""

    summed: ClassVar[bool] = False
    """Whether weighted sums tell much of what is lacking, whoever joins."""

    def broken(self, held: np.ndarray) -> bool:
        """Whether a group with these counts breaks the demand."""
        raise NotImplementedError

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """How much a group that breaks the demand lacks, and at most how much each of some classes adds.

        Every set of classes that mends the group adds at least as much as is lacking. Where nothing else is known, some class is
        needed.
        """
        return 1.0, np.ones(classes.size)

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """How much those who must go lack, and what each class adds: every set that mends them adds up so much.

        The sum is one that counts like `held`, perhaps in parts, come short of, if any is known.
        """
        return None


@dataclass(frozen=True, eq=False)
class LinearDemand(GroupDemand):
    """A weighted sum of the counts must reach a number."""

    weights: np.ndarray
    least: float

    summed: ClassVar[bool] = True

    def broken(self, held: np.ndarray) -> bool:
        """Whether the sum is too small."""
        return bool(held @ self.weights < self.least)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """What the sum lacks, and what each class adds to it."""
        gap = float(self.least - held @ self.weights)
        return (gap, self.each[classes] @ self.weights) if gap > 0 else super().lacking(held, classes)

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The sum itself."""
        return float(self.least - self.base @ self.weights), self.each @ self.weights


@dataclass(frozen=True, eq=False)
class RuleDemand(GroupDemand):
    """A rule about the sensitive values of the group."""

    rule: Rule

    summed: ClassVar[bool] = True

    def broken(self, held: np.ndarray) -> bool:
        """Whether these values break the rule; nobody breaks none."""
        return bool(held.any()) and self.rule.breaks(held)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """By a half-space that has every group that keeps the rule on its other side."""
        gap, gains = self.rule.lacking(held, self.each[classes])
        return (gap, gains) if gap > 0 else super().lacking(held, classes)

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """That of a half-space which does not depend on who joins."""
        return self.rule.lacking_at(held, self.base, self.each)
