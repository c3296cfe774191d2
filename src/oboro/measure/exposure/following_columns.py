"""Columns that follow from another one: whoever knows somebody's age knows the year of birth that stands beside it."""

from __future__ import annotations

from math import lgamma

import numpy as np

from oboro.table.dataset import Column

__all__ = ["always_follows", "rows_of_some", "seems_to_follow"]

SOME = 2000  # rows that are looked at first
CERTAIN = 20.0  # nats: a column that has nothing to do with the other follows so by chance once in 500 million


def rows_of_some(rows: int, person: Column | None = None) -> np.ndarray:
    """Some rows from all over the table, each of another person: what somebody's own rows have in common follows from nothing."""
    found = np.arange(rows) if person is None else np.unique(person.codes, return_index=True)[1]
    return np.asarray(found[np.linspace(0, found.size - 1, min(SOME, found.size)).astype(np.int64)])


def always_follows(known: Column, told: Column) -> bool:
    """Whether rows that agree on `known` agree on `told`. O(rows)."""
    value = np.zeros(len(known.values), np.int64)
    value[known.codes] = told.codes
    return bool((value[known.codes] == told.codes).all())


def seems_to_follow(known: Column, told: Column) -> bool:
    """Whether some rows, each of another person, show that `told` follows from `known`, and that this is no chance.

    What repeats tells it, or, where nearly every value is another, the order: ages fall as dates of birth rise.

    >>> ages = Column.of([31, 31, 42, 42, 53, 53] * 9)
    >>> seems_to_follow(ages, Column.of([1993, 1993, 1982, 1982, 1971, 1971] * 9))
    True
    >>> seems_to_follow(ages, Column.of([1, 2, 3] * 18)), seems_to_follow(ages, Column.of(["Kyoto"] * 54))
    (False, False)
    """
    if len(told.values) < 2 or not always_follows(known, told):
        return False
    counts = np.bincount(told.codes)
    alike = float(np.square(counts / len(told)).sum())  # how often two rows have the same by chance
    repeated = len(known) - np.unique(known.codes).size
    return bool(-repeated * np.log(alike) >= CERTAIN) or _in_order(known, told, counts)


def _in_order(known: Column, told: Column, counts: np.ndarray) -> bool:
    """Whether one only rises, or only falls, with the other. All orders of the rows are equally likely by chance."""
    orders = lgamma(len(told) + 1) - sum(lgamma(count + 1) for count in counts)
    if orders < CERTAIN or not all(one.kind.numeric and one.missing < 0 for one in (known, told)):
        return False
    steps = np.diff(told.numbers()[told.codes][np.argsort(known.numbers()[known.codes], kind="stable")])
    return bool((steps >= 0).all() or (steps <= 0).all())
