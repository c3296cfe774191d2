"""Limits on the prosecutor risk: re-identification by an attacker who knows that the person is in the table.

A record in a class of f records is re-identified with probability 1 / f (El Emam 2013, chapter 16). Where it is known whose the
records are, f counts people, and a person has a risk in every class that holds a record of theirs. The suppressed records are a
class like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import Model
from oboro.verifier.verdict import Verdict

__all__ = ["AverageRisk", "MaximumRisk"]


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
