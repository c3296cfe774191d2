"""In which order a table is released: at random where something is promised, sorted where a step sorts, kept where asked for.

Whoever knows in which order the rows came (by name, by age, by the day of admission) knows between which rows
a person's row stands. No model of classes counts that. A random order tells nothing, and neither does an order that follows from
the released values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from oboro.table.dataset import Dataset
from oboro.table.rows.row_shuffle import RowShuffle
from oboro.table.schema import Schema
from oboro.techniques.base import Technique
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.techniques.sort import Sort

__all__ = ["Order", "moves_rows", "plan_of_order", "released_order", "warning_of_order"]

Order = Literal["shuffled", "kept"]


def moves_rows(order: Order | None, steps: Sequence[Technique]) -> bool:
    """Whether rows leave the order in which they came: as asked, else where a step promises something."""
    return order == "shuffled" or (order is None and any(map(attrgetter("promising"), steps)))


def released_order(steps: Sequence[Technique], data: Dataset, rng: np.random.Generator) -> RowShuffle | None:
    """A random order; where a step sorts, rows stand by the values that are released, and only rows that agree stand at random."""
    shuffle, sort = RowShuffle.drawn(data.rows, rng), _last_sort(steps)
    sorted_ = sort is not None and sort.sorts(data)
    return RowShuffle.fixed(sort.order(data, shuffle.order)) if sort and sorted_ else shuffle


def plan_of_order(order: Order | None, steps: Sequence[Technique], schema: Schema) -> Message:
    """What `--explain` says of the order."""
    if not moves_rows(order, steps):
        return Message("recipe.order.kept" if moves_rows(None, steps) else "recipe.order.nothing_promised")
    sort = _last_sort(steps)
    dropped = {name for step in steps for name in step.removes_identity}
    if sort is None or any(name.removeprefix("-") in dropped for name in sort.names):
        return Message("recipe.order.shuffled")
    return Message("recipe.order.sorted", keys=sort.keys(schema))


def warning_of_order(steps: Sequence[Technique]) -> list[Message]:
    """What whoever signs a release in the order that came must know: that something is promised of it."""
    return [Message("recipe.order.warning")] if moves_rows(None, steps) else []


def _last_sort(steps: Sequence[Technique]) -> Sort | None:
    for step in reversed(steps):
        if step.step == "sort":
            return cast("Sort", step)
    return None
