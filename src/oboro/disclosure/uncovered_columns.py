"""Check whether a person is unique by released columns that no guarantee covers.

All such columns together are counted first: no part of them makes a person unique whom all of them do not. Where
people are unique and the recipe does not accept that, the refusal names the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.grouping import Groups, clean, fingerprints, key_counts
from oboro.disclosure.column_names import role_by_name
from oboro.disclosure.gate import ColumnStore, Findings, ReleaseCandidate
from oboro.errors import SingledOutError
from oboro.measures.exposure import (
    PAIRED,
    Counted,
    UniqueBy,
    counts_people,
    people_at_most,
    unique_people,
    who_is_alone,
)
from oboro.schema import Role
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.data.grouping import PeopleCounts

__all__ = [
    "Acceptance",
    "LastLook",
    "LookedAt",
    "accepted_cautions",
    "check",
    "known_columns",
    "last_look",
    "look_findings",
    "uncovered",
    "unique_by_all",
]


# Count of unique people -----------------------------------------------------------------------------------------------
# All uncovered columns together are counted first. A part of them makes no person unique whom all of them do not. So
# where all of them make no person unique, the check ends. Columns may have stayed in their file: then a fingerprint
# (one number for each record) represents them, and they are read, a few at a time, only where unique people were
# found.


@dataclass(frozen=True)
class Acceptance:
    """Accepted columns by which people may be unique, the reason, and the number of people."""

    columns: tuple[str, ...]
    because: str
    people: int = 0


@dataclass(frozen=True)
class LastLook:
    """Unique people by the released columns that no guarantee covers."""

    columns: tuple[str, ...]
    """The columns that were looked at: those that no promise covers, and that are neither secret, random nor pseudonyms."""
    people: int
    """How many people there are: records, unless the recipe says whose they are."""
    counts_people: bool
    unique: int
    """People who are unique by all these columns together."""
    refused: int
    """Those of them whom no acceptance covers. Where there are some, nothing is released."""
    accepted: tuple[Acceptance, ...] = ()
    unneeded: tuple[tuple[str, ...], ...] = ()
    """Acceptances of columns that single nobody out."""
    worst: tuple[UniqueBy, ...] = ()
    """Columns and pairs, the worst first; counted only where the release is refused."""
    pseudonyms: tuple[str, ...] = ()
    """Columns of pseudonyms: nobody knows them without the key, so they are not looked at."""
    promised: tuple[tuple[str, ...], ...] = ()
    """The sets of released columns that promises cover, each set for itself."""

    @property
    def known(self) -> tuple[str, ...]:
        """Columns that an attacker may know and no single guarantee covers together; empty where one covers them all."""
        known = (*self.promised, self.columns) if self.columns else self.promised
        return tuple(dict.fromkeys(chain.from_iterable(known))) if len(set(map(frozenset, known))) > 1 else ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def last_look(
    release: LookedAt, columns: Sequence[str], accept: Sequence[Acceptance] = (), **more: tuple[Any, ...]
) -> LastLook:
    """Check whether a person is unique by `columns` and covered by no acceptance.

    An acceptance covers whoever is unique by its columns. So whoever is left is unique by some other columns. `more` are
    other facts: `pseudonyms`, `promised`.
    Cost where nobody is unique: O(rows · columns), and memory of 28 bytes a row where there are many combinations.
    """
    names = tuple(columns)
    facts: dict[str, Any] = {"people": release.everybody, "counts_people": release.person is not None}
    facts |= {"columns": names, **more}
    unique = release.together(names) if names else 0
    if not unique:
        return LastLook(**facts, unique=0, refused=0, unneeded=tuple(one.columns for one in accept))
    refused, taken = uncovered(release, names, unique, accept)
    facts |= {
        "unique": unique,
        "refused": refused,
        "worst": release.ranked(names) if refused else (),
        "accepted": tuple(one for one in taken if one.people),
        "unneeded": tuple(one.columns for one in taken if not one.people),
    }
    return LastLook(**facts)


def uncovered(
    release: LookedAt, names: Sequence[str], unique: int, accept: Sequence[Acceptance]
) -> tuple[int, list[Acceptance]]:
    """Return the number of people whom no acceptance covers, and the acceptances with the number that each covers."""
    if not accept:
        return unique, []
    everybody = [one for one in accept if set(names) <= set(one.columns)]
    if (
        everybody and len(accept) == 1
    ):  # the one acceptance is of all columns: who is unique by them was counted already
        return 0, [replace(everybody[0], people=unique)]
    parts = [[name for name in one.columns if name in names] for one in accept]
    covered = [release.alone(part) for part in parts]
    left = np.setdiff1d(release.alone(names), np.concatenate(covered))
    people = [release.number(part, who) for part, who in zip(parts, covered, strict=True)]
    return release.number(names, left), [replace(one, people=n) for one, n in zip(accept, people, strict=True)]


# Release as the check reads it ----------------------------------------------------------------------------------------
# Unique people by some of its columns, also by those that stayed in the file.


AT_ONCE = 4  # columns that are read from the file together
PERSON = "\0person"


@dataclass(frozen=True, eq=False)
class LookedAt:
    """A release as the check of uncovered columns reads it."""

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
        """Number of people."""
        return self.data.rows if self.person is None else people_at_most(self.person)

    @cached_property
    def _people(self) -> PeopleCounts | None:
        return None if self.person is None else counts_people(self.person)

    def together(self, names: Sequence[str]) -> int:
        """Count the people who are unique by all these columns together."""
        elsewhere = None if self.counted is None else self.counted(names)
        if elsewhere is not None:
            return elsewhere
        if not self._unread(names):
            return Counted(self.data, self._people).unique(names)
        numbers = self._numbers(names)
        return (key_counts(numbers) if self._people is None else self._people.key_counts(numbers)).alone

    def alone(self, names: Sequence[str]) -> np.ndarray:
        """Return the unique rows by all these columns, or the codes of people and, for rows without a person, −1 − row."""
        if not names:
            return np.zeros(0, np.int64)
        groups = self._classes(names)
        if self.person is None:
            return np.flatnonzero(groups.row_sizes() == 1)
        return who_is_alone(groups, self.person)

    def number(self, names: Sequence[str], who: np.ndarray) -> int:
        """Count the people among those that `alone` found. Rows without a person are as many people as they have classes."""
        nobodys = -1 - who[who < 0]
        classes = np.unique(self._classes(names).labels[nobodys]).size if nobodys.size else 0
        return int(who.size - nobodys.size + classes)

    def _classes(self, names: Sequence[str]) -> Groups:
        if self._unread(names):
            return Groups.of_keys(self._numbers(names))
        return Groups.of([clean(self.data[name]) for name in names], self.data.rows)

    def ranked(self, names: Sequence[str]) -> tuple[UniqueBy, ...]:
        """Rank the columns, and pairs of those that distinguish most records, the worst first."""
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


# Check of uncovered columns -------------------------------------------------------------------------------------------


SHOWN = 6  # columns and pairs that a refusal lists


def check(candidate: ReleaseCandidate) -> Findings:
    """Count the people who are unique by uncovered columns; raise a `SingledOutError` where the recipe accepts not all of them.

    Without uncovered columns no record is read. O(records · columns).
    """
    released = candidate.released
    wanted = [Acceptance(tuple(one.unique_on), one.because) for one in candidate.accept if one.unique_on]
    covered = [tuple(name for name in one.quasi if name in released) for one in candidate.guarantees]
    pseudonyms = tuple(name for name in released if name in candidate.pseudonyms)
    telling = _telling_columns(candidate)
    names = candidate.uncovered + telling
    if not names:
        person = candidate.person
        look = LastLook(
            (),
            released.rows if person is None else people_at_most(person),
            person is not None,
            unique=0,
            refused=0,
            unneeded=tuple(one.columns for one in wanted),
            pseudonyms=pseudonyms,
            promised=tuple(one for one in covered if one),
        )
        return Findings(look=look)
    promised = tuple(one for one in covered if one)
    found = last_look(_exposure(candidate), names, wanted, pseudonyms=pseudonyms, promised=promised)
    if found.refused:
        idle = {name for one in candidate.guarantees if not one.covers for name in one.quasi}
        why = [Message("error_exposure.k_of_one")] if not idle.isdisjoint(names) else []
        if telling:
            why.append(Message("error_exposure.known_secrets", columns=telling))
        raise SingledOutError(_refusal(found, why))
    return Findings(look=found)


def known_columns(candidate: ReleaseCandidate) -> list[str]:
    """Return the columns that this check counts: uncovered ones, and sensitive ones that others know."""
    return candidate.uncovered + _telling_columns(candidate)


def _telling_columns(candidate: ReleaseCandidate) -> list[str]:
    """Return sensitive columns without a guarantee whose names say that others know them, where they single a person out.

    Somebody may call a date of birth or an address sensitive in order to protect it; but it is released as it is.
    """
    if not candidate.schema.sensitive:
        return []
    covered = {getattr(model, "sensitive", None) for one in candidate.guarantees for model in one.models}
    covered |= {*candidate.perturbed, *candidate.pseudonyms}
    covered = covered.union(*(one.quasi for one in candidate.guarantees))
    names = [name for name in candidate.schema.sensitive if name in candidate.released and name not in covered]
    known = [name for name in names if role_by_name(name) in (Role.QUASI, Role.IDENTIFIER)]
    return known if known and _exposure(candidate).together(known) else []


def unique_by_all(data: Dataset, found: LastLook, store: ColumnStore, person: Column | None = None) -> int:
    """Count the people who are unique by all columns that guarantees cover separately, or not at all. O(records · columns)."""
    return _counted(data, store, person).together(found.known)


def _exposure(candidate: ReleaseCandidate) -> LookedAt:
    return _counted(candidate.released, candidate.store, candidate.person)


def _counted(data: Dataset, store: ColumnStore, person: Column | None) -> LookedAt:
    marks = store.fingerprints(data)
    read = partial(store.read, data)
    if marks is None:
        return LookedAt(data, read, person=person, counted=store.unique)
    return LookedAt(data, read, marks.names, marks.numbers, person, store.unique)


def look_findings(found: LastLook) -> list[Message]:
    """Return the lines of a summary: nobody is unique, and pseudonyms that were not counted."""
    lines = [] if found.unique or not found.columns else [Message("exposure.look.nobody", columns=found.columns)]
    return lines + ([Message("exposure.look.pseudonyms", columns=found.pseudonyms)] if found.pseudonyms else [])


def accepted_cautions(found: LastLook) -> list[Message]:
    """Return what the signer of a release must know: what the recipe accepts."""
    lines = [
        Message("exposure.look.accepted", people=one.people, all=found.people, columns=one.columns, because=one.because)
        for one in found.accepted
    ]
    return lines + [Message("exposure.look.unneeded", columns=columns) for columns in found.unneeded]


def _refusal(found: LastLook, why: Sequence[Message]) -> Message:
    kind = "people" if found.counts_people else "records"
    worst = [
        Message("error_exposure.singled_out_by", columns=one.columns, people=one.people) for one in found.worst[:SHOWN]
    ]
    suffices = next((one.columns for one in found.worst if one.people == found.unique), found.columns)
    return Message(
        f"error_exposure.singled_out.{kind}",
        unique=found.refused,
        people=found.people,
        columns=found.columns,
        worst=worst,
        accept=", ".join(suffices),
        why=why,
    )
