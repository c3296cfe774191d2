"""Univariate partitioning: optimal intervals of one numeric column, and the values released for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from oboro.algorithms.intervals import Intervals, Method, univariate
from oboro.data.column import Column
from oboro.errors import InputError
from oboro.notations.kinds import Kind
from oboro.schema import Schema, Traits
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import Density, OnColumns, differing, places, spans, written
from oboro.text import Message, Words
from oboro.verifier.identity import KAnonymity
from oboro.verifier.promises import Promise

__all__ = ["PartitionUnivariate"]


DRAWN = ("uniform", "linear")  # what is published is drawn anew


class PartitionUnivariate(OnColumns):
    """Cut the line into intervals of k records or more where that costs least, then publish them.

    `hansen` is optimal microaggregation: groups of k … 2k − 1 with the least squared error. The histograms cut only
    where the density changes: `hist_aic` little, `hist_bic` and `hist_nml` more strictly, so that most intervals hold
    far more than k records at nearly the same usefulness. Equal values always stand in one interval.

    Given: numbers or dates, k records or more with a value; missing values as many as k, or none (else see `missing`).
    Promises: with `publish: mean` or `interval` every released value of each column occurs k times or more; combinations
    of columns may not. Drawn values (`uniform`, `linear`) are new ones and promise no such thing: what holds is that
    each depends on its record only through its interval, which k records or more share (the facts give the intervals'
    number and sizes; docs/guarantees/univariate.md).
    Whole numbers and dates stay such, except as intervals, which are text. The outermost intervals are written open
    (`<20`, `≥65`), so that no extreme value shows.
    Checked by: the verifier on the released table; tests/techniques/test_partition_univariate.py; the cuts by brute force in
    tests/algorithms/test_univariate.py.

    Cost: O(distinct values · k) for `hansen` with small k, otherwise about O(distinct · log); a million distinct values
    take 2 s, with `hist_nml` some times that.

    >>> PartitionUnivariate(attribute="age", k=2, method="hansen").apply({"age": [30, 41, 31, 45, 44]})
    {'age': [30, 43, 30, 43, 43]}
    """

    step: ClassVar[str] = "partition_univariate"
    iso: ClassVar[Words] = Message("technique.partition_univariate.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "age", "k": 3, "missing": "join"},
        {"attributes": ["age", "income"], "k": 2, "method": "hansen", "publish": "interval"},
        {"attribute": "income", "k": 5, "publish": "linear"},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "income", "k": 7, "precision": 0.0371}, hidden=("0.0371",)
    )
    coarser: ClassVar[bool] = True

    k: int = Field(ge=2)
    """Every interval must have at least this many records."""
    method: Method = "hist_bic"
    """How the intervals are found. hansen: least squared error; hist_aic, hist_bic, hist_nml: the best histogram by
    that criterion."""
    publish: Literal["mean", "interval", "uniform", "linear"] = "mean"
    """What replaces a value. mean: the mean of its interval; interval: the interval as text; uniform, linear: a value
    drawn from the interval."""
    precision: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The precision of the values, the ε of the histograms (days for dates, microseconds for times): half of it is added
    beyond the smallest and the largest value. Without it: a millionth of the range."""
    missing: Literal["apart", "join"] = "apart"
    """Missing values are a group of their own. What happens where they are fewer than k. apart: an error; join: the values of
    the smallest interval become missing too."""

    @model_validator(mode="after")
    def _effective(self) -> Self:
        if self.precision is not None and self.method == "hansen" and self.publish in ("mean", "interval"):
            raise ValueError(Message("error_technique.precision", publish=self.publish))
        return self

    def cannot_count_people(self) -> Message | None:
        """Why it takes every row for a person."""
        return Message("technique.partition_univariate.not_people")

    def run(self, work: Work) -> Outcome:
        """Cut each column on its own, then publish."""
        work.schema.require(work.data, self.names, self.step)
        facts: dict[str, Any] = {"method": self.method, "k": self.k, "publish": self.publish}
        if not work.data.rows:
            return Outcome(work.data, work.schema, facts)
        released, cut, changed = {}, {}, {}
        for name in self.names:
            released[name], cut[name], changed[name] = self._released(name, work.data[name], work.rng)
        facts |= {"intervals": cut, "changed": changed}
        return Outcome(work.data.with_columns(released), work.schema, facts, self.own_promises())

    def plan(self, schema: Schema) -> Words:
        """How the line is cut, what is published, and what that promises."""
        own = Message("technique.partition_univariate.own") if len(self.names) > 1 else ""
        drawn = self.publish in DRAWN
        id = "technique.partition_univariate.plan_drawn" if drawn else "technique.partition_univariate.plan"
        return Message(id, columns=self.names, own=own, k=self.k, method=self.method, publish=self.publish)

    @property
    def traits(self) -> Traits:
        """Drawn values are random and as fine as before, and what is promised of them does not show in the table."""
        if self.publish not in DRAWN:
            return super().traits
        promise = Message("technique.partition_univariate.by_construction")
        return replace(super().traits, random=True, coarser=False, by_construction=promise)

    def _released(self, name: str, column: Column, rng: np.random.Generator) -> tuple[Column, dict[str, Any], int]:
        numbers = places(column, name)
        order = np.argsort(numbers, kind="stable")[: np.count_nonzero(~np.isnan(numbers))]
        counts = column.counts[order]
        missing = len(column) - int(counts.sum())
        self._require(name, int(counts.sum()), missing)
        if counts.sum() < self.k:  # joined to the missing, or nothing but missing
            return _all_missing(column), _facts(None, missing, int(counts.sum())), int(counts.sum())
        intervals = _distinct(numbers[order], counts, k=self.k, method=self.method, precision=self.precision)
        # Which interval each dictionary entry is in; the number after the last stands for missing.
        table = np.full(numbers.size, len(intervals))
        table[order] = intervals.labels[np.searchsorted(intervals.values, numbers[order])]
        withheld = int(intervals.sizes.argmin()) if 0 < missing < self.k else -1
        table[table == withheld] = len(intervals)
        released = self._published(name, column, intervals, table, rng)
        changed = _changed(name, column, numbers, released) if self.publish != "interval" else int(counts.sum())
        return released, _facts(intervals, missing, int(intervals.sizes[withheld]) if withheld >= 0 else 0), changed

    def _require(self, name: str, present: int, missing: int) -> None:
        few = [what for what, count in (("present", present), ("missing", missing)) if 0 < count < self.k]
        if not few or (self.missing == "join" and present + missing >= self.k):
            return
        count = present if few[0] == "present" else missing
        way = Message("error_technique.way_more_records")
        if present + missing >= self.k:
            id = "error_technique.way_drop" if few[0] == "missing" else "error_technique.way_smaller_k"
            way = Message(
                "error_technique.way_join", way=Message(id, **({"name": name} if few[0] == "missing" else {}))
            )
        what = {"name": name, "count": count, "k": self.k, "way": way}
        raise InputError(Message(f"error_technique.few.{few[0]}", **what))

    def _published(
        self, name: str, column: Column, intervals: Intervals, table: np.ndarray, rng: np.random.Generator
    ) -> Column:
        if self.publish == "interval":
            to = " to " if all((text or "").isascii() for text in column.texts) else "〜"
            return column.recode(table, pa.array([*spans(intervals, column.kind, to), None], pa.string()))
        if self.publish == "mean":
            return column.recode(table, written(np.append(intervals.means, np.nan), column, name))
        whole = column.kind in (Kind.INTEGER, Kind.DATE, Kind.DATETIME)
        edges = intervals.edges.copy()
        if whole:  # a whole number stands for half a unit on both sides, the outermost ones too
            edges[[0, -1]] = intervals.values[0] - 0.5, intervals.values[-1] + 0.5
        rows = table[column.codes]
        there = rows < len(intervals)
        numbers = np.full(len(column), np.nan)
        numbers[there] = Density.of(edges, intervals.sizes, self.publish).draw(rows[there], rng)
        if whole:
            numbers = np.clip(np.rint(numbers), intervals.values[0], intervals.values[-1])
        return Column.encode(written(numbers, column, name))

    def own_promises(self) -> tuple[Promise, ...]:
        """Every value of a column that it publishes is that of k records or more."""
        if self.publish in DRAWN:
            return ()
        return tuple(Promise(self.step, (name,), (KAnonymity(k=self.k),)) for name in self.names)


def _distinct(numbers: np.ndarray, counts: np.ndarray, **how: Any) -> Intervals:
    """The intervals of ascending numbers; text may write one number in several ways."""
    values, start = np.unique(numbers, return_index=True)
    return univariate(values, np.add.reduceat(counts, start), **how)


def _all_missing(column: Column) -> Column:
    return Column(pa.nulls(1, column.values.type), np.zeros(len(column), dtype=np.uint8))


def _changed(name: str, column: Column, before: np.ndarray, released: Column) -> int:
    return differing(before[column.codes], released.numbers(name)[released.codes])


def _facts(intervals: Intervals | None, missing: int, withheld: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"missing": missing, "withheld": withheld}
    if intervals is None:
        return {"count": 0, **facts}
    sizes = intervals.sizes
    return {
        "count": len(intervals),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "mean": round(float(sizes.mean()), 1),
        **facts,
    }
