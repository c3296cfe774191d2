"""A column by itself: what its name and its values say it is, before anybody asks what it does beside the others."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oboro.disclosure.column_names import role_by_name
from oboro.disclosure.identifiers import (
    holds_ranges,
    holds_tokens,
    identifier_found,
    is_code,
    is_serial,
    prose,
    tells_sex,
)
from oboro.measure.identifiers import Finding
from oboro.measure.identifying.held_identifiers import HeldIdentifiers, held_identifiers
from oboro.table.dataset import Column
from oboro.table.hierarchy.levels import outside
from oboro.table.hierarchy.propose import propose
from oboro.table.nested_values import is_nested
from oboro.table.schema import Role
from oboro.table.spelling.date_notation import unclear_dates
from oboro.table.spelling.plain_dates import names_periods, seems_dated
from oboro.table.values import Kind
from oboro.text import Message

__all__ = ["FirstLook", "first_look"]

FirstLook = tuple[Role, Message]
MANY = 0.1  # of the records: so many values with the form of an identifier make the column one
MOST = 0.5  # of the records: so many of a form make it the column's own
FEWEST_ROWS = 20
NAMED_QUASI = {"place", "zip"}  # of what names of columns tell (`identifier_forms.NAMES`), what is no identifier
NOT_NAMED = {"age", "birth", "biometric", "photo"}


def first_look(name: str, column: Column, findings: Sequence[Finding]) -> FirstLook | None:
    """The role of a column by its values and its name, with the reason; None where neither says anything.

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
