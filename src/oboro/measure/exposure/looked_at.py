"""A release as the last look sees it: who is unique by some of its columns, also by those that stayed in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.measure.exposure.class_counts import key_counts
from oboro.measure.exposure.fingerprints import fingerprints
from oboro.measure.exposure.last_look import UniqueBy
from oboro.measure.exposure.people_in_classes import people_at_most, who_is_alone
from oboro.measure.exposure.separation import Counted, counts_people
from oboro.measure.exposure.unique_by_columns import PAIRED, unique_people
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.unencoded_columns import unread_columns
from oboro.table.value_counts import clean

if TYPE_CHECKING:
    from oboro.measure.exposure.people_counts import PeopleCounts

__all__ = ["LookedAt"]

AT_ONCE = 4  # columns that are read from the file together
PERSON = "\0person"


@dataclass(frozen=True, eq=False)
class LookedAt:
    """A release as the last look sees it."""

    data: Dataset
    read: Callable[[Sequence[str]], Dataset]
    """Reads columns of the release, also those that stayed in the file."""
    file_names: tuple[str, ...] = ()
    """The columns that stayed in the file and for which `file_numbers` stand."""
    file_numbers: Callable[[], np.ndarray] | None = None
    """Makes an array of one number for each record of the release."""
    person: Column | None = None
    counted: Callable[[Sequence[str]], int | None] | None = None
    """Counts the records that are unique by some columns where they are; None of those that it cannot count."""

    @cached_property
    def everybody(self) -> int:
        """How many people there are."""
        return self.data.rows if self.person is None else people_at_most(self.person)

    @cached_property
    def _people(self) -> PeopleCounts | None:
        return None if self.person is None else counts_people(self.person)

    def together(self, names: Sequence[str]) -> int:
        """How many people are unique by all these columns together."""
        elsewhere = None if self.counted is None else self.counted(names)
        if elsewhere is not None:
            return elsewhere
        if not self._unread(names):
            return Counted(self.data, self._people).unique(names)
        numbers = self._numbers(names)
        return (key_counts(numbers) if self._people is None else self._people.key_counts(numbers)).alone

    def alone(self, names: Sequence[str]) -> np.ndarray:
        """Who is unique by all these columns: rows, or the codes of people and, for rows that are nobody's, −1 − row."""
        if not names:
            return np.zeros(0, np.int64)
        groups = self._classes(names)
        if self.person is None:
            return np.flatnonzero(groups.row_sizes() == 1)
        return who_is_alone(groups, self.person)

    def number(self, names: Sequence[str], who: np.ndarray) -> int:
        """How many of those whom `alone` found these are. Rows that are nobody's are as many people as they have classes."""
        nobodys = -1 - who[who < 0]
        classes = np.unique(self._classes(names).labels[nobodys]).size if nobodys.size else 0
        return int(who.size - nobodys.size + classes)

    def _classes(self, names: Sequence[str]) -> Groups:
        if self._unread(names):
            return Groups.of_keys(self._numbers(names))
        return Groups.of([clean(self.data[name]) for name in names], self.data.rows)

    def ranked(self, names: Sequence[str]) -> tuple[UniqueBy, ...]:
        """The columns, and pairs of those that tell most records apart, the worst first."""
        kept: dict[str, Column] = {}
        alike: dict[str, int] = {}  # how many pairs of records have the same value
        single: list[UniqueBy] = []
        for name, column in self._columns(names):
            kept[name], alike[name] = column, int((column.counts**2).sum())
            single.append(
                UniqueBy((name,), Counted(Dataset({name: column}, self.data.rows), self._people).unique([name]))
            )
            if len(kept) > PAIRED:
                least = max(alike, key=alike.__getitem__)
                del kept[least], alike[least]
        found = unique_people(*self._table(Dataset(kept, self.data.rows), list(kept)))
        named = [one for one in single if one.people]
        return tuple(sorted([*named, *found.pairs], key=lambda one: (-one.people, len(one.columns))))

    def _unread(self, names: Sequence[str]) -> list[str]:
        unread = set(unread_columns(self.data))
        return [name for name in names if name in unread]

    def _columns(self, names: Sequence[str]) -> Iterator[tuple[str, Column]]:
        """The columns as codes, without their values: those in the file would not fit in memory with them."""
        for first in range(0, len(names), AT_ONCE):
            table = self.read(names[first : first + AT_ONCE])
            for name, column in table.columns.items():
                held = clean(column)
                yield name, Column(pa.array(np.arange(len(held.values), dtype=np.uint32)), held.codes)

    def _numbers(self, names: Sequence[str]) -> np.ndarray:
        """One number for each record, equal for records that agree on all these columns."""
        unread = self._unread(names)
        in_file = set(unread)
        held = [clean(self.data[name]) for name in names if name not in in_file]
        if self.file_numbers is not None and in_file == set(self.file_names):
            return fingerprints(held, self.data.rows, self.file_numbers())
        numbers = fingerprints(held, self.data.rows)
        for _, column in self._columns(unread):
            fingerprints([column], self.data.rows, numbers)
        return numbers

    def _table(self, data: Dataset, names: Sequence[str]) -> tuple[Dataset, Sequence[str], str | None]:
        """The arguments of a count: the table with the column of people under a name that no column has."""
        if self.person is None:
            return data, names, None
        return data.with_columns({PERSON: self.person}), names, PERSON
