"""How many of those who stand alone in a sample also stand alone in the population it was drawn from?

Estimated from the sizes of the classes of the sample and the part `fraction` of the population that the sample is:

- **Zayatz** (1991): the sizes of the population's classes are distributed as those of the sample; which of them would
  show up once in a sample is then Bayes' rule.
- **Pitman** (Hoshino 2001): the sizes follow the Ewens–Pitman law, whose two parameters are fitted by maximum
  likelihood.
- **Slide negative binomial** (Chen & Keller-McNulty 1998): one less than the size of a class follows the negative binomial law,
  fitted by the numbers of single records and of pairs; the number of the population's classes is Shlosser's estimate (Haas &
  Stokes 1998).
- **Data intrusion simulation** (Skinner & Elliot 2002): the probability that a unique match with somebody of the
  population is right, from the numbers of single records and of pairs alone.

Dankar et al. (2012) compared such estimators on real tables: Pitman's is the best for samples of at most a tenth of the
population; above, Zayatz's, or the slide negative binomial where that is lower. That third one is left out here (as ARX
allows too), so above a tenth the number taken is never below that of the full rule.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from pydantic import computed_field

from oboro.errors import UsageError
from oboro.system.extras import bring
from oboro.text import Message

__all__ = ["Uniqueness", "pitman", "slide_negative_binomial", "uniqueness", "zayatz"]

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
    """How likely a class of the population shows up with one, and with two records in a sample.

    With d = (1 − f)(1 − β): f (β / (1 − d))^α (1 + α d / (1 − d)), and f² α β^α (1 − β) (2 − (1 − α) d) / (2 (1 − d)^(α + 2)).
    """
    gone = (1 - fraction) * (1 - beta)
    left = 1 - gone
    once = fraction * (beta / left) ** alpha * (1 + alpha * gone / left)
    both = alpha * fraction**2 * (beta / left) ** alpha * (1 - beta) * (2 - (1 - alpha) * gone) / (2 * left**2)
    return once, both


def shlosser(sizes: np.ndarray, fraction: float) -> float:
    """How many classes the population has, after Shlosser (Haas & Stokes 1998, equation 2.7 with their correction).

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
