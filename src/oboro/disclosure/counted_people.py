"""Check whether one person has several records where records were counted, and find the column that identifies people.

Four things speak for a column: its name; a pattern (all people have the same number of rows, and with one other column,
such as the year, each row is unique); values that stay the same in all rows of a person although they differ between
people, such as sex or birth; and a declared identifier whose values repeat. The starter recipe gives the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, NestedColumn
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.grouping import Groups
from oboro.disclosure.column_names import (
    names_carried,
    names_household,
    names_moment,
    names_one_person,
    names_person,
    names_person_trait,
    role_by_name,
)
from oboro.disclosure.gate import Findings, NeedsRows, ReleaseCandidate
from oboro.disclosure.identifiers import holds_ranges, holds_tokens
from oboro.errors import PromiseError
from oboro.notations.kinds import Kind
from oboro.schema import Role
from oboro.text import Message

__all__ = ["RepeatedPeople", "ask_for_person", "check", "repeated_in", "repeated_people"]


FEWEST_PEOPLE = 8
MOST_ROWS_EACH = 200  # on average; a column with more rows for each value is a category
BALANCED = 0.9  # of the values have the most frequent number of rows
OFTEN = 2  # rows of a person on average: so often no name repeats by chance
CHANGED = 0.05  # of the people may have two sexes or births before it speaks against them: typing errors
FIXED_REPEATS = 10  # so many values with several rows must agree before "the same in all rows" says something
BLOCK = 1 << 16  # rows that are compared at a time
SEEN = 64  # values that are asked whether they are codes
CODE, DIGIT = re.compile("[0-9A-Fa-f]+"), re.compile("[0-9]")
LOOKED_AT = 12  # columns that are asked whether they are the moment, or stay the same


@dataclass(frozen=True)
class RepeatedPeople:
    """The column whose values are people with several rows each, and what speaks for it."""

    column: str
    people: int
    rows: int
    most_rows: int
    named: bool
    """Its name says that it numbers people."""
    moment: str | None = None
    """The column that tells the rows of a person apart, where everybody has the same number of them."""
    fixed: tuple[str, ...] = ()
    """Columns that never change for a person, although people differ in them."""
    missing: int = 0
    """Rows without a person."""
    changing: tuple[str, ...] = ()
    """Sex, birth and the like, where they change in the rows of a value: then it may be no person's number."""

    @property
    def reasons(self) -> tuple[Message, ...]:
        """Reasons for the choice of this column."""
        who = "households" if names_household(self.column) else "people"
        said = [Message(f"role.{who}.several_rows", people=self.people, rows=self.rows)]
        said += [Message(f"role.{who}.named")] if self.named else []
        said += [Message("role.people.moment", moment=self.moment)] if self.moment else []
        said += [Message(f"role.{who}.fixed", columns=list(self.fixed), count=len(self.fixed))] if self.fixed else []
        said += [Message(f"role.{who}.missing", rows=self.missing)] if self.missing else []
        return tuple(said)

    @property
    def proven(self) -> bool:
        """Whether sex or birth never changes, or each person has a row for each moment.

        Or it is called the number of a person, repeats often, and nothing speaks against it.
        """
        if self.moment is not None or any(map(names_person_trait, self.fixed)):
            return True
        return names_one_person(self.column) and not self.changing and self.often

    @property
    def often(self) -> bool:
        """Whether people have several rows as a rule and not by chance."""
        return self.rows >= OFTEN * self.people

    @property
    def question(self) -> Message:
        """Question whether these are people, to be counted instead of records."""
        return Message("role.people.ask", column=self.column, reasons=list(self.reasons))

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "fixed": list(self.fixed), "reasons": [one.as_dict() for one in self.reasons]}


def repeated_people(data: Dataset) -> RepeatedPeople | None:
    """Return the column that identifies people, if some of them have several rows; None where nothing speaks for one.

    >>> visits = {"patient": [i // 3 for i in range(60)], "visit": [i % 3 for i in range(60)]}
    >>> repeated_people(Dataset.of(visits)).column
    'patient'

    A number of a person that tells all rows apart says that each row is a person, even if names repeat.
    """
    if any(names_one_person(name) and len(data[name].values) == data.rows for name in data):
        return None
    found = [one for name in data if (one := repeated_in(data, name)) is not None]
    return max(found, key=lambda one: (one.named, len(one.fixed), one.moment is not None, one.people), default=None)


def ask_for_person(data: Dataset, person: str | None) -> list[Message]:
    """Return the question for `person:`, where people seem to have several rows and no column is named that identifies them.

    >>> visits = {"patient": [i // 3 for i in range(60)], "visit": [i % 3 for i in range(60)]}
    >>> [one.id for one in ask_for_person(Dataset.of(visits), None)], ask_for_person(Dataset.of(visits), "patient")
    (['role.people.ask'], [])
    """
    found = repeated_people(data) if person is None else None
    return [] if found is None else [found.question]


