"""Exposure of people by a release: uniqueness by columns, and disclosed sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import FOLDS, folded
from oboro.data.grouping import ClassCounts, Groups, Pair, PeopleCounts, class_counts, clean, pair_counts
from oboro.data.parameters import names_shown
from oboro.data.units import people_per_group
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.labels import is_star
from oboro.kernels import grouping
from oboro.text import Message
from oboro.verifier.classes import NEARLY, Classes, secret_spread

__all__ = [
    "PAIRED",
    "CertainSecrets",
    "Counted",
    "Exposure",
    "NearSecrets",
    "RareValues",
    "UniqueBy",
    "UniquePeople",
    "alone_in_class",
    "certain_secret",
    "certain_secrets",
    "counts_people",
    "exposure",
    "near_secret",
    "only_person",
    "people_at_most",
    "people_in",
    "rare_values",
    "require_columns",
    "unique_people",
    "who_is_alone",
]


# Release check --------------------------------------------------------------------------------------------------------
# The check before a release is written: is a person unique by columns that no guarantee covers?
#
# All such columns together are counted first: a person who is not unique by all of them is not unique by a part. So
# without unique people the check is over. Columns may have stayed in their file: then one number for each record
# represents them (a fingerprint), and they are read, a few at a time, only where unique people were found.


@dataclass(frozen=True)
class UniqueBy:
    """How many people are unique by some columns together."""

    columns: tuple[str, ...]
    people: int


# People who are unique in their class ---------------------------------------------------------------------------------


def people_in(column: Column) -> int:
    """Count the people that a column names; a missing name does not count."""
    held = clean(column)
    return len(held.values) - (held.missing >= 0)


def people_at_most(column: Column) -> int:
    """Largest possible number of people: those named, and one more for each row without a person. O(rows).

    Whoever stands alone is counted in this way too, so that never more are unique than there are.
    """
    held = clean(column)
    return people_in(column) + (0 if held.missing < 0 else int(np.count_nonzero(held.codes == held.missing)))


def alone_in_class(groups: Groups, person: Column) -> int:
    """Count the people who are alone in a class. O(rows).

    Somebody who is alone in several classes is one person. A class of rows without a person holds somebody whom nobody stands
    with, so each such class counts as one.
    """
    only = only_person(groups, person)
    return int(np.unique(only[only >= 0]).size + np.count_nonzero(only == grouping.NOBODY))


def who_is_alone(groups: Groups, person: Column) -> np.ndarray:
    """Codes of the people who are alone in a class, and −1 − row for rows of classes without a person.

    Nobody knows whether two rows without a person are one's. So these are rows, not one more person: who accepts one of them has
    not accepted the others.
    """
    only = only_person(groups, person)
    nobodys = np.flatnonzero((only == grouping.NOBODY)[groups.labels])
    return np.concatenate([-1 - nobodys[::-1], np.unique(only[only >= 0])])


def only_person(groups: Groups, person: Column) -> np.ndarray:
    """For each class the code of the only person in it, or `kernels.NOBODY`, or `kernels.SEVERAL`. O(rows)."""
    held = clean(person)
    only = np.full(len(groups), grouping.NOBODY, np.int64)
    grouping.only_person(groups.labels, held.codes, held.missing, only)
    return only


# Separation -----------------------------------------------------------------------------------------------------------
# Share of the pairs of records that columns distinguish, and the people who are unique by them.


@dataclass(frozen=True)
class Exposure:
    """Exposure of the records of a table by a set of columns."""

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
        """Share of the pairs of records that differ (Motwani and Xu 2007; as in ARX). 0 if there is no pair."""
        pairs = self.rows * (self.rows - 1) // 2
        return self.told_apart / pairs if pairs else 0.0

    @property
    def unique_share(self) -> float:
        """The share of the people that is unique."""
        return self.unique / self.people if self.people else 0.0


def exposure(data: Dataset, columns: Sequence[str], person: str | None = None) -> Exposure:
    """Measure the exposure of records and people by some columns.

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
    """Count people instead of records."""
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


# Disclosed sensitive values -------------------------------------------------------------------------------------------


PART = 20  # the values of a class are close where they span so small a part of what the middle of the table spans
MIDDLE = (0.1, 0.9)  # one income of a billion must not make all others alike


@dataclass(frozen=True)
class CertainSecrets:
    """What somebody who knows only the quasi-identifiers learns of one sensitive column (the homogeneity attack)."""

    sensitive: str
    quasi: tuple[str, ...]
    people: int
    """How many people there are: records, unless `person` says whose they are."""
    certain: int
    """People in classes of which everybody has the same value."""
    nearly_certain: int
    """People in classes of which at least 95 % have the same value, the certain ones included."""
    largest: float
    """The largest posterior: the highest share of a class that has the same value. 0 in an empty table."""
    everywhere: float
    """The share of all people that has the most frequent value: what is known without the quasi-identifiers."""


