"""Cell suppression: as few cells as possible, so that every record equals k − 1 others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from oboro.algorithms.partitioning.cell_suppression import EXACT_UP_TO, emptied_exactly, emptied_greedily, price_of
from oboro.errors import PromiseError, UsageError
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import STAR
from oboro.schema import Opinion, Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words
from oboro.verifier.identity import KAnonymity
from oboro.verifier.promises import Promise

__all__ = ["SuppressCells"]


class SuppressCells(Technique):
    """Write `*` into single cells, where they are most needed, so that every combination occurs at least k times.

    Columns that matter more get a higher `importance`: their cells cost more, and others are emptied instead. A `*` is a value
    like any other here: it does not count as whatever somebody looks for, as in sdcMicro, where whoever knows that a person is in
    the table finds them as the only record that fits.

    Given: k records or more.
    Promises: every combination of the columns occurs k times or more, `*` among the values; cells that are not emptied stay as
    they came. Up to 12 records at the least price; with more greedily, at a price that is reported. The order of the rows changes
    no released combination and no price; which of equal records lose cells is drawn.
    Checked by: the verifier on the released table; tests/techniques/test_suppress_cells.py, against every way to form groups.

    Cost: O(sets of columns · combinations that are too few); 2^columns sets, with more than 16 columns those of up to three.

    >>> people = {"age": [30, 30, 31, 44], "sex": ["F", "F", "F", "F"]}
    >>> SuppressCells(k=2, quasi=["age", "sex"]).apply(people)
    {'age': ['30', '30', '*', '*'], 'sex': ['F', 'F', 'F', 'F']}
    """

    step: ClassVar[str] = "suppress_cells"
    promises: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.suppress_cells.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"k": 2, "quasi": ["age", "sex"]},
        {"k": 3, "importance": {"sex": 5}},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"k": 5, "importance": {"age": 2.718}}, hidden=("2.718",)
    )
    coarser: ClassVar[bool] = True
    opinion: ClassVar[Opinion | None] = "aggregation"

    k: int = Field(ge=1)
    """Every combination must occur at least this many times."""
    quasi: list[str] | None = Field(default=None, min_length=1)
    """The columns. Without it: all quasi-identifiers."""
    importance: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = Field(default_factory=dict)
    """What an empty cell of a column costs. Without it: the weight of the column, or 1."""
    method: Literal["auto", "exact", "greedy"] = "auto"
    """exact: the least price, for few records; greedy: for many; auto: exact up to 12 records."""

    def cannot_count_people(self) -> Message | None:
        """Rows that look alike may be one person's."""
        return Message("technique.suppress_cells.not_people")

    def promises_known(self, schema: Schema) -> tuple[Promise, ...]:
        """k-anonymity."""
        return (Promise(self.step, tuple(schema.chosen(self.quasi, self.step)), (KAnonymity(k=self.k),)),)

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """The columns, all together."""
        return [schema.chosen(self.quasi, self.step)]

    def run(self, work: Work) -> Outcome:
        """Find the cells, and write `*` into them."""
        names, data = work.schema.chosen(self.quasi, self.step), work.data
        work.schema.require(data, [*names, *self.importance], self.step)
        if beside := [name for name in self.importance if name not in names]:
            raise UsageError(Message("error_technique.importance_of", step=self.step, columns=beside, names=names))
        prices, promises = self._prices(work.schema, names), self.promises_known(work.schema)
        if data.rows == 0:
            return Outcome(data, work.schema, {"k": self.k, "cells": dict.fromkeys(names, 0)}, promises)
        if data.rows < self.k:
            raise PromiseError(Message("error_technique.cells_rows", step=self.step, rows=data.rows, k=self.k))
        columns = [data[name] for name in names]
        exact = self._exact(data.rows)
        empty = emptied_exactly if exact else emptied_greedily
        emptied = empty(columns, self.k, prices, work.rng)
        released, schema = {}, work.schema
        for a, (name, column) in enumerate(zip(names, columns, strict=True)):
            if emptied[:, a].any():
                released[name] = column.where(emptied[:, a], STAR)
                schema = schema.with_remaining(name, HierarchySpec().build(name, released[name]))
        cells = dict(zip(names, emptied.sum(axis=0).tolist(), strict=True))
        price = {"value": price_of(emptied, prices), "exact": exact}
        facts = {"k": self.k, "cells": cells, "records": int(emptied.any(axis=1).sum()), "price": price}
        return Outcome(data.with_columns(released), schema, facts, promises)

    def plan(self, schema: Schema) -> Words:
        """Which columns, and which are dear."""
        names = schema.chosen(self.quasi, self.step)
        prices = dict(zip(names, self._prices(schema, names), strict=True))
        if len(set(prices.values())) == 1:
            return Message("technique.suppress_cells.plan", columns=names, k=self.k)
        dear = sorted(prices, key=lambda name: -prices[name])
        return Message("technique.suppress_cells.plan_priced", columns=names, k=self.k, dear=dear)

    def _prices(self, schema: Schema, names: Sequence[str]) -> list[float]:
        known = schema.attributes
        return [self.importance.get(name, known[name].weight if name in known else 1.0) for name in names]

    def _exact(self, rows: int) -> bool:
        if self.method == "exact" and rows > EXACT_UP_TO:
            raise UsageError(Message("error_technique.cells_exact", step=self.step, rows=rows, most=EXACT_UP_TO))
        return self.method == "exact" or (self.method == "auto" and rows <= EXACT_UP_TO)
