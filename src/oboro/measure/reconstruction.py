"""What the original table looked like, in counts, from a table that retention–replacement randomized.

Single randomized records say little; many say much. From the released table, ρ and the domains, `reconstruct`
estimates the original's marginal of one attribute, or its joint table over a few, so that analysts can use a
Pk-anonymized release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from oboro.errors import ColumnError, UsageError
from oboro.measure.retention_replacement import Domain, Value, gather, rates, spread
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.named_columns import Names, named_columns
from oboro.table.parameters.at_the_door import at_the_door
from oboro.text import Message

__all__ = ["Reconstruction", "reconstruct"]

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
