"""What may be asked of a sample: how many records are at risk, whom each class stands for, and who may be in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from oboro.data.parameters import Parameters
from oboro.text import Message

__all__ = ["AtRisk", "EstimatedMap", "OfPopulation", "Presence", "UniqueInPopulation"]


class AtRisk(Parameters):
    """Which share of the records may be at a higher risk."""

    risk: float = Field(gt=0, le=1)
    """The re-identification risk above which a record counts: 1 / the size of its class."""
    share: float = Field(ge=0, le=1)
    """The greatest share of the records that may be above it."""


class OfPopulation(Parameters):
    """Which part of a population the table is: `fraction`, or `people`, the number of people in it."""

    fraction: float | None = Field(default=None, gt=0, le=1)
    """Which part of the population the table is."""
    people: int | None = Field(default=None, ge=1)
    """How many people the population has, instead of `fraction`."""

    @model_validator(mode="after")
    def _one_of_them(self) -> OfPopulation:
        if (self.fraction is None) == (self.people is None):
            raise ValueError(Message("error_technique.fraction_or_people"))
        return self

    def part(self, sample: int) -> float:
        """Which part of the population a sample of so many is."""
        return self.fraction if self.fraction is not None else min(1.0, max(sample, 1) / (self.people or 1))


class UniqueInPopulation(OfPopulation):
    """Which share of the population may be unique, as estimated."""

    share: float = Field(ge=0, le=1)
    """The greatest share of the population that may be unique."""
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"
    """How it is estimated: zayatz, pitman, snb (slide negative binomial), or dankar, the rule that chooses one."""

    def too_many(self, sample: int) -> Callable[[np.ndarray], bool]:
        """Whether classes of some sizes have too many who are unique."""
        from oboro.verifier.risk import unique_share

        part = self.part(sample)
        return lambda sizes: unique_share(sizes, part, self.estimator) > self.share


class EstimatedMap(OfPopulation):
    """How many people of the population each class must match, as estimated."""

    k: int = Field(ge=1)
    """Every class must match at least this many people."""
    significance: float = Field(default=0.05, gt=0, lt=1)
    """How likely a class that matches only k people may be taken for larger."""
    estimator: Literal["poisson", "zero_truncated"] = "poisson"
    """How many of k people a sample has: poisson, or zero_truncated (at least one of them)."""


class Presence(Parameters):
    """Which share of the people in the population that match a class may be in the table."""

    min: float = Field(default=0.0, ge=0, le=1)
    """The least share: above 0, nobody can be sure that a person is not in the table."""
    max: float = Field(default=1.0, gt=0, le=1)
    """The greatest share: below 1, nobody can be sure that a person is in the table."""

    @model_validator(mode="after")
    def _fits(self) -> Presence:
        if self.min > self.max:
            raise ValueError(Message("error_technique.min_max"))
        return self
