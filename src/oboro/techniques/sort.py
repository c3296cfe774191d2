"""Sorting of records by their own values."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from oboro.data.column import Column, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.notations.kinds import typed
from oboro.notations.texts import texts_of
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["Sort"]


class Sort(Technique):
    """Put the records in an order that the data itself gives, so that the order of collection says nothing.

    Numbers are compared as numbers, dates as dates, text by code point; text that looks like a number counts as one
    only where every value of the column does. Missing values come last, in both directions.

    Given: columns to sort by, the most important first; `-zip` is `zip` from high to low.
    Promises: the same records, each whole, in that order; records that agree on every key keep their order. No privacy
    guarantee: where many records agree, their old order still shows (shuffle first).
    Checked by: tests/techniques/test_techniques_records.py, against Python's own sort.

    >>> Sort(by=["-age"]).apply({"age": ["9", None, "10"]})
    {'age': ['10', '9', None]}
    """

    step: ClassVar[str] = "sort"
    iso: ClassVar[Words] = Message("technique.sort.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"by": "age"}, {"by": ["-zip", "name"]})
    secret_example: ClassVar[SecretExample | None] = SecretExample({"by": ["-income"]}, hidden=("-income",))
    reorders: ClassVar[bool] = True
    moves_records: ClassVar[bool] = True
    changes_values: ClassVar[bool] = False
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.order")

    by: str | tuple[str, ...] = Field(min_length=1)
    """A column, or several with the most important first; a minus before the name sorts from high to low."""
    descending: bool = False
    """Sort every column from high to low (instead of a minus before each)."""

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Sort:
        if self.descending and any(name.startswith("-") for name in self.names):
            raise ValueError(Message("error_technique.descending"))
        bare = [name.removeprefix("-") for name in self.names]
        if len(set(bare)) < len(bare):
            raise ValueError(Message("error_technique.sorted_twice", names=list(self.names)))
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The columns as they were given, the most important first."""
        return (self.by,) if isinstance(self.by, str) else self.by

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """All: records change places."""
        return names

    @property
    def record_by_record(self) -> bool:
        """Whole records change places, nothing else."""
        return True

    def run(self, work: Work) -> Outcome:
        """Sort stably by the least important key first: with one or two bytes a row each pass is a radix sort, O(n)."""
        keys = self._keys(work.data)
        work.schema.require(work.data, [name for name, _ in keys], self.step)
        order = self.order(work.data, np.arange(work.data.rows))
        facts = {"records": work.data.rows, "by": [f"-{name}" if down else name for name, down in keys]}
        return Outcome(work.data.take(order), work.schema, facts)

    def order(self, data: Dataset, order: np.ndarray) -> np.ndarray:
        """The rows of a table, which come in some order, by the keys; rows that agree stay in that order."""
        for name, descending in reversed(self._keys(data)):
            places = _places(data[name], descending)
            order = order[np.argsort(places[order], kind="stable")]
        return order

    def sorts(self, data: Dataset) -> bool:
        """Whether a table has all the keys."""
        return all(name in data for name, _ in self._keys(data))

    def plan(self, schema: Schema) -> Words:
        """The keys and their directions."""
        return Message("technique.sort.plan", keys=self.keys(schema))

    def keys(self, schema: Schema) -> Message:
        """The keys and their directions, one after the other."""
        ids = {False: "technique.sort.ascending", True: "technique.sort.descending"}
        keys = [Message(ids[down], column=name) for name, down in self._keys(schema.attributes)]
        return reduce(lambda first, key: Message("technique.sort.then", first=first, next=key), keys)

    def _keys(self, known: Container[str]) -> list[tuple[str, bool]]:
        """Name and whether it descends; a column whose own name starts with a minus is taken at its word."""
        return [
            (name[1:], True) if name.startswith("-") and name not in known else (name, self.descending)
            for name in self.names
        ]


def _places(column: Column, descending: bool) -> np.ndarray:
    """For each row, the place of its value among the column's distinct values; missing has the last place."""
    values = typed(column.values)
    if pa.types.is_floating(values.type):
        values = values.cast(pa.float64())  # Arrow does not rank half floats
    direction = "descending" if descending else "ascending"
    try:
        ranks = pc.rank(values, sort_keys=direction, tiebreaker="dense")
    except pa.ArrowNotImplementedError:
        ranks = pc.rank(pa.array(texts_of(values), pa.string()), sort_keys=direction, tiebreaker="dense")
    small = ranks.to_numpy(zero_copy_only=False).astype(smallest_unsigned(len(values) + 1))
    return np.asarray(small[column.codes])
