"""Privacy models: what must be true of every class of records that look alike.

A class is the set of records that agree on every quasi-identifier of the released table; a missing value and `*` are
values like any other, in quasi-identifiers and in sensitive columns. Each model gives every class a score and says
which classes break it.

Where it is known whose each record is, people are counted: a class has as many members as different people, and a value occurs
in it as often as there are people who have it there. Someone with two values counts for both. So the shares of the values may add
up to more than 1; the distributions of entropy, recursive diversity and t-closeness are those of the pairs of person and value.

Comparisons are exact: counts are compared as whole numbers, ratios after one single division, which rounds a limit
such as 0.3 and a frequency of 3/10 to the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from pydantic import ConfigDict, Field

from oboro.table.dataset import Column, Dataset
from oboro.table.parameters import Parameters
from oboro.table.spelling.folding import Fold, folded
from oboro.table.value_counts import Tally, clean
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.verdict import Verdict

__all__ = ["DistinctLDiversity", "KAnonymity", "Model", "SensitiveModel"]

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

    @property
    def limits_classes(self) -> bool:
        """Whether it asks anything of how many share a class; nobody is protected where no model of a promise does."""
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
        if classes.exempt and not classes.asked.any():
            return self.vacuous(ALL_EXEMPT)
        parts = (*self._scores(classes), classes.sizes, classes.groups.sizes)
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

    @property
    def limits_classes(self) -> bool:
        """A class of one is allowed where k is 1."""
        return self.k > 1

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        return classes.sizes, classes.sizes < self.k


class SensitiveModel(Model):
    """A model of how one sensitive column is spread within the classes."""

    sensitive: str
    """the sensitive column"""
    fold: tuple[Fold, ...] = ()
    """which differences of writing do not make another value: space, case, unicode, number"""

    @property
    def limits_classes(self) -> bool:
        """A class of one has one value: is that too few?"""
        return bool(getattr(self, "l", 1) > 1)

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
