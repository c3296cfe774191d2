"""Judge of differential privacy by sampling, as far as a released table can show it: the minimum class size.

A release cannot show that the sample was drawn at random. From the sampling rate anybody can compute how large a class
must be (Li, Qardaji and Su 2012) and check it. The size is computed here in another way than where it was decided: by
adding up the terms of the binomial distribution.
"""

from __future__ import annotations

from functools import cache
from math import ceil, exp, floor, fsum, lgamma, log, log1p
from typing import ClassVar

import numpy as np
from pydantic import Field

from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.identity import Model
from oboro.verifier.judges import judges
from oboro.verifier.verdict import Verdict

__all__ = ["SampledPrivacy"]


@judges("differential_privacy")
class SampledPrivacy(Model):
    """(ε, δ)-differential privacy by sampling: every released combination of all columns occurs often enough."""

    message: ClassVar[str] = "model.differential_privacy"
    parameters: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "sampling")
    most: ClassVar[bool] = False
    every_column: ClassVar[bool] = True

    epsilon: float = Field(gt=0)
    """by which factor, e^ε, one record more or less may change what is likely to be released"""
    delta: float = Field(gt=0, lt=1)
    """with which probability more than that may be told"""
    sampling: float = Field(gt=0, lt=1)
    """which part of the records was drawn"""
    spent: float = 0.0
    """the part of epsilon that something before the sampling took: choosing the levels"""

    @property
    def required(self) -> float:
        """Required number of records in every class."""
        return _least(self.epsilon - self.spent, self.delta, self.sampling)

    def judge(self, classes: Classes) -> Verdict:
        """Judge the table; a column that is not part of the classes breaks everything."""
        found = super().judge(classes)
        if beside := [name for name in classes.data if name not in classes.quasi]:
            note = Message("verdict.beside_private", columns=beside)
            return Verdict(False, self.describe(), self.required, None, found.groups, found.groups, 0, (), note)
        return found

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        return classes.sizes, classes.sizes < self.required


@cache
def _least(epsilon: float, delta: float, sampling: float) -> int:
    """The least k such that in no class of n ≥ ⌈k / γ − 1⌉ more than γ · n are drawn with a probability above δ."""
    gamma = 1 - (1 - sampling) * exp(-epsilon)
    rate = gamma * log(gamma / sampling) - gamma + sampling
    from_above = range(ceil(-log(delta) / rate), 0, -1)
    worst = next((n for n in from_above if _above(n, gamma, sampling) > delta), 0)
    k = max(1, floor(worst * gamma) - 1)
    while max(1, ceil(k / gamma - 1)) <= worst:
        k += 1
    return k


def _above(n: int, gamma: float, sampling: float) -> float:
    """P(Bin(n, β) > γ · n), term by term; they fall from the first on, for γ is above β."""
    terms: list[float] = []
    for j in range(floor(gamma * n) + 1, n + 1):
        ways = lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1)
        terms.append(exp(ways + j * log(sampling) + (n - j) * log1p(-sampling)))
        if terms[-1] < terms[0] * 1e-18:
            break
    return fsum(terms)
