"""Guess the roles of a table's columns: from each column alone, then from the people whom columns single out together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, is_nested
from oboro.data.dataset import Dataset
from oboro.data.date_columns import unclear_dates
from oboro.data.folding import FOLDS, near_duplicates
from oboro.data.grouping import Groups, clean
from oboro.data.stray_values import stray_values
from oboro.disclosure.column_names import role_by_name
from oboro.disclosure.counted_people import RepeatedPeople, repeated_people
from oboro.disclosure.dependent_columns import rows_of_some, seems_to_follow
from oboro.disclosure.identifiers import (
    Finding,
    HeldIdentifiers,
    held_identifiers,
    holds_ranges,
    holds_tokens,
    identifier_found,
    is_code,
    is_serial,
    prose,
    scan,
    tells_sex,
)
from oboro.hierarchies.hierarchy import outside
from oboro.hierarchies.propose import propose
from oboro.hierarchies.spec import HierarchySpec
from oboro.measures.exposure import Exposure, alone_in_class, exposure
from oboro.measures.risk import Contribution, contributions
from oboro.notations.amounts import is_unclear_amount
from oboro.notations.kinds import Kind, kind_of, numbers_of
from oboro.notations.partial_dates import names_periods, seems_dated
from oboro.schema import Attribute, Role
from oboro.system.process import on_cores
from oboro.text import Message

__all__ = ["ColumnGuess", "FirstLook", "Roles", "first_look", "guess_roles", "kept_as_they_are"]


# Guess of one column --------------------------------------------------------------------------------------------------
# Its role, the reasons, and its figures.


@dataclass(frozen=True)
class ColumnGuess:
    """Probable role of a column, the reasons, and how far the column distinguishes people."""

    name: str
    role: Role
    reasons: tuple[Message, ...]
    kind: Kind
    missing: int
    """Records without a value."""
    exposure: Exposure
    """Distinct values, separation, and whom the column singles out alone; people where it is known who they are."""
    contribution: Contribution | None = None
    """What it does with one and two others; None where nothing was counted."""
    meant: int | None = None
    """How many values there are by their meaning, where some are written in several ways: `39歳` and `３９歳`."""
    hierarchy: HierarchySpec | None = None
    """How its values become coarser, where it is a quasi-identifier and has levels between the value and `*`."""

    @staticmethod
    def of(name: str, column: Column, exposure: Exposure, role: Role, *reasons: Message) -> ColumnGuess:
        """A first guess."""
        missing = int(column.counts[column.missing]) if column.missing >= 0 else 0
        if (unclear := unclear_dates(column)) is not None:
            reasons += (Message(f"role.unclear.{unclear[0]}", **unclear[1]),)
        elif column.kind is Kind.TEXT and is_unclear_amount(column.values):
            reasons += (Message("role.unclear.amount"),)
        elif (strays := stray_values(column)) is not None:
            said = {"rows": strays.rows, "row": strays.first, "kind": strays.kind.value}
            reasons += (Message("role.unclear.strays", **said),)
        elif column.kind is Kind.TEXT and (near := near_duplicates(column)):
            spelled = "role.folded" if role is Role.SENSITIVE else "role.unclear.spelling"
            reasons += (Message(spelled, values=near),)
        return ColumnGuess(name, role, reasons, column.kind, missing, exposure, meant=_meant(column))

    def become(self, role: Role, *reasons: Message) -> ColumnGuess:
        """Change the role and give the reason; earlier reasons stay."""
        return replace(self, role=role, reasons=(*self.reasons, *reasons))

    @property
    def attribute(self) -> Attribute:
        """Entry of the column in a recipe."""
        spelled = self.role is Role.SENSITIVE and any(one.id == "role.folded" for one in self.reasons)
        return Attribute(role=self.role, hierarchy=self.hierarchy, fold=FOLDS if spelled else ())

    @property
    def figures(self) -> Message:
        """Number of values and of people whom the column singles out, in one line."""
        exposed = self.exposure
        alone = Message("role.figures.alone", people=exposed.unique) if exposed.unique else None
        more = self.contribution
        one = Message("role.figures.with_one", people=more.with_one) if more and more.with_one else None
        two = Message("role.figures.with_two", people=more.with_two) if more and more.with_two else None
        gaps = Message("role.figures.missing", rows=self.missing) if self.missing else None
        values = Message("role.figures.values", distinct=exposed.distinct, kind=self.kind.value)
        meant = Message("role.figures.meant", values=self.meant) if self.meant else None
        apart = Message("role.figures.separation", share=exposed.separation)
        said = [part for part in (values, meant, gaps, apart, alone, one, two) if part is not None]
        return Message("role.figures.all", said=said)

    @property
    def comment(self) -> Message:
        """Figures and reasons, as a comment beside the column in a starter recipe."""
        return Message("role.comment", figures=self.figures, reasons=list(self.reasons))

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        exposed, more = self.exposure, self.contribution
        figures: Mapping[str, Any] = {
            "distinct": exposed.distinct,
            "meant": self.meant,
            "missing": self.missing,
            "distinction": exposed.distinction,
            "separation": exposed.separation,
            "unique_alone": exposed.unique,
            "unique_with_one": more and more.with_one,
            "unique_with_two": more and more.with_two,
            "contribution": more and more.share,
        }
        return {
            "column": self.name,
            "role": self.role.value,
            "kind": self.kind.value,
            "reasons": [one.as_dict() for one in self.reasons],
            "figures": dict(figures),
            "hierarchy": self.hierarchy and self.hierarchy.model_dump(mode="json", exclude_defaults=True),
        }


def _meant(column: Column) -> int | None:
    """How many different numbers or days the texts of a column name; None where each is written in one way."""
    values = clean(column).values.drop_null()
    if not pa.types.is_string(values.type) or not kind_of(values).numeric:
        return None
    meant = np.unique(numbers_of(values)).size
    return int(meant) if meant < len(values) else None


# First guess from the name and the values of a column -----------------------------------------------------------------
# Each column by itself, before it is combined with others.


FirstLook = tuple[Role, Message]
MANY = 0.1  # of the records: so many values with the form of an identifier make the column one
MOST = 0.5  # of the records: so many of a form make it the column's own
FEWEST_ROWS = 20
NAMED_QUASI = {"place", "zip"}  # of what names of columns tell (`identifier_forms.NAMES`), what is no identifier
NOT_NAMED = {"age", "birth", "biometric", "photo"}


def first_look(name: str, column: Column, findings: Sequence[Finding]) -> FirstLook | None:
    """Guess the role of a column by its values and its name, with the reason; None where neither shows one.

    >>> first_look("note", Column.of([f"case {i}: has asked us for a new letter" for i in range(30)]), [])[0]
    <Role.IDENTIFIER: 'identifier'>
    >>> first_look("units", Column.of([1, 2, 3] * 10), []) is None
    True
    """
    if len(column) <= 1:  # one row has one value in each column, and is still somebody's
        return _by_name(name, column, findings)
    if len(column.values) <= 1:
        return _named_constant(name, column) or (Role.OTHER, Message("role.constant"))
    return _by_form(name, column, list(findings)) or _by_name(name, column, findings) or _by_values(name, column)


def _named_constant(name: str, column: Column) -> FirstLook | None:
    """The one name or address in a table about one person."""
    named = column.missing < 0 and role_by_name(name) is Role.IDENTIFIER
    return (Role.IDENTIFIER, Message("role.by_name")) if named else None


def _by_form(name: str, column: Column, findings: list[Finding]) -> FirstLook | None:
    """Addresses of e-mail, numbers of telephones and cards: whatever the column is called."""
    found = identifier_found(findings)
    looked_into = findings or is_nested(column.values.type)
    held = held_identifiers(name, column.values, column.counts) if looked_into else []
    if plain := next((one for one in held if one.plain), None):  # a recipe that releases it would be refused
        return Role.IDENTIFIER, _formed(plain, column)
    if found is None or found.records < MANY * len(column):
        return None
    if column.kind is not Kind.TEXT and found.records < MOST * len(column):
        return None  # among numbers a few look like something else
    return Role.IDENTIFIER, _formed(found, column)


def _formed(found: Finding | HeldIdentifiers, column: Column) -> Message:
    """That values have a form; a name has none, so there the column's own name decides."""
    if found.kind == "name":
        return Message("role.by_name")
    return Message("role.form", kind=found.kind_name, share=found.records / len(column))


