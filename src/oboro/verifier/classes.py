"""Equivalence classes of a released table, and how a sensitive column is spread over each of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from oboro.errors import ColumnError
from oboro.kernels import grouping
from oboro.table.dataset import Column, Dataset
from oboro.table.distinct_people import people_holding, people_per_group, tally_people
from oboro.table.groups import BLOCK, COUNTED, LARGEST_KEY, Digit, Groups, keys_of
from oboro.table.named_columns import names_shown
from oboro.table.numbered_keys import number_keys
from oboro.table.value_counts import Tally, clean, tally
from oboro.text import Message

__all__ = ["Classes", "class_sizes"]


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
        """How many records each class holds."""
        return self.groups.sizes

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many records each class holds or, where it is known whose they are, how many different people."""
        return self.groups.sizes if self.person is None else people_per_group(self.groups, self.person)

    @cached_property
    def suppressed(self) -> np.ndarray:
        """Which class has `*` in every column: at most one."""
        from oboro.verifier.series.old_places import suppressed_classes

        return suppressed_classes(self.data, self.quasi, self.groups)

    @cached_property
    def asked(self) -> np.ndarray:
        """Which classes must keep what is promised: all, or all but the suppressed."""
        return ~self.suppressed if self.exempt else np.ones(len(self.groups), dtype=bool)

    @property
    def most_people(self) -> np.ndarray:
        """How many people each class may hold at most: every record without a person may be one more's."""
        if self.person is None or self.person.missing < 0:
            return self.sizes
        nobody = self.groups.labels[self.person.codes == self.person.missing]
        return self.sizes + np.bincount(nobody, minlength=len(self.groups))

    def holding(self, rows: np.ndarray) -> np.ndarray:
        """How many records (or people with a record) of each class are among those of a boolean mask."""
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
    """How many records each class holds, in no particular order: where nothing else is asked, it takes half the time.

    O(rows · columns); memory 24 bytes a row where there are many combinations, else none for each row.
    """
    columns = list(map(clean, data.select(quasi).columns.values()))
    digits = [Digit(column.codes, len(column.values)) for column in columns]
    space = prod(digit.width for digit in digits)
    if space >= LARGEST_KEY:
        return Groups.of(columns, data.rows).sizes
    if space <= max(4 * data.rows, COUNTED):
        counts = np.zeros(space, np.int64)
        for begin in range(0, data.rows, BLOCK):  # a block of rows at a time, so that its keys stay in the cache
            grouping.occurrences(keys_of(digits, slice(begin, min(begin + BLOCK, data.rows))), counts)
        return counts[counts > 0]
    numbered = number_keys(keys_of(digits, slice(0, data.rows)), in_rows=False)
    sizes = np.zeros(numbered.found, np.int64)
    grouping.occurrences(numbered.numbers, sizes)
    return sizes