@dataclass(frozen=True)
class NearSecrets:
    """How many people a class tells a number nearly: its values differ, but lie close together (the proximity attack)."""

    sensitive: str
    near: int
    people: int


def certain_secrets(
    data: Dataset, quasi: Sequence[str], sensitive: Sequence[str], person: str | None = None
) -> tuple[CertainSecrets, ...]:
    """For each sensitive column, for how many people the class tells the value. O(rows) for each, after grouping once.

    A class of one tells it always. With `person`, a value counts once for each person in the class who has it in some row; rows
    without a person are left out.

    >>> table = Dataset.of({"sex": ["F", "F", "M", "M"], "disease": ["flu", "flu", "flu", "cold"]})
    >>> found, = certain_secrets(table, ["sex"], ["disease"])
    >>> found.certain, found.largest, found.everywhere
    (2, 1.0, 0.75)
    """
    names = require_columns(data, quasi, person)
    wanted = require_columns(data, sensitive)
    classes = Classes.of(data, names, person)
    return tuple(certain_secret(classes, name) for name in wanted)


def certain_secret(classes: Classes, name: str) -> CertainSecrets:
    """The same of one sensitive column, where the classes are formed already.

    `flu` and `Flu ` are one secret to whoever reads them, so they are one here, whatever a promise counts.
    """
    column, sizes = folded(clean(classes.data[name]), FOLDS), classes.sizes
    if classes.person is None and sizes.size:
        found, rows = secret_spread(classes, column), classes.data.rows
        everywhere = _most_frequent(column, None) / rows
        return CertainSecrets(name, classes.quasi, rows, found.certain, found.nearly, found.largest, everywhere)
    most = classes.tally(column.codes, len(column.values)).most_frequent
    everybody = int(sizes.sum()) if classes.person is None else people_in(classes.person)
    return CertainSecrets(
        sensitive=name,
        quasi=classes.quasi,
        people=everybody,
        certain=_standing_in(classes, most == sizes),
        nearly_certain=_standing_in(classes, NEARLY[1] * most >= NEARLY[0] * sizes),
        largest=float((most / np.maximum(sizes, 1)).max(initial=0.0)),
        everywhere=_most_frequent(column, classes.person) / everybody if everybody else 0.0,
    )


def _standing_in(classes: Classes, marked: np.ndarray) -> int:
    """How many people stand in some of the marked classes."""
    if classes.person is None:
        return int(classes.sizes[marked].sum())
    person = clean(classes.person)
    return int(np.setdiff1d(person.codes[marked[classes.groups.labels]], [person.missing]).size)


def _most_frequent(column: Column, person: Column | None) -> int:
    """Count the people who have the most frequent value."""
    counts = column.counts if person is None else people_per_group(Groups.of([column], len(column)), person)
    return int(counts.max(initial=0))


def near_secret(classes: Classes, name: str) -> NearSecrets | None:
    """How many stand in classes of several values that lie close together; None where values have no place on a line. O(rows).

    >>> from oboro.data.dataset import Dataset
    >>> table = Dataset.of({"sex": ["F", "F", "M", "M"], "income": [30010, 30020, 71000, 28000]})
    >>> near_secret(Classes.of(table, ["sex"]), "income").near
    2
    """
    column = classes.data[name]
    if not column.kind.numeric or not classes.data.rows:
        return None
    places = column.numbers(name)
    low, high = _ends(classes, places[column.codes])
    close = (high > low) & (PART * (high - low) <= _middle(places, column.counts))
    people = classes.data.rows if classes.person is None else people_in(classes.person)
    return NearSecrets(name, _standing_in(classes, close), people)


