"""Before anything is written: does a column that no promise covers, or a secret, follow from a quasi-identifier, or tell one?

Whoever knows the quasi-identifiers, which every promise allows, then knows that column too, or compares them with what it tells,
and finds fewer records than promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.measure.exposure.following_columns import rows_of_some, seems_to_follow
from oboro.recipe.roles.column_forms import holds_tokens
from oboro.recipe.roles.column_words import names_person, role_by_name
from oboro.table.dataset import Column, Dataset
from oboro.table.nested_values import is_nested, nested_column, numbered
from oboro.table.schema import Role
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message
from oboro.verifier.models.class_models import KAnonymity, SensitiveModel

if TYPE_CHECKING:
    from oboro.io.files import Source
    from oboro.verifier.promise_check import Promise

__all__ = ["known_beside_before_writing"]


def known_beside_before_writing(
    original: Dataset,
    released: Dataset,
    beside: Sequence[str],
    promises: Sequence[Promise],
    person: Column | None = None,
    source: Source | None = None,
) -> list[Message]:
    """What each promise amounts to, counted with the columns `beside` it that follow from its quasi-identifiers or tell them.

    A few rows rule most columns out; O(rows) for each that is left.
    """
    some = rows_of_some(released.rows, person)
    said = []
    for promise in promises:
        models = tuple(one for one in promise.models if isinstance(one, KAnonymity | SensitiveModel))
        asked = replace(promise, models=models)
        found = list(_known(original, released, beside, asked, some, source)) if models else []
        for id, kind in (("exposure.known_beside", False), ("exposure.known_by", True)):
            known = [one for one in found if one.tells is kind]
            if known and (broken := _broken(released, asked, known, person)):
                quasi, columns = list(dict.fromkeys(one.quasi for one in known)), [one.name for one in known]
                said.append(Message(id, columns=columns, quasi=quasi, broken=broken))
    return said


@dataclass(frozen=True)
class _Known:
    """A released column that stands for a quasi-identifier, and what whoever knows this one compares."""

    name: str
    quasi: str
    compared: Column
    tells: bool
    """The quasi-identifier follows from it: it tells what the labels hide. Else it follows from the quasi-identifier."""


def _known(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    promise: Promise,
    some: np.ndarray,
    source: Source | None,
) -> Iterator[_Known]:
    """The columns that follow from one quasi-identifier as it came, and those from which one follows."""
    held = [name for name in promise.quasi if name in released and name in original]
    known = {name: original[name] for name in held if not isinstance(original[name], UnreadColumn)}
    for name, told, beside in _samples(known, released, names, some, source):
        if quasi := next((one for one in beside if seems_to_follow(beside[one], told)), None):
            unread = source is not None and isinstance(released[name], UnreadColumn)
            whole = source.fill_columns(released, [name])[name] if source and unread else released[name]
            yield _Known(name, quasi, whole, tells=False)
        elif _is_number(name, told):
            continue
        elif quasi := next((one for one in beside if seems_to_follow(told, beside[one])), None):
            origin = released.origin
            yield _Known(name, quasi, known[quasi] if origin is None else known[quasi].take(origin), tells=True)


def _is_number(name: str, told: Column) -> bool:
    """Whether it numbers somebody: what a person keeps from row to row follows from that, but nobody reads it there."""
    return names_person(name) or role_by_name(name) is Role.IDENTIFIER or holds_tokens(told)


def _samples(
    known: dict[str, Column], released: Dataset, names: Sequence[str], some: np.ndarray, source: Source | None
) -> Iterator[tuple[str, Column, dict[str, Column]]]:
    """Each column in some rows, and the quasi-identifiers there; the first rows of what stays in its file."""
    unread = [name for name in names if isinstance(released[name], UnreadColumn)]
    first = source.first_rows(unread, list(known)) if unread and source is not None else {}
    before = some if released.origin is None else released.origin[some]
    sample = {name: column.take(before) for name, column in known.items()}
    for name in names:
        if name in first:
            told = _encoded(first[name])
            rows = np.arange(len(told))
            yield (
                name,
                told,
                {one: _encoded(first[one]) if one in first else column.take(rows) for one, column in known.items()},
            )
        elif name not in unread:
            yield name, released[name].take(some), sample


def _encoded(values: pa.Array) -> Column:
    """Of lists and structures only which rows are equal."""
    nested = is_nested(values.type)
    return numbered(nested_column(pa.chunked_array([values]))) if nested else Column.encode(values)


def _broken(released: Dataset, promise: Promise, known: Sequence[_Known], person: Column | None) -> list[Message]:
    compared = {f"{one.name}\0{one.quasi}" if one.tells else one.name: one.compared for one in known}
    left = tuple(one for one in promise.models if getattr(one, "sensitive", None) not in compared)
    wider = replace(promise, quasi=(*promise.quasi, *compared), models=left)
    return [one.message() for one in wider.verify(released.with_columns(compared), person).verdicts if not one.holds]
