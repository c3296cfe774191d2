"""How a sensitive column is spread over the classes, where only the extremes are asked for: one pass, and no list of classes.

The models of `models/` judge class by class, and say which are worst. Who asks only what holds of all of them needs five numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oboro.kernels import tallying
from oboro.table.dataset import Column
from oboro.verifier import kernels
from oboro.verifier.classes import Classes

__all__ = ["NEARLY", "SecretSpread", "secret_spread"]

NEARLY = (95, 100)  # a share of the class of at least this is nearly certain; in whole numbers, so that it is exact


@dataclass(frozen=True)
class SecretSpread:
    """The extremes over all classes of records."""

    fewest: int
    """The fewest different values in a class: the largest l of distinct l-diversity."""
    farthest: float
    """The greatest distance (equal distances) of a class from the whole table: the smallest t of t-closeness."""
    certain: int
    """Records in classes of one value."""
    nearly: int
    """Records in classes of which nearly everybody has the same value."""
    largest: float
    """The largest share of a class that has the same value."""


def secret_spread(classes: Classes, column: Column) -> SecretSpread:
    """The extremes of a table with records, of which nobody says whose they are. O(rows).

    Memory: the codes once more, and 16 bytes a class. The last answer to each thread is kept.
    """
    last: tuple[np.ndarray, SecretSpread] | None = getattr(classes.last, "spread", None)
    if last is None or last[0] is not column.codes:
        last = classes.last.spread = column.codes, _counted(classes, column)
    return last[1]


def _counted(classes: Classes, column: Column) -> SecretSpread:
    starts = np.concatenate([[0], np.cumsum(classes.records)])
    gathered = np.empty_like(column.codes)
    tallying.gather(classes.groups.labels, column.codes, starts[:-1].copy(), gathered)
    counts, ratios = np.zeros(3, np.int64), np.zeros(2)
    scratch = np.zeros(len(column.values), np.int64)
    kernels.class_extremes(gathered, starts, column.counts.astype(np.int64), *NEARLY, scratch, counts, ratios)
    return SecretSpread(int(counts[0]), float(ratios[0]), int(counts[1]), int(counts[2]), float(ratios[1]))
