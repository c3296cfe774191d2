"""k-concealment as a model that a release is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.matching import correspondence, relation
from oboro.verifier.models.class_models import EMPTY, Model
from oboro.verifier.verdict import Verdict

__all__ = ["KConcealment"]


class KConcealment(Model):
    """Every released record matches k people or more, and every person k released records or more (Tassa et al. 2012).

    Unlike other models this one looks at the originals too: what a record can correspond to depends on who there is.
    """

    message: ClassVar[str] = "model.k_concealment"
    parameters: ClassVar[tuple[str, ...]] = ("k",)
    most: ClassVar[bool] = False

    k: int = Field(ge=1)
    """every released record must match at least this many people, and every person this many records"""
    originals: Dataset = Field(repr=False)
    """what an attacker may know: everybody's original quasi-identifiers"""
    hierarchies: Mapping[str, Hierarchy] = Field(default_factory=dict, repr=False)
    """for columns that were released by the labels of a hierarchy"""

    def judge(self, classes: Classes) -> Verdict:
        """Match originals and released records in all possible ways. A quasi-identifier that is gone counts no more."""
        released = classes.data
        if released.rows == 0:
            return self.vacuous(EMPTY)
        quasi = [name for name in self.originals if name in released]
        found = correspondence(relation(self.originals, released, quasi, self.hierarchies))
        if not found.possible:
            note = Message("verdict.no_correspondence")
            return Verdict(False, self.describe(), self.k, None, released.rows, released.rows, released.rows, (), note)
        # Whoever may have been left out is hidden by that too, so people count only where everybody was released.
        everybody = found.records if released.rows == self.originals.rows else found.records[:0]
        scores = np.concatenate([found.candidates, everybody])
        verdict = Verdict.of(
            self.describe(), self.k, scores, scores < self.k, np.ones(scores.size, dtype=np.int64), self.most
        )
        return replace(
            verdict, worst_sizes=tuple(np.sort(scores)[: len(verdict.worst_sizes)].tolist()), note=_note(verdict)
        )


def _note(verdict: Verdict) -> Message:
    if verdict.holds:
        return Message("verdict.candidates", least=verdict.achieved)
    return Message(
        "verdict.too_few_candidates",
        broken=verdict.broken_groups,
        of=verdict.groups,
        required=verdict.required,
        worst=verdict.achieved,
    )
