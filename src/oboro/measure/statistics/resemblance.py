"""How far a released column is spread from the original one.

Categories: total variation. Numbers and dates: Kolmogorov–Smirnov (the greatest gap between the cumulated shares) and
Wasserstein-1 over the range of both. Generalized labels are spread evenly over the values under them where a
hierarchy explains them all; otherwise they are compared as categories of their own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.measure.metrics import Measure
from oboro.table.dataset import Column
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import plain_numbers
from oboro.text import Message

__all__ = ["aligned", "kolmogorov_smirnov", "resemblance", "total_variation", "wasserstein"]

SPREAD = Message("measure.note.spread")
AS_CATEGORIES = Message("measure.note.as_categories")
ONLY_NUMBERS = Message("measure.note.only_numbers")
NO_RECORDS = Message("measure.note.no_records")


def resemblance(name: str, recoded: RecodedColumn) -> list[Measure]:
    """The distances that fit the column."""
    original, released = recoded.original, recoded.released
    if not len(original) or not len(released):
        return [_total_variation(name, None, NO_RECORDS)]
    if recoded.hierarchy is not None and recoded.known.all():
        return _spread(name, recoded)
    if recoded.numbers is not None:
        before, after = recoded.numbers
        return _numeric(name, (before, original.counts), (after, released.counts), ONLY_NUMBERS)
    notes = (AS_CATEGORIES,) if (recoded.place[0] != 0).any() else ()
    return [_total_variation(name, total_variation(*aligned(original, released)), *notes)]


def _spread(name: str, recoded: RecodedColumn) -> list[Measure]:
    """The distances after spreading every label over the values under it."""
    original, leaves = recoded.original, recoded.leaves()
    notes = (SPREAD,) if (recoded.place[0] > 0).any() else ()
    numbers = plain_numbers(original)
    if numbers is None:
        return [_total_variation(name, total_variation(original.counts, leaves), *notes)]
    return _numeric(name, (numbers, original.counts), (numbers, leaves), *notes, ONLY_NUMBERS)


def total_variation(first: np.ndarray, second: np.ndarray) -> float:
    """Half the sum of the differences of two distributions over the same values, each given by its counts.

    >>> total_variation(np.array([2, 2]), np.array([1, 0]))
    0.5
    """
    return float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)


def kolmogorov_smirnov(first: np.ndarray, second: np.ndarray) -> float:
    """The greatest gap between the cumulated shares of two distributions over the same sorted values."""
    return float(np.abs(np.cumsum(first / first.sum() - second / second.sum())).max())


def wasserstein(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """The mean way that a share must travel to turn one distribution over sorted values into the other, over their
    range."""
    gaps = np.abs(np.cumsum(first / first.sum() - second / second.sum()))[:-1]
    width = values[-1] - values[0]
    return float((gaps * np.diff(values)).sum() / width) if width > 0 else 0.0


def _numeric(
    name: str, before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], *notes: Message
) -> list[Measure]:
    values = np.unique(np.concatenate([before[0], after[0]]))
    values = values[~np.isnan(values)]
    first, second = (_counts_at(values, *side) for side in (before, after))
    empty = not first.sum() or not second.sum()
    gap = None if empty else kolmogorov_smirnov(first, second)
    way = None if empty else wasserstein(values, first, second)
    return [
        Measure("kolmogorov_smirnov", gap, "lower", column=name, notes=notes),
        Measure("wasserstein", way, "lower", column=name, notes=notes),
    ]


def _counts_at(values: np.ndarray, numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    there = ~np.isnan(numbers)
    place = np.searchsorted(values, numbers[there])
    return np.bincount(place, weights=counts[there], minlength=values.size)


def aligned(original: Column, released: Column) -> tuple[np.ndarray, np.ndarray]:
    """The counts of both columns over the union of their values, matched by text."""
    texts = pa.concat_arrays([text_array(original.values), text_array(released.values)])
    union = texts.dictionary_encode(null_encoding="encode")
    place = union.indices.to_numpy(zero_copy_only=False)
    width, cut = len(union.dictionary), len(original.values)
    first = np.bincount(place[:cut], weights=original.counts, minlength=width)
    return first, np.bincount(place[cut:], weights=released.counts, minlength=width)


def _total_variation(name: str, value: float | None, *notes: Message) -> Measure:
    return Measure("total_variation", value, "lower", column=name, notes=notes)
