"""Columns that follow from another one: whoever knows somebody's age knows the year of birth that stands beside it.

A few exceptions change nothing of that: a typing error, or a birthday that lies before or after the day of the survey.
"""

from __future__ import annotations

from math import lgamma

import numpy as np

from oboro.table.dataset import Column

__all__ = ["rows_of_some", "seems_to_follow"]

SOME = 2000  # rows that are looked at
CERTAIN = 20.0  # nats: a column that has nothing to do with the other follows so by chance once in 500 million
NEARLY = 0.98  # of the rows agree, or so high is the correlation of ranks
EXCEPTIONS = 0.1  # of those that would be there by chance
RANKED, VALUES = 50, 5  # rows and values from which a correlation of ranks is no chance


def rows_of_some(rows: int, person: Column | None = None) -> np.ndarray:
    """Some rows from all over the table, each of another person: what somebody's own rows have in common follows from nothing."""
    found = np.arange(rows) if person is None else np.unique(person.codes, return_index=True)[1]
    return np.asarray(found[np.linspace(0, found.size - 1, min(SOME, found.size)).astype(np.int64)])


def seems_to_follow(known: Column, told: Column) -> bool:
    """Whether some rows, each of another person, show that `told` follows from `known`, nearly always, and that this is no chance.

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
    """Whether rows that agree on `known` agree on `told`; each value's first row says nothing."""
    pairs, counts = np.unique(known.codes.astype(np.int64) * len(told.values) + told.codes, return_counts=True)
    most = np.zeros(len(known.values), np.int64)
    np.maximum.at(most, pairs // len(told.values), counts)
    once = np.count_nonzero(most)
    repeated, agreeing = len(known) - once, int(most.sum()) - once
    alike = float(np.square(np.bincount(told.codes) / len(told)).sum())  # how often two rows have the same by chance
    few = repeated - agreeing <= min(1 - NEARLY, EXCEPTIONS * (1 - alike)) * repeated
    return bool(few and -agreeing * np.log(alike) >= CERTAIN)


def _in_order(known: Column, told: Column) -> bool:
    """Whether one only rises, or only falls, with the other, or nearly so. All orders of the rows are equally likely by chance."""
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
    """Whether the ranks correlate (Spearman), over values enough that this says which one stands beside which."""
    if one.size < RANKED or min(np.unique(values).size for values in (one, other)) < VALUES:
        return False
    return bool(abs(np.corrcoef(_ranks(one), _ranks(other))[0, 1]) >= NEARLY)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Mean ranks: equal values have the same."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