def _by_name(name: str, column: Column, findings: Sequence[Finding]) -> FirstLook | None:
    role = role_by_name(name)
    if role is None:
        named = {one.kind for one in findings if one.named} - NOT_NAMED
        role = Role.QUASI if named & NAMED_QUASI else Role.IDENTIFIER if named else None
    if role is None:
        return None
    if role is Role.IDENTIFIER and len(column.values) <= 2 < FEWEST_ROWS <= len(column):
        return None  # whether somebody has a telephone, not its number
    if role is Role.SENSITIVE and _is_dated(name, column):
        return None  # when somebody fell ill is known to others, as every date
    if role is not Role.IDENTIFIER and (hidden := _beyond_levels(name, column)) is not None:
        return hidden
    return role, Message("role.by_name")


def _beyond_levels(name: str, column: Column) -> FirstLook | None:
    """Text that names nearly everybody, such as a whole address or a described illness: no level would be left but `*`."""
    if column.kind is not Kind.TEXT or propose(name, column) is not None or unclear_dates(column) is not None:
        return None
    return _written(column)


def _by_values(name: str, column: Column) -> FirstLook | None:
    if _is_dated(name, column) or unclear_dates(column) is not None:
        return Role.QUASI, Message("role.date")
    if tells_sex(column):
        return Role.QUASI, Message("role.sex")
    if column.kind is Kind.TEXT and holds_ranges(column):
        return Role.QUASI, Message("role.ranges")
    if is_serial(column):
        return Role.IDENTIFIER, Message("role.serial")
    if is_code(column):
        return Role.IDENTIFIER, Message("role.code")
    if holds_tokens(column):
        return Role.IDENTIFIER, Message("role.token")
    return _written(column)


