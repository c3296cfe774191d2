"""Records as points: numbers in standard deviations, categories as codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oboro.errors import ColumnError
from oboro.table.dataset import Column
from oboro.text import Message

__all__ = ["GRID", "Space", "ranks"]

# Coordinates are rounded to 2⁻²⁴ of one standard deviation; sums of up to 2²⁹ of them are then exact in a float64.
# Centres do not depend on the order in which records are added or taken away, nor on the number of threads.
GRID = 2.0**24


@dataclass(frozen=True, eq=False)
class Space:
    """Where each record stands: `points[j, i]` for numbers (NaN: missing), `categories[j, i]` for everything else.

    Two records are as far apart as the root of the sum of squared differences; two different categories are at distance
    1; a missing number is as far from every number as the smallest from the largest (`gaps`, squared; 0: nothing is
    missing).
    """

    points: np.ndarray
    gaps: np.ndarray
    categories: np.ndarray

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.points.shape[1])

    @staticmethod
    def of(columns: Mapping[str, Column], *, categorical: frozenset[str] = frozenset()) -> Space:
        """Standardise every column (mean 0, standard deviation 1); those named in `categorical` become codes.

        O(rows) a column; codes follow the order of the values, so that nothing depends on the order of the rows.
        """
        rows = len(next(iter(columns.values()), ()))
        numeric = {name: column for name, column in columns.items() if name not in categorical}
        points = np.empty((len(numeric), rows))
        gaps = np.zeros(len(numeric))
        for j, (name, column) in enumerate(numeric.items()):
            places, gaps[j] = _standardise(name, column)
            points[j] = places[column.codes]
        names = [name for name in columns if name in categorical]
        categories = np.empty((len(names), rows), dtype=np.uint32)
        for j, name in enumerate(names):
            categories[j] = ranks(columns[name])[columns[name].codes]
        return Space(points, gaps, categories)

    def order(self) -> np.ndarray:
        """The records sorted by all attributes, missing last; only equal records stand as the rows stood."""
        keys = [*self.points, *self.categories]
        return np.lexsort(keys[::-1]) if keys else np.arange(self.records)


def _standardise(name: str, column: Column) -> tuple[np.ndarray, float]:
    """Per dictionary entry its place, in standard deviations from the mean; and the squared gap to a missing value."""
    numbers = column.numbers(name)
    present = ~np.isnan(numbers)
    if not present.any():
        return np.full(numbers.size, np.nan), 1.0
    if np.isinf(numbers[present]).any():
        raise ColumnError(Message("error_decide.infinite_value", name=name))
    low, high = numbers[present].min(), numbers[present].max()
    if low == high:
        return np.where(present, 0.0, np.nan), 0.0 if present.all() else 1.0
    if high > np.finfo(np.float64).max / 2 or low < np.finfo(np.float64).min / 2:
        numbers, low, high = numbers / 4, low / 4, high / 4  # else their difference might overflow
    unit = (numbers - low) / (high - low)  # to 0 … 1, so that no square overflows or vanishes
    order = np.argsort(numbers)[
        : present.sum()
    ]  # sums in ascending order: the rows' order must not show in the last digit
    centre = np.average(unit[order], weights=column.counts[order])
    spread = np.sqrt(np.average((unit[order] - centre) ** 2, weights=column.counts[order]))
    places = np.rint((unit - centre) / spread * GRID) / GRID
    return places, 0.0 if present.all() else float(1.0 / spread**2)


def ranks(column: Column) -> np.ndarray:
    """Per dictionary entry its place in the sorted dictionary, missing last."""
    texts = column.texts
    ordered = sorted(range(len(texts)), key=lambda code: (texts[code] is None, texts[code] or ""))
    ranks = np.empty(len(texts), dtype=np.uint32)
    ranks[ordered] = np.arange(len(texts), dtype=np.uint32)
    return ranks
