"""The compiled search for the classes that join the suppressed group, where it takes long.

It knows weighted sums only, none of which depends on who joins (`GroupDemand.valid_sum`). Where all of them are reached, the
demands are asked; one that is still broken gives a new sum, or, if it knows none, the search goes on with another class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from oboro.decide.lattice.kernels import cheapest_cover as kernels
from oboro.decide.lattice.suppression.group_demands import GroupDemand

__all__ = ["CoveredSums"]

ROUNDING = 1e-9  # what sums may be wrong by, as a part of what they add up
MOST = 200  # sums that are kept; with more, classes are decided on one by one
ASKED = 20  # steps that it counts for to ask the demands


class CoveredSums:
    """A search over some classes; those of `surely` have joined already. Other classes stay."""

    def __init__(
        self, demands: Sequence[GroupDemand], sizes: np.ndarray, costs: np.ndarray, room: int, surely: np.ndarray
    ) -> None:
        self.demands, self.sizes, self.costs, self.room = demands, sizes, costs, room
        self.held = [demand.base + demand.each[surely].sum(axis=0) for demand in demands]
        self.surely, self.rows = surely, 0

    def of(self, classes: np.ndarray) -> CoveredSums:
        """The classes that are in doubt."""
        self.classes, count = classes, classes.size
        self.each = [demand.each[classes] for demand in self.demands]
        by_cost, by_size = np.empty((2, MOST, count), dtype=np.int64)
        self.sums = kernels.Sums(np.empty((MOST, count)), by_cost, by_size, np.zeros(MOST, dtype=np.int64))
        decided, line = np.zeros(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        self.walk = kernels.Walk(
            np.zeros(2, np.int64), decided, line, np.zeros((count + 1, MOST)), np.zeros(count + 1), np.zeros_like(line)
        )
        self.walk.costs[0], self.walk.sizes[0] = self.costs[self.surely].sum(), self.sizes[self.surely].sum()
        return self

    def add(self, gap: float, gains: np.ndarray) -> bool:
        """A sum that must be reached, as all classes add to it; returns whether those that joined do not reach it."""
        gap, gains, wrong = gap - float(gains[self.surely].sum()), gains[self.classes], float(np.abs(gains).sum())
        lacking, row = gap - ROUNDING * (abs(gap) + wrong), self.rows
        sizes, costs, helping = self.sizes[self.classes], self.costs[self.classes], np.flatnonzero(gains > 0)
        for order, prices in ((self.sums.by_cost, costs), (self.sums.by_size, sizes)):
            order[row, : helping.size] = helping[np.argsort(prices[helping] / gains[helping], kind="stable")]
        self.sums.gains[row], self.sums.helping[row], self.rows = gains, helping.size, row + 1
        line = self.walk.classes[: self.walk.place[0]]
        joined = np.where(self.walk.decided[line] == 1, gains[line], 0.0)
        self.walk.lacking[: line.size + 1, row] = lacking - np.append(0.0, np.cumsum(joined))
        return bool(self.walk.lacking[line.size, row] > 0)

    def run(self, steps: int, price: float, high: Callable[[], tuple[float, int]], offer: Callable[..., None]) -> int:
        """Offer every set that mends the group and may be better than the best (`high`: its cost and size); returns steps left."""
        self.walk.place[1], action = steps, kernels.ENTER
        asked = (self.costs[self.classes], self.sizes[self.classes], self.room, price)
        while True:
            told = kernels.cheapest_cover(action, self.sums, self.rows, *asked, *high(), self.walk)
            if told != kernels.REACHED:
                return int(self.walk.place[1])
            self.walk.place[1] -= ASKED
            action = self._ask(offer)

    def _ask(self, offer: Callable[..., None]) -> int:
        """Whether the group where the walk stands keeps every demand, and how to go on."""
        chosen = np.flatnonzero(self.walk.decided == 1)
        held = [some + each[chosen].sum(axis=0) for some, each in zip(self.held, self.each, strict=True)]
        broken = [(one, some) for one, some in zip(self.demands, held, strict=True) if one.broken(some)]
        if not broken:
            offer((*self.surely.tolist(), *self.classes[chosen].tolist()), int(self.walk.sizes[self.walk.place[0]]))
            return kernels.LEAVE
        more = [one.valid_sum(some) for one, some in broken] if self.rows + len(broken) <= MOST else []
        lacking = [self.add(*one) for one in more if one is not None]
        return kernels.ENTER if any(lacking) else kernels.SPLIT
