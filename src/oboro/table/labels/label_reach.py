"""Which original values labels name by themselves: `31–38`, `1950-03-30 to 1976-01-22`, `130**`.

So columns are understood that no hierarchy explains, because every group has ranges of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oboro.table.dataset import Column
from oboro.table.labels.possible_values import PossibleValues, possible_values

__all__ = ["LabelReach"]

MOST_LABELS = 10_000  # of a column with more nobody reads what each one stands for


@dataclass(frozen=True, eq=False)
class LabelReach:
    """The labels of a released dictionary that are asked about, and the entries of the original one that each names."""

    labels: np.ndarray  # their places in the released dictionary
    found: PossibleValues  # of each entry of the released dictionary, ranks of entries of the original one

    @staticmethod
    def of(original: Column, released: Column, asked: np.ndarray) -> LabelReach | None:
        """What the labels that are `asked` for name; None where there are none, too many, or one names nothing. O(labels · log)."""
        labels = np.flatnonzero(asked)
        if not 0 < labels.size <= MOST_LABELS:
            return None
        entries = Column(original.values, np.arange(len(original.values), dtype=np.uint32))
        some = Column(released.values.take(labels), np.arange(labels.size, dtype=np.uint32))
        reach = LabelReach(labels, possible_values(entries, some))
        return reach if (reach.found.low <= reach.found.high).all() else None

    def under(self, weights: np.ndarray) -> np.ndarray:
        """For each label the sum over the original entries that it names."""
        by_rank = np.bincount(self.found.ranks, weights=weights, minlength=self.found.width)
        sums = np.append(0.0, np.cumsum(by_rank))
        out = np.asarray(sums[self.found.high + 1] - sums[self.found.low])
        for one in self._scattered:
            out[one] = by_rank[self.found.reaches(one)].sum()
        return out

    def spread(self, counts: np.ndarray) -> np.ndarray:
        """The rows of each label, spread evenly over the original entries that it names."""
        share = counts / self.under(np.ones(self.found.ranks.size))
        whole = np.ones(share.size, dtype=bool)
        whole[self._scattered] = False
        steps = np.zeros(self.found.width + 1)
        np.add.at(steps, self.found.low[whole], share[whole])
        np.add.at(steps, self.found.high[whole] + 1, -share[whole])
        by_rank = np.cumsum(steps)[:-1]
        for one in self._scattered:
            by_rank[self.found.reaches(one)] += share[one]
        return np.asarray(by_rank[self.found.ranks])

    def ends(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each label the least and the greatest of the numbers that it names, which are ranked by size."""
        low, high = np.full(self.found.width, np.inf), np.full(self.found.width, -np.inf)
        there = ~np.isnan(numbers)
        np.minimum.at(low, self.found.ranks[there], numbers[there])
        np.maximum.at(high, self.found.ranks[there], numbers[there])
        return low[self.found.low], high[self.found.high]

    @property
    def _scattered(self) -> np.ndarray:
        """Labels that do not name all that lies between their first value and their last."""
        return np.flatnonzero(self.found.row >= 0)
