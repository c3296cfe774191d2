"""Retention–replacement: a value is kept with probability ρ, else replaced by a uniform draw from its domain.

What that does to a table of counts is one matrix per attribute, A = ρ·I + (1 − ρ)/|V|·J (J all ones), so nothing here
ever builds it: `spread` applies it along every axis of a table and `gather` applies its inverse. `pk_evidence` says
whether a release looks as if it had been made that way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError, UsageError
from oboro.system.extras import bring
from oboro.table.dataset import Column, Dataset
from oboro.table.frames import Frame
from oboro.table.named_columns import Names, named_columns
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.spelling.named_values import matched
from oboro.table.values import texts_of
from oboro.text import Message, Raw

__all__ = ["Domain", "Evidence", "Value", "gather", "pk_evidence", "rates", "spread"]

Value = str | bool | int | float | datetime | date | None


@dataclass(frozen=True, eq=False)
class Domain:
    """The values that a replacement is drawn from; a missing value may be one of them."""

    name: str
    values: pa.Array

    @staticmethod
    def of(name: str, column: Column, declared: Sequence[Value] | None = None) -> Domain:
        """The declared values, in the column's own type; without them the distinct values of the column."""
        if declared is None:
            return Domain(name, column.tidy().values)
        given = [None if value is None else texts_of(pa.array([value]))[0] for value in declared]
        own = matched(pa.array(given, pa.string()), column.values)  # 39.0 of the recipe is the column's 39
        texts = [column.texts[place] if place >= 0 else text for text, place in zip(given, own, strict=True)]
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise UsageError(Message("error_measure.domain_twice", name=name, twice=twice))
        type_ = pa.string() if pa.types.is_null(column.values.type) else column.values.type
        try:
            return Domain(name, pa.array(texts, pa.string()).cast(type_))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise ColumnError(
                Message("error_measure.domain_type", name=name, type=str(type_), problem=str(problem))
            ) from None

    def __len__(self) -> int:
        return len(self.values)

    def places(self, column: Column) -> np.ndarray:
        """For each row, the place of its value in the domain, matched by text. `ColumnError` where it has none."""
        if column.values.equals(self.values):
            return column.codes.astype(np.int64)
        place = {text: number for number, text in enumerate(texts_of(self.values))}
        table = np.array([place.get(text, -1) for text in column.texts], dtype=np.int64)
        if (outside := (table < 0) & (column.counts > 0)).any():
            culprit = column.texts[int(np.flatnonzero(outside)[0])]
            held = Raw(culprit, int(np.flatnonzero(column.codes == np.flatnonzero(outside)[0])[0]) + 1)
            what = Message("error_measure.missing_value" if culprit is None else "error_measure.the_value", value=held)
            raise ColumnError(Message("error_measure.outside_domain", name=self.name, what=what))
        return np.asarray(table[column.codes])


def rates(rho: float | Mapping[str, float], attributes: Sequence[str]) -> dict[str, float]:
    """ρ for each attribute, from one number for all or a number for each; 1 says that the attribute was not
    randomized."""
    given = dict(rho) if isinstance(rho, Mapping) else dict.fromkeys(attributes, rho)
    if lacking := [name for name in attributes if name not in given]:
        raise UsageError(Message("error_measure.rho_missing", lacking=lacking))
    if bad := [name for name in attributes if not 0 <= given[name] <= 1]:
        raise UsageError(Message("error_measure.rho_range", name=bad[0], rho=given[bad[0]]))
    return {name: float(given[name]) for name in attributes}


def spread(table: np.ndarray, rhos: Sequence[float]) -> np.ndarray:
    """What a table of counts is expected to become: one axis per attribute, total unchanged. O(cells · attributes)."""
    for axis, rho in enumerate(rhos):
        table = rho * table + (1 - rho) * table.mean(axis=axis, keepdims=True)
    return table


def gather(table: np.ndarray, rhos: Sequence[float]) -> np.ndarray:
    """The inverse of `spread`, by its closed form: A⁻¹ = (I − (1 − ρ)/|V|·J)/ρ."""
    for axis, rho in enumerate(rhos):
        table = (table - (1 - rho) * table.mean(axis=axis, keepdims=True)) / rho
    return table


@dataclass(frozen=True)
class Evidence:
    """Whether one attribute looks as if its values had been kept with probability ρ and else drawn uniformly."""

    attribute: str
    rho: float
    domain_size: int
    records: int
    unchanged: int
    expected: float
    z: float
    """How many standard deviations `unchanged` lies from `expected`."""
    uniformity: float
    """p-value of a chi-square test that what was changed went to every other value alike."""

    @property
    def fits(self) -> bool:
        """Chance alone fails either test about once in ten thousand honest releases."""
        return abs(self.z) < 3.9 and self.uniformity > 1e-4

    def sentence(self) -> Message:
        """For a report."""
        return Message(
            "measure.retention.fits" if self.fits else "measure.retention.misses",
            column=self.attribute,
            unchanged=self.unchanged,
            records=self.records,
            expected=f"{self.expected:.1f}",
            z=f"{self.z:+.2f}",
            p=f"{self.uniformity:.3g}",
            rho=f"{self.rho:.6g}",
        )


@at_the_door
def pk_evidence(
    original: Any,
    released: Any,
    *,
    rho: float | Mapping[str, float],
    attributes: Names,
    domains: Mapping[str, Sequence[Value]] | None = None,
) -> list[Evidence]:
    """Compare a randomized table with its original, attribute by attribute: does the retention rate fit ρ?

    For the owner of both tables: the exact counts are not for publication. Rows are matched by where they came from
    (`Dataset.origin`); frames and files must still be in their old order. `domains` as declared to the randomization,
    else the distinct values of the original.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F"] * 60 + ["M"] * 40})
    >>> pk_evidence(people, people, rho=0.5, attributes="sex")[0].unchanged
    100
    """
    before, after = Frame.read(original).data, Frame.read(released).data
    rows = after.origin_rows
    if rows.max(initial=-1) >= before.rows or (after.origin is None and after.rows != before.rows):
        raise UsageError(Message("error_measure.unmatched", after=after.rows, before=before.rows))
    given = rates(rho, named_columns(attributes, "attributes"))
    return [_evidence(name, before, after, rows, one, (domains or {}).get(name)) for name, one in given.items()]


def _evidence(
    name: str, before: Dataset, after: Dataset, rows: np.ndarray, rho: float, declared: Sequence[Value] | None
) -> Evidence:
    domain = Domain.of(name, before[name], declared)
    size, records = len(domain), int(rows.size)
    # The cyclic shift from old to new place has one distribution for all old values: 0 with `chance`, else uniform.
    shifts = np.bincount((domain.places(after[name]) - domain.places(before[name])[rows]) % size, minlength=size)
    chance = rho + (1 - rho) / size
    unchanged = int(shifts[0])
    deviation = np.sqrt(records * chance * (1 - chance))
    apart = unchanged - records * chance
    z = apart / deviation if deviation > 0 else 0.0 if unchanged == records else -np.inf
    return Evidence(name, rho, size, records, unchanged, records * chance, float(z), _uniformity(shifts[1:]))


def _uniformity(counts: np.ndarray) -> float:
    """p-value of Pearson's chi-square test against equal chances, over blocks that expect at least five each."""
    total = int(counts.sum())
    blocks = min(counts.size, total // 5)
    if blocks < 2:
        return 1.0
    edges = np.arange(blocks) * counts.size // blocks
    widths = np.diff(np.append(edges, counts.size))
    return float(bring("scipy.stats").chisquare(np.add.reduceat(counts, edges), total * widths / counts.size).pvalue)
