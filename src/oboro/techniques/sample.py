"""Random sampling of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from oboro.data.grouping import Groups
from oboro.errors import UsageError
from oboro.schema import Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["Sample"]


class Sample(Technique):
    """Keep a random part of the records; nobody can be sure any more that a person is in the release.

    With `by`, every combination of those columns (a stratum; a missing value is a value) gives its share: the whole
    parts of total · size / records, and what is left goes to the largest remainders, ties by chance.

    Given: a count or a fraction of the records (rounded to the nearest whole number, half up), and perhaps strata.
    Promises: exactly that many records, drawn without replacement, each record of a stratum with the same chance; what
    is kept is unchanged and in its old order. `minimum` may add to the total.
    Checked by: tests/techniques/test_techniques_records.py, against a plain allocation and on the frequency of each record.

    >>> Sample(fraction=0.5, by=["sex"]).apply({"sex": ["F", "F", "M", "M"]}, seed=1)
    {'sex': ['F', 'M']}
    """

    step: ClassVar[str] = "sample"
    iso: ClassVar[Words] = Message("technique.sample.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"fraction": 0.5}, {"count": 1})
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"fraction": 0.8137}, hidden=("0.8137", "81.4", "81.37")
    )
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.every_record")
    moves_records: ClassVar[bool] = True
    changes_values: ClassVar[bool] = False  # a hierarchy that does not fit must not depend on luck

    count: int | None = Field(default=None, ge=1)
    """How many records to keep."""
    fraction: float | None = Field(default=None, gt=0, le=1)
    """Which share of the records to keep."""
    by: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Stratify: draw in proportion from every combination of values of these columns."""
    minimum: int = Field(default=0, ge=0)
    """With `by`: at least this many records of each combination (all of them where it has fewer)."""

    @model_validator(mode="after")
    def _one_size(self) -> Sample:
        if (self.count is None) == (self.fraction is None):
            raise ValueError(Message("error_technique.count_or_fraction"))
        if self.minimum and self.by is None:
            raise ValueError(Message("error_technique.minimum_by"))
        return self

    @property
    def rests_on_chance(self) -> bool:
        """Who is in the sample is drawn."""
        return True

    def run(self, work: Work) -> Outcome:
        """Order the rows by chance within each stratum and keep the first ones. O(n log n)."""
        data = work.data
        work.schema.require(data, self.by or (), self.step)
        strata = Groups.of([data[name] for name in self.by or ()], data.rows)
        sizes = _allocate(self._total(data.rows), strata.sizes, work.rng)
        sizes = np.maximum(sizes, np.minimum(strata.sizes, self.minimum))
        kept = _draw(strata, sizes, work.rng)
        facts = {"records": data.rows, "kept": int(kept.size)}
        if self.by is not None:
            facts |= {"strata": len(strata), "strata_without_records": int((sizes == 0).sum())}
        return Outcome(data.take(kept), work.schema, facts)

    def plan(self, schema: Schema) -> Words:
        """How many, and from where."""
        if self.count is not None:
            drawn = Message("technique.sample.plan_count", count=self.count)
        else:
            drawn = Message("technique.sample.plan_fraction", fraction=self.fraction)
        if self.by is None:
            return drawn
        least = Message("technique.sample.least", minimum=self.minimum) if self.minimum else ""
        return Message("text.sentences", said=[drawn, Message("technique.sample.strata", columns=self.by, least=least)])

    def _total(self, rows: int) -> int:
        if self.fraction is not None:
            return floor(Fraction(repr(self.fraction)) * rows + Fraction(1, 2))  # 0.7 · 15 is 10.5, not 10.499…
        assert self.count is not None
        if self.count > rows:
            raise UsageError(Message("error_technique.count_too_large", step=self.step, count=self.count, rows=rows))
        return self.count


def _allocate(total: int, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Proportional shares that add up to `total`, by largest remainder; whole numbers, so none is off by rounding."""
    rows = int(sizes.sum())
    if rows == 0:
        return np.zeros(sizes.size, dtype=np.int64)
    shares, remainders = np.divmod(sizes * total, rows)
    left = total - int(shares.sum())
    first = np.lexsort((rng.random(sizes.size), -remainders))[:left]
    shares[first] += 1
    return np.asarray(shares)


def _draw(strata: Groups, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The rows that are kept, in their order: `sizes[g]` random ones of each group g."""
    order = rng.permutation(strata.labels.size)
    order = order[np.argsort(strata.labels[order], kind="stable")]
    ends = np.cumsum(strata.sizes)
    place = np.arange(order.size) - np.repeat(ends - strata.sizes, strata.sizes)
    return np.sort(order[place < np.repeat(sizes, strata.sizes)])
