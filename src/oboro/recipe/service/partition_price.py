"""What it costs that each part of a stream keeps its own promise: fewer records protect each other, more cells are suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.errors import UsageError
from oboro.recipe.stream_plan import StreamOptions, anonymizer
from oboro.stream.service.partition import Partition
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["check_key", "expected_price", "measured_price"]

PARTS = (1, 2, 4, 8, 16)
# Suppressed cells on Adult at k = 5, as benchmarks/partitions.py measures them.
BY_PERSON, BY_QUASI = (1.0, 1.45, 2.04, 2.83, 3.89), (1.0, 1.14, 1.31, 1.53, 1.77)


def check_key(part: Partition, person: str | None, fields: Sequence[str]) -> None:
    """Raise where one person's records could be in two parts: there they would protect each other."""
    if person is not None and part.by != (person,):
        raise UsageError(Message("error_service.partition_person", person=person, by=list(part.by)))
    if unknown := [name for name in part.by if name not in fields]:
        raise UsageError(Message("error_service.partition_field", unknown=unknown, known=list(fields)))


def expected_price(part: Partition, quasi: Sequence[str]) -> Message:
    """What is said before a part starts: how many times the suppressed cells on a table that everybody knows."""
    table = BY_QUASI if set(part.by) == set(quasi) else BY_PERSON
    times = float(np.interp(np.log2(part.count), np.log2(PARTS), table))
    return Message("service.partition", number=part.serve, count=part.count, by=list(part.by), times=round(times, 2))


def measured_price(
    recipe: Recipe, options: StreamOptions, part: Partition, records: Sequence[Mapping[str, Any]]
) -> Message:
    """The same on a sample of the input: cells suppressed by all parts together, and by one stream."""
    together, parts = anonymizer(recipe, options), [anonymizer(recipe, options) for _ in range(part.count)]
    together.take(records, 0.0)
    for number, one in enumerate(parts):
        own = Partition(part.by, part.count, number)
        one.take([record for record in records if own.mine(record)], 0.0)
    whole = int(together.stats().get("suppressed_cells", 0))
    split = sum(int(one.stats().get("suppressed_cells", 0)) for one in parts)
    for one in (together, *parts):
        one.close()
    return Message("service.partition_price", records=len(records), count=part.count, whole=whole, split=split)
