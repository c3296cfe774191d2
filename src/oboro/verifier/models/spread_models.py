"""Further models of how the values of a sensitive column are spread: entropy, recursive diversity, closeness, greatest share.

Only entropies need logarithms; a class within 1e-9 of the limit is decided again with 50 digits (`entropy_at_least`), so that
rounding neither breaks a kept promise nor hides a broken one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.spelling.folding import as_folded, reads_as_missing
from oboro.table.spelling.named_values import Value, absent, shown, watched_missing, watched_values
from oboro.text import Message
from oboro.verifier import kernels
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import SensitiveModel
from oboro.verifier.models.closeness import equal_distances, hierarchical_distances, ordered_distances
from oboro.verifier.models.entropy import entropies, entropy_at_least
from oboro.verifier.verdict import Verdict

__all__ = ["AlphaK", "EntropyLDiversity", "RecursiveLDiversity", "TCloseness"]


class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive values of every class is at least log l (Machanavajjhala et al. 2007).

    Scored by exp(entropy): how many equally frequent values would be as uncertain.
    """

    message: ClassVar[str] = "model.entropy_l_diversity"
    parameters: ClassVar[tuple[str, ...]] = ("l", "sensitive")
    most: ClassVar[bool] = False

    l: float = Field(ge=1, allow_inf_nan=False)  # noqa: E741
    """entropy at least log l; need not be a whole number"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally = self._tally(classes)
        entropy = entropies(tally)
        uniform = tally.most_frequent * tally.distinct == tally.totals
        effective = np.where(uniform, tally.distinct, np.exp(entropy))  # exact where it can be
        certain = self._certain(classes, tally)
        broken = np.where(certain, (tally.distinct == 0) | (self.l > 1), ~entropy_at_least(self.l, entropy, tally))
        return np.where(certain, np.minimum(tally.distinct, 1), effective), broken


class RecursiveLDiversity(SensitiveModel):
    """In every class r₁ < c · (r_l + … + r_m), where r₁ ≥ r₂ ≥ … count its m sensitive values (Machanavajjhala et al.
    2007).

    Scored by r₁ / (r_l + … + r_m), which must stay below c; a class with fewer than l values has no such number and
    is broken.
    """

    message: ClassVar[str] = "model.recursive_l_diversity"
    parameters: ClassVar[tuple[str, ...]] = ("c", "l", "sensitive")

    c: float = Field(gt=0, allow_inf_nan=False)
    """the most frequent value must occur less than c times as often as the rarer ones together"""
    l: int = Field(ge=1)  # noqa: E741
    """the rank from which on values count as rarer"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally = self._tally(classes)
        head = np.empty(len(classes.sizes), np.int64)
        kernels.largest(tally.counts, tally.starts, self.l - 1, head)
        rest = tally.totals - head
        if self.l > 1:
            rest[self._certain(classes, tally)] = 0
        ratio = np.full(rest.size, np.inf)
        np.divide(tally.most_frequent, rest, out=ratio, where=rest > 0)
        return ratio, ~(ratio < self.c)


class TCloseness(SensitiveModel):
    """The sensitive values of every class are spread as in the whole table, up to a distance t (Li et al. 2007).

    The distance is the earth mover's: `equal` (every two values are 1 apart: total variation), `ordered` (ranks of
    the sorted values, neighbours 1 / (m − 1) apart) or `hierarchical` (height of the lowest common ancestor over the
    hierarchy's height).
    """

    message: ClassVar[str] = "model.t_closeness"
    parameters: ClassVar[tuple[str, ...]] = ("t", "sensitive", "distance")

    t: float = Field(ge=0, le=1)
    """the greatest distance allowed"""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """how far two sensitive values are apart"""
    hierarchy: HierarchySpec | SkipJsonSchema[Hierarchy] | None = None
    """for the hierarchical distance: a hierarchy of the sensitive column"""
    order: tuple[str, ...] | None = None
    """for the ordered distance: all values in their order; without it numbers, dates and text sort as such"""

    @model_validator(mode="after")
    def _fits(self) -> TCloseness:
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            raise ValueError(Message("error_verifier.distance_hierarchy"))
        if self.order is not None and self.distance != "ordered":
            raise ValueError(Message("error_verifier.distance_order"))
        return self

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        distances = self._distances(classes, self._column(classes))
        return distances, distances > self.t

    def _distances(self, classes: Classes, column: Column) -> np.ndarray:
        if self.distance == "ordered":
            return ordered_distances(classes, column, self.sensitive, self.order)
        if self.hierarchy is not None:
            return hierarchical_distances(classes, column, self.sensitive, self.hierarchy)
        return equal_distances(classes, column)


class AlphaK(SensitiveModel):
    """In every class each sensitive value, or one given value, is that of at most the part α of the records or people (Wong
    et al. 2006).

    This is the α of (α, k)-anonymity; `KAnonymity` beside it is the k.
    """

    message: ClassVar[str] = "model.alpha_k_anonymity"
    parameters: ClassVar[tuple[str, ...]] = ("alpha", "sensitive")

    alpha: float = Field(gt=0, le=1)
    """the greatest relative frequency of a sensitive value within a class"""
    value: Value | None = None
    """the one value that counts, compared by what it means in the column; without it every value counts, missing too"""

    @property
    def limits_classes(self) -> bool:
        """In a class of one a value has the share 1."""
        return self.alpha < 1 and self.value is None

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        every = super().describe()
        return every if self.value is None else Message("model.alpha_k_anonymity_of_one", **every.values)

    def judge(self, classes: Classes) -> Verdict:
        """Judge classes; where no record has the one value that counts, nothing was limited, and the verdict says so."""
        found = super().judge(classes)
        if (
            self.value is None
            or found.note is not None
            or watched_missing(self._column(classes), self._wanted(classes))
            or not absent(self._column(classes), self.sensitive, [self._wanted(classes)])
        ):
            return found
        return replace(found, note=Message("verdict.value_absent", column=self.sensitive, value=shown(self.value)))

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        share = self._most_frequent(classes) / np.maximum(classes.sizes, 1)
        share[classes.sizes == 0] = np.inf  # nobody is known to be there
        return share, share > self.alpha

    def _most_frequent(self, classes: Classes) -> np.ndarray:
        if self.value is None:
            return self._tally(classes).most_frequent
        column = self._column(classes)
        return classes.holding(watched_values(column, self.sensitive, self._wanted(classes))[column.codes])

    def _wanted(self, classes: Classes) -> Value:
        """The value that counts, as the folded column spells it; a word that is read as missing as one of the list of those."""
        assert self.value is not None
        column = self._column(classes)
        value: Value = as_folded(self.value, column, self.fold)
        if isinstance(value, str) and value not in column.texts and reads_as_missing(value, self.fold):
            return "NA"
        return value
