"""Reconstruction of the counts of the original table from a retention–replacement randomization.

Single randomized records say little; many say much. From the released table, ρ and the domains, `reconstruct`
estimates the original's marginal of one attribute, or its joint table over a few, so that analysts can use a
Pk-anonymized release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import prod
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from oboro._lazy import bring
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.matching import matched
from oboro.data.parameters import Names, at_the_door, named_columns
from oboro.errors import ColumnError, UsageError
from oboro.notations.texts import texts_of
from oboro.text import Message, Raw

__all__ = ["Domain", "Evidence", "Reconstruction", "Value", "gather", "pk_evidence", "rates", "reconstruct", "spread"]


# Retention–replacement ------------------------------------------------------------------------------------------------
# Retention–replacement: a value is kept with probability ρ, else replaced by a uniform draw from its domain.
#
# Its effect on a table of counts is one matrix per attribute, A = ρ·I + (1 − ρ)/|V|·J (J all ones), so nothing here
# ever builds it: `spread` applies it along every axis of a table and `gather` applies its inverse. `pk_evidence` tests
# if a release looks as if it had been made that way.


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
    """Return the expected randomized table: one axis per attribute, total unchanged. O(cells · attributes)."""
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
    """Evidence that the values of one attribute were kept with probability ρ and else drawn uniformly."""

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


# Reconstruction -------------------------------------------------------------------------------------------------------


MOST_CELLS = 10_000_000  # 80 MB for each of the few tables that are alive at once


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """An estimated table of counts: one axis per attribute, one label per value."""

    attributes: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    """For each attribute the values along its axis; `None` is the missing value."""
    counts: np.ndarray
    """Estimated number of original records per combination of values; they add up to the number of records."""
    released: np.ndarray
    """The same table as counted in the release, for comparison."""
    iterations: int
    """How many rounds iterative Bayes took; 0 for the inverse."""
    gap: float
    """Bayes: the log-likelihood is at most this far below its maximum. Infinite for the inverse, which has none."""

    def marginal(self, *attributes: str) -> Reconstruction:
        """The table of some of the attributes, in the given order."""
        if unknown := [name for name in _checked(attributes) if name not in self.attributes]:
            raise ColumnError(Message("error_measure.not_in_table", unknown=unknown, attributes=list(self.attributes)))
        axes = [self.attributes.index(name) for name in attributes]
        others = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        ranks = [sorted(axes).index(axis) for axis in axes]
        counts, released = (table.sum(axis=others).transpose(ranks) for table in (self.counts, self.released))
        labels = tuple(self.labels[axis] for axis in axes)
        return Reconstruction(attributes, labels, counts, released, self.iterations, self.gap)

    def as_dict(self) -> dict[Any, float]:
        """Counts by value (one attribute) or by tuple of values (several)."""
        grid = np.ndindex(*self.counts.shape)
        keys = [tuple(axis[i] for axis, i in zip(self.labels, cell, strict=True)) for cell in grid]
        single = len(self.attributes) == 1
        return {key[0] if single else key: float(n) for key, n in zip(keys, self.counts.ravel(), strict=True)}


@at_the_door
def reconstruct(
    frame: Any,
    *,
    attributes: Names,
    rho: float | Mapping[str, float],
    domains: Mapping[str, Sequence[Value]] | None = None,
    method: Literal["bayes", "inverse"] = "bayes",
    clip: bool = False,
    tolerance: float = 0.01,
    max_iterations: int = 5_000,
) -> Reconstruction:
    """Estimate the original's counts over `attributes` from a randomized table (pandas, polars, pyarrow, dict, …).

    - `rho`: the retention probability as reported, one for all or one for each attribute; 1 for an attribute that was
      not randomized, so that randomized and untouched attributes can be cross-tabulated.
    - `domains`: the values that replacements were drawn from. Without them the distinct values of the released column,
      which are all of them unless the table is small.
    - `method="bayes"`: iterative Bayes (expectation maximization): the table that makes the release most likely, never
      negative. Stops when the log-likelihood is within `tolerance` of its maximum (a 95 % interval reaches 1.92 below
      it, so 0.01 is nothing), or after `max_iterations`; the result says how far it came.
    - `method="inverse"`: unbiased and linear, but small counts may come out negative. `clip` sets those to zero and
      scales the rest so that the total stays (then it is biased, as every estimate without negative counts is).

    >>> import pandas as pd
    >>> released = pd.DataFrame({"sex": ["F"] * 60 + ["M"] * 40})
    >>> reconstruct(released, attributes="sex", rho=0.5).as_dict()
    {'F': 70.0, 'M': 30.0}
    """
    data, names = Frame.read(frame).data, _checked(attributes)
    if method not in ("bayes", "inverse"):
        raise UsageError(Message("error_measure.method", method=method))
    if tolerance <= 0 or max_iterations < 1:
        raise UsageError(Message("error_measure.tolerance", tolerance=tolerance, max_iterations=max_iterations))
    if data.rows == 0:
        raise UsageError(Message("error_measure.no_records"))
    known = [Domain.of(name, data[name], (domains or {}).get(name)) for name in names]
    rhos = list(rates(rho, names).values())
    if 0 in rhos:
        raise UsageError(Message("error_measure.rho_zero"))
    counted = _count(data, known)
    inverse = gather(counted, rhos)
    if method == "inverse":
        estimate, rounds, gap = (_clipped(inverse) if clip else inverse), 0, np.inf
    else:
        estimate, rounds, gap = _bayes(counted, rhos, inverse, tolerance, max_iterations)
    labels = tuple(tuple(domain.values.to_pylist()) for domain in known)
    return Reconstruction(tuple(names), labels, estimate, counted, rounds, gap)


def _checked(attributes: Names) -> list[str]:
    if not (names := named_columns(attributes, "attributes")):
        raise UsageError(Message("error_table.none_named", what="attributes"))
    return names


def _count(data: Dataset, domains: Sequence[Domain]) -> np.ndarray:
    shape = tuple(len(domain) for domain in domains)
    if prod(shape) > MOST_CELLS:
        raise UsageError(Message("error_measure.too_many_cells", cells=prod(shape)))
    cells = np.zeros(data.rows, dtype=np.int64)
    for domain, size in zip(domains, shape, strict=True):
        cells = cells * size + domain.places(data[domain.name])
    return np.asarray(np.bincount(cells, minlength=prod(shape)).reshape(shape), dtype=np.float64)


def _clipped(table: np.ndarray) -> np.ndarray:
    positive = np.maximum(table, 0.0)
    total = positive.sum()
    return np.asarray(positive * (table.sum() / total) if total > 0 else positive)


def _bayes(
    counted: np.ndarray, rhos: Sequence[float], inverse: np.ndarray, tolerance: float, max_iterations: int
) -> tuple[np.ndarray, int, float]:
    """Iterative Bayes: what each released cell came from, given the estimate so far; then the estimate from that.

    With the estimate x (same total as the release y) a round is x ← x · g, where g = A(y / Ax). The log-likelihood is
    concave and Σ x·g = Σ y, so its maximum lies at most (max g − 1)·Σ y above x: a stopping rule that slow progress
    cannot fool.
    """
    if (inverse >= 0).all():  # explains the release exactly: nothing is more likely
        return inverse, 0, 0.0
    records = counted.sum()
    # From the clipped inverse, which is often almost there; with some of everything, because a zero would stay zero.
    estimate = 0.9 * _clipped(inverse) + 0.1 * records / counted.size
    rounds, gap = 0, np.inf
    while gap > tolerance and rounds < max_iterations:
        expected = spread(estimate, rhos)
        # Where nothing is expected nothing was counted either: cells of untouched attributes (ρ = 1).
        ratio = np.divide(counted, expected, out=np.zeros_like(counted), where=expected > 0)
        growth = spread(ratio, rhos)
        gap = float((growth.max() - 1) * records)
        estimate, rounds = estimate * growth, rounds + 1
    return estimate, rounds, max(gap, 0.0)
