"""Demands on the suppressed group that few recipes make: of people, of a population, of how many classes there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oboro.decide.class_rules import Rule
from oboro.decide.lattice.suppression.group_demands import GroupDemand, LinearDemand

__all__ = ["FewClasses", "PeopleDemand", "PopulationDemand"]


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

    summed: ClassVar[bool] = False

    def broken(self, held: np.ndarray) -> bool:
        """Whether the limit is broken."""
        return self.judge(int(held[0]), int(held[1]))

    def valid_sum(self, held: np.ndarray) -> tuple[float, np.ndarray] | None:
        """None: where nobody is suppressed, nothing is asked."""
        return None


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
