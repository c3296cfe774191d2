"""Synthesis: every value is drawn from the interval of the original value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from oboro.algorithms.intervals import Method
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import OnColumns
from oboro.techniques.partition_univariate import PartitionUnivariate
from oboro.text import Message, Words

__all__ = ["Synthesize"]


class Synthesize(OnColumns):
    """Replace each value by one drawn from its interval, k records or more to an interval; each column on its own.

    The short way to `partition_univariate` with a drawn value published, with the defaults that lose least: the
    histogram by Schwarz's criterion and a density that slopes towards the neighbours.

    Given: numbers or dates, k records or more with a value; missing values as many as k, or none (else see `missing`).
    Promises: nothing that a table can show. By construction a drawn value depends on its record only through its
    interval, which k records or more share; the drawn values themselves may be unique. Whole numbers and dates stay such.
    Checked by: tests/techniques/test_partition_univariate.py (each draw stays in its interval; the same seed draws the same).

    >>> Synthesize(attribute="age", k=2).apply({"age": [30, 30, 30, 30]}, seed=1)
    {'age': [30, 30, 30, 30]}
    """

    step: ClassVar[str] = "synthesize"
    iso: ClassVar[Words] = Message("technique.synthesize.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "income", "k": 5},
        {"attribute": "age", "k": 3, "density": "uniform", "method": "hist_aic", "missing": "join"},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample({"attributes": ["income", "height"], "k": 5})
    random: ClassVar[bool] = True
    by_construction: ClassVar[Words | None] = Message("technique.partition_univariate.by_construction")

    k: int = Field(ge=2)
    """Every interval must have at least this many records."""
    density: Literal["uniform", "linear"] = "linear"
    """From which density values are drawn within an interval. uniform: the same everywhere; linear: sloping towards
    the neighbouring intervals."""
    method: Method = "hist_bic"
    """How the intervals are found; see partition_univariate."""
    precision: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The precision of the values; see partition_univariate."""
    missing: Literal["apart", "join"] = "apart"
    """What happens where fewer than k values are missing; see partition_univariate."""

    def cannot_count_people(self) -> Message | None:
        """Why it takes every row for a person."""
        return Message("technique.synthesize.not_people")

    def run(self, work: Work) -> Outcome:
        """Cut and draw."""
        return self._partition().run(work)

    def plan(self, schema: Schema) -> Words:
        """How the line is cut and how values are drawn."""
        return self._partition().plan(schema)

    def _partition(self) -> PartitionUnivariate:
        return PartitionUnivariate(publish=self.density, **self.model_dump(exclude={"density"}))
