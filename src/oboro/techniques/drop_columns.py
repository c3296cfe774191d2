"""Removal of whole columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from oboro.errors import UsageError
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["DropColumns"]


class DropColumns(Technique):
    """Leave out columns: names, numbers and addresses that nobody needs cannot be misused.

    Given: the columns.
    Promises: they are gone, with their roles and hierarchies; every other column is unchanged.
    Checked by: tests/techniques/test_techniques_records.py.

    >>> DropColumns(attributes=["name"]).apply({"name": ["Ann"], "age": [31]})
    {'age': [31]}
    """

    step: ClassVar[str] = "drop_columns"
    by_value: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.drop_columns.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"attributes": ["name"]},)
    secret_example: ClassVar[SecretExample | None] = SecretExample({"attributes": ["name", "canarycolumn"]}, dropped=())
    not_in_stream: ClassVar[Message | None] = None
    changes_values: ClassVar[bool] = False

    attributes: tuple[str, ...] = Field(min_length=1)
    """The columns to leave out."""

    @property
    def removes_identity(self) -> tuple[str, ...]:
        """All of them."""
        return self.attributes

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """None: what is left out need not be read."""
        return ()

    @property
    def record_by_record(self) -> bool:
        """Columns go, whatever they hold."""
        return True

    def run(self, work: Work) -> Outcome:
        """Select the others."""
        work.schema.require(work.data, self.attributes, self.step)
        kept = [name for name in work.data if name not in self.attributes]
        if not kept:
            raise UsageError(Message("error_technique.no_column_left", step=self.step, columns=list(work.data)))
        return Outcome(work.data.select(kept), work.schema.without(self.attributes), {"dropped": list(self.attributes)})

    def plan(self, schema: Schema) -> Words:
        """Which."""
        return Message("technique.drop_columns.plan", columns=self.attributes, count=len(self.attributes))
