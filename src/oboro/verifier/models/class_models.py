"""Privacy models: what must be true of every class of records that look alike.

A class is the set of records that agree on every quasi-identifier of the released table; a missing value and `*` are
values like any other, in quasi-identifiers and in sensitive columns. Each model gives every class a score and says
which classes break it.

Where it is known whose each record is, people are counted: a class has as many members as different people, and a value occurs
in it as often as there are people who have it there. Someone with two values counts for both. So the shares of the values may add
up to more than 1; the distributions of entropy, recursive diversity and t-closeness are those of the pairs of person and value.

Comparisons are exact: counts are compared as whole numbers, ratios after one single division, which rounds a limit
such as 0.3 and a frequency of 3/10 to the same number. Only entropies need logarithms; a class within 1e-9 of the
limit is decided again with 50 digits (`entropy_at_least`), so that rounding neither breaks a kept promise nor hides a
broken one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.parameters import Parameters
from oboro.table.spelling.folding import Fold, folded
from oboro.table.spelling.named_values import Value, absent, equal_values, shown
from oboro.table.value_counts import Tally, clean
from oboro.text import Message
from oboro.verifier import kernels
from oboro.verifier.classes import Classes
from oboro.verifier.models.closeness import equal_distances, hierarchical_distances, ordered_distances
from oboro.verifier.models.entropy import entropies, entropy_at_least
from oboro.verifier.verdict import Verdict

__all__ = [
    "AlphaK",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "KAnonymity",
    "Model",
    "RecursiveLDiversity",
    "SensitiveModel",
    "TCloseness",
]

EMPTY = Message("verdict.no_records")
ALL_EXEMPT = Message("verdict.all_exempt")


class Model(Parameters):
    """A privacy model with its parameters."""

    model_config = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True)

    message: ClassVar[str]
    """The message that says which model it is."""
    parameters: ClassVar[tuple[str, ...]]
    """The parameters that this message tells; the first one is the limit that every class must keep."""
    most: ClassVar[bool] = True
    """Whether a higher score is worse."""
    every_column: ClassVar[bool] = False
    """Whether it looks at all released columns, not only at quasi-identifiers and its sensitive one."""

    @property
    def joinable(self) -> bool:
        """Whether two classes that keep it keep it when they are joined."""
        return True

    def folding(self, folds: Sequence[Fold]) -> Self:
        """The same model; of a sensitive column: values that differ only in what is folded count as one."""
        return self

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        return Message(self.message, **{name: getattr(self, name) for name in self.parameters})

    @property
    def required(self) -> float:
        """The limit that every class must keep."""
        limit: float = getattr(self, self.parameters[0])
        return limit

    def check(self, data: Dataset, quasi: Sequence[str]) -> Verdict:
        """Regroup the released table by its quasi-identifiers and judge every class. An empty table breaks nothing."""
        return self.judge(Classes.of(data, quasi))

    def judge(self, classes: Classes) -> Verdict:
        """Judge classes that were already formed."""
        if classes.data.rows == 0:
            return self.vacuous(EMPTY)
        if not classes.asked.any():
            return self.vacuous(ALL_EXEMPT)
        parts = (*self._scores(classes), classes.sizes, classes.records)
        scores, broken, sizes, records = (part[classes.asked] for part in parts) if classes.exempt else parts
        found = Verdict.of(self.describe(), self.required, scores, broken, sizes, self.most, records)
        return found if classes.person is None else found.counting_people()

    def vacuous(self, note: Message) -> Verdict:
        """The verdict where nothing can break the model."""
        return Verdict.vacuous(self.describe(), self.required, note)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        """For each class its score and whether it breaks the model."""
        raise NotImplementedError


class KAnonymity(Model):
    """Every class holds at least k records, or k people (Sweeney 2002)."""

    message: ClassVar[str] = "model.k_anonymity"
    parameters: ClassVar[tuple[str, ...]] = ("k",)
    most: ClassVar[bool] = False

    k: int = Field(ge=1)
    """every class must have at least this many records, or people where it is known whose records they are"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        return classes.sizes, classes.sizes < self.k


class SensitiveModel(Model):
    """A model of how one sensitive column is spread within the classes."""

    sensitive: str
    """the sensitive column"""
    fold: tuple[Fold, ...] = ()
    """which differences of writing do not make another value: space, case, unicode"""

    def folding(self, folds: Sequence[Fold]) -> Self:
        """The same model; values that differ only in what is folded count as one."""
        return self.model_copy(update={"fold": tuple(folds)}) if folds else self

    def _tally(self, classes: Classes) -> Tally:
        column = self._column(classes)
        return classes.tally(column.codes, len(column.values))

    @staticmethod
    def _certain(classes: Classes, tally: Tally) -> np.ndarray:
        """Which classes have a value that everybody in them has: it is known of everybody, whatever else some have."""
        return tally.most_frequent >= classes.sizes

    def _column(self, classes: Classes) -> Column:
        return clean(folded(classes.data[self.sensitive], self.fold))


class DistinctLDiversity(SensitiveModel):
    """Every class holds at least l different sensitive values (Machanavajjhala et al. 2007).

    A person may have several of them. A class in which everybody has one and the same value counts as one with a single value.
    """

    message: ClassVar[str] = "model.distinct_l_diversity"
    parameters: ClassVar[tuple[str, ...]] = ("l", "sensitive")
    most: ClassVar[bool] = False

    l: int = Field(ge=1)  # noqa: E741  (the field's own name)
    """the least number of different sensitive values in every class"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally = self._tally(classes)
        distinct = np.where(self._certain(classes, tally), np.minimum(tally.distinct, 1), tally.distinct)
        return distinct, distinct < self.l


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
            or not absent(self._column(classes), self.sensitive, [self.value])
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
        return classes.holding(equal_values(column, self.sensitive, [self.value])[column.codes])
