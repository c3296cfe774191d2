"""Check whether a column that no guarantee covers, or a sensitive one, depends on a quasi-identifier, or determines one.

An attacker who knows the quasi-identifiers, as every guarantee allows, then knows that column too, or compares them with what it
determines, and finds fewer candidates than guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from oboro.disclosure.column_names import names_person, role_by_name
from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.disclosure.identifiers import holds_tokens
from oboro.disclosure.uncovered_columns import known_columns
from oboro.measure.exposure.following_columns import rows_of_some, seems_to_follow
from oboro.table.dataset import Column, Dataset
from oboro.table.nested_values import is_nested, nested_column, numbered
from oboro.table.schema import Role
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message
from oboro.verifier.models.class_models import KAnonymity, SensitiveModel
from oboro.verifier.promise_check import Promise

__all__ = ["check"]


def check(candidate: ReleaseCandidate) -> Findings:
    """Caution of guarantees that are not satisfied once the columns that depend on their quasi-identifiers are counted too.

    A few records rule most columns out; O(records) for each that is left.
    """
    columns = _candidate_columns(candidate) if candidate.guarantees else []
    if not columns:
        return Findings()
    some, cautions = rows_of_some(candidate.released.rows, candidate.person), []
    for promise in candidate.guarantees:
        models = tuple(one for one in promise.models if isinstance(one, KAnonymity | SensitiveModel))
        asked = replace(promise, models=models)
        found = list(_known(candidate, columns, asked, some)) if models else []
        for id, kind in (("exposure.known_beside", False), ("exposure.known_by", True)):
            known = [one for one in found if one.tells is kind]
            if known and (broken := _broken(candidate.released, asked, known, candidate.person)):
                quasi, names = list(dict.fromkeys(one.quasi for one in known)), [one.name for one in known]
                cautions.append(Message(id, columns=names, quasi=quasi, broken=broken))
    return Findings(tuple(cautions))


def _candidate_columns(candidate: ReleaseCandidate) -> list[str]:
    """Return the released columns that an attacker may know, and sensitive ones that may depend on what the attacker knows."""
    hidden = {*candidate.perturbed, *candidate.pseudonyms}
    released, secrets = candidate.released, candidate.schema.sensitive
    sensitive = [name for name in secrets if name in released and name not in hidden]
    return list(dict.fromkeys((*known_columns(candidate), *sensitive)))


@dataclass(frozen=True)
class _Known:
    """A released column that stands for a quasi-identifier, and the column that an attacker compares."""

    name: str
    quasi: str
    compared: Column
    tells: bool
    """Whether it determines the quasi-identifier, and so what the labels hide; else it depends on the quasi-identifier."""


def _known(candidate: ReleaseCandidate, names: Sequence[str], promise: Promise, some: np.ndarray) -> Iterator[_Known]:
    """Yield the columns that depend on one original quasi-identifier, and those that determine one."""
    original, released = candidate.original, candidate.released
    both = [name for name in promise.quasi if name in released and name in original]
    known = {name: original[name] for name in both if not isinstance(original[name], UnreadColumn)}
    for name, values, beside in _samples(candidate, known, names, some):
        if quasi := next((one for one in beside if seems_to_follow(beside[one], values)), None):
            candidate.require_rows([name, *both])
            yield _Known(name, quasi, candidate.store.read(released, [name])[name], tells=False)
        elif _is_number(name, values):
            continue
        elif quasi := next((one for one in beside if seems_to_follow(values, beside[one])), None):
            candidate.require_rows([name, *both])
            origin = released.origin
            yield _Known(name, quasi, known[quasi] if origin is None else known[quasi].take(origin), tells=True)


def _is_number(name: str, values: Column) -> bool:
    """Return whether a column numbers people: all that a person keeps depends on it, but nobody reads it there."""
    return names_person(name) or role_by_name(name) is Role.IDENTIFIER or holds_tokens(values)


def _samples(
    candidate: ReleaseCandidate, known: dict[str, Column], names: Sequence[str], some: np.ndarray
) -> Iterator[tuple[str, Column, dict[str, Column]]]:
    """Yield each column in some records, and the quasi-identifiers there; the first rows of a column that is not loaded."""
    released, counted = candidate.released, set(candidate.store.counted)
    unread = {name for name in names if isinstance(released[name], UnreadColumn)}
    first = candidate.first_rows([name for name in names if name in unread], list(known))
    before = some if released.origin is None else released.origin[some]
    sample = {name: column.take(before) for name, column in known.items() if name not in counted}
    for name in names:
        if name in first:
            values = _encoded(first[name])
            rows = np.arange(len(values))
            beside = {
                one: _encoded(first[one]) if one in first else column.take(rows)
                for one, column in known.items()
                if one in first or one not in counted
            }
            yield name, values, beside
        elif name not in unread:
            candidate.require_rows([name, *known])
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
