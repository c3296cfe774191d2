"""Whether a value that chance changed is still nearest to its own: whoever knows the original values then finds the record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["found_by_all", "linked_by_distance", "own_is_nearest", "stays_nearest"]


def own_is_nearest(before: np.ndarray, after: np.ndarray) -> tuple[int, int]:
    """For how many of the records that are unique by their value before it is nearest to the one after; and how many these are.

    Missing values (not-a-number) are nobody's, and where two values are equally near, none is the nearest. O(n log n).

    >>> own_is_nearest(np.array([10.0, 20.0, 30.0, 30.0]), np.array([11.0, 28.0, 30.0, 31.0]))
    (1, 2)
    """
    _, own, counts = np.unique(before, return_inverse=True, return_counts=True)
    alone = (counts[own] == 1) & ~(np.isnan(before) | np.isnan(after))
    return int((alone & stays_nearest(before, after)).sum()), int(alone.sum())


def stays_nearest(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Of which records the value after is nearest to their own before, of all that were there. A missing one stays missing."""
    missing = np.isnan(before), np.isnan(after)
    held = ~(missing[0] | missing[1])
    values, own = np.unique(before[held], return_inverse=True)
    edges = (values[1:] + values[:-1]) / 2  # one value is nearest between two of these
    found = np.asarray(missing[0] & missing[1])
    found[held] = np.searchsorted(edges, after[held], "left") == own
    found[held] &= np.searchsorted(edges, after[held], "right") == own
    return found


def found_by_all(before: Sequence[np.ndarray], stayed: Sequence[np.ndarray]) -> tuple[int, int]:
    """Of the records that are unique by all these columns before, how many stayed nearest in each that chance changed; and how many
    these are.

    >>> found_by_all([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])], [np.array([True, False, True, True])])
    (1, 2)
    """
    codes = np.zeros(before[0].size, np.int64)
    for column in before:
        places = np.unique(column, return_inverse=True)[1].ravel()
        codes = np.unique(codes * (int(places.max(initial=0)) + 1) + places, return_inverse=True)[1].ravel()
    alone = np.bincount(codes)[codes] == 1
    return int((alone & np.logical_and.reduce(stayed)).sum()), int(alone.sum())


def linked_by_distance(before: Sequence[np.ndarray], after: Sequence[np.ndarray], looked: np.ndarray) -> int:
    """How many of the records `looked` at are nearer to their own values before than to anybody else's, each column by its spread.

    >>> linked_by_distance([np.array([0.0, 5.0]), np.array([1.0, 9.0])], [np.array([1.0, 1.0]), np.array([1.0, 1.0])], np.arange(2))
    1
    """
    spreads = [float(np.nanstd(column)) or 1.0 if not np.isnan(column).all() else 1.0 for column in before]
    was, now = (
        np.stack([np.nan_to_num(one / spread) for one, spread in zip(columns, spreads, strict=True)], axis=1)
        for columns in (before, after)
    )
    found = 0
    for row in looked:
        far = np.square(was - now[row]).sum(axis=1)
        found += int(np.count_nonzero(far <= far[row]) == 1)
    return found
