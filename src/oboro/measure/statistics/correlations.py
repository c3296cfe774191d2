"""Whether columns still go together as they did: the correlations before and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.measure.metrics import Measure, mean_error
from oboro.table.dataset import Dataset
from oboro.table.labels.starred_values import plain_numbers
from oboro.text import Message

__all__ = ["correlation_difference", "correlations"]


ONE = Message("measure.correlation_difference.meaning_of_pair")
CONSTANT = Message("measure.note.constant")


def correlation_difference(original: Dataset, released: Dataset, columns: Sequence[str]) -> list[Measure]:
    """Differences of Pearson's correlation of columns that hold numbers in both tables: their mean, then pair by pair."""
    numeric = [name for name in columns if all(plain_numbers(side[name]) is not None for side in (original, released))]
    if len(numeric) < 2:
        return [_gap(np.nan, np.nan, Message("measure.note.few_number_columns"))]
    upper = np.triu_indices(len(numeric), 1)
    before, after = (_correlations(table, numeric)[:, *upper] for table in (original, released))
    gaps = np.abs(before[0] - after[0])
    errors = np.hypot(before[1], after[1])  # that the two tables were drawn together only makes it smaller
    known = ~np.isnan(gaps)
    left_out = Message("measure.note.constant_pairs", left_out=int((~known).sum()), pairs=int(gaps.size))
    pairs = [f"{numeric[i]} × {numeric[j]}" for i, j in zip(*upper, strict=True)]
    each = [_gap(gap, error, pair=pair) for gap, error, pair in zip(gaps, errors, pairs, strict=True)]
    gap, error = (float(side[known].mean()) if known.any() else np.nan for side in (gaps, errors))
    return [_gap(gap, error, *([] if known.all() else [left_out])), *each]


def _gap(value: float, error: float, *notes: Message, pair: str | None = None) -> Measure:
    means = None if pair is None else ONE
    if np.isnan(value):
        return Measure("correlation_difference", None, "lower", 0.0, 2.0, pair, notes or (CONSTANT,), means=means)
    return Measure("correlation_difference", float(value), "lower", 0.0, 2.0, pair, notes, float(error), means)


def correlations(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """Pearson's correlations over the records that hold both numbers; NaN where one of the columns is constant."""
    return np.asarray(_correlations(data, columns)[0])


def _correlations(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """The correlations, and half the widths of their 95 % intervals."""
    numbers = []
    for name in columns:
        places = plain_numbers(data[name])
        numbers.append(np.full(data.rows, np.nan) if places is None else places[data[name].codes])
    out = np.stack([np.eye(len(columns)), np.zeros((len(columns), len(columns)))])
    for i in range(len(columns)):
        for j in range(i):
            out[:, i, j] = out[:, j, i] = _pearson(numbers[i], numbers[j])
    return out


def _pearson(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The correlation r and its error, by what each record weighs in it: xy − r (x² + y²) / 2 of standardized numbers.

    Fisher's (1 − r²) / √n is the same for normal numbers, and far too small where few large ones decide.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return float("nan"), float("nan")
    first, second = first[both] - first[both].mean(), second[both] - second[both].mean()
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    if size == 0:
        return float("nan"), float("nan")
    x, y = first / first.std(), second / second.std()
    r = float((x * y).mean())
    return r, mean_error(x * y - r * (x**2 + y**2) / 2) or 0.0
