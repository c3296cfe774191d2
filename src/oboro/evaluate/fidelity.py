"""Measures that take longer than counting: how much a release resembles the original as a source of statistics.

`utility` says what each release lost and is part of every report; these are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oboro.errors import ColumnError, listing
from oboro.evaluate.density_ratio import kullback_leibler
from oboro.evaluate.dependence import correlation_difference
from oboro.evaluate.divergence import divergences
from oboro.evaluate.learning import learned, propensity_error
from oboro.evaluate.meaning import Meaning, plain_numbers, source_rows
from oboro.evaluate.metrics import Measure
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy

__all__ = ["fidelity"]


def fidelity(
    original: Dataset,
    released: Dataset,
    *,
    columns: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    target: str | None = None,
    paired: bool = True,
    seed: int = 0,
) -> list[Measure]:
    """Compare two tables over `columns` (all that both have where not given).

    Per column: Kullback–Leibler over a histogram, Jensen–Shannon, and for numbers Kullback–Leibler by density ratio.
    Over all: the density ratio of all numeric columns together, the difference of their correlations, and how well a
    model tells the tables apart. With `target`: how well a model trained on the release predicts that column of the
    original. `hierarchies` (bound to original columns) spread released labels over the values under them; with
    `paired=False` rows do not correspond. Everything that is drawn is drawn from `seed`. Some seconds for 50,000 records.
    """
    names = [name for name in released if name in original] if columns is None else list(columns)
    if unknown := [name for name in names if name not in original or name not in released]:
        raise ColumnError(f"fidelity: {listing(unknown)} must be in both tables; the original has {listing(original)}")
    rng = np.random.default_rng(seed)
    rows = source_rows(original, released) if paired else None
    known = hierarchies or {}
    measures: list[Measure] = []
    for name in names:
        measures += divergences(name, Meaning.of(original[name], released[name], known.get(name), rows))
    numeric = [name for name in names if all(plain_numbers(table[name]) is not None for table in (original, released))]
    measures += [kullback_leibler(original, released, [name], rng=rng) for name in numeric]
    if len(numeric) > 1:
        measures.append(kullback_leibler(original, released, numeric, rng=rng))
    measures.append(correlation_difference(original, released, names))
    measures.append(propensity_error(original, released, names, rng=rng))
    return measures + (learned(original, released, target, names, paired=paired, rng=rng) if target is not None else [])
