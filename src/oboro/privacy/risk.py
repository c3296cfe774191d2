"""Privacy models of re-identification risk: of single records, on average, at risk, and unique in a sample or a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, expm1, lgamma, log
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from oboro.data.parameters import Parameters
from oboro.errors import PromiseError
from oboro.privacy.base import Control, Keyword, PrivacyModel, Scope
from oboro.text import Message

__all__ = [
    "AtRisk",
    "AverageRisk",
    "EstimatedMap",
    "MaximumRisk",
    "OfPopulation",
    "SampleUniqueness",
    "UniqueInPopulation",
    "least_in_sample",
    "least_size",
    "most_classes",
]

OF_TABLE = "it limits a mean or a share of all records, and a single record may have any risk"
FRACTION = Keyword("fraction", ("fraction",))
ESTIMATOR = Keyword("estimator", ("estimator",), "str | None")


class MaximumRisk(PrivacyModel):
    """The greatest re-identification risk of any record, 1 / the size of its class (prosecutor risk)."""

    key: ClassVar[str] = "maximum_risk"
    scope: ClassVar[Scope] = "class"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.maximum_risk": {}}
    limit: ClassVar[str] = "risk"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"risk": 0.4},)
    scalar: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (Keyword("maximum_risk", ("risk",)),)
    control: ClassVar[Control | None] = Control("risk", "risk", 1, "percent")

    risk: float = Field(gt=0, le=1)
    """The greatest re-identification risk of any record: 1 / the size of its class."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the greatest risk."""
        return Message("technique.demand.maximum_risk", risk=self.risk)

    def least_class(self, sample: int) -> int:
        """Return the smallest size of a class that keeps the risk."""
        return least_size(self.risk)

    @property
    def linked(self) -> float | None:
        """Return the greatest risk."""
        return self.risk if self.risk < 1 else None


class AverageRisk(PrivacyModel):
    """The greatest mean re-identification risk: number of classes / number of records."""

    key: ClassVar[str] = "average_risk"
    scope: ClassVar[Scope] = "table"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.average_risk": {}}
    limit: ClassVar[str] = "risk"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"risk": 0.3},)
    scalar: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (Keyword("average_risk", ("risk",)),)
    control: ClassVar[Control | None] = Control("risk", "risk", 1, "percent")
    unbounded: ClassVar[str] = OF_TABLE

    risk: float = Field(gt=0, le=1)
    """The greatest mean of the re-identification risks."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the greatest mean risk."""
        return Message("technique.demand.average_risk", risk=self.risk)


class AtRisk(PrivacyModel):
    """Which share of the records may be at a higher risk."""

    key: ClassVar[str] = "records_at_risk"
    scope: ClassVar[Scope] = "table"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.records_at_risk": {}}
    limit: ClassVar[str] = "share"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"risk": 0.4, "share": 0.3},)
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword(
            "records_at_risk",
            ("risk", "share"),
            "tuple[float, float] | None",
            example="0.2,0.05",
            wrong="error_verifier.records_at_risk",
        ),
    )
    control: ClassVar[Control | None] = Control(
        "risk", "few", 1, "percent", part="share", also={"risk": 0.2}, amount=("risk", "above_risk"), last=True
    )
    unbounded: ClassVar[str] = OF_TABLE

    risk: float = Field(gt=0, le=1)
    """The re-identification risk above which a record counts: 1 / the size of its class."""
    share: float = Field(ge=0, le=1)
    """The greatest share of the records that may be above it."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the greatest share of records at risk."""
        return Message("technique.demand.records_at_risk", risk=self.risk, share=self.share)

    @property
    def at_risk(self) -> tuple[int, float] | None:
        """The smallest size of a class that keeps the risk, and the share."""
        return least_size(self.risk), self.share


class SampleUniqueness(PrivacyModel):
    """The greatest share of the records that may be unique in their class."""

    key: ClassVar[str] = "sample_uniqueness"
    scope: ClassVar[Scope] = "table"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.sample_uniqueness": {}}
    limit: ClassVar[str] = "share"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"share": 0.2},)
    scalar: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (Keyword("sample_uniqueness", ("share",)),)
    control: ClassVar[Control | None] = Control("risk", "few", 1, "percent")
    unbounded: ClassVar[str] = OF_TABLE

    share: float = Field(ge=0, le=1)
    """The greatest share of the records that may be unique."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the greatest share of unique records."""
        return Message("technique.demand.sample_uniqueness", share=self.share)

    @property
    def at_risk(self) -> tuple[int, float] | None:
        """Two, for a record alone in its class, and the share."""
        return 2, self.share


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
        """Return the part of the population that a sample of so many is."""
        return self.fraction if self.fraction is not None else min(1.0, max(sample, 1) / (self.people or 1))


