"""Limits on the risk that somebody is recognised by who knows that they are in the table (El Emam 2013, chapter 16).

A record in a class of f records is found with probability 1 / f. The suppressed records are a class like any other.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models import Model

__all__ = ["AverageRisk", "MaximumRisk"]


class MaximumRisk(Model):
    """Nobody is recognised with a higher probability: 1 / the size of the smallest class."""

    risk: float = Field(gt=0, le=1)
    """the greatest probability allowed"""

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        return Message("model.maximum_risk", risk=self.risk)

    @property
    def required(self) -> float:
        """The greatest probability."""
        return self.risk

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        risks = 1 / classes.sizes
        return risks, risks > self.risk


class AverageRisk(Model):
    """Over all records the mean probability to be recognised, which is classes / records, is no higher.

    This is of the table, not of one class: where it is broken, it is broken in every class.
    """

    risk: float = Field(gt=0, le=1)
    """the greatest mean probability allowed"""

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        return Message("model.average_risk", risk=self.risk)

    @property
    def required(self) -> float:
        """The greatest mean probability."""
        return self.risk

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        risks = np.full(classes.sizes.size, classes.sizes.size / classes.data.rows)
        return risks, risks > self.risk
