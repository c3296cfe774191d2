"""Whether columns still go together as they did, pair by pair: Cramér's V before and after.

Every column counts as categories: its eleven most common values and the rest; numbers with more values by tenths of the
rows. A missing value is a value like any other; records with `*` in one of the two columns are left out, since
suppression takes many columns of a record together. So any two columns can be compared, generalized or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.evaluate.meaning import is_star, plain_numbers
from oboro.evaluate.metrics import Measure
from oboro.table.dataset import Column, Dataset

__all__ = ["Pairs", "associations", "pairs"]

CATEGORIES = 12
MOST_COLUMNS = 12
MOST_ROWS = 200_000  # Cramér's V of so many rows is right to about 0.005
MEANING = "mean difference, over pairs of columns, of how strongly they go together (Cramér's V) before and after"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Both matrices of Cramér's V over the same columns; `sampled` rows of each table, 0 for all."""

    columns: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    sampled: int

    def measures(self) -> list[Measure]:
        """The mean over all pairs first, then each pair."""
        upper = np.triu_indices(len(self.columns), 1)
        gaps = np.abs(self.before - self.after)[upper]
        note = f"a random {self.sampled:,} rows; right to about 0.005" if self.sampled else ""
        names = [f"{self.columns[i]} × {self.columns[j]}" for i, j in zip(*upper, strict=True)]
        whole = float(gaps.mean()) if gaps.size else None
        one = "difference of how strongly the two columns go together (Cramér's V) before and after"
        return [
            Measure("association_difference", whole, MEANING, "lower", note=note),
            *(
                Measure("association_difference", float(gap), one, "lower", column=name, note=note)
                for name, gap in zip(names, gaps, strict=True)
            ),
        ]


def pairs(original: Dataset, released: Dataset, columns: Sequence[str], *, seed: int = 0) -> Pairs | None:
    """Compare the first dozen columns that both tables have; None if there are fewer than two. O(rows · pairs)."""
    names = [name for name in columns if name in original and name in released][:MOST_COLUMNS]
    if len(names) < 2 or not original.rows or not released.rows:
        return None
    rng = np.random.default_rng(seed)
    sampled = MOST_ROWS if max(original.rows, released.rows) > MOST_ROWS else 0
    return Pairs(tuple(names), associations(original, names, rng), associations(released, names, rng), sampled)


def associations(data: Dataset, columns: Sequence[str], rng: np.random.Generator | None = None) -> np.ndarray:
    """Cramér's V of every pair: 0 independent, 1 one follows from the other; 0 where one has one category."""
    rows = slice(None)
    if rng is not None and data.rows > MOST_ROWS:
        rows = rng.choice(data.rows, MOST_ROWS, replace=False)  # type: ignore[assignment]
    codes = [_coarse(data[name])[data[name].codes[rows]] for name in columns]
    out = np.eye(len(columns))
    for i in range(len(columns)):
        for j in range(i):
            out[i, j] = out[j, i] = _cramer(codes[i], codes[j])
    return out


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


def _cramer(first: np.ndarray, second: np.ndarray) -> float:
    kept = (first >= 0) & (second >= 0)
    first, second = first[kept], second[kept]
    table = np.bincount(first * CATEGORIES + second, minlength=CATEGORIES**2).reshape(CATEGORIES, CATEGORIES)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0].astype(np.float64)
    freedom = min(table.shape) - 1
    if freedom < 1:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (table.sum() * freedom)))
