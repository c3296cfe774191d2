"""Values that few people hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.errors import UsageError
from oboro.measure.exposure.separation import require_columns
from oboro.table.dataset import Column, Dataset
from oboro.table.distinct_people import people_per_group
from oboro.table.groups import Groups
from oboro.table.value_counts import clean
from oboro.text import Message

__all__ = ["RareValues", "rare_values"]


@dataclass(frozen=True)
class RareValues:
    """The values of one column that fewer than k people hold."""

    column: str
    k: int
    values: int
    """How many such values there are."""
    records: int
    """How many records hold them."""
    fewest: int
    """Fewest people that hold one of them."""


def rare_values(
    data: Dataset, columns: Sequence[str] | None = None, k: int = 5, person: str | None = None
) -> tuple[RareValues, ...]:
    """The columns (all but `person`, unless named) with values that fewer than `k` people hold, most records first.

    Without `person`, fewer than k records. O(rows) for each column, once.

    >>> rare_values(Dataset.of({"job": ["cook", "cook", "judge"]}), k=2)
    (RareValues(column='job', k=2, values=1, records=1, fewest=1),)
    """
    if k < 1:
        raise UsageError(Message("error_measure.rare_k", k=k))
    names = require_columns(data, [name for name in data if name != person] if columns is None else columns, person)
    found = [_of(name, data[name], k, None if person is None else data[person]) for name in names]
    return tuple(sorted((one for one in found if one.values), key=lambda one: -one.records))


def _of(name: str, column: Column, k: int, person: Column | None) -> RareValues:
    held = clean(column)
    records, people = held.counts, held.counts
    if person is not None:
        groups = Groups.of([held], len(held))
        records, people = groups.sizes, people_per_group(groups, person)
    rare = people < k
    fewest = int(people.min()) if people.size else 0
    return RareValues(name, k, int(np.count_nonzero(rare)), int(records[rare].sum()), fewest)
