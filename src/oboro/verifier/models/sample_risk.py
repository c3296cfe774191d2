"""Limits on how many records are at risk, in the table or, as estimated, in the population that it is a sample of.

- *records at risk* (El Emam 2013): at most a share of the records has a re-identification risk above a limit;
- *sample uniqueness*: at most a share of the records stands alone;
- *population uniqueness* (Dankar et al. 2012): at most a share of the population is unique, as estimated from the classes;
- *estimated k-map* (El Emam, Dankar 2008): every class is larger than one that matches only k people would mostly be.

The suppressed records are a class like any other; where people are counted, sizes are numbers of people.
"""

from __future__ import annotations

from math import exp, lgamma, log
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import Model
from oboro.verifier.models.uniqueness_estimates import pitman, slide_negative_binomial, uniqueness, zayatz

__all__ = [
    "CellEstimator",
    "EstimatedKMap",
    "PopulationUniqueness",
    "RecordsAtRisk",
    "SampleUniqueness",
    "UniquenessEstimator",
    "least_in_sample",
    "unique_share",
]

UniquenessEstimator = Literal["dankar", "zayatz", "pitman", "snb"]
CellEstimator = Literal["poisson", "zero_truncated"]


class RecordsAtRisk(Model):
    """At most a share of the records has a re-identification risk above a limit: 1 / the size of their class."""

    message: ClassVar[str] = "model.records_at_risk"
    parameters: ClassVar[tuple[str, ...]] = ("share", "risk")

    share: float = Field(ge=0, le=1)
    """the greatest share of the records that may be at a higher risk"""
    risk: float = Field(gt=0, le=1)
    """the risk above which a record counts"""

    @property
    def limits_classes(self) -> bool:
        """All may be at the highest risk where the share or the risk is 1."""
        return self.share < 1 and self.risk < 1

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        return _at_risk(classes, 1 / np.maximum(classes.sizes, 1) > self.risk, self.share)


class SampleUniqueness(Model):
    """At most a share of the records stands alone in its class."""

    message: ClassVar[str] = "model.sample_uniqueness"
    parameters: ClassVar[tuple[str, ...]] = ("share",)

    share: float = Field(ge=0, le=1)
    """the greatest share of the records that may be unique"""

    @property
    def limits_classes(self) -> bool:
        """All may stand alone where the share is 1."""
        return self.share < 1

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        return _at_risk(classes, classes.sizes <= 1, self.share)


def _at_risk(classes: Classes, risky: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The share of all records that is at risk, for every class the same; broken are the classes that are at risk."""
    share = int(classes.sizes[risky].sum()) / max(1, int(classes.sizes.sum()))
    return np.full(classes.sizes.size, share), risky & (share > most)


class PopulationUniqueness(Model):
    """At most a share of the population is unique, as estimated from the released classes; of the table, not of one class."""

    message: ClassVar[str] = "model.population_uniqueness"
    parameters: ClassVar[tuple[str, ...]] = ("share", "fraction", "estimator")

    share: float = Field(ge=0, le=1)
    """the greatest share of the population that may be unique"""
    fraction: float = Field(gt=0, le=1)
    """which part of the population the table is"""
    estimator: UniquenessEstimator = "dankar"
    """dankar (the rule that chooses one), zayatz, pitman or snb"""

    @property
    def limits_classes(self) -> bool:
        """All may be unique where the share is 1."""
        return self.share < 1

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        found = unique_share(classes.sizes, self.fraction, self.estimator)
        return np.full(classes.sizes.size, found), np.full(classes.sizes.size, found > self.share)


def unique_share(sizes: np.ndarray, fraction: float, estimator: UniquenessEstimator) -> float:
    """The estimated share of the population that is unique; infinite where there are unique records and no estimate.

    >>> unique_share(np.array([2, 3]), 0.1, "pitman")
    0.0
    """
    sizes = sizes[sizes > 0]
    alone = int((sizes == 1).sum())
    people = round(int(sizes.sum()) / fraction)
    if not alone or fraction == 1:
        return alone / max(1, people)
    if estimator == "dankar":
        number = uniqueness(sizes, fraction).decision
    else:
        number = {"zayatz": zayatz, "pitman": pitman, "snb": slide_negative_binomial}[estimator](sizes, fraction)
    return np.inf if number is None or not np.isfinite(number) else number / people


class EstimatedKMap(Model):
    """Every class has so many records that it would rarely have them if fewer than k people of the population matched it."""

    message: ClassVar[str] = "model.estimated_k_map"
    parameters: ClassVar[tuple[str, ...]] = ("k", "fraction", "significance")
    most: ClassVar[bool] = False

    k: int = Field(ge=1)
    """every class must match at least this many people"""
    fraction: float = Field(gt=0, le=1)
    """which part of the population the table is"""
    significance: float = Field(default=0.05, gt=0, lt=1)
    """how likely a class that matches only k people may be taken for larger"""
    estimator: CellEstimator = "poisson"
    """how many of k people a sample has: poisson, or zero_truncated where it has at least one"""

    @property
    def limits_classes(self) -> bool:
        """Every class matches one person."""
        return self.k > 1

    @property
    def required(self) -> float:
        """The number of records that a class must have."""
        return least_in_sample(self.k, self.fraction, self.significance, self.estimator)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        return classes.sizes, classes.sizes < self.required


def least_in_sample(k: int, fraction: float, significance: float, estimator: CellEstimator) -> int:
    """How many records a class of the sample needs, so that one which matches k people has as many with probability `significance`
    at most; never more than k, because a class of k records matches k people.

    >>> least_in_sample(10, 0.1, 0.05, "poisson"), least_in_sample(50, 0.02, 0.1, "zero_truncated")
    (4, 4)
    """
    mean = k * fraction
    shown = 1.0 if estimator == "poisson" else -np.expm1(-mean)
    below, least = exp(-mean) if estimator == "poisson" else 0.0, 1
    while least < k and 1 - below / shown > significance:
        below += exp(least * log(mean) - mean - lgamma(least + 1))
        least += 1
    return min(k, least)
