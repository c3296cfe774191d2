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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oboro.decide.class_rules import Rule

__all__ = ["FewClasses", "GroupDemand", "LinearDemand", "PeopleDemand", "PopulationDemand", "RuleDemand"]


@dataclass(frozen=True, eq=False)
class GroupDemand:
    """A demand on the suppressed group, whose counts add up as classes join."""

    base: np.ndarray
    """The counts of those who must go."""
    each: np.ndarray
    """The counts of each class that may join: a row each."""

    def broken(self, held: np.ndarray) -> bool:
        """Whether a group with these counts breaks the demand."""
        raise NotImplementedError

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """How much a group that breaks the demand lacks, and at most how much each of some classes adds.

        Every set of classes that mends the group adds at least as much as is lacking. Where nothing else is known, some class is
        needed.
        """
        return 1.0, np.ones(classes.size)


@dataclass(frozen=True, eq=False)
class LinearDemand(GroupDemand):
    """A weighted sum of the counts must reach a number."""

    weights: np.ndarray
    least: float

    def broken(self, held: np.ndarray) -> bool:
        """Whether the sum is too small."""
        return bool(held @ self.weights < self.least)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """What the sum lacks, and what each class adds to it."""
        gap = float(self.least - held @ self.weights)
        return (gap, self.each[classes] @ self.weights) if gap > 0 else super().lacking(held, classes)


@dataclass(frozen=True, eq=False)
class RuleDemand(GroupDemand):
    """A rule about the sensitive values of the group."""

    rule: Rule

    def broken(self, held: np.ndarray) -> bool:
        """Whether these values break the rule; nobody breaks none."""
        return bool(held.any()) and self.rule.breaks(held)

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """By a half-space that has every group that keeps the rule on its other side."""
        gap, gains = self.rule.lacking(held, self.each[classes])
        return (gap, gains) if gap > 0 else super().lacking(held, classes)


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
        """Whether these pairs are too few people, or break the rule; nobody breaks none."""
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

    def broken(self, held: np.ndarray) -> bool:
        """Whether the limit is broken."""
        return self.judge(int(held[0]), int(held[1]))


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
        """Whether too many classes stay."""
        joined, gone = int(held[0]), int(held[1])
        stay, left = self.classes - joined, self.records - gone
        if self.most is not None and stay + (gone > 0) > self.most:
            return True
        return self.risk is not None and left > 0 and stay / left > self.risk

    def lacking(self, held: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """How many classes are too many: all, or of those who stay."""
        joined, gone = int(held[0]), int(held[1])
        stay, left = self.classes - joined, self.records - gone
        if self.most is not None and stay + (gone > 0) > self.most:
            return float(stay + 1 - self.most), np.ones(classes.size)
        assert self.risk is not None
        gap = stay - self.risk * left
        return (gap, 1.0 - self.risk * self.each[classes, 1]) if gap > 0 else super().lacking(held, classes)
