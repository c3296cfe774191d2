"""k-concealment: every record has k candidates, but not all of them share the same ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from oboro.algorithms.concealment.design import Design, Objective, People
from oboro.algorithms.concealment.methods import DesignSearch, Method, refined
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.techniques.columns import ancestors, ranges, sets
from oboro.text import Message, Words
from oboro.verifier.identity import KConcealment
from oboro.verifier.promises import Promise

__all__ = ["KConceal"]


LEAK = Message("technique.k_conceal.leak")


class KConceal(Technique):
    """Give every released record k possible owners, and every person k possible records, at the least cost.

    Groups that look alike are not needed for that: everybody may hide among k others of their own. Each record is built
    around one person and says only what k people have in common (of numbers the range, of categories the set); each
    person is one of the k of exactly k records. `exact` finds the cheapest such design and proves it; `greedy`,
    `lottery` and `tsp`, also inside clusters, are the heuristics of Ito & Kikuchi (2021).

    Given: one record per person, k people or more; numbers, dates or categories as quasi-identifiers, missing ones too.
    Promises: whoever knows the quasi-identifiers of everybody and looks for all ways to match people and records still
    finds k candidates or more for each record, and k records or more for each person. With `truth: drawn` every one of
    the k people of a record is its owner with probability 1/k. The other columns travel with the owner; rows come in
    random order.
    Checked by: the verifier, which matches originals and released records in every possible way;
    tests/algorithms/test_concealment.py, the optimum by brute force over all matchings.

    Cost: `exact` O(n² · attributes) on all cores and memory O(n · k); the heuristics keep all n² distances.

    >>> people = {"age": [10, 20, 40, 50], "sex": ["F", "M", "M", "F"]}
    >>> roles = {"age": {"role": "quasi"}, "sex": {"role": "quasi"}}
    >>> released = KConceal(k=2).apply(people, attributes=roles, seed=1)
    >>> sorted(zip(released["age"], released["sex"]))
    [('10–50', 'F'), ('10–50', 'F'), ('20–40', 'M'), ('20–40', 'M')]
    """

    step: ClassVar[str] = "k_conceal"
    promises: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.k_conceal.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"k": 2},
        {"k": 3, "objective": "ncp", "effort": 50, "publish": "hierarchy"},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample({"k": 3})
    coarser: ClassVar[bool] = True
    reorders: ClassVar[bool] = True
    uses_hierarchies: ClassVar[bool] = True
    moves_records: ClassVar[bool] = True

    k: int = Field(ge=1)
    """Every released record must match at least this many people, and every person at least this many records."""
    method: Method = "exact"
    """exact (the optimum), or a heuristic: greedy, lottery, tsp, each also with +clusters."""
    objective: Objective = "cost"
    """What is minimized. cost: the sum of distances, as in the paper; ncp: the information loss of the released ranges and sets."""
    truth: Literal["drawn", "identity"] = "drawn"
    """Whose record it is. drawn: one of the k people, drawn at random; identity: the person it was built around,
    which an attacker can guess."""
    publish: Literal["sets", "hierarchy"] = "sets"
    """sets: ranges and sets; hierarchy: for columns with a hierarchy, the lowest label that covers all k values."""
    draws: int = Field(default=10_000, ge=1)
    """With lottery: how many random matchings are drawn."""
    effort: int | None = Field(default=None, ge=0)
    """With objective ncp: how many exchanges are tried per person. Without it: 30,000, and fewer from 10,000 people on."""
    weights: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """How much each column counts in the distance. Without it: the weight of the attribute, 1 unless given."""
    categories: list[str] = Field(default_factory=list)
    """Columns of numbers that are codes, not quantities: any two different values are equally far apart."""
    quasi: list[str] | None = Field(default=None, min_length=1)
    """The quasi-identifiers to conceal. Without it: all of them."""

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """All: records change places."""
        return names

    def cannot_count_people(self) -> Message | None:
        """Why it takes every row for a person."""
        return Message("technique.k_conceal.not_people")

    @property
    def rests_on_chance(self) -> bool:
        """Which of its candidates a record is, is drawn."""
        return True

    def run(self, work: Work) -> Outcome:
        """Design, draw the truth, publish what the k people of each record have in common."""
        data, schema = work.data, work.schema
        names = schema.chosen(self.quasi, self.step)
        schema.require(data, [*names, *self.weights, *self.categories], self.step)
        if idle := [name for name in (*self.weights, *self.categories) if name not in names]:
            raise UsageError(Message("error_technique.idle_weights", step=self.step, idle=idle))
        originals = data.select(names)
        trees = self._trees(originals, schema)
        promise = Promise(self.step, tuple(names), (KConcealment(k=self.k, originals=originals, hierarchies=trees),))
        facts: dict[str, Any] = {"method": self.method, "k": self.k, "objective": self.objective, "truth": self.truth}
        warnings = (LEAK,) if self.truth == "identity" else ()
        if data.rows == 0:
            return Outcome(data, schema, facts, (promise,), warnings)
        design = self._design(originals, schema, work.rng, facts)
        order = work.rng.permutation(data.rows)
        members = design.members[order]
        owners = members[:, work.rng.integers(design.k) if self.truth == "drawn" else 0]
        columns = {name: self._published(name, originals[name], trees, members, schema) for name in names}
        return Outcome(data.take(owners).with_columns(columns), schema, facts, (promise,), warnings)

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """The quasi-identifiers, all together."""
        return [schema.chosen(self.quasi, self.step)]

    def plan(self, schema: Schema) -> Words:
        """Who hides among whom, what is said of them, and whose record it is."""
        method, _, inside = self.method.partition("+")
        return Message(
            "technique.k_conceal.plan",
            k=self.k,
            columns=schema.chosen(self.quasi, self.step),
            publish=self.publish,
            how=Message("technique.k_conceal.clustered" if inside else "technique.k_conceal.whole", how=method),
            objective=self.objective,
            whose=Message("technique.k_conceal.drawn")
            if self.truth == "drawn"
            else Message("technique.k_conceal.warning", leak=LEAK),
        )

    def _trees(self, originals: Dataset, schema: Schema) -> dict[str, Hierarchy]:
        """The hierarchies by whose labels columns are published."""
        if self.publish == "sets":
            return {}
        given = {name for name, known in schema.attributes.items() if known.hierarchy is not None} | {*schema.remaining}
        return {name: schema.hierarchy(name, column) for name, column in originals.columns.items() if name in given}

    def _is_category(self, name: str, column: Column, schema: Schema) -> bool:
        known = schema.attributes.get(name)
        masked = known is not None and known.hierarchy is not None and known.hierarchy.mask is not None
        return masked or name in self.categories or not column.kind.numeric

    def _design(self, originals: Dataset, schema: Schema, rng: np.random.Generator, facts: dict[str, Any]) -> Design:
        if originals.rows < self.k:
            raise PromiseError(Message("error_technique.fewer_than_k", step=self.step, rows=originals.rows, k=self.k))
        columns = originals.columns
        categorical = frozenset(name for name in columns if self._is_category(name, columns[name], schema))
        weights = {name: known.weight for name, known in schema.attributes.items()} | self.weights
        people = People.of(columns, categorical=categorical, weights=weights, objective=self.objective)
        design = DesignSearch(self.k, self.method, self.draws).design(people, rng)
        if self.objective == "ncp" and self.k > 1:
            design = refined(people, design, self.effort, rng)
        even = People.of(columns, categorical=categorical, objective="ncp")
        facts |= {"people": len(people), "cost": people.cost(design.matchings), "ncp": even.ncp(design.members)}
        return design.mixed(rng) if self.truth == "drawn" else design

    def _published(
        self, name: str, column: Column, trees: dict[str, Hierarchy], members: np.ndarray, schema: Schema
    ) -> Column:
        if name in trees:
            return ancestors(column, trees[name], members)
        return sets(column, members) if self._is_category(name, column, schema) else ranges(name, column, members)