class UniqueInPopulation(OfPopulation, PrivacyModel):
    """Which share of the population may be unique, as estimated."""

    key: ClassVar[str] = "population_uniqueness"
    scope: ClassVar[Scope] = "table"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.population_uniqueness": {}}
    limit: ClassVar[str] = "share"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"share": 0.1, "fraction": 1.0}, {"share": 0.05, "people": 8})
    estimated: ClassVar[bool] = True
    keywords: ClassVar[Sequence[Keyword]] = (Keyword("population_uniqueness", ("share",)), FRACTION, ESTIMATOR)
    control: ClassVar[Control | None] = Control(
        "population", "few", 1, "percent", part="share", also={"share": 0.05}, last=True
    )
    unbounded: ClassVar[str] = OF_TABLE

    share: float = Field(ge=0, le=1)
    """The greatest share of the population that may be unique."""
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"
    """How it is estimated: zayatz, pitman, snb (slide negative binomial), or dankar, the rule that chooses one."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the greatest estimated share of unique people."""
        return Message("technique.demand.population_uniqueness", **self.model_dump())

    def judged(self, sample: int) -> dict[str, Any]:
        """Return the limit with the part of the population that the table is."""
        return {"share": self.share, "fraction": self.part(sample), "estimator": self.estimator}


class EstimatedMap(OfPopulation, PrivacyModel):
    """How many people of the population each class must match, as estimated."""

    key: ClassVar[str] = "estimated_k_map"
    scope: ClassVar[Scope] = "class"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.estimated_k_map": {}}
    limit: ClassVar[str] = "k"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"k": 3, "fraction": 0.5},
        {"k": 4, "people": 24, "significance": 0.1},
    )
    keywords: ClassVar[Sequence[Keyword]] = (
        Keyword("estimated_k_map", ("k",), "int | None"),
        FRACTION,
        ESTIMATOR,
        Keyword("significance", ("significance",), "float", 0.05),
    )
    control: ClassVar[Control | None] = Control("population", "k", 1, "count", part="k")
    unbounded: ClassVar[str] = "it estimates people beyond the table, and attacks here know that the person is in it"

    k: int = Field(ge=1)
    """Every class must match at least this many people."""
    significance: float = Field(default=0.05, gt=0, lt=1)
    """How likely a class that matches only k people may be taken for larger."""
    estimator: Literal["poisson", "zero_truncated"] = "poisson"
    """How many of k people a sample has: poisson, or zero_truncated (at least one of them)."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the people whom each class matches."""
        return Message("technique.demand.estimated_k_map", **self.model_dump())

    def judged(self, sample: int) -> dict[str, Any]:
        """Return k with the part of the population that the table is."""
        fraction = self.part(sample)
        return {"k": self.k, "fraction": fraction, "significance": self.significance, "estimator": self.estimator}

    def least_class(self, sample: int) -> int:
        """Return the number of records that a class needs."""
        return least_in_sample(**self.judged(sample))


# Class sizes that satisfy a risk limit --------------------------------------------------------------------------------


def least_size(risk: float) -> int:
    """Return the smallest class whose risk, by the verifier's own division, is not above the limit.

    >>> least_size(0.2), least_size(0.3)
    (5, 4)
    """
    size = max(1, int(1 / risk) - 1)
    while 1 / size > risk:
        size += 1
    return size


def most_classes(risk: float, rows: int, step: str) -> int:
    """Return the largest number of classes that keeps an average risk, with the verifier's own division."""
    most = int(risk * rows) + 1
    while most > 0 and most / rows > risk:
        most -= 1
    if most == 0:
        least = int(1 / risk)
        raise PromiseError(Message("error_technique.average_risk", step=step, risk=risk, least=least, rows=rows))
    return most


def least_in_sample(k: int, fraction: float, significance: float, estimator: str) -> int:
    """Return the number of records that a class of the sample needs to match k people of the population.

    A class that matches only k people has as many with probability `significance` at most. It is never more than k,
    because a class of k records matches k people.

    >>> least_in_sample(10, 0.1, 0.05, "poisson"), least_in_sample(50, 0.02, 0.1, "zero_truncated")
    (4, 4)
    """
    mean = k * fraction
    shown = 1.0 if estimator == "poisson" else -expm1(-mean)
    below, least = exp(-mean) if estimator == "poisson" else 0.0, 1
    while least < k and 1 - below / shown > significance:
        below += exp(least * log(mean) - mean - lgamma(least + 1))
        least += 1
    return min(k, least)
