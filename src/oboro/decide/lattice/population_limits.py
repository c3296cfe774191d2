"""Everybody whom a table was drawn from, and what a class must keep with regard to them.

- *k-map*: at least k people of the population look like each released record. Strong: joining classes only adds people.
- *δ-presence*: of the people who look like a class, the part that is in the table lies between two limits. With an
  upper limit only it is weak (the part in a union lies between the parts); with a lower one it is not even that, for
  a class may be joined by people of whom nobody is in the table.

The suppressed records are a class too. Whoever fits no released class must be among them, or not in the table at all:
so the people who look like the suppressed are all who fit no released class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import getitem
from typing import TYPE_CHECKING

import numpy as np

from oboro.table.hierarchy import Hierarchy
from oboro.table.values import STAR, texts_of

if TYPE_CHECKING:
    from oboro.decide.lattice.tuples.distinct_tuples import DistinctTuples
    from oboro.table.dataset import Column
    from oboro.table.hierarchy import Level

__all__ = ["Population", "Unclear", "all_stars", "unclear_values"]

Unclear = tuple[tuple[tuple[np.ndarray, np.ndarray], ...], ...]


@dataclass(frozen=True, eq=False)
class Population:
    """The population's codes, in the dictionaries of the table's columns, and the limits."""

    codes: tuple[np.ndarray, ...]
    """One array per quasi-identifier, one entry per person. Everybody of the table is among them."""
    least: int = 1
    """k-map: so many people at least look like a class."""
    low: float = 0.0
    high: float = 1.0
    """δ-presence: the part of them that is in the table."""
    unclear: Unclear | None = None
    """By attribute and level the values of which a reader cannot tell whether a label covers them (None: there are none)."""
    stars: tuple[tuple[bool, ...], ...] | None = None
    """By attribute and level whether every record is `*`, where something is unclear: a table of nothing else covers everybody."""

    def __len__(self) -> int:
        return int(self.codes[0].size)

    @property
    def strong(self) -> bool:
        """Whether joining with any class keeps the limits."""
        return self.low <= 0 and self.high >= 1 and self.unclear is None

    @property
    def joinable(self) -> bool:
        """Whether two classes that keep the limits keep them when they are joined, whoever else joins them."""
        return self.low <= 0 and self.unclear is None

    def breaks_k_map(self, people: np.ndarray) -> np.ndarray:
        """Which classes break k-map."""
        return np.asarray(people < self.least)

    def breaks_presence(self, sizes: np.ndarray, people: np.ndarray, more: int = 0) -> np.ndarray:
        """Which classes break δ-presence; so many `more` people may belong to any.

        One division each, so that a limit of 0.3 and 3 of 10 round alike. Where fewer people belong to a class for certain than it
        has records, all of them may be in the table, and no more than all.
        """
        low, high = sizes / np.maximum(people + more, 1), np.minimum(sizes / np.maximum(people, 1), 1.0)
        return np.asarray((low < self.low) | (high > self.high) | ((people == 0) & (sizes > 0) & (self.high < 1)))

    def safe(self, size: int, people: int, more: int = 0) -> bool:
        """Whether the suppressed records keep the limits, with the people who fit no other class."""
        if size == 0:
            return people + more == 0 or self.low <= 0  # otherwise these people are known to be absent
        return people >= self.least and not bool(self.breaks_presence(np.array([size]), np.array([people]), more)[0])

    def counted(
        self, tuples: DistinctTuples, labels: np.ndarray, found: int, levels: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """How many people each class covers for certain, how many for certain if it is suppressed, and of how many it is open."""
        assert tuples.people is not None
        every = _sums(labels, tuples.people, found)
        if self.unclear is None:
            return every, every, 0
        if self.stars is not None and all(map(getitem, self.stars, levels)):
            every = np.where(_sums(labels, tuples.weights, found) > 0, every.sum(), 0)
            return every, every, 0
        own, any_ = np.zeros((2, len(tuples)), dtype=bool)
        for a, level in enumerate(levels):
            value = tuples.codes[:, a] - tuples.offsets[a]
            own |= self.unclear[a][level][0][value]
            any_ |= self.unclear[a][level][1][value]
        sure, surest = np.where(own, 0, tuples.people), np.where(any_, 0, tuples.people)
        return _sums(labels, sure, found), _sums(labels, surest, found), int(tuples.people[any_].sum())


def _sums(labels: np.ndarray, numbers: np.ndarray, found: int) -> np.ndarray:
    return np.bincount(labels, weights=numbers, minlength=found).astype(np.int64)


def unclear_values(
    hierarchies: Sequence[Hierarchy], chosen: Sequence[Sequence[int]], columns: Sequence[Column], limit: int
) -> Unclear | None:
    """For each attribute and chosen level: the values that another level with the same label puts under another one; and also
    those that another level puts under some label of this one. None where no text stands on two levels with other values.

    A reader sees texts and no levels. Whoever such a label covers on one level only is not covered for certain, unless the other
    labels of the column tell the level: at most `limit` records are suppressed, so of more than these some label is seen.
    """
    masks = [_unclear(hierarchy, column.counts, limit) for hierarchy, column in zip(hierarchies, columns, strict=True)]
    if not any(own.any() for levels in masks for own, _ in levels):
        return None
    return tuple(tuple(levels[i] for i in picked) for levels, picked in zip(masks, chosen, strict=True))


def all_stars(
    hierarchies: Sequence[Hierarchy], chosen: Sequence[Sequence[int]], columns: Sequence[Column]
) -> tuple[tuple[bool, ...], ...]:
    """For each attribute and chosen level whether every record has `*` there."""
    return tuple(
        tuple(_starred(hierarchy.levels[i], column.counts > 0) for i in picked)
        for hierarchy, picked, column in zip(hierarchies, chosen, columns, strict=True)
    )


def _starred(level: Level, held: np.ndarray) -> bool:
    labels = np.unique(level.table[held])
    return labels.size == 1 and texts_of(level.labels)[int(labels[0])] == STAR


def _unclear(hierarchy: Hierarchy, counts: np.ndarray, limit: int) -> list[tuple[np.ndarray, np.ndarray]]:
    numbers: dict[str | None, int] = {}
    texts = [
        np.array([numbers.setdefault(text, len(numbers)) for text in texts_of(level.labels)])[level.table]
        for level in hierarchy.levels
    ]
    found = []
    for here in texts:
        own, any_ = np.zeros((2, here.size), dtype=bool)
        for there in texts:
            if counts[~np.isin(here, np.append(there, numbers.get(STAR, -1)))].sum() > limit:
                continue  # it is seen that these are not labels of that level; records with `*` everywhere show nothing
            other = here != there
            own |= np.isin(here, there) & other
            any_ |= np.isin(there, here) & other
        found.append((own, own | any_))
    return found
