"""Judges of the privacy models of identity: k-anonymity, k-concealment, k-map and δ-presence.

For k-map and δ-presence the population is a table of all people from whom the released table was drawn, with the same
columns, not generalized. The people who match a class are read from the released labels alone: a plain value is itself,
a label of the column's hierarchy is every value under it, `*` is any value. A person who matches no other class must be
among the fully suppressed records (`*` everywhere), if there are any.

A label means a set of values at its level, and one text may be a label of two levels with different values under it:
`*` is a clerk on the level where a nurse is `health`, and any value above. Where all labels of a column are on one
level, they are read as labels of that level. Where they are on several levels, a reader cannot tell which is meant;
then a person belongs to a class for certain only if every level says so.

Where labels overlap on every reading (`30–39` beside `30`) the class of a person is open. Such people count for no
class where many matches are safe and for every class where they are not, so that a violated guarantee never passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field, model_validator

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import Fold, folded
from oboro.data.grouping import Groups, Tally, clean
from oboro.data.parameters import Parameters, names_shown
from oboro.errors import ColumnError
from oboro.hierarchies.hierarchy import Hierarchy, text_array
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import STAR
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.judges import judges
from oboro.verifier.matching import correspondence, relation
from oboro.verifier.verdict import Verdict

__all__ = [
    "DeltaPresence",
    "DistinctLDiversity",
    "KAnonymity",
    "KConcealment",
    "KMap",
    "MatchingPeople",
    "Model",
    "PopulationModel",
    "SensitiveModel",
]


# Judges of classes ----------------------------------------------------------------------------------------------------
# Judges that score every equivalence class and report the classes that violate the model.
#
# A class is the set of records that agree on every quasi-identifier of the released table; a missing value and `*` are
# values like any other, in quasi-identifiers and in sensitive attributes.
#
# Where the person of each record is known, people are counted: a class has as many members as different people, and a
# value occurs in it as often as there are people who have it there. A person with two values counts for both. So the
# shares of the values may add up to more than 1; the distributions of entropy, recursive diversity and t-closeness are
# those of the pairs of person and value.
#
# Comparisons are exact: counts are compared as whole numbers, ratios after one single division, which rounds a limit
# such as 0.3 and a frequency of 3/10 to the same number.


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
        """Test if two classes that satisfy the model always satisfy it when they are joined."""
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

    def broken_by(self, sizes: np.ndarray) -> bool:
        """Whether classes of some sizes break a model that is estimated from the sizes of all classes alone."""
        raise NotImplementedError

    def vacuous(self, note: Message) -> Verdict:
        """The verdict where nothing can break the model."""
        return Verdict.vacuous(self.describe(), self.required, note)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        """For each class its score and whether it breaks the model."""
        raise NotImplementedError


@judges("k")
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


# k-concealment --------------------------------------------------------------------------------------------------------


@judges("k_concealment")
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


# k-map and δ-presence -------------------------------------------------------------------------------------------------


NOBODY, OPEN = -1, -2  # a value that no label covers; one that several cover


@dataclass(frozen=True, eq=False)
class MatchingPeople:
    """Number of people who match each class, at least and at most, and number who match none."""

    least: np.ndarray
    most: np.ndarray
    absent: int
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By column the labels of which it is open whom they cover."""

    @staticmethod
    def of(classes: Classes, population: Dataset, hierarchies: Mapping[str, Hierarchy]) -> MatchingPeople:
        """Read the labels of every class and count. O(records + people · columns)."""
        lacking = [name for name in classes.quasi if name not in population]
        if lacking:
            raise ColumnError(
                Message(
                    "error_verifier.population_column", lacking=lacking, columns=names_shown(population, classes.quasi)
                )
            )
        labels = [_labels(classes, name) for name in classes.quasi]
        starred = np.logical_and.reduce([_starred(label) for label in labels] or [np.ones(classes.sizes.size, bool)])
        places, keys, unclear = [], [], {}
        for name, label in zip(classes.quasi, labels, strict=True):
            shown = Column(label.values, label.codes[~starred]).tidy()
            column = clean(population[name])
            hierarchy = hierarchies[name].bind(column) if name in hierarchies else None
            place = _places(column, shown, hierarchy)
            if (place == OPEN).any():
                unclear[name] = _unclear(column, shown, hierarchy, place == OPEN)
            places.append(place[column.codes])
            keys.append(shown)
        return replace(_counted(places, keys, starred, population.rows), unclear=unclear)


