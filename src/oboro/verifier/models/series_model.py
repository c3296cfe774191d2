"""The model of a series: whoever came, stayed or left between an earlier release and this one did so among many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import EMPTY, Model
from oboro.verifier.series.earlier_release import EarlierRelease
from oboro.verifier.series.row_changes import Wanted
from oboro.verifier.verdict import Verdict

__all__ = ["SeriesAnonymity"]


class SeriesAnonymity(Model):
    """With each earlier release, the rows of a class that came, stayed or left are none, or at least k with l secrets each."""

    message: ClassVar[str] = "model.series_anonymity"
    parameters: ClassVar[tuple[str, ...]] = ("k", "releases")
    most: ClassVar[bool] = False
    every_column: ClassVar[bool] = True

    k: int = Field(ge=1)
    """how many people at least came, stayed or left together"""
    releases: int = Field(ge=1)
    """how many releases there were before"""
    diverse: Mapping[str, int] = Field(default_factory=dict)
    """of each secret, how many different values each such group has at least"""
    earlier: tuple[EarlierRelease, ...] = Field(repr=False)
    """the releases before"""

    def judge(self, classes: Classes) -> Verdict:
        """Compare with every earlier release."""
        wanted = Wanted(self.k, self.diverse)
        looks = [look for one in self.earlier for look in one.changes(classes.data, classes.groups.labels)]
        found = [look.judged(wanted) for look in looks]
        sizes, broken = (np.concatenate([part[side] for part in found]) for side in (0, 1))
        if not sizes.size:
            return self.vacuous(EMPTY)
        return Verdict.of(self.describe(), self.required, sizes, broken, sizes, self.most)