def _is_dated(name: str, column: Column) -> bool:
    """Dates, months and quarters, also of a release in which some are suppressed."""
    if column.kind not in (Kind.TEXT, Kind.INTEGER):
        return column.kind in (Kind.DATE, Kind.DATETIME)
    values = column.values.filter(pa.array(~outside(column)))
    return names_periods(values) or seems_dated(name, values)


def _written(column: Column) -> FirstLook | None:
    """Free text, and other text that most records have alone."""
    written = prose(column)
    if written is not None:
        return Role.IDENTIFIER, Message("role.free_text", words=written.words, characters=written.characters)
    alone = int((column.counts == 1).sum())
    if column.kind is Kind.TEXT and len(column) >= FEWEST_ROWS and alone > MOST * len(column):
        return Role.IDENTIFIER, Message("role.own_text", share=alone / len(column))
    return None


# Columns that can be released unchanged -------------------------------------------------------------------------------
# Together they must not single out a person.
#
# Columns are added one by one, those that distinguish the fewest records first, as long as every combination of their
# values belongs to two people or more. Each column that is left would, together with those added before it, single
# out a person. Fewer columns never single out more people, so the result for all of them together applies to each one
# and to any two.


def kept_as_they_are(
    data: Dataset, exposures: Mapping[str, Exposure], person: str | None = None
) -> tuple[list[str], dict[str, int]]:
    """Return the columns that can be kept, and for each of the others how many people it would single out beside these.

    Of the largest such sets it is not always the largest, but nothing can be added to it. O(rows · columns).
    """
    order = sorted(exposures, key=lambda name: (exposures[name].separation, exposures[name].distinct))
    classes = Groups.of([], data.rows)
    kept: list[str] = []
    singled: dict[str, int] = {}
    for name in order:
        if exposures[name].unique:
            singled[name] = exposures[name].unique
            continue
        finer = Groups.of([_as_column(classes), data[name]], data.rows)
        alone = _alone(finer, data, person)
        if alone:
            singled[name] = alone
        else:
            classes = finer
            kept.append(name)
    return kept, singled


def _as_column(classes: Groups) -> Column:
    """Classes as a column that can be grouped further."""
    return Column(pa.nulls(len(classes)), classes.labels)


def _alone(classes: Groups, data: Dataset, person: str | None) -> int:
    """Count the people who are in a class of their own."""
    if person is not None:
        return alone_in_class(classes, data[person])
    return int(np.count_nonzero(classes.sizes == 1))


# Guess the roles of all columns ---------------------------------------------------------------------------------------


NUMBERS = (Kind.INTEGER, Kind.NUMBER)
ENOUGH_FOR_MEANS = 20  # records with a value


@dataclass(frozen=True)
class Roles:
    """Probable role of each column, and whether people have several rows."""

    columns: Mapping[str, ColumnGuess]
    people: RepeatedPeople | None = None

    @property
    def person(self) -> str | None:
        """Column that identifies the person of each row, if every row has one."""
        return self.people.column if self.people is not None and not self.people.missing else None

    @property
    def exact_secrets(self) -> list[str]:
        """Sensitive numbers that single a person out by their exact value."""
        found = [self.columns[name] for name in self.named(Role.SENSITIVE)]
        return [one.name for one in found if one.exposure.unique and one.kind in NUMBERS]

    def named(self, role: Role) -> list[str]:
        """Return the columns of one role, in the order of the table."""
        return [name for name, one in self.columns.items() if one.role is role]


