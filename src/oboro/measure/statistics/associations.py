"""Whether columns still go together as they did, pair by pair: Cramér's V before and after.

Every column counts as categories: its eleven most common values and the rest; numbers with more values by tenths of the
rows. A missing value is a value like any other; records with `*` in one of the two columns are left out of V, since
suppression takes many columns of a record together. So any two columns can be compared, generalized or not. Such records
say nothing of how the two go together: their part of the difference is the whole association that was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.measure.metrics import Measure, Z
from oboro.measure.statistics.correlations import lost_in, lost_pairs
from oboro.table.dataset import Column, Dataset
from oboro.table.labels.starred_values import is_star, plain_numbers
from oboro.text import Message

__all__ = ["Associations", "Pairs", "associations", "differences", "pairs"]

CATEGORIES = 12
MOST_COLUMNS = 12
MOST_ROWS = 200_000
PARTS = 20  # of a sample, each left out in turn to see how far the rest would have missed
ONE = Message("measure.association_difference.meaning_of_pair")


@dataclass(frozen=True, eq=False)
class Associations:
    """Cramér's V of every pair of columns, and half the width of its 95 % interval; 0 where all rows were counted."""

    values: np.ndarray
    errors: np.ndarray
    lost: np.ndarray
    """The part of the records that have `*` in one of the two."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Cramér's V over the same columns before and after; `sampled` rows of each table, 0 for all."""

    columns: tuple[str, ...]
    was: Associations
    now: Associations
    sampled: int

    @property
    def before(self) -> np.ndarray:
        """The matrix of the original."""
        return self.was.values

    @property
    def after(self) -> np.ndarray:
        """The matrix of the release."""
        return self.now.values

    @property
    def lost(self) -> np.ndarray:
        """The part of the released records that say nothing of a pair any more."""
        return self.now.lost

    @property
    def error(self) -> float:
        """The greatest error of a V, 0 where all rows were counted."""
        return float(max(self.was.errors.max(), self.now.errors.max()))

    def measures(self) -> list[Measure]:
        """The mean over all pairs first, then each pair; of samples with the error."""
        upper = np.triu_indices(len(self.columns), 1)
        lost = self.lost[upper]
        gaps = differences(self.before, self.after, self.lost)[upper]
        chance = (1 - lost) * np.hypot(self.was.errors, self.now.errors)[upper] + lost * self.was.errors[upper]
        errors = [float(error) if self.sampled else None for error in chance]
        notes = (Message("measure.note.sampled", rows=self.sampled),) if self.sampled else ()
        names = [f"{self.columns[i]} × {self.columns[j]}" for i, j in zip(*upper, strict=True)]
        whole = float(chance.mean()) if self.sampled else None
        return [
            Measure(
                "association_difference",
                float(gaps.mean()),
                "lower",
                notes=(*lost_in(lost.mean()), *notes),
                error=whole,
            ),
            *(
                Measure("association_difference", float(gap), "lower", 0.0, 1.0, name, (*said, *notes), error, ONE)
                for name, gap, said, error in zip(names, gaps, map(lost_in, lost), errors, strict=True)
            ),
        ]


def differences(before: np.ndarray, after: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """How far associations moved: of the part that is lost by all that was there, of the rest by the gap.

    >>> differences(np.array([0.5, 0.5]), np.array([0.3, 0.0]), np.array([0.25, 1.0])).round(3).tolist()
    [0.275, 0.5]
    """
    return np.asarray((1 - lost) * np.abs(before - after) + lost * before)


def pairs(original: Dataset, released: Dataset, columns: Sequence[str], *, seed: int = 0) -> Pairs | None:
    """Compare the first dozen columns that both tables have; None if there are fewer than two. O(rows · pairs)."""
    names = [name for name in columns if name in original and name in released][:MOST_COLUMNS]
    if len(names) < 2 or not original.rows or not released.rows:
        return None
    rng = np.random.default_rng(seed)
    sampled = MOST_ROWS if max(original.rows, released.rows) > MOST_ROWS else 0
    return Pairs(tuple(names), associations(original, names, rng), associations(released, names, rng), sampled)


def associations(data: Dataset, columns: Sequence[str], rng: np.random.Generator | None = None) -> Associations:
    """Cramér's V of every pair: 0 independent, 1 one follows from the other; 0 where one has one category.

    With `rng` of at most `MOST_ROWS` rows, drawn by it.
    """
    part = rng is not None and data.rows > MOST_ROWS
    rows = rng.choice(data.rows, MOST_ROWS, replace=False) if rng is not None and part else slice(None)
    codes = [_coarse(data[name])[data[name].codes[rows]] for name in columns]
    values, errors = np.eye(len(columns)), np.zeros((len(columns), len(columns)))
    for i in range(len(columns)):
        for j in range(i):
            if part:
                value, error = _estimated(codes[i], codes[j], 1 - MOST_ROWS / data.rows)
                errors[i, j] = errors[j, i] = error
            else:
                value = float(np.sqrt(_square(_table(codes[i], codes[j]))))
            values[i, j] = values[j, i] = value
    return Associations(values, errors, lost_pairs([one < 0 for one in codes]))


def _coarse(column: Column) -> np.ndarray:
    """A category for each dictionary entry, −1 for `*`."""
    numbers = plain_numbers(column)
    stars = is_star(column)
    if numbers is not None and len(column.values) > CATEGORIES:
        order = np.argsort(numbers)  # missing and `*` come last
        upto = np.cumsum(column.counts[order]) - column.counts[order] / 2
        out = np.empty(order.size, np.int64)
        out[order] = np.minimum((upto * 10 / max(1, column.counts.sum())).astype(np.int64), 9)
        return np.where(stars, -1, np.where(np.isnan(numbers), 10, out))
    rank = np.empty(len(column.values), np.int64)
    rank[np.lexsort((np.arange(rank.size), -np.where(stars, 0, column.counts)))] = np.arange(rank.size)
    return np.where(stars, -1, np.minimum(rank, CATEGORIES - 1))


def _table(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How often two categories meet; records with `*` in one of them are left out."""
    kept = (first >= 0) & (second >= 0)
    counts = np.bincount(first[kept] * CATEGORIES + second[kept], minlength=CATEGORIES**2)
    return counts.reshape(CATEGORIES, CATEGORIES)


def _square(table: np.ndarray) -> float:
    """V² of a table of counts."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0].astype(np.float64)
    freedom = min(table.shape) - 1
    if freedom < 1:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(((table - expected) ** 2 / expected).sum() / (table.sum() * freedom))


def _estimated(first: np.ndarray, second: np.ndarray, left: float) -> tuple[float, float]:
    """V of the whole table and its error, from a sample; `left` is the part that was not drawn.

    Among fewer records columns seem to go together more, by 1 / records in V². The jackknife (Quenouille 1956, Tukey 1958)
    over parts takes that out, and says how far chance moves the rest.
    """
    tables = [_table(first[part::PARTS], second[part::PARTS]) for part in range(PARTS)]
    whole = np.sum(tables, axis=0)
    square, without = _square(whole), np.array([_square(whole - one) for one in tables])
    middle = max(0.0, square - (PARTS - 1) * float(without.mean() - square) * left)
    chance = Z * float(np.sqrt((PARTS - 1) * without.var() * left))
    value = float(np.sqrt(middle))
    return value, max(float(np.sqrt(middle + chance)) - value, value - float(np.sqrt(max(0.0, middle - chance))))