def _counted(places: list[np.ndarray], keys: list[Column], starred: np.ndarray, people: int) -> MatchingPeople:
    """Join people and classes by their labels; the classes come first, so that they are numbered 0, 1, 2 …"""
    plain = int((~starred).sum())
    none = np.logical_or.reduce([place == NOBODY for place in places] or [np.zeros(people, dtype=bool)])
    doubtful = ~none & np.logical_or.reduce([place == OPEN for place in places] or [none])
    sure = ~none & ~doubtful
    both = [
        Column(key.values, np.concatenate([key.codes, place[sure].astype(key.codes.dtype)]))
        for key, place in zip(keys, places, strict=True)
    ]
    found = Groups.of(both, plain + int(sure.sum())).labels[plain:]
    least = np.zeros(starred.size, dtype=np.int64)
    least[~starred] = np.bincount(found[found < plain], minlength=plain)[:plain]
    open_, left = int(doubtful.sum()), people - int(doubtful.sum()) - int((found < plain).sum())
    least[starred] = left
    return MatchingPeople(least, least + open_, 0 if starred.any() else left + open_)


def _labels(classes: Classes, name: str) -> Column:
    """The label of each class: that of its first record."""
    column = clean(classes.data[name])
    return Column(column.values, column.codes[classes.groups.first_rows()])


def _starred(label: Column) -> np.ndarray:
    stars = pc.fill_null(pc.equal(text_array(label.values), STAR), False)
    return np.asarray(np.asarray(stars.to_numpy(zero_copy_only=False), dtype=bool)[label.codes])


def _places(column: Column, shown: Column, hierarchy: Hierarchy | None) -> np.ndarray:
    """For each value of the population the number of the label that covers it, `NOBODY` or `OPEN`."""
    readings = [_numbered(labels, table, shown) for labels, table in _levels(column, hierarchy)]
    whole = [here for number, here in readings if np.isin(np.arange(len(shown.values)), number).all()]
    if whole:  # every label stands on this level
        agreed = np.logical_and.reduce([here == whole[0] for here in whole])
        return np.where(agreed, whole[0], OPEN)
    return _overlapping(readings, len(column.values))


def _levels(column: Column, hierarchy: Hierarchy | None) -> list[tuple[pa.Array, np.ndarray]]:
    """The labels of each level and which value has which; the last is `*` for anything."""
    levels = [(column.values, np.arange(len(column.values)))]
    levels += [(level.labels, level.table) for level in hierarchy.levels[1:]] if hierarchy else []
    return [*levels, (pa.array([STAR]), np.zeros(len(column.values), dtype=np.int64))]


def _numbered(labels: pa.Array, table: np.ndarray, shown: Column) -> tuple[np.ndarray, np.ndarray]:
    """For each label of a level its number among those shown (or `NOBODY`), and for each value that of its label."""
    number = pc.index_in(text_array(labels), value_set=text_array(shown.values)).fill_null(NOBODY)
    number = number.to_numpy(zero_copy_only=False).astype(np.int64)
    return number, number[table]


def _unclear(column: Column, shown: Column, hierarchy: Hierarchy | None, open_: np.ndarray) -> list[str]:
    """The labels that cover an open value on some level."""
    found = [_numbered(labels, table, shown)[1][open_] for labels, table in _levels(column, hierarchy)]
    numbers = np.unique(np.concatenate(found))
    return [str(shown.texts[number]) for number in numbers if number >= 0]


def _overlapping(readings: list[tuple[np.ndarray, np.ndarray]], values: int) -> np.ndarray:
    """Where the labels stand on no level together: a value that two labels cover is open."""
    place = np.full(values, NOBODY, dtype=np.int64)
    for _, here in readings:
        clash = (place >= 0) & (here >= 0) & (place != here)
        place = np.where(place == NOBODY, here, place)
        place[clash] = OPEN
    for number, here in readings:  # one label on two levels, with other values under it
        place[(place >= 0) & np.isin(place, number) & (here != place)] = OPEN
    return place


