"""Values that few people hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from oboro.errors import UsageError
from oboro.measure.exposure.separation import counts_people, require_columns
from oboro.table.dataset import Column, Dataset
from oboro.table.labels.starred_values import is_star
from oboro.table.value_counts import clean
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.measure.exposure.people_counts import PeopleCounts

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

    Without `person`, fewer than k records. `*` is not a value: it says nothing about anybody. O(rows) for each column, once.

    >>> rare_values(Dataset.of({"job": ["cook", "cook", "judge"]}), k=2)
    (RareValues(column='job', k=2, values=1, records=1, fewest=1),)
    """
    if k < 1:
        raise UsageError(Message("error_measure.rare_k", k=k))
    names = require_columns(data, [name for name in data if name != person] if columns is None else columns, person)
    people = None if person is None else counts_people(data[person])
    found = [_of(name, data[name], k, people) for name in names]
    return tuple(sorted((one for one in found if one.values), key=lambda one: -one.records))


def _of(name: str, column: Column, k: int, whose: PeopleCounts | None) -> RareValues:
    held = clean(column)
    records, people = (held.counts, held.counts) if whose is None else whose.holding(held)
    plain = ~is_star(held)
    rare = plain & (people < k)
    fewest = int(people[rare].min()) if rare.any() else 0
    return RareValues(name, k, int(np.count_nonzero(rare)), int(records[rare].sum()), fewest)
