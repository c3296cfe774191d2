"""Shuffling: records in a random order, or some columns against the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["Shuffle"]


class Shuffle(Technique):
    """Put the records in a random order, or shuffle some columns against the others.

    Without `attributes` whole records change places. With `attributes` the values of those columns change places among
    the records, together: a row of them stays together, but its link to the rest of the record is broken.

    Given: nothing, or the columns whose link to the others is to be broken.
    Promises: without `attributes`, the same records in an order that is uniformly random; with them, the same rows of
    those columns, and the same rows of all the others, paired at random.
    Checked by: tests/techniques/test_techniques_records.py, on the multisets of records.

    >>> sorted(Shuffle().apply({"age": [31, 42, 53]}, seed=1)["age"])
    [31, 42, 53]
    """

    step: ClassVar[str] = "shuffle"
    iso: ClassVar[Words] = Message("technique.shuffle.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({}, {"attributes": ["disease"]})
    secret_example: ClassVar[SecretExample | None] = SecretExample({})
    random: ClassVar[bool] = True
    reorders: ClassVar[bool] = True
    moves_records: ClassVar[bool] = True
    changes_values: ClassVar[bool] = False
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.order")

    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Shuffle only these columns, together, against the rest. Without it: whole records."""

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """The columns that are shuffled; all, where whole records change places."""
        return names if self.attributes is None else super().reads(names)

    @property
    def moved_together(self) -> tuple[str, ...]:
        """All that it names, where these are several."""
        return self.attributes if self.attributes is not None and len(self.attributes) > 1 else ()

    @property
    def record_by_record(self) -> bool:
        """Whole records change places, nothing else."""
        return self.attributes is None

    def run(self, work: Work) -> Outcome:
        """One uniformly random permutation of the rows."""
        data, order = work.data, work.rng.permutation(work.data.rows)
        if self.attributes is None:
            return Outcome(data.take(order), work.schema, {"records": data.rows})
        work.schema.require(data, self.attributes, self.step)
        facts: dict[str, Any] = {"records": data.rows, "attributes": list(self.attributes)}
        return Outcome(_rearranged(data, self.attributes, order), work.schema, facts)

    def plan(self, schema: Schema) -> Words:
        """Whether records stay whole."""
        if self.attributes is None:
            return Message("technique.shuffle.plan")
        return Message("technique.shuffle.plan_columns", columns=self.attributes)


def _rearranged(data: Dataset, names: tuple[str, ...], order: np.ndarray) -> Dataset:
    """Only codes move: the dictionaries stay."""
    return data.with_columns({name: Column(data[name].values, data[name].codes[order]) for name in names})
