"""Verification of sequential releases: the people who stayed, left or came between two releases.

Rows are followed by a *key*, the values of a row in both releases beside its quasi-identifiers. Within an old class j, a
key that m rows had and n rows have now tells that at least |n − m| people came or left, and that at most min(m, n)
stayed. So each person is in one of three parts, and each part must be empty or many (k of them, with l different
sensitive values):

- *left*, of an old class: the rows that it had beyond those that are there now;
- *stayed*, of an old class and a new one: the rows of the new class that the old one explains;
- *came*, of a new class: the rows that no old class explains.

Why that is enough for two releases is in docs/guarantees/series.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from oboro.data.column import Column, large_zeros
from oboro.data.dataset import Dataset
from oboro.data.folding import empty_as_missing, words_as_missing
from oboro.data.grouping import Groups, clean
from oboro.data.matching import matched
from oboro.hierarchies.hierarchy import Hierarchy, text_array
from oboro.hierarchies.labels import is_star
from oboro.verifier.classes import Classes
from oboro.verifier.identity import EMPTY, Model
from oboro.verifier.judges import judges
from oboro.verifier.matching import relation
from oboro.verifier.verdict import Verdict

__all__ = [
    "EarlierRelease",
    "Part",
    "RowChanges",
    "Rows",
    "SeriesAnonymity",
    "Wanted",
    "empty_readings",
    "followed_by",
    "known_series",
    "old_places",
    "released_classes",
    "shared_codes",
    "shared_labels",
    "steady",
    "suppressed_classes",
    "without_empty",
]


# Classes of an earlier release ----------------------------------------------------------------------------------------
# The class of an earlier release that each person belongs to, from their values and the released labels.


NOWHERE = -1


def released_classes(released: Dataset, quasi: Sequence[str]) -> Groups:
    """The classes of a release over those quasi-identifiers that it has."""
    return Groups.of([clean(released[name]) for name in quasi if name in released], released.rows)


def suppressed_classes(released: Dataset, quasi: Sequence[str], classes: Groups) -> np.ndarray:
    """Mask of the classes with `*` in every column: people who fit no other class must be there."""
    rows, names = classes.first_rows(), [name for name in quasi if name in released]
    if not names:
        return np.zeros(len(classes), dtype=bool)
    columns = [clean(released[name]) for name in names]
    return np.asarray(np.logical_and.reduce([is_star(column)[column.codes[rows]] for column in columns]))


def old_places(
    people: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None = None
) -> tuple[Groups, np.ndarray]:
    """The classes of a release, and for each of `people` the class that fits their values, −1 where none does.

    Of several that fit, the narrowest is taken, and the suppressed records only where no other does: that is where a method puts
    them which makes classes as fine as it can, and an attacker knows the method.
    """
    names = [name for name in quasi if name in released and name in people]
    classes = released_classes(released, names)
    if not people.rows or not released.rows:
        return classes, np.full(people.rows, NOWHERE)
    found = relation(people, released, names, hierarchies)
    kinds = classes.labels[found.released.first_rows()].astype(np.int64)
    width = np.bincount(found.tails, weights=found.originals.sizes[found.heads], minlength=kinds.size)
    last = suppressed_classes(released, names, classes)[kinds]
    rank = np.lexsort((kinds, width, last))  # the narrowest first, the suppressed last
    order = np.empty(rank.size, np.int64)
    order[rank] = np.arange(rank.size)
    best = np.full(len(found.originals), rank.size)
    np.minimum.at(best, found.heads, order[found.tails])
    place = np.append(kinds[rank], NOWHERE)[best]
    return classes, np.asarray(place[found.originals.labels])


# Changes between two releases -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wanted:
    """Requirements on each part: k rows, and of each sensitive attribute l different values."""

    k: int
    diverse: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one release: the old class of each (−1: none), its key and its secrets, in codes that both releases share."""

    place: np.ndarray
    key: np.ndarray
    secrets: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Part:
    """Groups of people who came, stayed or left together: entries (a key each) with their number, and the group of each."""

    group: np.ndarray
    number: np.ndarray
    groups: int
    secrets: Mapping[str, np.ndarray]  # of each entry; −1: none that is the same in both releases

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many people each group holds."""
        return np.bincount(self.group, weights=self.number, minlength=self.groups).astype(np.int64)

    def distinct(self, secret: str) -> np.ndarray:
        """How many different values of a secret each group holds."""
        held = (self.number > 0) & (self.secrets[secret] >= 0)
        values = self.secrets[secret][held]
        width = int(values.max(initial=-1)) + 1
        pairs = np.unique(self.group[held] * width + values)
        return np.bincount(pairs // max(1, width), minlength=self.groups)

    def small(self, wanted: Wanted) -> np.ndarray:
        """Which groups hold somebody, but too few people or too few different secrets."""
        few = self.sizes < wanted.k
        for secret in (name for name in self.secrets if name in wanted.diverse):
            few |= self.distinct(secret) < wanted.diverse[secret]
        return np.asarray(few & (self.sizes > 0))


@dataclass(frozen=True, eq=False)
class RowChanges:
    """What changed from an old release to a new one. `new.place` is the old class of each new row, `classes` its new class.

    With `once` a key is a person: however many rows they have in a class, they are one.
    """

    old: Rows
    new: Rows
    classes: np.ndarray
    once: bool = False

    @cached_property
    def _ids(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pair (old class, key) of each old and each new row, numbered; and the old class of each pair."""
        width = int(max(self.old.key.max(initial=-1), self.new.key.max(initial=-1))) + 1
        joined = [(rows.place.astype(np.int64) + 1) * width + rows.key for rows in (self.old, self.new)]
        pairs, ids = np.unique(np.concatenate(joined), return_inverse=True)
        return ids[: joined[0].size], ids[joined[0].size :], pairs // max(1, width) - 1

    @cached_property
    def was(self) -> np.ndarray:
        """Number of old rows of each pair (old class, key)."""
        return self._counted(0)

    @cached_property
    def now(self) -> np.ndarray:
        """Number of new rows of each pair."""
        return self._counted(1)

    @property
    def followed(self) -> float:
        """The share of the rows that were followed: of those of the smaller release that have an old class."""
        inside = self._ids[2] >= 0
        least = min(int(self.was.sum()), int(self.now[inside].sum()))
        return float(np.minimum(self.was, self.now)[inside].sum()) / max(1, least)

    def _counted(self, which: int) -> np.ndarray:
        counts = np.bincount(self._ids[which], minlength=self._ids[2].size)
        return np.asarray(np.minimum(counts, 1) if self.once else counts)

    @cached_property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Triples (old class, key, new class): the pair of each, its new class, its number of rows, and that of each new row."""
        width = int(self.classes.max(initial=-1)) + 1
        found, each, counts = np.unique(self._ids[1] * width + self.classes, return_inverse=True, return_counts=True)
        counts = np.minimum(counts, 1) if self.once else counts
        return found // max(1, width), found % max(1, width), counts, each

    @cached_property
    def more(self) -> np.ndarray:
        """Number of rows of each pair that are new for certain."""
        return np.asarray(np.maximum(self.now - self.was, 0))

    @cached_property
    def old_classes(self) -> int:
        """Number of old classes plus one: the first is for rows that fit none."""
        return int(max(self.old.place.max(initial=-1), self.new.place.max(initial=-1))) + 2

    def _by_old_class(self, number: np.ndarray) -> np.ndarray:
        return np.bincount(self._ids[2] + 1, weights=number, minlength=self.old_classes).astype(np.int64)

    @cached_property
    def left(self) -> Part:
        """Who left, by old class (and one more group, the first, of nobody). Of a class that is gone as a whole there is none: it
        tells nothing that it did not tell before."""
        stays = self._by_old_class(np.minimum(self.was, self.now)) > 0
        number = np.where(stays[self._ids[2] + 1], np.maximum(self.was - self.now, 0), 0)
        return Part(self._ids[2] + 1, number, self.old_classes, self._of_pairs(0))

    @cached_property
    def stayed(self) -> Part:
        """Groups of the people who stayed, by old class and new class."""
        pair, new, counts, _ = self.cells
        place = self._ids[2][pair]
        width = int(new.max(initial=-1)) + 1
        found, group = np.unique((place + 1) * width + new, return_inverse=True)
        number = np.where(place >= 0, np.maximum(counts - self.more[pair], 0), 0)
        return Part(group, number, found.size, self._of_cells(both=True))

    @cached_property
    def whole(self) -> np.ndarray:
        """Of each group of `stayed`, whether it is an old class of which everybody stayed, and together: that class vouches for
        them as it did before."""
        place = self._ids[2][self.cells[0]]
        mine = np.zeros(self.stayed.groups, np.int64)
        mine[self.stayed.group] = place + 1
        return np.asarray((mine > 0) & (self.stayed.sizes == self._by_old_class(self.was)[mine]))

    @cached_property
    def unclear(self) -> np.ndarray:
        """Of each group of `stayed`, whether it may hold somebody who stayed and of whom the rows do not tell."""
        pair, _, _, _ = self.cells
        may = (self._ids[2][pair] >= 0) & (self.was[pair] > 0)
        open_ = np.zeros(self.stayed.groups, dtype=bool)
        open_[self.stayed.group[may]] = True
        return np.asarray(open_ & (self.stayed.sizes == 0))

    @cached_property
    def came(self) -> Part:
        """Groups of the people who came, by new class."""
        pair, new, counts, _ = self.cells
        alone = counts == self.now[pair]  # all rows of the pair are in one new class
        number = np.where(alone, self.more[pair], np.maximum(counts - self.was[pair], 0))
        return Part(new, number, int(self.classes.max(initial=-1)) + 1, self._of_cells(both=False))

    def broken_stayed(self, wanted: Wanted) -> np.ndarray:
        """Which groups of `stayed` are too small, or not clear; not those for which their whole old class stands as before."""
        return np.asarray((self.stayed.small(wanted) | self.unclear) & ~self.whole)

    @cached_property
    def loose(self) -> np.ndarray:
        """Of each triple, whether somebody of its pair came and the rows do not tell into which class."""
        pair, _, _, _ = self.cells
        told = np.bincount(pair, weights=self.came.number, minlength=self.more.size)
        return np.asarray(told[pair] < self.more[pair])

    def judged(self, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
        """The size of every group of every part that holds somebody, and whether it breaks what is wanted."""
        unclear = np.bincount(self.cells[0][self.loose], minlength=self.more.size)
        parts = [
            (self.left.sizes, self.left.small(wanted)),
            (self.stayed.sizes, self.broken_stayed(wanted)),
            (self.came.sizes, self.came.small(wanted)),
            (self.more, unclear > 0),
        ]
        sizes, broken = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        there = (sizes > 0) | broken
        there[sizes.size - self.more.size :] &= unclear > 0
        return sizes[there], broken[there]

    def _of_pairs(self, which: int) -> dict[str, np.ndarray]:
        """The secret of each pair in one release; −1 where its rows do not agree or it has none."""
        rows = (self.old, self.new)[which]
        return {name: _single(self._ids[which], codes, self._ids[2].size) for name, codes in rows.secrets.items()}

    def _of_cells(self, *, both: bool) -> dict[str, np.ndarray]:
        pair, _, _, each = self.cells
        now = {name: _single(each, codes, pair.size) for name, codes in self.new.secrets.items()}
        if not both:
            return now
        before = self._of_pairs(0)
        return {name: np.where(before[name][pair] == codes, codes, -1) for name, codes in now.items()}


def _single(ids: np.ndarray, codes: np.ndarray, size: int) -> np.ndarray:
    """The code of each id; −1 where it has none or several."""
    first, last = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(first, ids, codes)
    np.maximum.at(last, ids, codes)
    return np.where(first == last, first, -1)


# Common codes ---------------------------------------------------------------------------------------------------------
# Columns of several tables in the same codes: equal values have equal codes in every table.


def shared_codes(columns: Sequence[Column]) -> tuple[list[np.ndarray], int]:
    """The codes of each column over one dictionary, and how many values it holds. O(rows + dictionaries).

    >>> shared_codes([Column.of(["a", None]), Column.of([None, "b", "a"])])[0]
    [array([0, 1]), array([1, 2, 0])]
    """
    texts = pa.concat_arrays([text_array(column.values) for column in columns])
    encoded = texts.dictionary_encode(null_encoding="encode")
    places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum([0, *(len(column.values) for column in columns)])
    tables = [places[begin:end] for begin, end in pairwise(starts)]
    for later, column in enumerate(columns):
        for before in range(later):
            _match_by_meaning(column, tables[later], tables[:later], columns[before], tables[before])
    return [table[column.codes] for table, column in zip(tables, columns, strict=True)], len(encoded.dictionary)


def _match_by_meaning(
    column: Column, table: np.ndarray, seen: Sequence[np.ndarray], before: Column, known: np.ndarray
) -> None:
    """Give values that no column before has, and that this one writes otherwise (1 and 1.0), the number that they have there."""
    fresh = np.flatnonzero(~np.isin(table, np.concatenate(seen)))
    if fresh.size and before.counts.size:
        place = matched(column.values.take(pa.array(fresh)), before.values)
        table[fresh[place >= 0]] = known[place[place >= 0]]


def without_empty(data: Dataset) -> Dataset:
    """A table with empty text as missing; columns in a file that were not read stay as they are."""
    held = {name: column for name, column in data.columns.items() if column.loaded}
    return data.with_columns({name: empty_as_missing(column) for name, column in held.items()})


def empty_readings(tables: Sequence[Dataset]) -> list[bool]:
    """In which ways releases must be compared: with empty text as missing (true), as it is (false), or both.

    Of two releases one may have come from CSV, which knows only one of the two; then they must be one, or everybody concerned would
    seem to have left and to have come. Where one table tells them apart, a receiver may too.
    """
    columns = [one for data in tables for one in data.columns.values() if one.loaded]
    told = [column for column in columns if _has_empty(column)]
    return ([True] if told else []) + ([False] if not told or any(column.missing >= 0 for column in told) else [])


def _has_empty(column: Column) -> bool:
    text = pa.types.is_string(column.values.type) or pa.types.is_large_string(column.values.type)
    return bool(text and pc.index(column.values, pa.scalar("", column.values.type)).as_py() >= 0)


def shared_labels(tables: Sequence[Dataset], names: Sequence[str]) -> tuple[list[np.ndarray], int]:
    """For each row of each table the number of its combination of values, the same in all; and how many there are."""
    rows = [table.rows for table in tables]
    joined = []
    for name in names:
        codes, width = shared_codes([table[name] for table in tables])
        joined.append(Column(pa.nulls(width), np.concatenate(codes).astype(np.uint32)))
    found = Groups.of(joined, sum(rows)) if sum(rows) else Groups(large_zeros(0, np.uint32), np.zeros(0, np.int64))
    return np.split(found.labels.astype(np.int64), np.cumsum(rows)[:-1]), len(found)


# Earlier releases -----------------------------------------------------------------------------------------------------
# An earlier release beside a new one: the columns by which rows can be followed between them, and the changes.


STEADY = 0.5  # of the rows must find their value again, or the column changes from release to release


def followed_by(new: Dataset, earlier: Dataset, quasi: Sequence[str], person: str | None = None) -> tuple[str, ...]:
    """The columns by which rows can be followed: whose they are, where both releases tell; else all that both say beside the
    quasi-identifiers."""
    if person is not None and person in new and person in earlier:
        return (person,)
    return tuple(name for name in new if name in earlier and name not in quasi)


def steady(old: Dataset, new: Dataset, places: tuple[np.ndarray, np.ndarray], names: Sequence[str]) -> tuple[str, ...]:
    """Which of the columns say the same of most rows in both releases, place by place.

    By a column that changes every month, everybody would seem to have left and to have come; whoever knows that it does sets it
    aside.
    """
    kept: list[str] = []
    for name in names:
        codes, width = shared_codes([old[name], new[name]])
        pairs = [(place.astype(np.int64) + 1) * width + one for place, one in zip(places, codes, strict=True)]
        found, ids = np.unique(np.concatenate(pairs), return_inverse=True)
        before = np.bincount(ids[: pairs[0].size], minlength=found.size)
        after = np.bincount(ids[pairs[0].size :], minlength=found.size)
        both = int(np.minimum(before, after)[found >= width].sum())  # only where somebody stood before
        there = min(int(before.sum()), int(after[found >= width].sum()))
        if both >= STEADY * there:
            kept.append(name)
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """An earlier release, and the class of it that each person of the new table belongs to."""

    table: Dataset
    classes: np.ndarray
    """The class of each of its rows."""
    places: np.ndarray
    """For each row of the original table the class in which whoever it is of stands or would stand; −1: none."""
    quasi: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    """The columns of which different values are asked for; rows are always followed by them."""
    changing: tuple[str, ...] = ()
    """Columns by which rows are not followed."""
    who: np.ndarray | None = None
    """Where it is known whose each row is: the person of each row of the original table, by the rows of this one, which has one row
    for everybody then; who is in none has a number of their own."""
    merged: bool = False
    """Whether empty text is read as missing, as in this table already."""

    def followed(self, new: Dataset) -> list[tuple[str, ...]]:
        """The columns by which rows are followed into a release: all that both have and, if others change, the steady ones."""
        names = tuple(name for name in followed_by(new, self.table, self.quasi) if name not in self.changing)
        places = self.classes, self.places[new.origin_rows]
        kept = (*self.secrets, *steady(self.table, new, places, [one for one in names if one not in self.secrets]))
        return list(dict.fromkeys([names, tuple(name for name in names if name in kept)]))

    def changes(self, new: Dataset, classes: np.ndarray) -> list[RowChanges]:
        """What changed to the new release, whose rows stand in these classes, for each way to follow rows. O(rows · log rows)."""
        if self.merged:
            new = without_empty(new)
            classes = released_classes(new, self.quasi).labels
        if self.who is not None:
            return [self._changes(new, classes, [np.arange(self.table.rows), self.who[new.origin_rows]])]
        keys = [shared_labels([self.table, new], names)[0] for names in self.followed(new)]
        return [self._changes(new, classes, one) for one in keys]

    def _changes(self, new: Dataset, classes: np.ndarray, keys: Sequence[np.ndarray]) -> RowChanges:
        told = [name for name in self.secrets if name in self.table and name in new]
        both = {name: [words_as_missing(one[name]) for one in (self.table, new)] for name in told}
        secrets = {name: shared_codes(columns)[0] for name, columns in both.items()}
        old, now = (
            Rows(place, key, {name: codes[which] for name, codes in secrets.items()})
            for which, (place, key) in enumerate(zip((self.classes, self.places[new.origin_rows]), keys, strict=True))
        )
        return RowChanges(old, now, classes.astype(np.int64), self.who is not None)


# Judge of sequential releases -----------------------------------------------------------------------------------------
# The people who came, stayed or left between an earlier release and this one must be many each.


@judges("series_anonymity")
class SeriesAnonymity(Model):
    """With each earlier release, the rows of a class that came, stayed or left are none, or at least k with l secrets each."""

    message: ClassVar[str] = "model.series_anonymity"
    parameters: ClassVar[tuple[str, ...]] = ("k", "releases")
    most: ClassVar[bool] = False
    every_column: ClassVar[bool] = True

    k: int = Field(ge=1)
    """how many people at least came, stayed or left together"""
    releases: int = Field(ge=1)
    """how many releases there were before"""
    diverse: Mapping[str, int] = Field(default_factory=dict)
    """of each secret, how many different values each such group has at least"""
    earlier: tuple[EarlierRelease, ...] = Field(repr=False)
    """the releases before"""

    def judge(self, classes: Classes) -> Verdict:
        """Compare with every earlier release."""
        wanted = Wanted(self.k, self.diverse)
        looks = [look for one in self.earlier for look in one.changes(classes.data, classes.groups.labels)]
        found = [look.judged(wanted) for look in looks]
        sizes, broken = (np.concatenate([part[side] for part in found]) for side in (0, 1))
        if not sizes.size:
            return self.vacuous(EMPTY)
        return Verdict.of(self.describe(), self.required, sizes, broken, sizes, self.most)


# Preparation of earlier releases --------------------------------------------------------------------------------------
# The earlier releases of a table: the old class of each of its rows, and the keys by which rows are followed.


def known_series(
    data: Dataset,
    earlier: Sequence[Dataset],
    quasi: Sequence[str],
    *,
    hierarchies: Mapping[str, Hierarchy],
    secrets: Sequence[str] = (),
    changing: Sequence[str] = (),
    person: str | None = None,
) -> tuple[EarlierRelease, ...]:
    """The releases before a table that is not generalized yet.

    With `person`, a column that all of them have, they are taken as one: what was said of each person, release by release.
    Otherwise each is looked at for itself.
    """
    told = tuple(name for name in secrets if name not in changing)
    if person is not None:
        return tuple(
            _of_people(*_read(data, earlier, merged), quasi, told, person, merged)
            for merged in empty_readings([data, *earlier])
        )
    releases = []
    for table in earlier:
        for merged in empty_readings([data, table]):
            people, (one,) = _read(data, [table], merged)
            classes, place = old_places(people, one, quasi, hierarchies)
            places = classes.labels.astype(np.int64), _by_origin(data, place)
            shared = tuple(name for name in told if name in table)
            releases.append(EarlierRelease(one, *places, tuple(quasi), shared, tuple(changing), merged=merged))
    return tuple(releases)


def _read(data: Dataset, earlier: Sequence[Dataset], merged: bool) -> tuple[Dataset, list[Dataset]]:
    return (without_empty(data), list(map(without_empty, earlier))) if merged else (data, list(earlier))


def _by_origin(data: Dataset, place: np.ndarray) -> np.ndarray:
    rows = data.origin_rows
    out = np.full(int(rows.max(initial=-1)) + 1, -1)
    out[rows] = place
    return out


def _of_people(
    data: Dataset,
    earlier: Sequence[Dataset],
    quasi: Sequence[str],
    secrets: Sequence[str],
    person: str,
    merged: bool,
) -> EarlierRelease:
    """Everybody who was ever released: one row each, with the classes of all releases as one, and the secrets that came last."""
    columns = [table[person] for table in earlier]
    texts = [text_array(column.values).take(pa.array(column.codes)) for column in columns]
    everybody = pa.concat_arrays(texts).dictionary_encode(null_encoding="encode")
    ids = np.split(everybody.indices.to_numpy(zero_copy_only=False), np.cumsum([len(one) for one in texts])[:-1])
    said = np.full((len(everybody.dictionary), len(earlier)), -1)
    latest: dict[str, list[str | None]] = {name: [None] * len(said) for name in secrets}
    for number, (table, who) in enumerate(zip(earlier, ids, strict=True)):
        said[:, number] = _classes_of(who, released_classes(table, quasi).labels, len(said))
        for name in (name for name in secrets if name in table):
            values = table[name].texts
            for one, code in zip(who.tolist(), table[name].codes.tolist(), strict=True):
                latest[name][one] = values[code]
    classes = np.unique(said, axis=0, return_inverse=True)[1].ravel()
    found = {name: Column.encode(pa.array(values, pa.string())) for name, values in latest.items()}
    who = _numbers(data[person], everybody.dictionary)
    place = np.where(who < len(said), np.append(classes, -1)[np.minimum(who, len(said))], -1)
    told = tuple(name for name in secrets if name in data)
    by_row = _by_origin(data, place), _by_origin(data, who)
    return EarlierRelease(
        Dataset(found, len(said)), classes, by_row[0], tuple(quasi), told, who=by_row[1], merged=merged
    )


def _classes_of(who: np.ndarray, labels: np.ndarray, people: int) -> np.ndarray:
    """For each person a number for the class, or the set of classes, in which they stand; −1: in none."""
    width = int(labels.max(initial=0)) + 1
    pairs = np.unique(who.astype(np.int64) * width + labels)
    owner, label = pairs // width, pairs % width
    out = np.full(people, -1)
    out[owner] = label
    starts = np.searchsorted(owner, np.arange(people + 1))
    sets: dict[bytes, int] = {}
    for one in np.flatnonzero(np.diff(starts) > 1):
        out[one] = width + sets.setdefault(label[starts[one] : starts[one + 1]].tobytes(), len(sets))
    return out


def _numbers(column: Column, known: pa.Array) -> np.ndarray:
    """The number of each row's person among known ones; everybody else has a number after these."""
    place = pc.index_in(text_array(column.values), value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
    number = np.where(place < 0, len(known) + np.arange(place.size), place).astype(np.int64)
    return np.asarray(number[column.codes])
