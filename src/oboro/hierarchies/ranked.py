"""Hierarchies of ranked values: neighbouring values grouped, or the least important values suppressed first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from oboro.data.column import Column
from oboro.data.matching import Value, matched
from oboro.data.parameters import Parameters
from oboro.errors import HierarchyError
from oboro.hierarchies.hierarchy import Level, leaf_share
from oboro.notations.kinds import STAR, kind_of, numbers_of
from oboro.notations.texts import texts_of
from oboro.text import Message, Raw

__all__ = ["NeighbourGroups", "ValuePriority", "neighbour_levels", "priority_levels"]


MOST_LEVELS = 1_000  # each is an array over all values; with 2⁶⁴ of them the process ran until it was killed


class NeighbourGroups(Parameters):
    """Neighbouring values together."""

    groups: list[int] = Field(min_length=1, examples=[[3, 2]])
    """How many values are together on level 1, how many of these groups on level 2, and so on."""
    values: list[Value] | None = Field(default=None, min_length=1)
    """All values in their order; without it the column's own: numbers and dates by size, text by its letters."""
    labels: list[list[str]] | None = None
    """For each level the names of its groups; without it a group is called by its values, `{a, b, c}`."""


class ValuePriority(Parameters):
    """The least important values become `*` first."""

    levels: int = Field(ge=1, le=MOST_LEVELS)
    """On how many levels all values have become `*`, about as many on each."""
    values: list[Value] | Literal["frequency"] = "frequency"
    """All values, the most important first; or `frequency`: those that most records of the table have are the most important."""


def neighbour_levels(name: str, values: pa.Array, spec: NeighbourGroups) -> list[Level]:
    """One level for each number of groups. O(values · levels)."""
    known = _in_order(values) if spec.values is None else pa.array(map(str, spec.values), pa.string())
    place = _places(name, values, known)
    texts, levels, width = texts_of(known), [], 1
    for number, size in enumerate(spec.groups):
        if size < 2:
            raise HierarchyError(Message("error_table.groups", name=name, groups=str(spec.groups)))
        width = min(
            width * size, max(1, len(known))
        )  # one group of all values, however large it may be; it must fit in 64 bits
        group = np.arange(len(known)) // width
        own = None if spec.labels is None else _given_labels(name, spec.labels, number, -(-len(known) // width))
        from oboro.hierarchies.labels import set_label

        labels = own or [set_label([str(text) for text in texts[i : i + width]]) for i in range(0, len(known), width)]
        share = leaf_share(group, len(labels))
        levels.append(Level(pa.array(labels, pa.string()), group[place], share).compact())
    return levels


def priority_levels(name: str, column: Column, values: pa.Array, spec: ValuePriority) -> list[Level]:
    """One level for each part of the values that becomes `*`; the last one hides all. O(values · levels)."""
    if spec.values == "frequency":
        counts = column.counts[matched(values, column.values)]
        order = sorted(range(len(values)), key=lambda i: (-int(counts[i]), str(texts_of(values)[i])))
        rank, total = np.empty(len(values), dtype=np.int64), len(values)
        rank[order] = np.arange(total)
    else:
        known = pa.array(map(str, spec.values), pa.string())
        rank, total = _places(name, values, known), len(known)
    return [_kept(values, rank, total - -(-total * level // spec.levels)) for level in range(1, spec.levels)]


def _kept(values: pa.Array, rank: np.ndarray, kept: int) -> Level:
    """The level on which the first `kept` values stay and all others are `*`."""
    stays = rank < kept
    table = np.where(stays, np.cumsum(stays) - 1, int(stays.sum()))
    labels = pa.concat_arrays([pa.array(texts_of(values.filter(pa.array(stays))), pa.string()), pa.array([STAR])])
    return Level(labels, table, np.append(np.zeros(int(stays.sum())), 1.0)).compact()


def _in_order(values: pa.Array) -> pa.Array:
    if kind_of(values).numeric:
        return values.take(pa.array(np.argsort(numbers_of(values), kind="stable")))
    texts = texts_of(values)
    return values.take(pa.array(sorted(range(len(texts)), key=lambda i: str(texts[i])), pa.int64()))


def _places(name: str, values: pa.Array, known: pa.Array) -> np.ndarray:
    """The place of each value in the order. Raises `HierarchyError` for one that the order lacks or has twice."""
    if len(known.unique()) < len(known):
        raise HierarchyError(Message("error_table.order_twice", name=name))
    place = matched(values, known)
    if (place < 0).any():
        lacking = [Raw(texts_of(values)[int(i)]) for i in np.flatnonzero(place < 0)]
        raise HierarchyError(Message("error_table.order_lacks", name=name, lacking=lacking))
    return place


def _given_labels(name: str, labels: Sequence[Sequence[str]], number: int, groups: int) -> list[str]:
    found = list(labels[number]) if number < len(labels) else []
    if len(set(found)) != groups or len(found) != groups:
        raise HierarchyError(Message("error_table.group_labels", name=name, level=number + 1, groups=groups))
    return found
