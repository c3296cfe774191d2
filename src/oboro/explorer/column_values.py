"""The values of a column, counted: for a histogram, and for a tree of labels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from oboro.table.values import Kind, kind_of

if TYPE_CHECKING:
    from oboro.table.dataset import Column

__all__ = ["NUMBERS", "Histogram", "histogram", "in_parts"]

NUMBERS = (Kind.INTEGER, Kind.NUMBER)
PARTS = 40


@dataclass(frozen=True)
class Histogram:
    """Equal parts of the range of a column of numbers, and how many records lie in each."""

    low: float
    high: float
    counts: tuple[int, ...]
    missing: int
    """Records without a number."""
    whole: bool
    """Whether there are only whole numbers."""


def histogram(column: Column, parts: int = PARTS) -> Histogram | None:
    """The histogram of a column of numbers; None of any other."""
    if kind_of(column.values) not in NUMBERS:
        return None
    numbers, rows = column.numbers(), column.counts
    known = np.isfinite(numbers) & (rows > 0)
    if not known.any():
        return None
    counts, edges = np.histogram(numbers[known], bins=parts, weights=rows[known])
    only_whole = kind_of(column.values) is Kind.INTEGER
    held = tuple(int(one) for one in np.rint(counts))
    return Histogram(float(edges[0]), float(edges[-1]), held, int(rows[~known].sum()), only_whole)


def in_parts(column: Column, parts: int) -> tuple[list[str | None], np.ndarray]:
    """Numbers of many values as equal parts: their labels, and the part of each record; missing ones come last."""
    numbers = column.numbers()
    known = np.isfinite(numbers)
    edges = np.linspace(numbers[known].min(), numbers[known].max(), parts + 1)
    places = np.where(known, np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, parts - 1), parts)
    digits = max(0, 1 - floor(log10(edges[1] - edges[0] or 1)))  # two that differ from part to part
    labels: list[str | None] = [f"{low:,.{digits}f} – {high:,.{digits}f}" for low, high in pairwise(edges)]
    return [*labels, None], places[column.codes]
