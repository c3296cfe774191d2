"""Removal of records: by a condition on their values, as rare, or as outliers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from oboro._lazy import loaded_later
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.techniques.conditions import Condition
from oboro.text import Message, Words

__all__ = ["DropRecords"]


if TYPE_CHECKING:
    from oboro.algorithms.outliers import Outliers
    from oboro.techniques.conditions import RarerThan
else:
    (Outliers,) = loaded_later("oboro.algorithms.outliers", "Outliers")
    (RarerThan,) = loaded_later("oboro.techniques.conditions", "RarerThan")


class DropRecords(Technique):
    """Leave out records: by a condition on their values, because they are rare, or because they stand out.

    Given: exactly one of `where` (every condition must hold), `rarer_than` and `outliers`.
    Promises: exactly those records are gone, and the others are unchanged and in their old order. After `rarer_than`
    each combination that is left is shared by at least `count` records (a later step may change that; for a promise
    that is verified on the release use k_anonymize).
    Checked by: tests/techniques/test_drop_records.py, against a loop over the rows.

    >>> DropRecords(where={"age": {"above": 90}}).apply({"age": [31, 97, None]})
    {'age': [31, None]}
    """

    step: ClassVar[str] = "drop_records"
    iso: ClassVar[Words] = Message("technique.drop_records.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"where": {"age": {"above": 60}}},
        {"rarer_than": {"attributes": ["zip"], "count": 3}},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"where": {"income": {"above": 7654321}}}, hidden=("7654321", "7,654,321")
    )
    coarser: ClassVar[bool] = True
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.every_record")
    moves_records: ClassVar[bool] = True

    where: dict[str, Condition] | None = Field(default=None, min_length=1)
    """Conditions by column; a record is left out if all of them hold."""
    rarer_than: RarerThan | None = None
    """Leave out records whose combination of values is rare."""
    outliers: Outliers | None = None
    """Leave out records that stand out."""

    @model_validator(mode="after")
    def _one_reason(self) -> DropRecords:
        if (self.where, self.rarer_than, self.outliers).count(None) != 2:
            raise ValueError(Message("error_technique.one_reason"))
        return self

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """The columns named; all, where records that stand out are looked for everywhere."""
        everywhere = self.outliers is not None and self.outliers.attributes is None
        return names if everywhere else super().reads(names)

    @property
    def record_by_record(self) -> bool:
        """Only conditions look at one record alone."""
        return self.where is not None

    def run(self, work: Work) -> Outcome:
        """Decide on dictionaries and groups, then take the rows that stay."""
        dropped = self._picked(work)
        said: list[Message] = []
        for name, condition in (self.where or {}).items():
            said += condition.warnings(work.data[name], name)
        data = work.data.take(~dropped)
        facts: dict[str, Any] = {"records": work.data.rows, "dropped": int(dropped.sum()), "kept": data.rows}
        return Outcome(data, work.schema, facts, warnings=tuple(said))

    def _picked(self, work: Work) -> np.ndarray:
        """One boolean per row: it is left out."""
        data = work.data
        if self.outliers is not None:
            return self.outliers.find(data, work.rng)
        if self.rarer_than is not None:
            work.schema.require(data, self.rarer_than.attributes, self.step)
            return self.rarer_than.find(data)
        assert self.where is not None
        work.schema.require(data, self.where, self.step)
        picked = np.ones(data.rows, dtype=bool)
        for name, condition in self.where.items():
            picked &= condition.holds(data[name], name)[data[name].codes]
        return picked

    def plan(self, schema: Schema) -> Words:
        """By what they are picked."""
        if self.outliers is not None:
            return Message("technique.drop_records.plan_outliers", criterion=self.outliers.plan())
        if self.rarer_than is not None:
            rare = self.rarer_than
            return Message("technique.drop_records.plan_rare", columns=rare.attributes, count=rare.count)
        conditions = [part for name, one in (self.where or {}).items() for part in one.plan(name)]
        return Message("technique.drop_records.plan_where", conditions=conditions)
