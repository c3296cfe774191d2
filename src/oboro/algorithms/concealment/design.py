"""Design of a k-concealment release: k perfect matchings between people and released records, no edge in two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from oboro._lazy import bring
from oboro.algorithms.concealment import kernels
from oboro.algorithms.concealment.kernels import TILE
from oboro.algorithms.partitioning.records import ranks
from oboro.data.column import Column
from oboro.errors import ColumnError, UsageError
from oboro.text import Message

__all__ = ["LARGEST_MATRIX", "Design", "Objective", "People", "SimilarTiles", "Tiles"]


ROUNDS = 8  # how often, on average, every pair of matchings is mixed


@dataclass(frozen=True, eq=False)
class Design:
    """`matchings[c, i]`: the released record to which matching c sends person i. The first one is the identity, until
    they are mixed."""

    matchings: np.ndarray

    @staticmethod
    def of_arcs(people: int, tails: np.ndarray, heads: np.ndarray) -> Design:
        """Build a design from the arcs of a regular graph without self-edges, with the identity first."""
        return Design(np.vstack([np.arange(people), split(people, tails, heads)]))

    @staticmethod
    def of_members(members: np.ndarray) -> Design:
        """Build a design from the people behind each released record, if everybody is behind equally many."""
        people, k = members.shape
        return Design(split(people, members.ravel(), np.repeat(np.arange(people), k)))

    @property
    def k(self) -> int:
        """Number of matchings."""
        return len(self.matchings)

    @property
    def members(self) -> np.ndarray:
        """For each released record the k people that may be behind it, one column per matching."""
        out = np.empty_like(self.matchings)
        for to, back in zip(self.matchings, out, strict=True):
            back[to] = np.arange(to.size)
        return out.T

    def mixed(self, rng: np.random.Generator) -> Design:
        """Split the same edges into matchings at random: Kempe chains over random pairs of matchings."""
        to = self.matchings.copy()
        back = np.ascontiguousarray(self.members.T)
        pairs = np.sort(rng.integers(0, self.k, (ROUNDS * self.k * self.k, 2)), axis=1)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        kernels.mix(pairs, rng.integers(0, 2**63, 1, dtype=np.uint64), to, back)
        return Design(to)

    def is_complete(self) -> bool:
        """Return whether all are matchings and no edge is in two of them (definition 2.6)."""
        numbers = np.arange(self.matchings.shape[1])
        ordered = np.sort(self.members, axis=1)
        return bool((np.sort(self.matchings, axis=1) == numbers).all() and (np.diff(ordered, axis=1) > 0).all())


def split(people: int, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Split a regular bipartite graph into perfect matchings: König's theorem guarantees each next one."""
    csr_array = bring("scipy.sparse").csr_array
    maximum_bipartite_matching = bring("scipy.sparse.csgraph").maximum_bipartite_matching
    left = csr_array((np.ones(tails.size, dtype=np.int8), (tails, heads)), shape=(people, people))
    matchings = []
    while left.nnz:
        to = maximum_bipartite_matching(left, perm_type="column").astype(np.int64)
        assert (to >= 0).all(), "the graph is not regular"
        matchings.append(to)
        taken = csr_array((np.ones(people, dtype=np.int8), (np.arange(people), to)), shape=left.shape)
        left = csr_array(left - taken)
        left.eliminate_zeros()
    return np.array(matchings, dtype=np.int64).reshape(-1, people)


# People and distances -------------------------------------------------------------------------------------------------
# People as one place per attribute, with the distance of the paper's section 2.1.


Objective = Literal["cost", "ncp"]

LARGEST_MATRIX = 20_000  # people; their distances take 3.2 GB


@dataclass(frozen=True, eq=False)
class People:
    """One place per attribute and person, and what an attribute counts at most: distance = Σ min(|x − y|, cap).

    A number counts the part of its range that lies between two people, two different categories count one whole attribute
    (`cost`, the paper's distance) or what the pair loses of the domain (`ncp`). A number and a missing one are a whole
    attribute apart. Categories stand two caps apart, so that the one formula serves both.
    """

    places: np.ndarray  # attributes × people
    caps: np.ndarray
    ordered: np.ndarray  # which attributes are numbers

    @staticmethod
    def of(
        columns: Mapping[str, Column],
        *,
        categorical: frozenset[str] = frozenset(),
        weights: Mapping[str, float] | None = None,
        objective: Objective = "cost",
    ) -> People:
        """Build people from encoded columns. Columns that hold no numbers are categories in any case."""
        rows = len(next(iter(columns.values())))
        places, caps = np.empty((len(columns), rows)), np.empty(len(columns))
        ordered = np.array([column.kind.numeric and name not in categorical for name, column in columns.items()])
        for a, (name, column) in enumerate(columns.items()):
            weight = (weights or {}).get(name, 1.0)
            if ordered[a]:
                places[a] = _line(name, column, weight)[column.codes]
                caps[a] = weight
            else:
                caps[a] = weight if objective == "cost" else weight / max(1, len(column.values) - 1)
                places[a] = 2 * caps[a] * ranks(column)[column.codes]
        return People(places, caps, ordered)

    def __len__(self) -> int:
        return int(self.places.shape[1])

    @cached_property
    def distances(self) -> np.ndarray:
        """All distances, people × people; for the heuristics, which read all of them again and again."""
        if len(self) > LARGEST_MATRIX:
            raise UsageError(Message("error_decide.too_many_people", people=len(self), most=LARGEST_MATRIX))
        out = np.empty((len(self), len(self)))
        kernels.matrix(self.places, self.caps, out)
        return out

    def cost(self, matchings: np.ndarray) -> float:
        """Return the paper's cost of a design (definition 2.8): the sum of the distances along all its edges."""
        total = 0.0
        for to in matchings:
            for places, cap in zip(self.places, self.caps, strict=True):
                total += float(np.minimum(np.abs(places - places[to]), cap).sum())
        return total

    def ncp(self, members: np.ndarray) -> float:
        """Return the mean part of an attribute's domain that a closure of `members` (one row each) leaves open, 0 … 1.

        Only for people measured by the objective `ncp`, with weights that count as they are.
        """
        losses = np.empty((len(self.caps), len(members)))
        for a, (places, cap) in enumerate(zip(self.places, self.caps, strict=True)):
            held = np.sort(places[members], axis=1)
            if self.ordered[a]:
                losses[a] = np.minimum(held[:, -1] - held[:, 0], cap)
            else:
                losses[a] = cap * np.count_nonzero(np.diff(held, axis=1), axis=1)
        return float(losses.mean())


