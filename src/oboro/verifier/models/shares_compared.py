"""Models that compare the share of each sensitive value in a class with its share in the whole released table.

With p the share in the table and q the share in a class:

- *δ-disclosure privacy* (Brickell, Shmatikov 2008): |log₂(q / p)| < δ for every value;
- *β-likeness* (Cao, Karras 2012): (q − p) / p ≤ β wherever q > p (basic), or ≤ min(β, −ln p) (enhanced).

Shares are whole numbers over whole numbers, compared after one division; δ is compared as 2^δ, so no logarithm decides. Where
it is known whose the records are, both shares are of people.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from oboro.table.distinct_people import people_per_group
from oboro.table.groups import Groups
from oboro.table.value_counts import Tally
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import SensitiveModel

__all__ = ["BetaLikeness", "DeltaDisclosure"]


class _SharesCompared(SensitiveModel):
    """What both models look at."""

    def _shares(self, classes: Classes) -> tuple[Tally, np.ndarray, np.ndarray]:
        """The values of the classes, and for each q and p times one number: how often it is there, how often everywhere."""
        tally = self._tally(classes)
        size = np.repeat(classes.sizes, tally.distinct)
        return tally, tally.counts * _everybody(classes), tally.whole[tally.codes] * size


def _everybody(classes: Classes) -> int:
    """How many records, or people, the table has."""
    if classes.person is None:
        return classes.data.rows
    return int(people_per_group(Groups.of([], classes.data.rows), classes.person).sum())


class DeltaDisclosure(_SharesCompared):
    """Every sensitive value is less than 2^δ times as frequent in a class as in the table, and the other way round.

    A value that a class lacks is infinitely rarer there, and breaks it (Brickell, Shmatikov 2008). ARX asks only for the values
    that a class holds: `values="held"`.
    """

    message: ClassVar[str] = "model.delta_disclosure"
    parameters: ClassVar[tuple[str, ...]] = ("delta", "sensitive")

    delta: float = Field(gt=0, le=500)
    """the logarithms (base 2) of the two frequencies must differ by less than this"""
    values: Literal["all", "held"] = "all"
    """all: a value that a class lacks breaks it; held: only values that the class holds are asked"""

    @property
    def joinable(self) -> bool:
        """Whether two classes that keep it keep it when they are joined; a value that one of them lacks may get too rare."""
        return self.values == "all"

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        every = super().describe()
        return every if self.values == "all" else Message("model.delta_disclosure_of_held", **every.values)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally, here, everywhere = self._shares(classes)
        ratio = tally.each(np.maximum, np.maximum(here / everywhere, everywhere / here))
        if self.values == "all":
            ratio = np.where(tally.distinct < np.count_nonzero(tally.whole), np.inf, ratio)
        ratio = np.where(classes.sizes == 0, np.inf, ratio)  # nobody is known to be there
        return np.log2(ratio), ratio >= 2.0**self.delta


class BetaLikeness(_SharesCompared):
    """No sensitive value gains more than β times its share in the table by being in a class (Cao, Karras 2012)."""

    message: ClassVar[str] = "model.enhanced_likeness"
    parameters: ClassVar[tuple[str, ...]] = ("beta", "sensitive")

    beta: float = Field(gt=0, allow_inf_nan=False)
    """how much the share of a value may grow, as a part of it"""
    kind: Literal["enhanced", "basic"] = "enhanced"
    """enhanced: a share p grows by min(β, −ln p) at most; basic: by β"""

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        return Message(f"model.{self.kind}_likeness", **super().describe().values)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        """Scored by the greatest gain; of the enhanced model, where its own limit is lower, by β times gain / limit."""
        tally, here, everywhere = self._shares(classes)
        gain = np.maximum(here - everywhere, 0) / everywhere
        limit = np.full(gain.size, self.beta)
        if self.kind == "enhanced":
            limit = np.minimum(limit, -np.log(tally.whole[tally.codes] / _everybody(classes)))
        broken = tally.each(np.maximum, gain > limit).astype(bool) | (classes.sizes == 0)
        scaled = np.where(limit < self.beta, self.beta * gain / np.maximum(limit, 1e-300), gain)
        return np.where(classes.sizes == 0, np.inf, tally.each(np.maximum, scaled)), broken
