"""Does one person have several rows? The column that tells people apart in panels, visits and purchases.

Four things speak for a column: its name; a pattern (everybody has the same number of rows, and with one other column, such as
the year, each row is found); what stays the same in all rows of a value although it differs between values, such as sex or
birth; and that somebody calls it an identifier although its values repeat. The starter recipe says why a column was taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from oboro.recipe.roles.column_forms import holds_ranges
from oboro.recipe.roles.column_words import (
    names_carried,
    names_household,
    names_moment,
    names_one_person,
    names_person,
    names_person_trait,
    role_by_name,
)
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.schema import Role
from oboro.table.values import Kind
from oboro.text import Message

__all__ = ["RepeatedPeople", "ask_for_person", "repeated_in", "repeated_people"]

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
        """Why it was taken."""
        who = "households" if names_household(self.column) else "people"
        said = [Message(f"role.{who}.several_rows", people=self.people, rows=self.rows)]
        said += [Message(f"role.{who}.named")] if self.named else []
        said += [Message("role.people.moment", moment=self.moment)] if self.moment else []
        said += [Message(f"role.{who}.fixed", columns=list(self.fixed), count=len(self.fixed))] if self.fixed else []
        said += [Message(f"role.{who}.missing", rows=self.missing)] if self.missing else []
        return tuple(said)

    @property
    def proven(self) -> bool:
        """Whether sex or birth never changes, or everybody has a row for each moment.

        Or it is called the number of a person, repeats often, and nothing speaks against it.
        """
        if self.moment is not None or any(map(names_person_trait, self.fixed)):
            return True
        return names_one_person(self.column) and not self.changing and self.often

    @property
    def often(self) -> bool:
        """Whether people have several rows as a rule, not by chance."""
        return self.rows >= OFTEN * self.people

    @property
    def question(self) -> Message:
        """Whether these are people: who counts records should count them."""
        return Message("role.people.ask", column=self.column, reasons=list(self.reasons))

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "fixed": list(self.fixed), "reasons": [one.as_dict() for one in self.reasons]}


def repeated_people(data: Dataset) -> RepeatedPeople | None:
    """The column that tells people apart, if some of them have several rows; None where nothing speaks for one.

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
    """The question whose rows these are, where people seem to have several and nobody said which column tells them apart.

    >>> visits = {"patient": [i // 3 for i in range(60)], "visit": [i % 3 for i in range(60)]}
    >>> [one.id for one in ask_for_person(Dataset.of(visits), None)], ask_for_person(Dataset.of(visits), "patient")
    (['role.people.ask'], [])
    """
    found = repeated_people(data) if person is None else None
    return [] if found is None else [found.question]


def repeated_in(data: Dataset, name: str, *, identifier: bool = False) -> RepeatedPeople | None:
    """What speaks for one column, if enough does; for one that somebody calls an `identifier`, that it repeats often is enough."""
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
    """Values that are names or numbers, repeat, and are too many for a category."""
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
    """Whether the values are numbers of one kind, such as `dev-23`, and no words such as `Pixel 4`."""
    held = [text for text in column.texts[:SEEN] if text]
    shapes = {CODE.sub("0", text) for text in held}
    return all(map(DIGIT.search, held)) and len(shapes) <= max(3, len(held) // 8)


def _moment(data: Dataset, name: str, held: np.ndarray) -> str | None:
    """The column with which each row is found, where nearly all values have the same number of rows."""
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
    """Columns of several values that are the same in all rows of a value, and traits of people that are not.

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
    """Whether another column differs in the rows of more values than typing errors explain."""
    pairs = len(Groups.of([column, other], len(column)))
    return pairs > (1 + CHANGED) * len(column.values)


def _never_changes(column: Column, other: Column) -> bool:
    """Whether another column is the same in all rows of a value. O(rows), but of most columns a few rows tell that it is not."""
    known = np.full(len(column.values), -1, np.int64)
    for begin in range(0, len(column), BLOCK):
        values, held = column.codes[begin : begin + BLOCK], other.codes[begin : begin + BLOCK]
        before = known[values]
        known[values] = held
        if ((before >= 0) & (before != held)).any() or (known[values] != held).any():
            return False
    return True
