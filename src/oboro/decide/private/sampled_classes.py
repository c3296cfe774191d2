"""How large a class must be so that sampling and suppression together are (ε, δ)-differentially private.

Li, Qardaji and Su, "On sampling, anonymization, and differential privacy" (ASIACCS 2012), as Bild, Kuhn and Prasser use it in
"SafePub" (PoPETs 2018). Everybody is in the sample with probability β; values become coarser in a way that does not depend on the
table; classes of fewer than k sampled records are left out. With γ = 1 − (1 − β) · e^−ε that is (ε, δ)-differentially private for

    β ≤ 1 − e^−ε        and        δ(k) = max over n ≥ ⌈k / γ − 1⌉ of P(Bin(n, β) > γ · n).

docs/guarantees/differential-privacy.md has the proof. The tails fall below c(n) = exp(−n · (γ · ln(γ / β) − γ + β)), which
decreases in n: so whoever looks from the first n on until c(n) ≤ δ has looked at all.
"""

from __future__ import annotations

from math import ceil, exp, expm1, floor, log

import numpy as np

from oboro.system.extras import bring

__all__ = ["largest_sampling", "least_class_size", "limit_of_counts", "risk_of_sample"]

MARGIN = 1e-9  # relative: far above what rounding does to a tail of the binomial distribution, far below what matters


def largest_sampling(epsilon: float) -> float:
    """The largest part of the table that a sample may be: 1 − e^−ε, rounded down.

    >>> largest_sampling(1.0)
    0.632120558828...
    """
    return -expm1(-epsilon) * (1 - 1e-15)


def limit_of_counts(epsilon: float, sampling: float) -> float:
    """γ: from which share of a class's members on their number in the sample tells too much."""
    return 1 - (1 - sampling) * exp(-epsilon)


def risk_of_sample(k: int, epsilon: float, sampling: float) -> float:
    """δ(k): with which probability a class of at least k tells more than ε allows, at most.

    >>> round(risk_of_sample(10, 1.0, 0.5), 6), round(risk_of_sample(50, 1.0, 0.5), 9)
    (0.019287, 2.29e-07)
    """
    first = _first_members(k, limit_of_counts(epsilon, sampling))
    found = float(
        _tails(np.array([first]), epsilon, sampling)[0]
    )  # the rest is of no interest once it is below this one
    rest = _tails(np.arange(first, _last_members(found, epsilon, sampling) + 1), epsilon, sampling)
    return float(rest.max(initial=found))


def least_class_size(epsilon: float, delta: float, sampling: float) -> int:
    """The least k for which δ(k) ≤ δ. O(ln(1 / δ) / rate) tails, where the rate falls with ε².

    >>> least_class_size(1.0, 1e-6, 0.5)
    46
    """
    tails = _tails(np.arange(1, _last_members(delta, epsilon, sampling) + 1), epsilon, sampling)
    too_large = np.flatnonzero(tails * (1 + MARGIN) > delta)
    last = int(too_large[-1]) + 1 if too_large.size else 0  # so many members tell too much, more of them never
    gamma = limit_of_counts(epsilon, sampling)
    k = max(1, floor((last + 1) * gamma))
    while _first_members(k, gamma) <= last:
        k += 1
    return k


def _first_members(k: int, gamma: float) -> int:
    """The fewest members that a class has to have for its number in the sample to tell too much when k of them are in it."""
    return max(1, ceil(k / gamma - 1))


def _last_members(delta: float, epsilon: float, sampling: float) -> int:
    """Classes with more members stay below δ, whatever k is."""
    gamma = limit_of_counts(epsilon, sampling)
    rate = gamma * log(gamma / sampling) - gamma + sampling
    return ceil(-log(delta) / rate)


def _tails(members: np.ndarray, epsilon: float, sampling: float) -> np.ndarray:
    """With which probability more than γ · n of n members are in the sample."""
    gamma = limit_of_counts(epsilon, sampling)
    few = np.floor(members * gamma * (1 - 1e-14))  # a count of exactly γ · n that rounding moved counts too
    return np.asarray(bring("scipy.special").bdtrc(few, members, sampling))