def _line(name: str, column: Column, weight: float) -> np.ndarray:
    """Per dictionary entry its place: the range of the numbers spans one weight, a missing one lies far off."""
    numbers = column.numbers(name)
    present = ~np.isnan(numbers)
    if np.isinf(numbers[present]).any():
        raise ColumnError(Message("error_decide.infinite_value", name=name))
    low, high = (numbers[present].min(), numbers[present].max()) if present.any() else (0.0, 0.0)
    if high > np.finfo(np.float64).max / 2 or low < np.finfo(np.float64).min / 2:
        numbers, low, high = numbers / 4, low / 4, high / 4  # else their difference might overflow
    places = (numbers - low) / (high - low) * weight if high > low else np.zeros(numbers.size)
    return np.where(present, np.minimum(places, weight), -2 * weight)


# Tiles of similar people ----------------------------------------------------------------------------------------------
# Tiles of similar people. The distance from a person to a whole tile has a lower bound that is quick to compute, and
# most tiles are ruled out by it.
#
# All pairs have to be compared, yet nearly all of them are far apart. Adult, 48,842 people in 764 tiles: a tile is
# ruled out in some nanoseconds, and 89 % of them are. All passes over the pairs take a third of the time. What lost:
# tiles formed without regard to prices (a single receiver of high price makes its tile a candidate for everybody: 17
# instead of 11 % are searched), 32 people a tile (7 %, but twice as many to rule out), splitting on the attribute of
# largest spread again and again instead of sorting (12 %, and longer to make).


@dataclass(frozen=True, eq=False)
class Tiles:
    """All people in one order, some people a tile, with the least and the greatest place of each tile and attribute."""

    order: np.ndarray
    places: np.ndarray
    """Tiles × attributes × people; the last person fills the last tile."""
    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(places: np.ndarray, order: np.ndarray) -> Tiles:
        """Build tiles from places (attributes × people), in the precision that these have. O(attributes · people)."""
        filled = np.concatenate([order, np.repeat(order[-1:], -order.size % TILE)])
        moved = places[:, filled].reshape(places.shape[0], -1, TILE)
        return Tiles(order, np.ascontiguousarray(moved.transpose(1, 0, 2)), moved.min(axis=2), moved.max(axis=2))

    def dearest(self, worth: np.ndarray) -> np.ndarray:
        """Return the greatest worth of a person in each tile."""
        return np.asarray(np.maximum.reduceat(worth[self.order], np.arange(0, self.order.size, TILE)))


@dataclass(frozen=True, eq=False)
class SimilarTiles:
    """Tiles of people who are alike, and worth about as much."""

    people: People

    @cached_property
    def alike(self) -> np.ndarray:
        """Everybody, those who agree on the attributes that count most next to each other: categories first. O(people · log)."""
        people = self.people
        told = [cap * _entropy(places) for places, cap in zip(people.places, people.caps, strict=True)]
        last = sorted(range(people.caps.size), key=lambda a: (not people.ordered[a], told[a]))
        return np.lexsort([people.places[a] for a in last])

    def nearest(self, count: int) -> np.ndarray:
        """Return the nearest others of each person, one row each. O(people² · attributes) at worst."""
        tiles = Tiles.of(self.people.places.astype(np.float32), self.alike)
        near = np.empty((len(self.people), count), dtype=np.int64)
        kernels.nearest(tiles.places, self.people.caps.astype(np.float32), tiles.order, tiles.low, tiles.high, near)
        return near

    def by_worth(self, worth: np.ndarray) -> np.ndarray:
        """The same among people whose worth differs by less than half an attribute."""
        step = float(self.people.caps.max(initial=0.0)) / 2 or 1.0
        level = np.floor((worth.max(initial=0.0) - worth) / step)
        return np.asarray(self.alike[np.argsort(level[self.alike], kind="stable")])


def _entropy(places: np.ndarray) -> float:
    _, counts = np.unique(places, return_counts=True)
    shares = counts / places.size
    return float(-(shares * np.log(shares)).sum())