def guess_roles(data: Dataset, *, figures: bool = True, findings: Sequence[Finding] | None = None) -> Roles:
    """Guess the role of each column. Columns that become `other` single out no person, alone or together.

    Cost: O(rows · columns) for the roles. With `figures` also what each does with one and two others, and a hierarchy for it; these
    figures are left out where they cost much more. `findings` are what `scan` found, if it was asked already.

    >>> people = {"sex": ["F", "M"] * 20, "diagnosis": ["flu", "cold"] * 20, "spent": [i * i for i in range(40)]}
    >>> {name: one.role.value for name, one in guess_roles(Dataset.of(people)).columns.items()}
    {'sex': 'quasi', 'diagnosis': 'sensitive', 'spent': 'quasi'}
    """
    people = repeated_people(data)
    person = people.column if people is not None and not people.missing else None
    found = _first_looks(data, people, person, scan(data) if findings is None else findings)
    found = _known_beside(data, _protected(data, _secrets(found, person), person), person)
    return Roles(_with_figures(data, found) if figures else found, people)


def _first_looks(
    data: Dataset, people: RepeatedPeople | None, person: str | None, scanned: Sequence[Finding]
) -> dict[str, ColumnGuess]:
    """Each column by itself; what nothing is known of is `other` for now."""
    findings: dict[str, list[Finding]] = {name: [] for name in data}
    for one in scanned:
        findings[one.column].append(one)

    def guessed(name: str) -> ColumnGuess:
        column, exposed = data[name], exposure(data, [name], person)
        if people is not None and name == people.column:
            return ColumnGuess.of(name, column, exposed, Role.IDENTIFIER, *people.reasons)
        look = first_look(name, column, findings[name])
        role, reasons = (Role.OTHER, []) if look is None else (look[0], [look[1]])
        return ColumnGuess.of(name, column, exposed, role, *reasons)

    return dict(zip(data, on_cores(guessed, data, rows=data.rows), strict=True))


def _secrets(found: dict[str, ColumnGuess], person: str | None) -> dict[str, ColumnGuess]:
    """Secrets that single somebody out by their exact value: numbers become means, or are generalized with the rest."""
    for name, one in found.items():
        if one.role is not Role.SENSITIVE or not one.exposure.unique or one.kind not in NUMBERS:
            continue
        if person is None and one.exposure.rows - one.missing >= ENOUGH_FOR_MEANS:
            found[name] = one.become(Role.SENSITIVE, Message("role.secret_alone", people=one.exposure.unique))
        else:  # means of k rows may be means of one person's
            found[name] = one.become(Role.QUASI, Message("role.alone", people=one.exposure.unique))
    return found


def _protected(data: Dataset, found: dict[str, ColumnGuess], person: str | None) -> dict[str, ColumnGuess]:
    """Make columns that would single a person out if released unchanged quasi-identifiers, with the reason."""
    open_ = [name for name, one in found.items() if one.role is Role.OTHER]
    safe, singled = kept_as_they_are(data, {name: found[name].exposure for name in open_}, person)
    for name in open_:
        one = found[name]
        if name in safe:
            found[name] = one.become(Role.OTHER, *([] if one.reasons else [Message("role.safe")]))
        elif one.exposure.unique:
            found[name] = one.become(Role.QUASI, Message("role.alone", people=one.exposure.unique))
        else:
            found[name] = one.become(Role.QUASI, Message("role.together", people=singled[name]))
    return found


def _known_beside(data: Dataset, found: dict[str, ColumnGuess], person: str | None) -> dict[str, ColumnGuess]:
    """What follows from a quasi-identifier is known to whoever knows that one; what tells it undoes its labels."""
    some = rows_of_some(data.rows, None if person is None else data[person])
    sample = {name: data[name].take(some) for name, one in found.items() if one.role is Role.QUASI}
    for name in [name for name, one in found.items() if one.role is Role.OTHER and one.exposure.distinct > 1]:
        told = data[name].take(some)
        for id, way in (("role.follows", seems_to_follow), ("role.tells", _tells)):
            quasi = next((quasi for quasi, column in sample.items() if way(column, told)), None)
            if quasi is not None:
                found[name] = replace(found[name], role=Role.QUASI, reasons=(Message(id, column=quasi),))
                break
    return found


def _tells(known: Column, told: Column) -> bool:
    """Whether it would tell the quasi-identifier that a label hides."""
    return seems_to_follow(told, known)


def _with_figures(data: Dataset, found: dict[str, ColumnGuess]) -> dict[str, ColumnGuess]:
    """What each column does with others of those that are released, and a hierarchy for each quasi-identifier."""
    released = [name for name, one in found.items() if one.role is not Role.IDENTIFIER and one.exposure.distinct > 1]
    with_others = contributions(data, released)
    return {
        name: replace(
            one,
            contribution=with_others.get(name),
            hierarchy=propose(name, data[name]) if one.role is Role.QUASI else None,
        )
        for name, one in found.items()
    }
