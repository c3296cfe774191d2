"""Equivalence classes of a released table, and the distribution of a sensitive attribute over them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oboro._lazy import lazy_module
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups, Tally, clean, tally
from oboro.data.grouping import class_sizes as class_sizes_of
from oboro.data.parameters import names_shown
from oboro.data.units import people_holding, people_per_group, tally_people
from oboro.errors import ColumnError
from oboro.kernels import grouping
from oboro.text import Message
from oboro.verifier import kernels

series = lazy_module("oboro.verifier.series")  # it imports this module

__all__ = ["NEARLY", "Classes", "SecretSpread", "class_sizes", "secret_spread"]


@dataclass(frozen=True, eq=False)
class Classes:
    """The records of a table that agree on every quasi-identifier. Missing and `*` are values like any other.

    Whoever fits no other class must be among the fully suppressed records, so these form a class too and no exception
    is made. Where it is known whose each record is (`person`, one per row), everything that is counted are different people:
    a person with many records in a class is one.
    """

    data: Dataset
    groups: Groups
    quasi: tuple[str, ...] = ()
    person: Column | None = None
    exempt: bool = False
    """Whether the suppressed records are asked for nothing: what other tools do, and what must be said wherever it is done."""
    last: threading.local = field(init=False, default_factory=threading.local, repr=False)
    """What was counted last, of each thread."""

    @staticmethod
    def of(
        data: Dataset,
        quasi: Sequence[str],
        person: str | Column | None = None,
        *,
        finest: bool = False,
        exempt: bool = False,
    ) -> Classes:
        """Regroup the table as it is; no column: everybody is in one class. O(rows · columns).

        `finest`: by everything that some tool tells apart in what came (`Column.finer`), not only by its values.

        `person` is a column of the table, or one that stands beside it and is not released.
        """
        named = [*quasi, person] if isinstance(person, str) else quasi
        if not data.columns.keys() >= set(named):
            unknown = [name for name in named if name not in data]
            raise ColumnError(Message("error_verifier.no_column", unknown=unknown, columns=names_shown(data, named)))
        shown = data.finest(quasi) if finest else data
        groups = Groups.of(list(map(clean, shown.select(quasi).columns.values())), data.rows)
        return Classes(data, groups, tuple(quasi), data[person] if isinstance(person, str) else person, exempt)

    @property
    def records(self) -> np.ndarray:
        """Number of records in each class."""
        return self.groups.sizes

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of records in each class or, where the person of each record is known, of different people."""
        return self.groups.sizes if self.person is None else people_per_group(self.groups, self.person)

    @cached_property
    def suppressed(self) -> np.ndarray:
        """Mask of the class with `*` in every column: at most one."""
        suppressed: np.ndarray = series.suppressed_classes(self.data, self.quasi, self.groups)
        return suppressed

    @cached_property
    def asked(self) -> np.ndarray:
        """Mask of the classes that must satisfy the guarantee: all, or all but the suppressed."""
        return ~self.suppressed if self.exempt else np.ones(len(self.groups), dtype=bool)

    @property
    def most_people(self) -> np.ndarray:
        """Largest possible number of people in each class: every record without a person may be one more's."""
        if self.person is None or self.person.missing < 0:
            return self.sizes
        nobody = self.groups.labels[self.person.codes == self.person.missing]
        return self.sizes + np.bincount(nobody, minlength=len(self.groups))

    def holding(self, rows: np.ndarray) -> np.ndarray:
        """Number of records (or people with a record) of each class among those of a boolean mask."""
        if self.person is not None:
            return people_holding(self.groups, self.person, rows)
        return np.bincount(self.groups.labels[rows], minlength=len(self.groups))

    def tally(self, codes: np.ndarray, width: int, table: np.ndarray | None = None) -> Tally:
        """Count the codes (one per row) within each class, or the labels (0 … width − 1) that `table` gives them.

        The last tally of codes is kept, of each thread: several models ask for that of the same column.
        """
        last: tuple[np.ndarray, Tally] | None = getattr(self.last, "tally", None)
        if table is None and last is not None and last[0] is codes:
            return last[1]
        if self.person is not None:
            folded = np.arange(width) if table is None else table
            found = tally_people(self.groups, self.person, codes, folded, width)
        else:
            found = tally(self.groups.labels, self.groups.sizes, codes if table is None else table[codes], width)
        if table is None:
            self.last.tally = codes, found
        return found


def class_sizes(data: Dataset, quasi: Sequence[str]) -> np.ndarray:
    """Return the number of records of each class, in no particular order: half the time of `Classes.of`. O(rows · columns)."""
    return class_sizes_of([clean(data[name]) for name in quasi], data.rows)


# Extremes of a sensitive attribute ------------------------------------------------------------------------------------
# The extremes over all classes in one pass, without a list of classes.
#
# The judges of privacy models score every class and name the worst. To know only what all classes satisfy, five numbers
# suffice.


NEARLY = (95, 100)  # a share of the class of at least this is nearly certain; in whole numbers, so that it is exact


@dataclass(frozen=True)
class SecretSpread:
    """The extremes over all classes of records."""

    fewest: int
    """The fewest different values in a class: the largest l of distinct l-diversity."""
    farthest: float
    """The greatest distance (equal distances) of a class from the whole table: the smallest t of t-closeness."""
    certain: int
    """Records in classes of one value."""
    nearly: int
    """Records in classes of which nearly everybody has the same value."""
    largest: float
    """The largest share of a class that has the same value."""


def secret_spread(classes: Classes, column: Column) -> SecretSpread:
    """The extremes of a table with records, of which nobody says whose they are. O(rows).

    Memory: the codes once more, and 16 bytes a class. The last answer to each thread is kept.
    """
    last: tuple[np.ndarray, SecretSpread] | None = getattr(classes.last, "spread", None)
    if last is None or last[0] is not column.codes:
        last = classes.last.spread = column.codes, _counted(classes, column)
    return last[1]


def _counted(classes: Classes, column: Column) -> SecretSpread:
    starts = np.concatenate([[0], np.cumsum(classes.records)])
    gathered = np.empty_like(column.codes)
    grouping.gather(classes.groups.labels, column.codes, starts[:-1].copy(), gathered)
    counts, ratios = np.zeros(3, np.int64), np.zeros(2)
    scratch = np.zeros(len(column.values), np.int64)
    kernels.class_extremes(gathered, starts, column.counts.astype(np.int64), *NEARLY, scratch, counts, ratios)
    return SecretSpread(int(counts[0]), float(ratios[0]), int(counts[1]), int(counts[2]), float(ratios[1]))
