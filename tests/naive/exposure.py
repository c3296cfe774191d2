"""Exposure by obvious loops: who is unique, whose secret is certain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

Rows = Sequence[dict[str, Any]]


def classes(rows: Rows, columns: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Records that agree on every column."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in columns)].append(row)
    return list(found.values())


def people(rows: Rows, person: str | None) -> set[Any]:
    """Whose rows these are; without a column that says so, each is somebody's own."""
    if person is None:
        return {id(row) for row in rows}
    return {row[person] for row in rows if row[person] is not None}


def unique(rows: Rows, columns: Sequence[str], person: str | None = None) -> int:
    """People who are the only one in a class; a class of nobody's rows is one more."""
    alone, nobody = set(), 0
    for members in classes(rows, columns):
        held = people(members, person)
        alone |= held if len(held) == 1 else set()
        nobody += not held
    return len(alone) + nobody


def told_apart(rows: Rows, columns: Sequence[str]) -> int:
    """Pairs of records that differ in some column."""
    return sum(any(one[name] != other[name] for name in columns) for one, other in combinations(rows, 2))


def rare(rows: Rows, column: str, k: int, person: str | None = None) -> tuple[int, int]:
    """How many values fewer than k people hold, and how many records hold those; `*` is no value."""
    shown = [row for row in rows if row[column] != "*"]
    few = [members for members in classes(shown, [column]) if len(people(members, person)) < k]
    return len(few), sum(map(len, few))


def certain(rows: Rows, quasi: Sequence[str], sensitive: str, share: float, person: str | None = None) -> int:
    """People in a class of which at least this share has the same value."""
    sure: set[Any] = set()
    for members in classes(named(rows, person), quasi):
        if _posterior(members, sensitive, person) >= share:
            sure |= people(members, person)
    return len(sure)


def largest_posterior(rows: Rows, quasi: Sequence[str], sensitive: str, person: str | None = None) -> float:
    """The highest share of a class that has the same value."""
    return max((_posterior(one, sensitive, person) for one in classes(named(rows, person), quasi)), default=0.0)


def named(rows: Rows, person: str | None) -> Rows:
    """The rows that say whose they are."""
    return [row for row in rows if person is None or row[person] is not None]


def _posterior(members: Rows, sensitive: str, person: str | None) -> float:
    most = max(len(people(same, person)) for same in classes(members, [sensitive]))
    return most / len(people(members, person))
