"""Swapping of values between records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.schema import Schema
from oboro.techniques import kernels
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import OnColumns
from oboro.text import Message, Words

__all__ = ["Swap"]


WINDOW = 5.0


class Swap(OnColumns):
    """Exchange values between records, so that nobody can be sure whose value a record carries.

    `rank` (Moore 1996): records are ranked by the value, ties by chance; each exchanges its value with one whose rank
    is at most `window` percent of the records away. `random`: the values are permuted by chance among the records that
    agree on the columns `within` (all records without them).

    Given: for `rank` columns of numbers or dates; for `random` any columns.
    Promises: each column holds exactly the values that it held, each as often as before; with `rank` each record takes
    part in at most one exchange per column, with one within the window, and missing values stay where they are; with
    `random` each group of `within` keeps its values, missing ones included. With `together` the columns move as one, so
    that what they say jointly stays true (with `rank` the first column decides). No group size is promised.
    Checked by: tests/techniques/test_techniques_numeric.py: counts before and after, the window, and a pairing by plain lists.

    >>> Swap(attribute="age", method="random").apply({"age": [31, 44, 58], "sex": ["F", "M", "F"]}, seed=3)
    {'age': [31, 58, 44], 'sex': ['F', 'M', 'F']}
    """

    step: ClassVar[str] = "swap"
    iso: ClassVar[Words] = Message("technique.swap.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "income", "method": "rank", "window": 20},
        {"attribute": "disease", "method": "random", "within": ["sex"]},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attributes": ["income"], "fraction": 0.3719}, hidden=("0.3719", "37.2", "37.19")
    )
    random: ClassVar[bool] = True
    changes_values: ClassVar[bool] = False  # values move, none is new

    method: Literal["rank", "random"] = "rank"
    """rank: exchange with a record that is near in rank; random: with any record that agrees on `within`."""
    window: float | None = Field(default=None, gt=0, le=100)
    """With `rank`: the greatest difference in rank, in percent of the records that have a value (default 5)."""
    within: tuple[str, ...] = ()
    """With `random`: only among records that agree on these columns."""
    fraction: float = Field(default=1.0, gt=0, le=1)
    """Which share of the records takes part, drawn at random; the others keep their values."""
    together: bool = False
    """Move the values of all the columns together instead of each column on its own."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.method == "random" and self.window is not None:
            raise ValueError(Message("error_technique.window_rank"))
        if self.method == "rank" and self.within:
            raise ValueError(Message("error_technique.within_random"))
        if both := [name for name in self.within if name in self.names]:
            raise ValueError(Message("error_technique.swapped_and_fixed", both=both))
        if self.together and len(self.names) < 2:
            raise ValueError(Message("error_technique.together"))
        return self

    @property
    def moved_together(self) -> tuple[str, ...]:
        """All of them, if the recipe says so."""
        return self.names if self.together else ()

    def left_in_place(self, facts: Mapping[str, Any], rows: int) -> tuple[str, ...]:
        """Those of a small `fraction`, or of groups so small that most values stay."""
        return tuple(name for name, moved in facts["moved"].items() if 2 * moved <= rows)

    def run(self, work: Work) -> Outcome:
        """Decide for each row whose value it gets; only codes move. O(n log n) a column."""
        data = work.data
        work.schema.require(data, (*self.names, *self.within), self.step)
        groups = Groups.of([data[name] for name in self.within], data.rows)
        leaders = self.names[:1] if self.together else self.names
        sources = {name: self._sources(data[name], name, groups, work.rng) for name in leaders}
        swapped, moved, changed = {}, {}, {}
        for name in self.names:
            source = sources[name if name in sources else leaders[0]]
            codes = data[name].codes
            swapped[name] = Column(data[name].values, codes[source])
            moved[name] = int(np.count_nonzero(source != np.arange(source.size)))
            changed[name] = int(np.count_nonzero(codes[source] != codes))
        facts: dict[str, Any] = {"method": self.method, "moved": moved, "changed": changed}
        if self.within:
            facts |= {"groups": len(groups), "records_alone": int((groups.sizes == 1).sum())}
        return Outcome(data.with_columns(swapped), work.schema, facts)

    def plan(self, schema: Schema) -> Words:
        """What is exchanged with whom."""
        each: Words = ""
        if len(self.names) > 1:
            each = Message("technique.swap.together" if self.together else "technique.swap.own")
        part = "" if self.fraction == 1 else Message("technique.swap.part", fraction=self.fraction)
        return Message("technique.swap.plan", columns=self.names, part=part, each=each, how=self._how())

    def _how(self) -> Message:
        if self.method == "rank":
            return Message("technique.swap.rank", window=self.window or WINDOW)
        if self.within:
            return Message("technique.swap.random_within", columns=self.within)
        return Message("technique.swap.random")

    def _sources(self, column: Column, name: str, groups: Groups, rng: np.random.Generator) -> np.ndarray:
        """For each row, the row whose value it gets."""
        takes_part = np.zeros(len(column), dtype=bool)
        takes_part[rng.permutation(len(column))[: floor(self.fraction * len(column) + 0.5)]] = True
        if self.method == "random":
            return _permuted(takes_part, groups.labels, rng)
        return self._paired(column.numbers(name)[column.codes], takes_part, rng)

    def _paired(self, numbers: np.ndarray, takes_part: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        rows = np.flatnonzero(~np.isnan(numbers))
        ranked = rows[np.lexsort((rng.random(rows.size), numbers[rows]))]
        window = max(1, floor((self.window or WINDOW) / 100 * ranked.size))
        partners = np.empty(ranked.size, dtype=np.int64)
        kernels.pair(takes_part[ranked], window, rng.random(ranked.size), partners)
        sources = np.arange(numbers.size)
        sources[ranked] = ranked[partners]
        return sources


def _permuted(takes_part: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A uniform permutation within each group of the rows that take part."""
    rows = np.flatnonzero(takes_part)
    shuffled = rng.permutation(rows)
    sources = np.arange(takes_part.size)
    sources[rows[np.argsort(labels[rows], kind="stable")]] = shuffled[np.argsort(labels[shuffled], kind="stable")]
    return sources
