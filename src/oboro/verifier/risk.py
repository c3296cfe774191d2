"""Judges of re-identification risk, and estimates of the uniques of the population from a sample.

Estimated from the sizes of the classes of the sample and the part `fraction` of the population that the sample is:

- **Zayatz** (1991): the sizes of the population's classes are distributed as those of the sample; which of them would
  show up once in a sample is then Bayes' rule.
- **Pitman** (Hoshino 2001): the sizes follow the Ewens–Pitman law, whose two parameters are fitted by maximum
  likelihood.
- **Slide negative binomial** (Chen & Keller-McNulty 1998): one less than the size of a class follows the negative binomial law,
  fitted by the numbers of single records and of pairs; the number of the population's classes is Shlosser's estimate (Haas &
  Stokes 1998).
- **Data intrusion simulation** (Skinner & Elliot 2002): the probability that a unique match with a person of the
  population is right, from the numbers of single records and of pairs alone.

Dankar et al. (2012) compared such estimators on real tables: Pitman's is the best for samples of at most a tenth of the
population; above, Zayatz's, or the slide negative binomial where that is lower. That third one is left out here (as ARX
allows too), so above a tenth the number taken is never below that of the full rule.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, computed_field

from oboro._lazy import bring
from oboro.errors import UsageError
from oboro.privacy.risk import least_in_sample
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.identity import Model
from oboro.verifier.judges import judges
from oboro.verifier.verdict import Verdict

__all__ = [
    "AverageRisk",
    "CellEstimator",
    "EstimatedKMap",
    "MaximumRisk",
    "PopulationUniqueness",
    "RecordsAtRisk",
    "SampleUniqueness",
    "Uniqueness",
    "UniquenessEstimator",
    "pitman",
    "slide_negative_binomial",
    "unique_share",
    "uniqueness",
    "zayatz",
]


# Limits of re-identification risk -------------------------------------------------------------------------------------
# Limits on the prosecutor risk: re-identification by an attacker who knows that the person is in the table.
#
# A record in a class of f records is re-identified with probability 1 / f (El Emam 2013, chapter 16). Where the person
# of each record is known, f counts people, and a person has a risk in every class that holds a record of theirs. The
# suppressed records are a class like any other.


@judges("maximum_risk")
class MaximumRisk(Model):
    """No record has a higher re-identification risk; the highest is 1 / the size of the smallest class."""

    message: ClassVar[str] = "model.maximum_risk"
    parameters: ClassVar[tuple[str, ...]] = ("risk",)

    risk: float = Field(gt=0, le=1)
    """the greatest re-identification risk allowed for any record"""

    @property
    def limits_classes(self) -> bool:
        """A class of one has the risk 1."""
        return self.risk < 1

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        risks = 1 / np.maximum(classes.sizes, 1)
        return risks, risks > self.risk


@judges("average_risk")
class AverageRisk(Model):
    """The mean re-identification risk, which is classes / records, is no higher: over all records, and over those that are kept.

    Over all records the suppressed are one class, which is large and makes the mean small. The literature and other tools leave
    them out (El Emam 2013), so both means must keep the limit, and the verdict gives both. Of people it is the mean over the
    pairs of a person and a class that holds a record of theirs: classes / pairs.
    This is of the table, not of one class: where it is broken, it is broken in every class.
    """

    message: ClassVar[str] = "model.average_risk"
    parameters: ClassVar[tuple[str, ...]] = ("risk",)

    risk: float = Field(gt=0, le=1)
    """the greatest mean re-identification risk allowed"""

    @property
    def limits_classes(self) -> bool:
        """Where all stand alone, the mean is 1."""
        return self.risk < 1

    def judge(self, classes: Classes) -> Verdict:
        """Judge the table; where records are suppressed, the verdict gives both means."""
        found = super().judge(classes)
        if found.note is not None or classes.exempt or not classes.suppressed.any():
            return found
        over_all, kept = self._means(classes)
        note = Message("verdict.mean_risks", all=over_all, kept=kept, required=self.risk)
        return replace(found, note=note)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        risks = np.full(classes.sizes.size, max(self._means(classes)))
        return risks, risks > self.risk

    @staticmethod
    def _means(classes: Classes) -> tuple[float, float]:
        """Over all records, and over those that are not suppressed (0 where there are none)."""
        kept = classes.sizes[~classes.suppressed]
        if classes.exempt:
            return 0.0, kept.size / max(1, int(kept.sum()))
        return classes.sizes.size / max(1, int(classes.sizes.sum())), kept.size / max(1, int(kept.sum()))


# Estimates of population uniqueness -----------------------------------------------------------------------------------


SMALL_SAMPLE = 0.1


@dataclass(frozen=True)
class Uniqueness:
    """Estimates for one table; None where an estimator has no answer."""

    fraction: float
    population: int
    sample_uniques: int
    zayatz: float | None  # people who are unique in the population
    pitman: float | None
    decision: float | None  # the one that Dankar's rule takes, without the slide negative binomial
    decided_by: str
    intrusion: float | None  # probability that a unique match is right

    @computed_field  # type: ignore[prop-decorator]
    @property
    def share(self) -> float | None:
        """The part of the population that is unique, by the number taken."""
        return None if self.decision is None or not self.population else self.decision / self.population

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {**asdict(self), "share": self.share}


def uniqueness(sizes: np.ndarray, fraction: float) -> Uniqueness:
    """Estimate from the sizes of the classes of a sample that is the part `fraction` of its population.

    With `fraction` 1 the table is its own population and nothing is estimated.
    """
    if not 0 < fraction <= 1:
        raise UsageError(Message("error_measure.fraction", fraction=fraction))
    sizes = np.asarray(sizes)
    records, alone = int(sizes.sum()), int((sizes == 1).sum())
    people = round(records / fraction)
    if fraction == 1 or not alone:
        value = float(alone)
        return Uniqueness(fraction, people, alone, value, value, value, "counted", 1.0 if alone else None)
    first, second = zayatz(sizes, fraction), pitman(sizes, fraction)
    small = fraction <= SMALL_SAMPLE and second is not None
    pairs = int((sizes == 2).sum())
    right = fraction * alone / (fraction * alone + 2 * (1 - fraction) * pairs)
    return Uniqueness(
        fraction, people, alone, first, second, second if small else first, "pitman" if small else "zayatz", right
    )


def zayatz(sizes: np.ndarray, fraction: float) -> float:
    """Uniques of the population after Zayatz (1991).

    P(population 1 | sample 1) = share₁ · h(1) / Σ share_j · h(j), where share_j is the part of the sample's classes that
    have j records and h(j) the probability that exactly one of j people is drawn (hypergeometric). O(classes).
    """
    records = int(sizes.sum())
    people = round(records / fraction)
    size, count = np.unique(sizes, return_counts=True)
    fits = people - size >= records - 1
    size, share = size[fits], count[fits] / sizes.size
    once = np.exp(np.log(size) + _choose(people - size, records - 1) - _choose(people, records))
    alone = float(share[size == 1].sum())
    probability = alone * (records / people) / float((share * once).sum())
    return float((sizes == 1).sum()) * probability / fraction


def _log_gamma(of: Any) -> Any:
    """Scipy is loaded by who asks for an estimate, not by every job."""
    return bring("scipy.special").gammaln(of)


def _choose(above: np.ndarray | int, below: int) -> np.ndarray:
    above = np.asarray(above, dtype=np.float64)
    return np.asarray(_log_gamma(above + 1) - _log_gamma(below + 1) - _log_gamma(above - below + 1))


def pitman(sizes: np.ndarray, fraction: float) -> float | None:
    """Uniques of the population after Hoshino (2001): E = N · Γ(θ+α+N−1) Γ(θ+1) / (Γ(θ+α) Γ(θ+N)); None without a fit."""
    people = round(int(sizes.sum()) / fraction)
    fitted = _fit(sizes)
    if fitted is None:
        return None
    theta, alpha = fitted
    log = np.log(people) + _log_gamma(theta + alpha + people - 1) + _log_gamma(theta + 1)
    return float(np.exp(log - _log_gamma(theta + alpha) - _log_gamma(theta + people)))


def likelihood(theta: float, alpha: float, sizes: np.ndarray) -> float:
    """The logarithm of the Ewens–Pitman probability of classes of these sizes, up to a constant."""
    classes, records = sizes.size, int(sizes.sum())
    size, count = np.unique(sizes, return_counts=True)
    tables = (classes - 1) * np.log(alpha) + _log_gamma(theta / alpha + classes) - _log_gamma(theta / alpha + 1)
    seats = _log_gamma(theta + records) - _log_gamma(theta + 1)
    return float(tables - seats + (count * (_log_gamma(size - alpha) - _log_gamma(1 - alpha))).sum())


def _fit(sizes: np.ndarray) -> tuple[float, float] | None:
    """θ > 0 and 0 < α < 1 of greatest likelihood."""

    def parameters(x: np.ndarray) -> tuple[float, float]:
        return float(np.exp(np.clip(x[0], -20, 30))), float(1 / (1 + np.exp(-np.clip(x[1], -15, 15))))

    start = np.array([np.log(max(1.0, sizes.size / 2)), 0.0])
    found = bring("scipy.optimize").minimize(
        lambda x: -likelihood(*parameters(x), sizes), start, method="Nelder-Mead", options={"maxiter": 400}
    )
    theta, alpha = parameters(found.x)
    # At an edge of the allowed parameters the law does not describe the table.
    inside = found.success and 1e-4 < alpha < 1 - 1e-4 and 1e-6 < theta < 1e12
    return (theta, alpha) if inside else None


def slide_negative_binomial(sizes: np.ndarray, fraction: float) -> float | None:
    """Uniques of the population after Chen & Keller-McNulty (1998): K · β^α; None without a fit.

    α > 0 and 0 < β < 1 are such that the law, sampled, expects as many classes of one and of two records as there are.
    """
    alone, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    if not alone or not pairs or fraction >= 1:
        return None
    classes = shlosser(sizes, fraction)
    least_squares = bring("scipy.optimize").least_squares

    def miss(x: np.ndarray) -> np.ndarray:
        expected = expected_small(float(np.exp(x[0])), float(1 / (1 + np.exp(-x[1]))), fraction)
        return np.array([classes * expected[0] / alone - 1, classes * expected[1] / pairs - 1])

    box = ([-12.0, -14.0], [12.0, 14.0])
    found = [least_squares(miss, start, bounds=box) for start in ([0.0, 0.0], [-3.0, -3.0], [3.0, 3.0])]
    best = min(found, key=lambda one: float(one.cost))
    if best.cost > 1e-12:
        return None
    alpha, beta = float(np.exp(best.x[0])), float(1 / (1 + np.exp(-best.x[1])))
    return float(classes * beta**alpha)


def expected_small(alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """Return the probabilities that a class of the population has one, and two records in a sample.

    With d = (1 − f)(1 − β): f (β / (1 − d))^α (1 + α d / (1 − d)), and f² α β^α (1 − β) (2 − (1 − α) d) / (2 (1 − d)^(α + 2)).
    """
    gone = (1 - fraction) * (1 - beta)
    left = 1 - gone
    once = fraction * (beta / left) ** alpha * (1 + alpha * gone / left)
    both = alpha * fraction**2 * (beta / left) ** alpha * (1 - beta) * (2 - (1 - alpha) * gone) / (2 * left**2)
    return once, both


def shlosser(sizes: np.ndarray, fraction: float) -> float:
    """Estimate the number of classes of the population (Shlosser; Haas & Stokes 1998, equation 2.7, corrected).

    >>> round(shlosser(np.array([1, 1, 2]), 0.5), 4)
    4.4957
    """
    size, count = np.unique(sizes, return_counts=True)
    f, square = fraction, fraction**2
    missed = float(((1 - f) ** size * count).sum())
    seen_once = float((size * f * (1 - f) ** (size - 1) * count).sum())
    first = float((size * square * (1 - square) ** (size - 1) * count).sum())
    second = float(((1 - f) ** size * ((1 + f) ** size - 1) * count).sum())
    return float(sizes.size + count[size == 1].sum() * first / second * (missed / seen_once) ** 2)


# Limits of records at risk and of uniqueness --------------------------------------------------------------------------
# Limits on the records at risk, in the table or, as estimated, in the population of which it is a sample.
#
# - *records at risk* (El Emam 2013): at most a share of the records has a re-identification risk above a limit;
# - *sample uniqueness*: at most a share of the records is unique;
# - *population uniqueness* (Dankar et al. 2012): at most a share of the population is unique, as estimated from the
#   classes;
# - *estimated k-map* (El Emam, Dankar 2008): every class is larger than one that matches only k people would mostly be.
#
# The suppressed records are a class like any other; where people are counted, sizes are numbers of people.


UniquenessEstimator = Literal["dankar", "zayatz", "pitman", "snb"]
CellEstimator = Literal["poisson", "zero_truncated"]


@judges("records_at_risk")
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


@judges("sample_uniqueness")
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


@judges("population_uniqueness")
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

    def broken_by(self, sizes: np.ndarray) -> bool:
        """Whether too large a share of the population is estimated to be unique."""
        return unique_share(sizes, self.fraction, self.estimator) > self.share

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


@judges("estimated_k_map")
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
