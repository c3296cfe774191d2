"""Whether columns still go together as they did: the correlations before and after.

Records with `*` in one of two columns say nothing of how these go together: their part of the difference is the whole
correlation that was, as it is of two columns that were destroyed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.measure.metrics import Measure, mean_error
from oboro.table.dataset import Column, Dataset
from oboro.table.labels.starred_values import all_stars, is_star, plain_numbers
from oboro.text import Message

__all__ = ["correlation_difference", "correlations", "lost_in", "lost_pairs"]


ONE = Message("measure.correlation_difference.meaning_of_pair")
CONSTANT = Message("measure.note.constant")


def correlation_difference(original: Dataset, released: Dataset, columns: Sequence[str]) -> list[Measure]:
    """Differences of Pearson's correlation of columns that hold numbers in both tables, or held them and are all `*`: their
    mean, then pair by pair."""
    numeric = [name for name in columns if _comparable(original[name], released[name])]
    if len(numeric) < 2:
        return [_gap(np.nan, np.nan, Message("measure.note.few_number_columns"))]
    upper = np.triu_indices(len(numeric), 1)
    before, after = (_correlations(table, numeric)[:, *upper] for table in (original, released))
    lost = _lost_pairs(released, numeric)[upper]
    now, error_now = (np.where(lost == 1, 0.0, side) for side in after)
    gaps = (1 - lost) * np.abs(before[0] - now) + lost * np.abs(before[0])
    # That the two tables were drawn together only makes it smaller.
    errors = (1 - lost) * np.hypot(before[1], error_now) + lost * before[1]
    known = ~np.isnan(gaps)
    left_out = Message("measure.note.constant_pairs", left_out=int((~known).sum()), pairs=int(gaps.size))
    pairs = [f"{numeric[i]} × {numeric[j]}" for i, j in zip(*upper, strict=True)]
    each = [
        _gap(gap, error, *lost_in(share), pair=pair)
        for gap, error, share, pair in zip(gaps, errors, lost, pairs, strict=True)
    ]
    gap, error = (float(side[known].mean()) if known.any() else np.nan for side in (gaps, errors))
    return [_gap(gap, error, *lost_in(lost.mean()), *([] if known.all() else [left_out])), *each]


def _comparable(original: Column, released: Column) -> bool:
    """Whether both hold numbers, or one did and nothing of it is left."""
    if plain_numbers(original) is None:
        return False
    return plain_numbers(released) is not None or all_stars(released)


def _lost_pairs(data: Dataset, columns: Sequence[str]) -> np.ndarray:
    """For every pair of columns the part of the records that have `*` in one of them."""
    return lost_pairs([is_star(data[name])[data[name].codes] for name in columns])


def lost_pairs(stars: Sequence[np.ndarray]) -> np.ndarray:
    """For every pair of columns, each given by where its `*` are, the part of the records that have one. O(rows · pairs).

    >>> lost_pairs([np.array([True, False]), np.array([False, True]), np.array([False, False])])[0].tolist()
    [0.5, 1.0, 0.5]
    """
    out = np.zeros((len(stars), len(stars)))
    some = [bool(one.any()) for one in stars]
    for i, first in enumerate(stars):
        for j, second in enumerate(stars[: i + 1]):
            if some[i] or some[j]:
                out[i, j] = out[j, i] = (first | second).mean()
    return out


def lost_in(share: float) -> tuple[Message, ...]:
    """How many records say nothing of a pair, where some do not."""
    return (Message("measure.note.lost_pair", share=float(share)),) if share else ()


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
