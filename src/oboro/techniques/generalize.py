"""Generalization: replace values by labels of a hierarchy level, such as the same city or the same ten years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from oboro.errors import UsageError
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["Generalize"]


Level = Annotated[int, Field(ge=0)]


class Generalize(Technique):
    """Replace every value of a column by what stands above it in the column's hierarchy, one level for all records.

    Given: a hierarchy for each column (in the recipe's attributes; without one the levels are the value and `*`) and
    the level to go to, 0 being the value itself. A column that was generalized before counts from where it is.
    Promises: each value becomes its one ancestor at that level; rows, order and the other columns stay. Steps that
    come later can go on from there, but not back.
    Checked by: tests/techniques/test_techniques_records.py, against a look-up value by value.

    >>> decades = {"age": {"hierarchy": {"intervals": [10]}}}
    >>> Generalize(attribute="age", level=1).apply({"age": [31, 38]}, attributes=decades)
    {'age': ['30–39', '30–39']}
    """

    step: ClassVar[str] = "generalize"
    by_value: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.generalize.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "age", "level": 1},
        {"levels": {"zip": 2, "sex": 1}},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample({"attribute": "age", "level": 2})
    coarser: ClassVar[bool] = True
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.hierarchy")
    uses_hierarchies: ClassVar[bool] = True

    attribute: str | None = None
    """The column (with `level`)."""
    level: Level | None = None
    """The level of the hierarchy to release: 0 is the value itself, 1 the first level above it."""
    levels: dict[str, Level] | None = Field(default=None, min_length=1)
    """Several columns, each with its level (instead of `attribute` and `level`)."""

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Generalize:
        one = [given is not None for given in (self.attribute, self.level)]
        if any(one) if self.levels is not None else not all(one):
            raise ValueError(Message("error_technique.attribute_level"))
        return self

    @property
    def _levels(self) -> dict[str, int]:
        if self.levels is not None:
            return self.levels
        assert self.attribute is not None
        assert self.level is not None
        return {self.attribute: self.level}

    @property
    def record_by_record(self) -> bool:
        """A value becomes its own label."""
        return True

    def run(self, work: Work) -> Outcome:
        """One look-up table per column, from the dictionary's codes to the level's labels."""
        data, schema = work.data, work.schema
        schema.require(data, self._levels, self.step)
        facts: dict[str, Any] = {}
        for name, level in self._levels.items():
            column = data[name]
            hierarchy = schema.hierarchy(name, column)
            if level > hierarchy.height:
                raise UsageError(
                    Message(
                        "error_technique.level_range", step=self.step, name=name, height=hierarchy.height, level=level
                    )
                )
            coarse = hierarchy.generalize(column, level)
            facts[name] = {"level": level, "of": hierarchy.height, "values": [len(column.values), len(coarse.values)]}
            data = data.with_columns({name: coarse})
            schema = schema.with_remaining(name, hierarchy.above(level))
        return Outcome(data, schema, facts)

    def plan(self, schema: Schema) -> Words:
        """Which columns, to which level, by which hierarchy."""
        columns = [
            Message("technique.generalize.column", column=name, level=level, how=_how(schema, name))
            for name, level in self._levels.items()
        ]
        return Message("technique.generalize.plan", columns=columns)


def _how(schema: Schema, name: str) -> Message:
    attribute = schema.attributes.get(name)
    if name in schema.remaining:
        return Message("technique.generalize.on_top")
    if attribute is None or attribute.hierarchy is None:
        return Message("technique.generalize.no_hierarchy")
    return Message("technique.generalize.by_hierarchy", hierarchy=attribute.hierarchy.plan())
