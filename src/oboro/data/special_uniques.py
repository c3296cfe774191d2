"""Special uniques (SUDA): the smallest sets of attributes that make a record unique.

After SUDA (Elliot, Manning, Ford, 2002; SUDA2: Manning, Haglin, Keane, 2008): a *minimal sample unique* of a record is
a set of attributes on which no other record agrees with it, while on every smaller part of that set some other record
does. The fewer attributes such a set needs, and the more such sets a record has, the easier the record is recognised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.grouping import Groups
from oboro.data.parameters import Names, at_the_door, named_columns, names_shown
from oboro.errors import ColumnError, UsageError
from oboro.text import Message

__all__ = ["SpecialUniques", "special_uniques"]


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """For each record, the smallest sets of attributes that make it unique."""

    attributes: tuple[str, ...]
    max_size: int
    sizes: np.ndarray
    """For each record the size of its smallest set; 0: none of at most `max_size` attributes."""
    sets: Mapping[tuple[str, ...], np.ndarray]
    """For each set of attributes, the records (numbers, ascending) that it makes unique and no part of it does."""

    def of(self, row: int) -> list[tuple[str, ...]]:
        """The minimal sets of one record, the smallest first."""
        return [names for names, rows in self.sets.items() if rows[np.searchsorted(rows, row) :][:1].tolist() == [row]]

    def scores(self) -> np.ndarray:
        """SUDA's score of each record: the sum of ∏ (A − i), i from the set's size to `max_size`, over its minimal
        sets.

        A is the number of attributes (a factor of zero is left out). A smaller set has more ways to be found, so
        counts more.
        """
        scores = np.zeros(self.sizes.size)
        for names, rows in self.sets.items():
            scores[rows] += self.score_of(names)
        return scores

    def score_of(self, names: Sequence[str]) -> int:
        """Return the contribution of one minimal set to the score of a record."""
        count = len(self.attributes)
        return prod(count - i for i in range(len(names), min(self.max_size, count - 1) + 1))


@at_the_door
def special_uniques(frame: Any, attributes: Names = None, max_size: int = 2) -> SpecialUniques:
    """Every minimal unique set of at most `max_size` attributes, for every record of a frame or a `Dataset`.

    Without `attributes` every column is one; leave identifiers out, which make everybody unique.

    Level by level: a record that a part of a set already makes unique needs no look at the set, and (agreeing with
    nobody) is not missed by the others; so each set groups only the records that are still together in all of its
    parts, and of records that agree on everything two. Cost O(records) once, and O(those) for each set of attributes, of
    which there are (attributes choose size).

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]})
    >>> found = special_uniques(people)
    >>> found.of(1), found.of(0)
    ([('job',)], [('sex', 'job')])
    """
    data = Frame.read(frame).data
    attributes = list(data) if attributes is None else named_columns(attributes, "attributes")
    _require(data, attributes, max_size)
    sizes = np.zeros(data.rows, dtype=np.int64)
    sets: dict[tuple[str, ...], np.ndarray] = {}
    data, numbers = _at_most_two(data, attributes)
    together: dict[tuple[str, ...], np.ndarray] = {(): _mask(np.arange(data.rows), data.rows)}
    for size in range(1, min(max_size, len(attributes)) + 1 if data.rows else 0):
        still: dict[tuple[str, ...], np.ndarray] = {}
        for names in combinations(attributes, size):
            rows, alone = _alone(data, names, together)
            if alone.any():
                found = sets[names] = numbers[rows[alone]]
                sizes[found] = np.where(sizes[found] > 0, sizes[found], size)
            still[names] = _mask(rows[~alone], data.rows)
        together = still
    return SpecialUniques(tuple(attributes), max_size, sizes, sets)


def _at_most_two(data: Dataset, attributes: Sequence[str]) -> tuple[Dataset, np.ndarray]:
    """Return the table with at most two records of each class, and their numbers; nothing if no record is unique.

    Records of a larger class are unique by no set, and two of them are enough to keep other records from being unique.
    """
    groups = Groups.of([data[name] for name in attributes], data.rows)
    if not (groups.sizes == 1).any():
        return Dataset({name: data[name].take(np.arange(0)) for name in attributes}, 0), np.arange(0)
    highest = np.maximum.accumulate(groups.labels.astype(np.int64))
    first = np.flatnonzero(np.diff(highest, prepend=-1))  # groups are numbered as they appear
    numbers = np.sort(np.concatenate([first, first[groups.sizes > 1]]))
    return Dataset({name: data[name].take(numbers) for name in attributes}, int(numbers.size)), numbers


def _alone(
    data: Dataset, names: tuple[str, ...], together: Mapping[tuple[str, ...], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that no part of the set makes unique, and which of them the whole set does."""
    candidates = np.bitwise_and.reduce([together[part] for part in combinations(names, len(names) - 1)])
    rows = np.flatnonzero(np.unpackbits(candidates, count=data.rows))
    columns = [Column(data[name].values, data[name].codes[rows]) for name in names]
    return rows, Groups.of(columns, int(rows.size)).row_sizes() == 1


def _mask(rows: np.ndarray, count: int) -> np.ndarray:
    """A bit per record: (attributes choose size) of these are kept at a time."""
    mask = np.zeros(count, dtype=bool)
    mask[rows] = True
    return np.packbits(mask)


def _require(data: Dataset, attributes: Sequence[str], max_size: int) -> None:
    unknown = [name for name in attributes if name not in data]
    if unknown:
        raise ColumnError(Message("error_table.special_column", unknown=unknown, columns=names_shown(data, attributes)))
    if max_size < 1:
        raise UsageError(Message("error_table.special_size", max_size=max_size))
