"""Optimal k-concealment: the cheapest graph in which everybody has k − 1 edges to others and k − 1 from others.

The paper searches n! matchings; yet it is a transportation problem. Any (k − 1)-regular bipartite graph splits into
perfect matchings (König), so the cheapest such graph is the cheapest complete k-concealment.

The search starts with arcs to near people only, and an auction in ever smaller steps finds prices that nearly prove the
optimum among those. From the prices follows for every other pair whether it would reduce the cost; such pairs are
added. At last the solution is made exact along shortest paths, until no pair reduces the cost. The result is optimal
among all pairs, and the prices are the certificate. (Subgradient steps instead of the auction: 3 times slower on 48,842
people with k = 7, nearly all of it in shortest paths.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oboro.algorithms.concealment import kernels
from oboro.algorithms.concealment.design import People, SimilarTiles, Tiles
from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["Optimum", "exact"]


STEPS = 0.25 / 5.0 ** np.arange(7)  # of the auctions, in parts of the mean cost
PRICED = (1, 3)  # after which auctions other pairs are looked at: a pair found early costs no shortest path
BIDS = 100  # per unit and auction at most; 40 were the most seen
FOUND = 16  # pairs that are added per person and turn
SLACK = 0.1  # of the median cost: pairs that nearly gain are added too, which saves turns


@dataclass(frozen=True, eq=False)
class Optimum:
    """The chosen arcs (`tails[a]` → `heads[a]`, by tail), and the prices that prove that no choice is cheaper.

    Costs are whole multiples of 1 / scale; the optimum is exact for costs so rounded, which is 2⁻³² of the largest
    distance or finer.
    """

    tails: np.ndarray
    heads: np.ndarray
    sender: np.ndarray
    receiver: np.ndarray
    scale: float
    supply: int
    turns: int

    def cost(self, people: People) -> float:
        """The sum of the distances along the chosen arcs."""
        return float(sum(length.sum() for length in _lengths(people, self.tails, self.heads)))

    def gap(self, people: People) -> float:
        """Upper bound on the gap to the optimum, by the prices alone: the certificate. All pairs, O(n² · attributes).

        Every pair that gains by the prices but is not chosen, and every chosen one that does not gain, counts.
        """
        starts, costs = np.searchsorted(self.tails, np.arange(len(people) + 1)), np.empty(self.tails.size, np.int64)
        kernels.priced(people.places, people.caps, self.scale, starts, self.heads, costs)
        unpaid = np.maximum(costs - self.sender[self.tails] - self.receiver[self.heads], 0)
        order, wrong = SimilarTiles(people).by_worth(self.receiver / self.scale), np.empty(len(people), dtype=np.int64)
        tiles = Tiles.of(people.places, order)
        prices = self.sender[order], self.receiver[order], tiles.dearest(self.receiver.astype(np.float64))
        kernels.unproved(
            tiles.places, people.caps, order, tiles.low, tiles.high, self.scale, *prices, starts, self.heads, wrong
        )
        return float(unpaid.sum() + wrong.sum()) / self.scale


def exact(people: People, k: int) -> Optimum:
    """Find the cheapest (k − 1)-regular graph without self-edges. O(n² · attributes) on all cores, memory O(n · k)."""
    if len(people) < k:
        raise UsageError(Message("error_decide.too_few_people", people=len(people), k=k))
    return _Search(people, k - 1).run()


class _Search:
    """The arcs so far, the choice among them, and up to which price each sender's other pairs are known."""

    def __init__(self, people: People, supply: int) -> None:
        self.people, self.supply = people, supply
        n = len(people)
        self.places, self.caps, self.tiles = (
            people.places.astype(np.float32),
            people.caps.astype(np.float32),
            SimilarTiles(people),
        )
        reach = float(people.caps.sum()) or 1.0
        self.scale = 2.0 ** (60 - np.ceil(np.log2(reach * 4 * (n + 1))))
        # What the roundings of places to single precision can come to; places of many categories are large.
        self.margin = float(np.abs(people.places).max(initial=1.0) * people.caps.size * 2.0**-21)
        self.keys = _candidates(self.tiles, n, supply)
        self.receiver, self.sender = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.load = np.zeros(n, dtype=np.int64)
        self._arcs()
        self.used = np.zeros(self.keys.size, dtype=bool)
        self.known = np.full(n, np.iinfo(np.int64).min)

    def run(self) -> Optimum:
        slack = self._approach()
        stale, turns = np.ones(len(self.people), dtype=bool), 0
        while True:
            turns += 1
            self._settle(stale)
            left = kernels.balance(*self._graph, self.receiver, self.sender, self.used, self.load)
            assert left == 0, "the ring of neighbours is a solution, so there is one"
            stale = self._price(slack)
            if not stale.any() and (self.sender <= self.known).all():
                tails = np.repeat(np.arange(len(self.people)), np.diff(self.starts))[self.used]
                chosen = tails, self.heads[self.used].astype(np.int64)
                return Optimum(*chosen, self.sender, self.receiver, self.scale, self.supply, turns)

    def _approach(self) -> int:
        """Auctions for good prices, and the pairs that these call for; returns the slack for further ones."""
        typical = float(self.costs.mean())
        slack, most = int(SLACK * typical), BIDS * self.supply * len(self.people)
        for number, step in enumerate(STEPS):
            kernels.auction(*self._graph, max(1, int(step * typical)), most, self.receiver)
            if number in PRICED:
                self._settle(np.ones(len(self.people), dtype=bool))
                self._price(slack)
        return slack

    @property
    def _graph(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        return self.starts, self.heads, self.costs, self.supply

    def _settle(self, stale: np.ndarray) -> None:
        kernels.settle(*self._graph, self.receiver, stale, self.sender, self.used, self.load)

    def _price(self, slack: int) -> np.ndarray:
        """Add the pairs that would gain, or nearly; which senders have one that gains.

        Receivers' prices only fall, so a sender whose price did not rise above what is known of it need not be asked.
        """
        largest = max(int(np.abs(prices).max()) for prices in (self.sender, self.receiver)) + slack
        margin = self.margin + largest / self.scale * 2.0**-20  # prices are rounded to single precision too
        worth = ((self.receiver + slack) / self.scale).astype(np.float32) + np.float32(margin)
        order = self.tiles.by_worth(worth)
        tiles, wanted = Tiles.of(self.places, order), np.flatnonzero((self.sender > self.known)[order])
        asked = order[wanted]
        found, gains = np.empty((2, asked.size, FOUND), dtype=np.int64)
        kernels.underpriced(
            tiles.places, self.caps, order, tiles.low, tiles.high, self.people.places, self.people.caps, self.scale, wanted,
            self.sender, self.receiver, self.starts, self.heads, slack, worth[order], tiles.dearest(worth), found, gains,
        )  # fmt: skip
        self.known[asked] = self.sender[asked] - gains[:, -1]
        row, column = np.nonzero(found >= 0)
        before = self.keys[self.used]
        self.keys = _distinct(np.concatenate([self.keys, asked[row] * len(self.people) + found[row, column]]))
        self._arcs()
        self.used = np.zeros(self.keys.size, dtype=bool)
        self.used[np.searchsorted(self.keys, before)] = True
        stale = np.zeros(len(self.people), dtype=bool)
        stale[asked] = (gains > 0).any(axis=1)
        return stale

    def _arcs(self) -> None:
        n = len(self.people)
        tails = self.keys // n
        self.starts = np.searchsorted(tails, np.arange(n + 1))
        self.heads = (self.keys % n).astype(np.int32)
        self.costs = np.empty(self.keys.size, dtype=np.int64)
        kernels.priced(self.people.places, self.people.caps, self.scale, self.starts, self.heads, self.costs)


def _candidates(tiles: SimilarTiles, n: int, supply: int) -> np.ndarray:
    """Arcs to and from near people, as tail · n + head, ascending; and a ring, so that there is a solution."""
    count = min(n - 1, 2 * supply + 14)
    own, other = np.repeat(np.arange(n), count), tiles.nearest(count).ravel()
    ring = (np.arange(n)[:, None] + np.arange(1, supply + 1)) % n
    ahead = np.repeat(np.arange(n), supply) * n + ring.ravel()
    return _distinct(np.concatenate([own * n + other, other * n + own, ahead]))


def _distinct(keys: np.ndarray) -> np.ndarray:
    """The distinct keys, ascending. (`np.unique` hashes: 2 s where this takes 0.1 s.)"""
    keys = np.sort(keys)
    return np.asarray(keys[np.append(True, keys[1:] != keys[:-1])])


def _lengths(people: People, tails: np.ndarray, heads: np.ndarray) -> Iterator[np.ndarray]:
    for places, cap in zip(people.places, people.caps, strict=True):
        yield np.minimum(np.abs(places[tails] - places[heads]), cap)
