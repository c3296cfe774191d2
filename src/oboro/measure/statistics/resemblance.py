"""How far a released column is spread from the original one.

Categories: total variation. Numbers and dates: Kolmogorov–Smirnov (the greatest gap between the cumulated shares) and
Wasserstein-1 over the range of both. Generalized labels are spread evenly over the values under them where a
hierarchy or the labels themselves (`31–38`) explain them all; otherwise they are compared as categories of their own.

A value that is lost (`*`, or a label for everything) is not spread: a destroyed column would look as if it had been even.
It is charged in full, as NCP (Xu et al. 2006) and discernibility (Bayardo and Agrawal 2005) charge it: it is a category
that the original lacks, so that total variation is at least the share that is lost. On a line it stands beyond the last
number, or before the first if that is further off; the way to it is the whole range. (SDMetrics leaves missing values out
and counts them beside; a column of which little is left may then look perfect.)
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

__all__ = [
    "aligned",
    "kolmogorov_smirnov",
    "lost_note",
    "resemblance",
    "spread_counts",
    "total_variation",
    "wasserstein",
]

SPREAD = Message("measure.note.spread")
AS_CATEGORIES = Message("measure.note.as_categories")
ONLY_NUMBERS = Message("measure.note.only_numbers")
LOST = "measure.note.lost"
NO_RECORDS = Message("measure.note.no_records")


def resemblance(name: str, recoded: RecodedColumn) -> list[Measure]:
    """The distances that fit the column."""
    original, released = recoded.original, recoded.released
    if not len(original) or not len(released):
        return [_total_variation(name, None, NO_RECORDS)]
    if recoded.spreads:
        return _spread(name, recoded)
    if recoded.line is not None:
        before, after = recoded.line
        lost = float(released.counts[recoded.stars].sum())
        return _numeric(
            name, (before, original.counts), (after, released.counts), lost, *lost_note(recoded), ONLY_NUMBERS
        )
    notes = (AS_CATEGORIES,) if ((recoded.place[0] != 0) & ~recoded.stars).any() else ()
    return [_total_variation(name, total_variation(*aligned(original, released)), *lost_note(recoded), *notes)]


def lost_note(recoded: RecodedColumn) -> tuple[Message, ...]:
    """How much of a column is lost, where some of it is."""
    return (Message(LOST, share=recoded.lost_share),) if recoded.lost.any() else ()


def spread_counts(recoded: RecodedColumn) -> tuple[np.ndarray, np.ndarray]:
    """Both columns counted over the original values, released labels spread over those under them; what is lost comes last."""
    original = recoded.original
    lost = float(recoded.released.counts[recoded.lost].sum())
    return np.append(original.counts, 0), np.append(recoded.leaves(), lost)


def _spread(name: str, recoded: RecodedColumn) -> list[Measure]:
    """The distances after spreading every label over the values under it."""
    original = recoded.original
    before, after = spread_counts(recoded)
    spread = (SPREAD,) if ((recoded.place[0] != 0) & ~recoded.lost).any() else ()
    notes = (*lost_note(recoded), *spread)
    numbers = plain_numbers(original)
    if numbers is None:
        return [_total_variation(name, total_variation(before, after), *notes)]
    return _numeric(name, (numbers, original.counts), (numbers, after[:-1]), float(after[-1]), *notes, ONLY_NUMBERS)


def total_variation(first: np.ndarray, second: np.ndarray) -> float:
    """Half the sum of the differences of two distributions over the same values, each given by its counts.

    >>> total_variation(np.array([2, 2]), np.array([1, 0]))
    0.5
    """
    return float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)


def kolmogorov_smirnov(first: np.ndarray, second: np.ndarray, lost: float = 0.0) -> float:
    """The greatest gap between the cumulated shares of two distributions over the same sorted values; `lost` of the second
    stand beyond the last value or before the first, whichever is further off.

    >>> kolmogorov_smirnov(np.array([1, 3]), np.array([3, 1])), kolmogorov_smirnov(np.array([1, 3]), np.array([1, 0]), lost=3)
    (0.5, 0.75)
    """
    gaps = np.cumsum(first / first.sum() - second / (second.sum() + lost))
    share = lost / (second.sum() + lost)
    return float(max(np.abs(gaps).max(initial=0), np.abs(gaps - share).max(initial=share)))


def wasserstein(values: np.ndarray, first: np.ndarray, second: np.ndarray, lost: float = 0.0) -> float:
    """The mean way that a share must travel to turn one distribution over sorted values into the other, over their
    range; `lost` of the second have travelled the whole of it.

    >>> wasserstein(np.array([0, 10]), np.array([1, 1]), np.array([1, 1]), lost=2)
    0.5
    """
    share = lost / (second.sum() + lost)
    width = values[-1] - values[0]
    if not second.sum() or width <= 0:
        return float(share)
    gaps = np.abs(np.cumsum(first / first.sum() - second / second.sum()))[:-1]
    return float(share + (1 - share) * (gaps * np.diff(values)).sum() / width)


def _numeric(
    name: str,
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
    lost: float,
    *notes: Message,
) -> list[Measure]:
    values = np.unique(np.concatenate([before[0], after[0]]))
    values = values[~np.isnan(values)]
    first, second = (_counts_at(values, *side) for side in (before, after))
    empty = not first.sum() or not second.sum() + lost
    gap = None if empty else kolmogorov_smirnov(first, second, lost)
    way = None if empty else wasserstein(values, first, second, lost)
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
