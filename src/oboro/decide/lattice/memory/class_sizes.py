"""How many records stand in classes of which size: what is kept of one look at a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Look"]


@dataclass(frozen=True, eq=False)
class Look:
    """The classes of a node, by their size. Where people are counted, a class's size is the number of its people."""

    sizes: np.ndarray
    """The different sizes of classes that no rule suppresses, ascending."""
    records: np.ndarray
    """How many records stand in classes of at most that size."""
    times: np.ndarray
    """How many classes have that size."""
    classes: int
    squares: int
    """The sum of the squared sizes of all classes, in records."""
    least: int = 1
    """Only a k of at least so much can be answered."""
    most: int | None = None
    """Only a k of at most so much can be answered; larger sizes count as this one."""
    gone: int = 0
    """Records that rules suppress, whatever k is."""
    surely: int = 0
    """Of these, how many go at least in every finer node too."""
    whole: bool = True
    """Whether every rule was asked; otherwise `gone` are those of strong rules."""

    @staticmethod
    def of(counted: np.ndarray, records: np.ndarray, **more: Any) -> Look:
        """From the size of each class as it is counted, and its records."""
        sizes, place, times = np.unique(counted, return_inverse=True, return_counts=True)
        held = np.bincount(place.ravel(), weights=records, minlength=sizes.size).astype(np.int64)
        return Look(sizes, np.cumsum(held), times, **more)

    @staticmethod
    def of_histogram(classes: np.ndarray, most: int, rows: int, squares: int = 0) -> Look:
        """From how many classes have each size; the last ones have `most` records or more."""
        found = classes[1:most].nonzero()[0]
        sizes, held = np.empty((2, found.size + 1), dtype=np.int64)
        np.add(found, 1, out=sizes[:-1])
        sizes[-1] = most
        times = classes[sizes]
        np.multiply(sizes[:-1], times[:-1], out=held[:-1])
        held[:-1].cumsum(out=held[:-1])
        held[-1] = rows
        return Look(sizes, held, times, int(times.sum()), squares, most=most)

    def answers(self, k: int) -> bool:
        """Whether it says how much is suppressed for this k."""
        return self.least <= k and (self.most is None or k <= self.most)

    @property
    def by_size(self) -> list[tuple[int, int]]:
        """(size, classes), ascending."""
        return [(int(size), int(times)) for size, times in zip(self.sizes, self.times, strict=True) if times]

    def small(self, k: int) -> int:
        """Records of classes smaller than k that no rule suppresses."""
        place = int(self.sizes.searchsorted(k))
        return int(self.records[place - 1]) if place else 0
