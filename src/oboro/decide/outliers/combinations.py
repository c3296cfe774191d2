"""Odd combinations: isolation forest and local outlier factor, by scikit-learn, on records turned into points.

Both score each distinct combination once: records that agree on all attributes get the same score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.system.extras import bring
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups

__all__ = ["highest", "isolation", "local_factors"]

ONE_HOT = 16  # a category with more values becomes one axis (how common the value is): many more would drown the others


def isolation(data: Dataset, names: Sequence[str], *, trees: int, rng: np.random.Generator) -> np.ndarray:
    """Anomaly score of each record in (0, 1]: near 1 a few random cuts isolate it, below 0.5 it is ordinary.

    After Liu, Ting and Zhou (2008). Drawn from the given stream: the same stream, the same scores.
    """
    ensemble = bring("sklearn.ensemble")
    if data.rows == 0:
        return np.zeros(0)
    groups, places = _distinct(data, names)
    forest = ensemble.IsolationForest(n_estimators=trees, random_state=int(rng.integers(2**31)))
    forest.fit(places[groups.labels])  # all records, so that a common combination is common in the trees' samples too
    scores = np.asarray(-forest.score_samples(places), dtype=np.float64)
    return np.asarray(scores[groups.labels])


def local_factors(data: Dataset, names: Sequence[str], *, neighbors: int) -> np.ndarray:
    """Local outlier factor of each record: about 1 amid its like, more where its neighbours stand closer.

    Taken over distinct points (the k-distinct-distance of Breunig et al. 2000), because repeated points have infinite
    density. A point that more than `neighbors` records share has its whole neighbourhood in itself: factor 1.
    """
    neighbours = bring("sklearn.neighbors")
    groups, places = _distinct(data, names)
    distinct, place_of = np.unique(places, axis=0, return_inverse=True)
    if len(distinct) < 3:
        return np.ones(data.rows)
    fitted = neighbours.LocalOutlierFactor(n_neighbors=min(neighbors, len(distinct) - 1)).fit(distinct)
    records = np.bincount(place_of.ravel(), weights=groups.sizes)
    factors = np.where(records > neighbors, 1.0, -fitted.negative_outlier_factor_)
    return np.asarray(factors[place_of.ravel()][groups.labels], dtype=np.float64)


def highest(scores: np.ndarray, share: float) -> np.ndarray:
    """The records with the highest scores, at most this share of all; equal scores are in or out together."""
    most = int(share * scores.size)
    if most == 0:
        return np.zeros(scores.size, dtype=bool)
    edge = np.partition(scores, scores.size - most)[scores.size - most]
    rows = scores >= edge
    return np.asarray(rows if rows.sum() <= most else scores > edge)


def _distinct(data: Dataset, names: Sequence[str]) -> tuple[Groups, np.ndarray]:
    """Records that agree on the attributes, and one point for each such group."""
    groups = Groups.of([data[name] for name in names], data.rows)
    first = groups.first_rows()
    axes = [axis[data[name].codes[first]] for name in names for axis in _axes(data[name], name)]
    return groups, np.column_stack(axes) if axes else np.zeros((len(groups), 1))


def _axes(column: Column, name: str) -> list[np.ndarray]:
    """Axes of one column, each as one number per dictionary entry; two different categories are at distance 1."""
    if column.kind.numeric:
        return _number_axes(column.numbers(name), column.counts)
    count = len(column.values)
    if count <= ONE_HOT:
        return [np.where(np.arange(count) == value, np.sqrt(0.5), 0.0) for value in range(count)]
    return [np.log(column.counts / len(column))]


def _number_axes(numbers: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """In standard deviations from the mean. A missing one stands at the mean; a second axis says that it is missing."""
    real = np.isfinite(numbers)
    if not real.any():
        return []
    mean = np.average(numbers[real], weights=counts[real])
    spread = np.sqrt(np.average((numbers[real] - mean) ** 2, weights=counts[real]))
    within = np.clip(
        np.nan_to_num(numbers, nan=mean), numbers[real].min(), numbers[real].max()
    )  # infinity: the outermost
    placed = (within - mean) / (spread or 1.0)
    missing = np.isnan(numbers)
    return [placed, missing.astype(np.float64)] if missing.any() else [placed]
