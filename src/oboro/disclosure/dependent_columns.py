"""Check whether a column that no guarantee covers, or a sensitive one, depends on a quasi-identifier, or determines one.

An attacker who knows the quasi-identifiers, as every guarantee allows, then knows that column too, or compares them
with what it determines, and finds fewer candidates than guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lgamma

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, is_nested, nested_column, numbered
from oboro.data.dataset import Dataset
from oboro.disclosure.column_names import names_person, role_by_name
from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.disclosure.identifiers import holds_tokens
from oboro.disclosure.uncovered_columns import known_columns
from oboro.schema import Role
from oboro.text import Message
from oboro.verifier.identity import KAnonymity, SensitiveModel
from oboro.verifier.promises import Promise

__all__ = ["check", "rows_of_some", "seems_to_follow"]


# Functionally dependent columns ---------------------------------------------------------------------------------------
# An attacker who knows a person's age knows the released year of birth too.
#
# A few exceptions do not change that: a typing error, or a birthday before or after the day of the survey.


SOME = 2000  # rows that are looked at
CERTAIN = 20.0  # nats: a column that has nothing to do with the other follows so by chance once in 500 million
NEARLY = 0.98  # of the rows agree, or so high is the correlation of ranks
EXCEPTIONS = 0.1  # of those that would be there by chance
RANKED, VALUES = 50, 5  # rows and values from which a correlation of ranks is no chance


def rows_of_some(rows: int, person: Column | None = None) -> np.ndarray:
    """Return some rows from all over the table, each of another person, so that repeated values of one person prove nothing."""
    found = np.arange(rows) if person is None else np.unique(person.codes, return_index=True)[1]
    return np.asarray(found[np.linspace(0, found.size - 1, min(SOME, found.size)).astype(np.int64)])


def seems_to_follow(known: Column, told: Column) -> bool:
    """Test on some rows, each of another person, whether `told` depends on `known`, nearly always and not by chance.

    What repeats tells it, or the order: ages fall as dates of birth rise.

    >>> ages = Column.of([31, 31, 42, 42, 53, 53] * 9)
    >>> seems_to_follow(ages, Column.of([1993, 1993, 1982, 1982, 1971, 1971] * 9))
    True
    >>> seems_to_follow(ages, Column.of([1, 2, 3] * 18)), seems_to_follow(ages, Column.of(["Kyoto"] * 54))
    (False, False)
    """
    if not len(known) or len(told.values) < 2:
        return False
    return _agrees(known, told) or _in_order(known, told)


def _agrees(known: Column, told: Column) -> bool:
    """Test whether rows that agree on `known` agree on `told`; each value's first row is no evidence."""
    pairs, counts = np.unique(known.codes.astype(np.int64) * len(told.values) + told.codes, return_counts=True)
    most = np.zeros(len(known.values), np.int64)
    np.maximum.at(most, pairs // len(told.values), counts)
    once = np.count_nonzero(most)
    repeated, agreeing = len(known) - once, int(most.sum()) - once
    alike = float(np.square(np.bincount(told.codes) / len(told)).sum())  # how often two rows have the same by chance
    few = repeated - agreeing <= min(1 - NEARLY, EXCEPTIONS * (1 - alike)) * repeated
    return bool(few and -agreeing * np.log(alike) >= CERTAIN)


def _in_order(known: Column, told: Column) -> bool:
    """Test if one only rises, or only falls, with the other, or nearly so. All orders of the rows are equally likely by chance."""
    if not (known.kind.numeric and told.kind.numeric):
        return False
    one, other = known.numbers()[known.codes], told.numbers()[told.codes]
    held = ~(np.isnan(one) | np.isnan(other))
    one, other = one[held], other[held]
    return _only_rises(one, other) or _only_rises(one, -other) or _ranked_alike(one, other)


def _only_rises(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether it rises in every step from value to value, with one value for each, and has too many orders for chance."""
    ties = np.unique(other, return_counts=True)[1]
    order = np.argsort(one, kind="stable")
    steps, same = np.diff(other[order]), np.diff(one[order]) == 0
    orders = lgamma(other.size + 1) - sum(map(lgamma, ties + 1))
    return bool(orders >= CERTAIN and (steps >= 0).all() and not steps[same].any())


def _ranked_alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Test whether the ranks correlate (Spearman), over enough values to show which one belongs to which."""
    if one.size < RANKED or min(np.unique(values).size for values in (one, other)) < VALUES:
        return False
    return bool(abs(np.corrcoef(_ranks(one), _ranks(other))[0, 1]) >= NEARLY)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Mean ranks: equal values have the same."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


# Check of dependent columns -------------------------------------------------------------------------------------------


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
    known = {name: original[name] for name in both if original[name].loaded}
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
    unread = {name for name in names if not released[name].loaded}
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
    """Encode lists and structures by equality of rows alone."""
    nested = is_nested(values.type)
    return numbered(nested_column(pa.chunked_array([values]))) if nested else Column.encode(values)


def _broken(released: Dataset, promise: Promise, known: Sequence[_Known], person: Column | None) -> list[Message]:
    compared = {f"{one.name}\0{one.quasi}" if one.tells else one.name: one.compared for one in known}
    left = tuple(one for one in promise.models if getattr(one, "sensitive", None) not in compared)
    wider = replace(promise, quasi=(*promise.quasi, *compared), models=left)
    return [one.message() for one in wider.verify(released.with_columns(compared), person).verdicts if not one.holds]