def _ends(classes: Classes, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value of each class; not-a-number, which is close to nothing, where one is missing."""
    labels, number = classes.groups.labels, len(classes.groups)
    low, high, missing = np.full(number, np.inf), np.full(number, -np.inf), np.isnan(values)
    np.minimum.at(low, labels, np.where(missing, np.inf, values))
    np.maximum.at(high, labels, np.where(missing, -np.inf, values))
    low[labels[missing]] = np.nan
    return low, high


def _middle(places: np.ndarray, counts: np.ndarray) -> float:
    """What the middle four fifths of all records that have a value span."""
    known = ~np.isnan(places) & (counts > 0)
    order = np.argsort(places[known])
    held, below = places[known][order], np.cumsum(counts[known][order])
    if not held.size:
        return 0.0
    first, last = np.searchsorted(below, [part * below[-1] for part in MIDDLE])
    return float(held[last] - held[first])


# Uniqueness by columns ------------------------------------------------------------------------------------------------
# People who are unique by one column, by two, and by all of them.


PAIRED = 12  # columns of which every pair is counted: 66 pairs


@dataclass(frozen=True)
class UniquePeople:
    """Who is unique by which columns; only those that single somebody out are listed, the worst first."""

    columns: tuple[str, ...]
    people: int
    """How many people there are: records, unless `person` says whose they are."""
    together: int
    """People who are unique by all the columns together: by fewer columns, no more can be."""
    single: tuple[UniqueBy, ...]
    pairs: tuple[UniqueBy, ...]
    unpaired: tuple[str, ...] = ()
    """Columns whose pairs were not counted, because there are more than `PAIRED`; these tell records apart least."""

    @property
    def ranked(self) -> tuple[UniqueBy, ...]:
        """Columns, pairs, and all of them: the most people first, and among equals the fewest columns."""
        whole = (UniqueBy(self.columns, self.together),) if len(self.columns) > 2 and self.together else ()
        return tuple(sorted((*self.single, *self.pairs, *whole), key=lambda one: (-one.people, len(one.columns))))


def unique_people(
    data: Dataset, columns: Sequence[str], person: str | None = None, *, paired: int = PAIRED
) -> UniquePeople:
    """Count who is unique by each column, each pair and all of the columns, on all rows.

    A larger set singles out everybody whom a part of it does. So all columns together are counted first, and where they single out
    nobody, nothing else is. A pair of which one column singles out as many as all together is not counted either.
    Cost: O(rows · columns) for all together, O(rows) for each pair of the `paired` columns that tell most records apart; memory as
    `class_counts` and `pair_counts` say.

    >>> people = Dataset.of({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]})
    >>> [(one.columns, one.people) for one in unique_people(people, ["sex", "job"]).ranked]
    [(('sex', 'job'), 2), (('job',), 1)]
    """
    names = require_columns(data, columns, person)
    counted = Counted.of(data, person)
    together = counted.unique(names) if names else 0
    if not together:
        return UniquePeople(names, counted.everybody, 0, (), ())
    alone = {name: together if len(names) == 1 else counted.unique([name]) for name in names}
    single = [UniqueBy((name,), people) for name, people in alone.items()]
    chosen = _most_telling(data, names, paired)
    pairs = _pairs(counted, chosen, alone, together, whole=len(names) == 2)
    left = tuple(name for name in names if name not in chosen)
    return UniquePeople(names, counted.everybody, together, _worst_first(single), _worst_first(pairs), left)


def _pairs(
    counted: Counted, chosen: Sequence[str], alone: dict[str, int], together: int, whole: bool
) -> list[UniqueBy]:
    """Each two of the columns; those of which one singles out as many as all together are not counted."""
    pairs = list(combinations(chosen, 2))
    unknown = [] if whole else [pair for pair in pairs if max(alone[name] for name in pair) < together]
    found = counted.unique_by_pairs(unknown)
    return [UniqueBy(pair, found.get(pair, together)) for pair in pairs]


def _worst_first(found: Sequence[UniqueBy]) -> tuple[UniqueBy, ...]:
    return tuple(sorted((one for one in found if one.people), key=lambda one: -one.people))


def _most_telling(data: Dataset, names: tuple[str, ...], most: int) -> list[str]:
    """The columns that tell most records apart, in the order in which they came."""
    if len(names) <= most:
        return list(names)
    together = {name: float((clean(data[name]).counts.astype(np.float64) ** 2).sum()) for name in names}
    best = set(sorted(names, key=lambda name: together[name])[:most])
    return [name for name in names if name in best]


# Rare values ----------------------------------------------------------------------------------------------------------
# Values that few people have.


@dataclass(frozen=True)
class RareValues:
    """The values of one column that fewer than k people hold."""

    column: str
    k: int
    values: int
    """How many such values there are."""
    records: int
    """How many records hold them."""
    fewest: int
    """Fewest people that hold one of them."""


def rare_values(
    data: Dataset, columns: Sequence[str] | None = None, k: int = 5, person: str | None = None
) -> tuple[RareValues, ...]:
    """The columns (all but `person`, unless named) with values that fewer than `k` people hold, most records first.

    Without `person`, fewer than k records. `*` is not a value: it says nothing about anybody. O(rows) for each column, once.

    >>> rare_values(Dataset.of({"job": ["cook", "cook", "judge"]}), k=2)
    (RareValues(column='job', k=2, values=1, records=1, fewest=1),)
    """
    if k < 1:
        raise UsageError(Message("error_measure.rare_k", k=k))
    names = require_columns(data, [name for name in data if name != person] if columns is None else columns, person)
    people = None if person is None else counts_people(data[person])
    found = [_of(name, data[name], k, people) for name in names]
    return tuple(sorted((one for one in found if one.values), key=lambda one: -one.records))


def _of(name: str, column: Column, k: int, whose: PeopleCounts | None) -> RareValues:
    held = clean(column)
    records, people = (held.counts, held.counts) if whose is None else whose.holding(held)
    plain = ~is_star(held)
    rare = plain & (people < k)
    fewest = int(people[rare].min()) if rare.any() else 0
    return RareValues(name, k, int(np.count_nonzero(rare)), int(records[rare].sum()), fewest)
