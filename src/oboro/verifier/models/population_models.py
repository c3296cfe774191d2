"""Models that ask how many people in a population match a class: k-map and δ-presence.

The population is a table of everybody whom the released table was drawn from, with the same columns, not generalized.
Who matches a class is read from the released labels alone: a plain value is itself, a label of the column's
hierarchy is every value under it, `*` is anything. Whoever matches no other class must be among the fully suppressed
records (`*` everywhere), if there are any.

A label means a set of values at its level, and one text may stand on two levels with other values under it: `*` is a clerk
on the level where a nurse is `health`, and anybody above. Where all labels of a column stand on one level, they are read as
labels of that level. Where they stand on several levels, a reader cannot tell which is meant; then somebody belongs to a class for
certain only where every level says so.

Where labels overlap on every reading (`30–39` beside `30`) it is open to which class a person belongs. Such people count
for no class where being many is safe and for every class where it is not, so that a broken promise never passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from oboro.errors import ColumnError
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.hierarchy.levels import text_array
from oboro.table.named_columns import names_shown
from oboro.table.value_counts import clean
from oboro.table.values import STAR
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import ALL_EXEMPT, EMPTY, Model
from oboro.verifier.verdict import Verdict

__all__ = ["DeltaPresence", "KMap", "MatchingPeople", "PopulationModel"]

NOBODY, OPEN = -1, -2  # a value that no label covers; one that several cover


@dataclass(frozen=True, eq=False)
class MatchingPeople:
    """How many people match each class, at least and at most, and how many match none."""

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
