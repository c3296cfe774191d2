"""How far columns tell records apart, and whom they single out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.errors import ColumnError, UsageError
from oboro.measure.exposure.fingerprints import fingerprint_sizes
from oboro.measure.exposure.people_in_classes import alone_in_class, people_in
from oboro.table.dataset import Dataset
from oboro.table.distinct_people import people_per_group
from oboro.table.groups import Groups
from oboro.table.value_counts import clean
from oboro.text import Message
from oboro.verifier.classes import class_sizes

__all__ = ["Exposure", "exposure", "record_classes", "require_columns", "singled_out"]

LARGEST_KEY = 1 << 63


@dataclass(frozen=True)
class Exposure:
    """What a set of columns does to the records of a table."""

    columns: tuple[str, ...]
    rows: int
    people: int
    """How many people there are: records, unless `person` says whose they are."""
    distinct: int
    """Different combinations of values."""
    told_apart: int
    """Pairs of records that differ in some column."""
    unique: int
    """People whose combination nobody else has."""
    smallest: int
    """Fewest people that share a combination: the k that holds over these columns. 0 in an empty table."""

    @property
    def distinction(self) -> float:
        """Different combinations as a share of the records (Motwani and Xu 2007; as in ARX). 0 in an empty table."""
        return self.distinct / self.rows if self.rows else 0.0

    @property
    def separation(self) -> float:
        """The share of pairs of records that are told apart (Motwani and Xu 2007; as in ARX). 0 where there is no pair."""
        pairs = self.rows * (self.rows - 1) // 2
        return self.told_apart / pairs if pairs else 0.0

    @property
    def unique_share(self) -> float:
        """The share of the people that is unique."""
        return self.unique / self.people if self.people else 0.0


def exposure(data: Dataset, columns: Sequence[str], person: str | None = None) -> Exposure:
    """Count how far the columns tell records apart, on all rows. One column: O(values) after its counts; else O(rows · columns).

    Where the columns have too many possible combinations for a 64-bit key, records are told apart by fingerprints
    (`fingerprints.fingerprint_sizes`), which take two different records for equal with a chance below rows² / 2⁶⁵.

    >>> found = exposure(Dataset.of({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]}), ["sex", "job"])
    >>> found.distinction, found.unique, found.smallest
    (0.75, 2, 1)
    """
    names = require_columns(data, columns, person)
    if person is not None:
        return _of_people(data, names, person)
    sizes = record_classes(data, names)
    return Exposure(names, data.rows, data.rows, sizes.size, _apart(sizes), _alone(sizes), _least(sizes))


def _of_people(data: Dataset, names: tuple[str, ...], person: str) -> Exposure:
    groups, column = Groups.of([clean(data[name]) for name in names], data.rows), data[person]
    least, unique = _least(people_per_group(groups, column)), alone_in_class(groups, column)
    return Exposure(names, data.rows, people_in(column), len(groups), _apart(groups.sizes), unique, least)


def singled_out(data: Dataset, columns: Sequence[str], person: str | None = None) -> int:
    """How many people (records, without `person`) are unique by these columns together."""
    if person is None:
        return _alone(record_classes(data, columns))
    return alone_in_class(Groups.of([clean(data[name]) for name in columns], data.rows), data[person])


def record_classes(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """How many records share each combination, in no particular order."""
    held = [clean(data[name]) for name in columns]
    if len(held) == 1:
        return held[0].counts
    space = 1
    for column in held:
        space *= len(column.values)
    return class_sizes(data, columns) if space < LARGEST_KEY else fingerprint_sizes(held, data.rows)


def _alone(sizes: np.ndarray) -> int:
    return int(np.count_nonzero(sizes == 1))


def _least(sizes: np.ndarray) -> int:
    return int(sizes.min()) if sizes.size else 0


def _apart(sizes: np.ndarray) -> int:
    """Pairs of records that stand in different classes."""
    rows = int(sizes.sum())
    return (rows * rows - int((sizes.astype(np.int64) ** 2).sum())) // 2


def require_columns(data: Dataset, columns: Sequence[str], person: str | None = None) -> tuple[str, ...]:
    """The columns, if the table has them and the person's column, and each is named once."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    unknown = [name for name in (*names, *([person] if person is not None else ())) if name not in data]
    if unknown:
        raise ColumnError(Message("error_measure.exposure_column", unknown=unknown, columns=list(data)))
    if len(set(names)) < len(names):
        raise UsageError(Message("error_measure.exposure_twice", names=list(names)))
    return names
