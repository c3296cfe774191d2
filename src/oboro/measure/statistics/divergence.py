"""How much the frequencies of a column's values differ, in the units of information.

Numbers and dates are counted in equal bins over the range of both tables, unless few values are all there is;
generalized labels are spread evenly over the values under them where a hierarchy or the labels themselves explain them all.
What is lost (`*`, or a label for everything) is a bin of its own, in which the original has nobody.
"""

from __future__ import annotations

import numpy as np

from oboro.measure.metrics import Measure
from oboro.measure.statistics.resemblance import aligned, lost_note, spread_counts
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import plain_numbers
from oboro.text import Message

__all__ = ["divergences", "histogram_divergence", "jensen_shannon"]

BINS = 50


def divergences(name: str, recoded: RecodedColumn) -> list[Measure]:
    """Kullback–Leibler over a histogram, and Jensen–Shannon."""
    counts = _counts(recoded)
    empty = counts is None
    spread = None if counts is None else histogram_divergence(*counts)
    between = None if counts is None else jensen_shannon(*counts)
    lost = lost_note(recoded)
    notes = (*lost, Message("measure.note.no_values" if empty else "measure.note.half_a_record"))
    means = Message("measure.kl_histogram.meaning", bins=BINS)
    return [
        Measure("kl_histogram", spread, "lower", high=None, column=name, notes=notes, means=means),
        Measure("jensen_shannon", between, "lower", column=name, notes=notes if empty else lost),
    ]


def histogram_divergence(first: np.ndarray, second: np.ndarray) -> float:
    """KL(first ‖ second) of two distributions over the same bins given by their counts, half a record added to each.

    Without the half, one empty bin would make it infinite (Krichevsky & Trofimov add the same to estimate a share).

    >>> round(histogram_divergence(np.array([2.5, 0.5]), np.array([0.5, 2.5])), 6)
    0.549306
    """
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * counts.size) for counts in (first, second))
    return float((p * np.log(p / q)).sum())


def jensen_shannon(first: np.ndarray, second: np.ndarray) -> float:
    """The mean divergence of two distributions from their average, in bits.

    >>> jensen_shannon(np.array([1, 0]), np.array([0, 1])), jensen_shannon(np.array([1, 2]), np.array([2, 4]))
    (1.0, 0.0)
    """
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2
    parts = [side[side > 0] * np.log2(side[side > 0] / middle[side > 0]) for side in (p, q)]
    return float(sum(part.sum() for part in parts) / 2)


def _counts(recoded: RecodedColumn) -> tuple[np.ndarray, np.ndarray] | None:
    """Both columns counted over the same bins."""
    original, released = recoded.original, recoded.released
    if not len(original) or not len(released):
        return None
    if recoded.spreads:
        return _with_lost(*_in_bins(plain_numbers(original), *spread_counts(recoded)))
    if recoded.line is None:
        return aligned(original, released)
    counts = _binned(*recoded.line, original.counts, released.counts)
    lost = float(released.counts[recoded.stars].sum())
    return None if counts is None else _with_lost(np.append(counts[0], 0), np.append(counts[1], lost))


def _in_bins(numbers: np.ndarray | None, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of values and of what is lost, in equal bins where the values are many numbers."""
    if numbers is None or np.isnan(numbers).any() or numbers.size <= BINS:
        return first, second
    counts = _binned(numbers, numbers, first[:-1], second[:-1])
    assert counts is not None  # there are numbers
    return np.append(counts[0], first[-1]), np.append(counts[1], second[-1])


def _with_lost(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Counts whose last bin is what is lost; without it where nothing is, None where a side has nothing."""
    cut = slice(None) if second[-1] else slice(-1)
    return (first[cut], second[cut]) if first.sum() and second.sum() else None


def _binned(
    before: np.ndarray, after: np.ndarray, counts_before: np.ndarray, counts_after: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    both = np.concatenate([before, after])
    values = np.unique(both[~np.isnan(both)])
    if not values.size:
        return None
    few = values.size <= BINS
    edges = np.append(values, np.inf) if few else np.linspace(values[0], values[-1], BINS + 1)
    first, second = (
        np.histogram(side[~np.isnan(side)], bins=edges, weights=counts[~np.isnan(side)])[0]
        for side, counts in ((before, counts_before), (after, counts_after))
    )
    return first, second
