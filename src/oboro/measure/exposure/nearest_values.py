"""Whether a value that chance changed is still nearest to its own: whoever knows the original values then finds the record."""

from __future__ import annotations

import numpy as np

__all__ = ["own_is_nearest"]


def own_is_nearest(before: np.ndarray, after: np.ndarray) -> tuple[int, int]:
    """For how many of the records that are unique by their value before it is nearest to the one after; and how many these are.

    Missing values (not-a-number) are nobody's, and where two values are equally near, none is the nearest. O(n log n).

    >>> own_is_nearest(np.array([10.0, 20.0, 30.0, 30.0]), np.array([11.0, 28.0, 30.0, 31.0]))
    (1, 2)
    """
    held = ~(np.isnan(before) | np.isnan(after))
    values, own, counts = np.unique(before[held], return_inverse=True, return_counts=True)
    edges = (values[1:] + values[:-1]) / 2  # one value is nearest between two of these
    alone = counts[own] == 1
    nearest = np.searchsorted(edges, after[held], "left") == own
    nearest &= np.searchsorted(edges, after[held], "right") == own
    return int((alone & nearest).sum()), int(alone.sum())
