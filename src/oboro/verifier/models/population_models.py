"""Models that ask how many people in a population match a class: k-map and δ-presence.

The population is a table of everybody whom the released table was drawn from, with the same columns, not generalized.
Who matches a class is read from the released labels alone: a plain value is itself, a label of the column's
hierarchy is every value under it, `*` is anything. Whoever matches no other class must be among the fully suppressed
records (`*` everywhere), if there are any.

Where labels overlap (`30–39` beside `30`, or `*` beside values) it is open to which class a person belongs. Such people
count for no class where being many is safe and for every class where it is not, so that a broken promise never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from oboro.verifier.models.class_models import EMPTY, Model
from oboro.verifier.verdict import Verdict

__all__ = ["DeltaPresence", "KMap", "MatchingPeople", "PopulationModel"]

NOBODY, OPEN = -1, -2  # a value that no label covers; one that several cover


@dataclass(frozen=True, eq=False)
class MatchingPeople:
    """How many people match each class, at least and at most, and how many match none."""

    least: np.ndarray
    most: np.ndarray
    absent: int

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
        places, keys = [], []
        for name, label in zip(classes.quasi, labels, strict=True):
            shown = Column(label.values, label.codes[~starred]).tidy()
            column = clean(population[name])
            hierarchy = hierarchies[name].bind(column) if name in hierarchies else None
            places.append(_places(column, shown, hierarchy)[column.codes])
            keys.append(shown)
        return _counted(places, keys, starred, population.rows)


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
    column, labels = clean(classes.data[name]), classes.groups.labels
    first = np.empty(classes.sizes.size, dtype=np.int64)
    first[labels[::-1]] = np.arange(labels.size)[::-1]
    return Column(column.values, column.codes[first])


def _starred(label: Column) -> np.ndarray:
    stars = pc.fill_null(pc.equal(text_array(label.values), STAR), False)
    return np.asarray(np.asarray(stars.to_numpy(zero_copy_only=False), dtype=bool)[label.codes])


def _places(column: Column, shown: Column, hierarchy: Hierarchy | None) -> np.ndarray:
    """For each value of the population the number of the label that covers it, `NOBODY` or `OPEN`."""
    texts = text_array(shown.values)
    place = np.full(len(column.values), NOBODY, dtype=np.int64)
    readings = []
    levels = [(column.values, np.arange(len(column.values)))]
    levels += [(level.labels, level.table) for level in hierarchy.levels[1:]] if hierarchy else []
    levels.append((pa.array([STAR]), np.zeros(len(column.values), dtype=np.int64)))
    for labels, table in levels:
        number = pc.index_in(text_array(labels), value_set=texts).fill_null(NOBODY)
        number = number.to_numpy(zero_copy_only=False).astype(np.int64)
        here = number[table]
        readings.append((number, here))
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


class KMap(PopulationModel):
    """Every class matches at least k people in the population (Sweeney 2002), however few of them are in the table."""

    message: ClassVar[str] = "model.k_map"
    parameters: ClassVar[tuple[str, ...]] = ("k",)
    most: ClassVar[bool] = False

    k: int = Field(ge=1)
    """every class must match at least this many people in the population"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        people = self._matching(classes).least
        return people, people < self.k


class DeltaPresence(PopulationModel):
    """Of the people in the population that match a class, a share between `low` and `high` is in the table (Nergiz, Atzori
    & Clifton 2007).

    So nobody can tell with more certainty that a person is in the table or, with a lower limit, that a person is not. With
    a lower limit everybody in the population must match some class.
    """

    message: ClassVar[str] = "model.delta_presence"
    parameters: ClassVar[tuple[str, ...]] = ("low", "high")

    low: float = Field(0.0, ge=0, le=1)
    """the least share"""
    high: float = Field(1.0, ge=0, le=1)
    """the greatest share"""

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
        people, sizes = self._matching(classes), classes.sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            highest, lowest = classes.most_people / people.least, sizes / people.most
        above = Verdict.of(self.describe(), self.high, highest, highest > self.high, sizes, True, classes.records)
        above = replace(above, people=classes.person is not None)
        if not above.holds or self.low == 0:
            return above
        if people.absent:  # who fits no class is known to be absent
            lowest, sizes = np.append(lowest, 0.0), np.append(sizes, 0)
        below = Verdict.of(self.describe(), self.low, lowest, lowest < self.low, sizes, False)
        return above if below.holds else replace(below, people=above.people)
