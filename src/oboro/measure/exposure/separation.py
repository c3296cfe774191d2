"""How far columns tell records apart, and whom they single out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from oboro.errors import ColumnError, UsageError
from oboro.measure.exposure.class_counts import ClassCounts, Pair, class_counts, pair_counts
from oboro.measure.exposure.people_in_classes import people_at_most
from oboro.table.dataset import Column, Dataset
from oboro.table.named_columns import names_shown
from oboro.table.value_counts import clean
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.measure.exposure.people_counts import PeopleCounts

__all__ = ["Counted", "Exposure", "counts_people", "exposure", "require_columns"]


@dataclass(frozen=True)
class Exposure:
    """What a set of columns does to the records of a table."""

    columns: tuple[str, ...]
    rows: int
    people: int
    """How many people there are: records, unless `person` says whose they are."""
    distinct: int
    """Different combinations of values."""
    told_apart: int
    """Pairs of records that differ in some column."""
    unique: int
    """People whose combination nobody else has."""
    smallest: int
    """Fewest people that share a combination: the k that holds over these columns. 0 in an empty table."""

    @property
    def distinction(self) -> float:
        """Different combinations as a share of the records (Motwani and Xu 2007; as in ARX). 0 in an empty table."""
        return self.distinct / self.rows if self.rows else 0.0

    @property
    def separation(self) -> float:
        """The share of pairs of records that are told apart (Motwani and Xu 2007; as in ARX). 0 where there is no pair."""
        pairs = self.rows * (self.rows - 1) // 2
        return self.told_apart / pairs if pairs else 0.0

    @property
    def unique_share(self) -> float:
        """The share of the people that is unique."""
        return self.unique / self.people if self.people else 0.0


def exposure(data: Dataset, columns: Sequence[str], person: str | None = None) -> Exposure:
    """Count how far the columns tell records apart, on all rows. One column: O(values) after its counts; else O(rows · columns).

    Where the columns have too many possible combinations for a 64-bit key, records are told apart by fingerprints
    (`fingerprints.fingerprints`), which take two different records for equal with a chance below rows² / 2⁶⁵.

    >>> found = exposure(Dataset.of({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]}), ["sex", "job"])
    >>> found.distinction, found.unique, found.smallest
    (0.75, 2, 1)
    """
    names = require_columns(data, columns, person)
    return Counted.of(data, person).exposure(names)


@dataclass(frozen=True, eq=False)
class Counted:
    """A table that is asked more than once: with `person`, its rows are put in the order of people only once."""

    data: Dataset
    people: PeopleCounts | None = None

    @staticmethod
    def of(data: Dataset, person: str | None = None) -> Counted:
        """The table, counted in records, or in people where `person` says whose they are."""
        return Counted(data, None if person is None else counts_people(data[person]))

    @cached_property
    def everybody(self) -> int:
        """How many people there are: records, unless it is known whose they are."""
        return self.data.rows if self.people is None else people_at_most(self.people.person)

    def exposure(self, names: Sequence[str]) -> Exposure:
        """How far some columns tell records apart."""
        return self._exposure(names, self._classes(names))

    def pair_exposures(self, pairs: Sequence[Pair]) -> list[Exposure]:
        """The same of many pairs of columns, on several cores (`class_counts.pair_counts` says in which memory)."""
        found = self._pairs(pairs)
        return [self._exposure(pair, found[pair]) for pair in pairs]

    def unique(self, names: Sequence[str]) -> int:
        """How many people are unique by some columns together."""
        return self._classes(names).alone

    def unique_by_pairs(self, pairs: Sequence[Pair]) -> dict[Pair, int]:
        """How many people are unique by each of many pairs."""
        return {pair: counted.alone for pair, counted in self._pairs(pairs).items()}

    def _classes(self, names: Sequence[str]) -> ClassCounts:
        columns = [clean(self.data[name]) for name in names]
        return class_counts(columns, self.data.rows) if self.people is None else self.people.class_counts(columns)

    def _pairs(self, pairs: Sequence[Pair]) -> dict[Pair, ClassCounts]:
        columns = {name: clean(self.data[name]) for pair in pairs for name in pair}
        if self.people is None:
            return pair_counts(columns, pairs, self.data.rows)
        return self.people.pair_counts(columns, pairs)

    def _exposure(self, names: Sequence[str], found: ClassCounts) -> Exposure:
        rows = self.data.rows
        apart = (rows * rows - found.squares) // 2
        return Exposure(tuple(names), rows, self.everybody, found.distinct, apart, found.alone, found.least)


def counts_people(person: Column) -> PeopleCounts:
    """Counts people instead of records; loaded only where it is asked for."""
    from oboro.measure.exposure.people_counts import PeopleCounts

    return PeopleCounts(person)


def require_columns(data: Dataset, columns: Sequence[str], person: str | None = None) -> tuple[str, ...]:
    """The columns, if the table has them and the person's column, and each is named once."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    unknown = [name for name in (*names, *([person] if person is not None else ())) if name not in data]
    if unknown:
        raise ColumnError(Message("error_measure.exposure_column", unknown=unknown, columns=names_shown(data, names)))
    if len(set(names)) < len(names):
        raise UsageError(Message("error_measure.exposure_twice", names=list(names)))
    return names