def repeated_in(data: Dataset, name: str, *, identifier: bool = False) -> RepeatedPeople | None:
    """Return what speaks for one column, if enough does; for a declared `identifier` it is enough that it repeats often."""
    column = data[name]
    if not _may_number_people(name, column, identifier):
        return None
    held = np.delete(column.counts, column.missing) if column.missing >= 0 else column.counts
    fixed, changing = _fixed(data, name)
    missing = int(column.counts[column.missing]) if column.missing >= 0 else 0
    moment, rows = _moment(data, name, held), int(held.sum())
    found = RepeatedPeople(
        name, int(held.size), rows, int(held.max()), _named(name, column), moment, fixed, missing, changing
    )
    enough = found.named or moment or any(map(names_person_trait, fixed)) or (identifier and found.often)
    return found if enough else None


def _may_number_people(name: str, column: Column, identifier: bool) -> bool:
    """Return whether values are names or numbers, repeat, and are too many for a category."""
    rows, distinct = len(column), len(column.values)
    if identifier:
        return 1 < distinct < rows
    if column.kind not in (Kind.TEXT, Kind.INTEGER) or role_by_name(name) in (Role.QUASI, Role.SENSITIVE):
        return False
    if names_moment(name) or distinct < FEWEST_PEOPLE or distinct == rows:
        return False
    if not names_person(name) and holds_ranges(column):  # a released group's range is in all of its rows
        return False
    if rows > MOST_ROWS_EACH * distinct:
        return names_one_person(name)
    return names_person(name) or 2 * int((column.counts > 1).sum()) >= distinct


def _named(name: str, column: Column) -> bool:
    return names_person(name) or (names_carried(name) and _holds_codes(column))


