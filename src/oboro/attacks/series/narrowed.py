"""How far people are narrowed down: to how many rows, and to how many values of their secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["Narrowed", "distinct_values", "narrowed"]


@dataclass(frozen=True)
class Narrowed:
    """How far a series narrows some people down."""

    people: int
    """How many it is about."""
    below_k: int
    """Of these, how many are narrowed to fewer than k rows."""
    fewest: int | None
    """The fewest rows that somebody is narrowed to; None where it is about nobody."""
    below_l: Mapping[str, int]
    """For each secret, of how many people fewer than l values are left."""
    certain: Mapping[str, int]
    """For each secret, of how many people only one is left."""

    @property
    def exposed(self) -> int:
        """How many are below k or l, at least."""
        return max([self.below_k, *self.below_l.values()])


def narrowed(
    people: np.ndarray, left: np.ndarray, secrets: Mapping[str, np.ndarray], k: int, diverse: Mapping[str, int]
) -> Narrowed:
    """So many people each, with so many rows left to each of them, and so many values of each secret."""
    people = np.where(left > 0, people, 0)
    rows = left[people > 0]
    return Narrowed(
        int(people.sum()),
        int(people[left < k].sum()),
        int(rows.min()) if rows.size else None,
        {name: int(people[values < diverse[name]].sum()) for name, values in secrets.items()},
        {name: int(people[values == 1].sum()) for name, values in secrets.items()},
    )


def distinct_values(group: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    """How many different values each group holds.

    >>> distinct_values(np.array([0, 0, 2]), np.array([5, 5, 1]), 3)
    array([1, 0, 1])
    """
    width = int(values.max(initial=0)) + 1
    pairs = np.unique(group.astype(np.int64) * width + values)
    return np.bincount(pairs // width, minlength=groups)
