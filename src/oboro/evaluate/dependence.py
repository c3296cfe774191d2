"""Whether columns still go together as they did: the correlations before and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.evaluate.meaning import plain_numbers
from oboro.evaluate.metrics import Measure
from oboro.table.dataset import Dataset

__all__ = ["correlation_difference", "correlations"]


def correlation_difference(original: Dataset, released: Dataset, columns: Sequence[str]) -> Measure:
    """Mean difference of Pearson's correlation over all pairs of columns that hold numbers in both tables."""
    what = "mean difference of the correlation before and after, over pairs of columns with numbers"
    numeric = [name for name in columns if all(plain_numbers(side[name]) is not None for side in (original, released))]
    if len(numeric) < 2:
        return Measure(
            "correlation_difference", None, what, "lower", high=2.0, note="fewer than two columns of numbers"
        )
    upper = np.triu_indices(len(numeric), 1)
    gaps = np.abs(correlations(original, numeric)[upper] - correlations(released, numeric)[upper])
    known = gaps[~np.isnan(gaps)]
    note = (
        ""
        if known.size == gaps.size
        else f"{gaps.size - known.size} of {gaps.size} pairs left out: a column is constant"
    )
    return Measure(
        "correlation_difference", float(known.mean()) if known.size else None, what, "lower", high=2.0, note=note
    )


def correlations(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """Pearson's correlations over the records that hold both numbers; NaN where one of the columns is constant."""
    numbers = []
    for name in columns:
        places = plain_numbers(data[name])
        numbers.append(np.full(data.rows, np.nan) if places is None else places[data[name].codes])
    out = np.eye(len(columns))
    for i in range(len(columns)):
        for j in range(i):
            out[i, j] = out[j, i] = _pearson(numbers[i], numbers[j])
    return out


def _pearson(first: np.ndarray, second: np.ndarray) -> float:
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return float("nan")
    first, second = first[both] - first[both].mean(), second[both] - second[both].mean()
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum() / size) if size > 0 else float("nan")
