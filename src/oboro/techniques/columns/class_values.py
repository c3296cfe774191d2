"""Columns whose released value is made from the records of a class: microaggregation inside k-anonymity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pydantic import Field

from oboro.decide.lattice.search import SearchResult
from oboro.errors import UsageError
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import HierarchySpec
from oboro.table.values import STAR
from oboro.techniques.base import Outcome
from oboro.techniques.columns.class_aggregates import ClassAggregate, aggregated
from oboro.techniques.demands.worth_asked import WorthAsked
from oboro.text import Message

__all__ = ["ClassValues"]


class ClassValues(WorthAsked):
    """A step whose classes may say a mean instead of a label."""

    aggregates: dict[str, ClassAggregate] = Field(default_factory=dict)
    """Quasi-identifiers whose levels only decide who stands together: in every class their values become the mean, the median, the
    mode (most frequent) or the interval (smallest to largest) of the class."""

    def as_sure(self, found: SearchResult) -> SearchResult:
        """What a search found. With exempt records, suppressing somebody without need makes people who fit no class need no record
        of theirs (a least presence); the search does not try that, so it is not sure of the best."""
        exempt = getattr(self, "suppressed", "class") == "exempt" and getattr(self, "suppress", 0.0) > 0
        unsure = exempt and self.presence is not None and self.presence.min > 0
        return replace(found, exact=False, bound=None) if unsure else found

    def require_aggregates(self, names: Sequence[str]) -> None:
        """Only quasi-identifiers stand in classes."""
        if odd := [name for name in self.aggregates if name not in names]:
            raise UsageError(Message("error_technique.aggregates_of", step=self.step, unknown=odd, names=list(names)))

    def aggregates_told(self, plan: Message) -> Message:
        """The plan, with what classes say instead of labels."""
        if not self.aggregates:
            return plan
        each = [
            Message("technique.k_anonymize.aggregate", column=name, aggregate=how)
            for name, how in self.aggregates.items()
        ]
        return Message("text.sentences", said=[plan, Message("technique.k_anonymize.aggregates", each=each)])

    def with_class_values(self, outcome: Outcome, before: Dataset, names: Sequence[str], gone: np.ndarray) -> Outcome:
        """The outcome with these columns' values made anew in every class, from those of `before`.

        Who is alike stays alike, for a value is that of a whole class. Suppressed records (`gone`) keep their `*`.
        """
        if not self.aggregates or not before.rows:
            return outcome
        data, schema = outcome.data, outcome.schema
        kept = Column(pa.array([False, True]), gone.astype(np.uint8))
        groups = Groups.of([*(data[name] for name in names), kept], data.rows)
        columns, facts = {}, {}
        for name, how in self.aggregates.items():
            made = aggregated(name, before[name], groups, how)
            columns[name] = made.where(gone, STAR) if gone.any() else made
            facts[name] = {"as": how, "values": len(columns[name].values)}
            schema = schema.with_remaining(name, HierarchySpec().build(name, columns[name]))
        told = {**outcome.facts, "aggregates": facts}
        return replace(outcome, data=data.with_columns(columns), schema=schema, facts=told)
