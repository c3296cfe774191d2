"""Microaggregation: small groups of similar records share one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import pyarrow.compute as pc
from pydantic import Field, model_validator

from oboro.algorithms.microaggregation.mdav import fixed
from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.schema import Opinion, Schema
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import (
    Aggregate,
    OnColumns,
    category_shared,
    differing,
    is_category,
    number_shared,
    places,
)
from oboro.text import Message, Words
from oboro.verifier.identity import KAnonymity
from oboro.verifier.promises import Promise

__all__ = ["Microaggregate"]


class Microaggregate(OnColumns):
    """Put k or more similar records together and give them all one value: the mean, the median or the most frequent.

    `mdav` groups over all columns at once (each number in standard deviations; two different categories are at distance
    1; a missing number is as far from every number as the smallest from the largest). `vmdav` does so too, but lets a
    group grow to 2k − 1 where that suits the data. `fixed` sorts each column on its own and cuts it every k records.

    Given: k records or more; numbers or dates, and with `mdav` and `vmdav` also categories, whose aggregate must be
    `mode`.
    Promises: with `mdav` and `vmdav` every combination of released values of the columns occurs k times or more; with
    `fixed` every value of each column alone does. Whole numbers and dates stay such (rounded half to even); text that looks like
    numbers becomes numbers. A missing number stays missing only as its group does: a group's number is missing unless
    more than half of the members have one; among categories a missing value counts as one more category.
    Checked by: the verifier on the released table; tests/techniques/test_microaggregate.py, against MDAV by plain loops.

    Cost: `mdav` O(n² · columns / k) on all cores, with few columns about O(n^1.5) (1M records in 3 columns: half a
    minute); `vmdav` about O(n log n) with few columns; `fixed` O(n log n).

    >>> Microaggregate(attribute="age", k=2, method="fixed").apply({"age": [30, 41, 31, 45, 44]})
    {'age': [30, 43, 30, 43, 43]}
    """

    step: ClassVar[str] = "microaggregate"
    iso: ClassVar[Words] = Message("technique.microaggregate.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attributes": ["age", "income"], "k": 3},
        {"attributes": ["age"], "k": 2, "method": "fixed", "aggregate": "median"},
        {"attributes": ["age", "income"], "k": 3, "method": "vmdav", "gamma": 1.1},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample({"attributes": ["income", "height"], "k": 7})
    coarser: ClassVar[bool] = True
    opinion: ClassVar[Opinion | None] = "aggregation"

    k: int = Field(ge=2)
    """Every group must have at least this many records."""
    method: Literal["mdav", "vmdav", "fixed"] = "mdav"
    """mdav: groups of k similar records over all columns; vmdav: the same with groups of k to 2k − 1; fixed: each column on its
    own, sorted and cut every k records.
    """
    gamma: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """vmdav: how readily a group grows; 0.2 (the default) suits scattered data, 1.1 clustered data."""
    aggregate: Aggregate | dict[str, Aggregate] = "mean"
    """mean, median or mode: for all columns, or by column (mean where a column is not named)."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.gamma is not None and self.method != "vmdav":
            raise ValueError(Message("error_technique.gamma", method=self.method))
        if isinstance(self.aggregate, dict) and (
            unknown := [name for name in self.aggregate if name not in self.names]
        ):
            raise ValueError(Message("error_technique.not_microaggregated", unknown=unknown, names=list(self.names)))
        return self

    def cannot_count_people(self) -> Message | None:
        """Why it takes every row for a person."""
        return Message("technique.microaggregate.not_people")

    def run(self, work: Work) -> Outcome:
        """Group, then publish one value per group and column."""
        work.schema.require(work.data, self.names, self.step)
        columns = {name: work.data[name] for name in self.names}
        if not work.data.rows:
            return Outcome(work.data, work.schema, {"method": self.method, "k": self.k})
        categorical = frozenset(name for name in columns if is_category(name, columns[name], self._way(name)))
        groups = self._groups(columns, categorical)
        released, changed = {}, {}
        for name, column in columns.items():
            category = name in categorical
            released[name], changed[name] = self._published(name, column, groups[name], category=category)
        facts = {"method": self.method, "k": self.k, **_sizes(groups), "changed": changed}
        return Outcome(work.data.with_columns(released), work.schema, facts, self.own_promises())

    def plan(self, schema: Schema) -> Words:
        """Who stands together, what they share, and what that promises."""
        told = {"columns": self.names, "k": self.k, "what": self._what()}
        if self.method != "fixed":
            return Message("technique.microaggregate.plan", others=self.k - 1, **told)
        own = Message("technique.microaggregate.own") if len(self.names) > 1 else ""
        return Message("technique.microaggregate.plan_fixed", own=own, **told)

    def _what(self) -> Message:
        """Which aggregate a group shares."""
        shares = {self._aggregate(name) for name in self.names}
        if len(shares) == 1:
            return Message("technique.microaggregate.one_aggregate", aggregate=shares.pop())
        each = [
            Message("technique.microaggregate.of_column", column=name, aggregate=self._aggregate(name))
            for name in self.names
        ]
        return Message("technique.microaggregate.by_column", each=each)

    def _aggregate(self, name: str) -> Aggregate:
        return self.aggregate.get(name, "mean") if isinstance(self.aggregate, dict) else self.aggregate

    def _way(self, name: str) -> str:
        """How a column is put together; the method `fixed` cuts numbers only."""
        return "mean" if self.method == "fixed" else self._aggregate(name)

    def _groups(self, columns: Mapping[str, Column], categorical: frozenset[str]) -> dict[str, Groups]:
        if self.method == "fixed":
            return {name: fixed(places(column, name)[column.codes], self.k) for name, column in columns.items()}
        from oboro.algorithms.microaggregation.mdav import mdav, vmdav
        from oboro.algorithms.partitioning.records import Space

        space = Space.of(columns, categorical=categorical)
        gamma = 0.2 if self.gamma is None else self.gamma
        groups = mdav(space, self.k) if self.method == "mdav" else vmdav(space, self.k, gamma)
        return dict.fromkeys(columns, groups)

    def _published(self, name: str, column: Column, groups: Groups, *, category: bool) -> tuple[Column, int]:
        """What the groups say, and how many cells that changed."""
        if category:
            released = category_shared(column, groups)
            return released, _unlike(column, released)
        released = number_shared(name, column, groups, self._aggregate(name))
        after = released.numbers(name)[released.codes]
        return released, differing(places(column, name)[column.codes], after)

    def own_promises(self) -> tuple[Promise, ...]:
        """Every value of a column that it publishes is that of k records or more."""
        model = (KAnonymity(k=self.k),)
        if self.method != "fixed":
            return (Promise(self.step, self.names, model),)
        return tuple(Promise(self.step, (name,), model) for name in self.names)


def _unlike(before: Column, after: Column) -> int:
    """How many cells of a column of categories changed."""
    same = pc.equal(before.decode(), after.decode())
    missing = pc.and_(pc.is_null(before.decode()), pc.is_null(after.decode()))
    return len(before) - int(pc.sum(pc.or_(pc.fill_null(same, False), missing)).as_py() or 0)


def _sizes(groups: Mapping[str, Groups]) -> dict[str, Any]:
    every = list({id(group): group for group in groups.values()}.values())
    return {
        "groups": sum(len(group) for group in every),
        "smallest": min(int(group.sizes.min()) for group in every),
        "largest": max(int(group.sizes.max()) for group in every),
    }