class PopulationModel(Model):
    """A model of how many people in a population match each class."""

    population: Dataset = Field(repr=False)
    """the population that the table was drawn from: the same columns, not generalized"""
    hierarchies: Mapping[str, Hierarchy | HierarchySpec] = Field(default_factory=dict, repr=False)
    """the hierarchies that the labels were made with"""

    def _matching(self, classes: Classes) -> MatchingPeople:
        built = {
            name: one if isinstance(one, Hierarchy) else one.build(name, self.population[name])
            for name, one in self.hierarchies.items()
            if name in classes.quasi
        }
        return MatchingPeople.of(classes, self.population, built)

    def _naming_labels(self, found: Verdict, classes: Classes) -> Verdict:
        """The verdict with the labels of which it is open whom they cover, where these may have broken it."""
        unclear = {} if found.holds else self._matching(classes).unclear
        if not unclear:
            return found
        column, labels = next(iter(unclear.items()))
        achieved = found.achieved if found.achieved is not None else Message("verdict.nothing")
        limits = Message("verdict.limits", required=found.required, achieved=achieved)
        return replace(found, note=Message("verdict.labels_unclear", column=column, labels=list(labels), limits=limits))


@judges("k_map")
class KMap(PopulationModel):
    """Every class matches at least k people in the population (Sweeney 2002), however few of them are in the table."""

    message: ClassVar[str] = "model.k_map"
    parameters: ClassVar[tuple[str, ...]] = ("k",)
    most: ClassVar[bool] = False

    k: int = Field(ge=1)
    """every class must match at least this many people in the population"""

    @property
    def limits_classes(self) -> bool:
        """Every class matches one person."""
        return self.k > 1

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        people = self._matching(classes).least
        return people, people < self.k

    def judge(self, classes: Classes) -> Verdict:
        """Judge every class; where it is broken and labels are unclear, the verdict names them."""
        return self._naming_labels(super().judge(classes), classes)


@judges("presence")
class DeltaPresence(PopulationModel):
    """Of the people in the population that match a class, a share between `low` and `high` is in the table (Nergiz, Atzori
    & Clifton 2007).

    So nobody can tell with more certainty that a person is in the table or, with a lower limit, that a person is not. With
    a lower limit everybody in the population must match some class.
    """

    message: ClassVar[str] = "model.delta_presence"
    parameters: ClassVar[tuple[str, ...]] = ("low", "high")

    low: float = Field(default=0.0, ge=0, le=1)
    """the least share"""
    high: float = Field(default=1.0, ge=0, le=1)
    """the greatest share"""

    @property
    def limits_classes(self) -> bool:
        """Everybody in the population may be in the table."""
        return self.high < 1

    @model_validator(mode="after")
    def _fits(self) -> DeltaPresence:
        if self.low > self.high:
            raise ValueError(Message("error_verifier.low_high", low=self.low, high=self.high))
        return self

    @property
    def required(self) -> float:
        """The greatest share."""
        return self.high

    def judge(self, classes: Classes) -> Verdict:
        """Judge both limits; the lower one is reported if only that is broken."""
        if classes.data.rows == 0:
            return self.vacuous(EMPTY)
        asked = classes.asked
        if not asked.any():
            return self.vacuous(ALL_EXEMPT)
        people, sizes, records = self._matching(classes), classes.sizes[asked], classes.records[asked]
        with np.errstate(divide="ignore", invalid="ignore"):
            highest = np.minimum(classes.most_people[asked] / people.least[asked], 1.0)  # no more than all of them
            lowest = sizes / people.most[asked]
        above = Verdict.of(self.describe(), self.high, highest, highest > self.high, sizes, True, records)
        above = replace(above, people=classes.person is not None)
        if not above.holds or self.low == 0:
            return self._naming_labels(above, classes)
        if people.absent:  # who fits no class is known to be absent
            lowest, sizes = np.append(lowest, 0.0), np.append(sizes, 0)
        below = Verdict.of(self.describe(), self.low, lowest, lowest < self.low, sizes, False)
        return above if below.holds else self._naming_labels(replace(below, people=above.people), classes)