def _holds_codes(column: Column) -> bool:
    """Return whether the values are numbers of one kind, such as `dev-23`, and no words such as `Pixel 4`."""
    held = [text for text in column.texts[:SEEN] if text]
    shapes = {CODE.sub("0", text) for text in held}
    return all(map(DIGIT.search, held)) and len(shapes) <= max(3, len(held) // 8)


def _moment(data: Dataset, name: str, held: np.ndarray) -> str | None:
    """Return the column that makes each row unique, where nearly all values have the same number of rows."""
    common = int(np.bincount(held).argmax())
    if common < 2 or (held == common).mean() < BALANCED:
        return None
    others = [one for one in data if one != name and common <= len(data[one].values) <= 2 * int(held.max())]
    others.sort(key=lambda one: not names_moment(one))
    for other in others[:LOOKED_AT]:
        if len(Groups.of([data[name], data[other]], data.rows)) == data.rows:
            return other
    return None


def _fixed(data: Dataset, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return columns of several values that are the same in all rows of a value, and traits of people that are not.

    Nothing is said where few values have several rows.
    """
    column = data[name]
    if int((column.counts > 1).sum()) < FIXED_REPEATS:
        return (), ()
    traits = [one for one in data if one != name and len(data[one].values) > 1 and names_person_trait(one)]
    others = [one for one in data if one != name and 1 < len(data[one].values) < len(column.values)]
    looked = [*traits, *(one for one in others if one not in traits)][:LOOKED_AT]
    fixed = tuple(one for one in looked if _never_changes(column, data[one]))
    changing = (one for one in traits if one in looked and one not in fixed and _changes(column, data[one]))
    return fixed, tuple(changing)


def _changes(column: Column, other: Column) -> bool:
    """Return whether another column differs in the rows of more values than typing errors explain."""
    pairs = len(Groups.of([column, other], len(column)))
    return pairs > (1 + CHANGED) * len(column.values)


def _never_changes(column: Column, other: Column) -> bool:
    """Return whether another column is the same in all rows of a value. O(rows), but a few rows rule most columns out."""
    known = np.full(len(column.values), -1, np.int64)
    for begin in range(0, len(column), BLOCK):
        values, held = column.codes[begin : begin + BLOCK], other.codes[begin : begin + BLOCK]
        before = known[values]
        known[values] = held
        if ((before >= 0) & (before != held)).any() or (known[values] != held).any():
            return False
    return True


# Check of counted people ----------------------------------------------------------------------------------------------


def check(candidate: ReleaseCandidate) -> Findings:
    """Count every guarantee in people, where an identifier seems to number people with several records and `person` is not given.

    Raises a `PromiseError` where a guarantee of records is violated for them and their traits or a pattern prove that these are
    people, unless the recipe accepts it; else returns cautions. O(records) for each identifier that repeats.
    """
    if candidate.given.person is not None or not candidate.guarantees:
        return Findings()
    unread = set(unread_columns(candidate.original))
    names = _identifiers(candidate)
    rows = candidate.original.select([name for name in candidate.original if name not in unread])
    rows = _with_loaded(candidate, rows, [name for name in names if candidate.distinct(name) is None])
    left = _left_by_rows(candidate, rows, names)
    if left is None:
        return Findings()
    repeating = [name for name in left if name in rows or _may_repeat(candidate, name)]
    rows = _with_loaded(candidate, rows, repeating)
    missing = [name for name in repeating if name not in rows]
    cautions = [Message("exposure.rows.unread", columns=missing)] if missing else []
    others = _by_traits(candidate, rows, left, unread)
    for found, broken in _broken(candidate, rows, [*left, *others]):
        facts = {"column": found.column, "reasons": list(found.reasons), "broken": broken}
        because = candidate.because("rows_of", found.column)
        if because:
            cautions.append(Message("exposure.rows.accepted", **facts, because=because))
        elif found.proven and found.column in left:
            raise PromiseError(Message("error_exposure.rows", **facts))
        else:
            cautions.append(Message("exposure.rows.perhaps", **facts))
    return Findings(tuple(cautions))


def _identifiers(candidate: ReleaseCandidate) -> list[str]:
    """Return declared identifiers, and other columns that are called the number of a person, released or not."""
    declared = candidate.given.named(Role.IDENTIFIER)
    return [*declared, *(name for name in candidate.original if name not in declared and names_one_person(name))]


def _with_loaded(candidate: ReleaseCandidate, rows: Dataset, names: Sequence[str]) -> Dataset:
    """Return `rows` with these columns of the original, without those that are too large to be read."""
    known = {name: one for name, one in candidate.original.columns.items() if not isinstance(one, NestedColumn)}
    wanted = [name for name in names if name in known and name not in rows]
    return rows.with_columns(dict(candidate.loaded(candidate.original, wanted).columns)) if wanted else rows


def _left_by_rows(candidate: ReleaseCandidate, rows: Dataset, names: list[str]) -> list[str] | None:
    """Return the identifiers that may number people with several records, where another one identifies each record.

    `respondent_id` then says that a record is a person: None. `visit_id` or a plain `id` says nothing of `patient_id`.
    """
    distinct = {name: len(rows[name].values) if name in rows else candidate.distinct(name) for name in names}
    apart = [name for name in names if distinct[name] == rows.rows]
    if any(map(names_one_person, apart)):
        return None
    return [name for name in names if not apart or names_one_person(name)]


def _may_repeat(candidate: ReleaseCandidate, name: str) -> bool:
    """Return whether a column that is not loaded may have several values, some of them in several records."""
    known = candidate.distinct(name)
    return known is None or 1 < known < candidate.original.rows


def _by_traits(candidate: ReleaseCandidate, rows: Dataset, names: list[str], unread: set[str]) -> list[str]:
    """Return other released columns that may number people, whatever they are called.

    Every value has one sex or birth in all its records, or is a long code such as a program gives.
    """
    counted, released = set(candidate.store.counted), candidate.released
    asked = [name for name in released if name in rows and name not in names]
    if counted:  # its rows are elsewhere, with those of the sensitive columns, which are loaded wherever others are
        known = [*rows, *(name for name in candidate.given.sensitive if name in unread)]
        for name in (one for one in known if one in released and one not in names):
            beside = any(names_person_trait(other) for other in known if other != name)
            column = rows[name] if name in rows else _first_values(candidate, name)
            may = _may_number_people(name, column, False) if name in rows else _may_number(candidate, name, column)
            if (beside and may) or holds_tokens(column):
                raise NeedsRows([name])
    asked = [name for name in asked if name not in counted]
    found = [one for name in asked if (one := repeated_in(rows, name)) is not None]
    traits = [one.column for one in found if any(map(names_person_trait, one.fixed))]
    return traits + [name for name in asked if name not in traits and holds_tokens(rows[name])]


def _first_values(candidate: ReleaseCandidate, name: str) -> Column:
    """Return the first rows of a column that is not loaded."""
    return Column.encode(candidate.first_rows([name]).get(name, pa.array([], pa.string())))


def _may_number(candidate: ReleaseCandidate, name: str, first: Column) -> bool:
    """Return whether a column may number people, by its `first` rows and the number of its values."""
    if first.kind not in (Kind.TEXT, Kind.INTEGER) or role_by_name(name) in (Role.QUASI, Role.SENSITIVE):
        return False
    distinct, rows = candidate.distinct(name) or 0, candidate.original.rows
    many = rows <= MOST_ROWS_EACH * distinct or names_one_person(name)
    return many and FEWEST_PEOPLE <= distinct < rows and not names_moment(name)


def _broken(
    candidate: ReleaseCandidate, rows: Dataset, names: Sequence[str]
) -> Iterator[tuple[RepeatedPeople, list[Message]]]:
    """Yield identifiers that seem to number people with several records, and the guarantees that are violated for them."""
    for name in names:
        if name not in rows:
            continue
        candidate.require_rows([name])
        found = repeated_in(rows, name, identifier=True)
        if found is not None:
            column, origin = rows[name], candidate.released.origin
            person = column if origin is None else Column(column.values, column.codes[origin])
            verdicts = [
                one for each in candidate.guarantees for one in each.verify(candidate.released, person).verdicts
            ]
            broken = [one.message() for one in verdicts if not one.holds]
            if broken:
                yield found, broken
