"""The blueprint of a release: k matchings between people and released records, no edge in two of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oboro.decide.concealment.kernels import matchings
from oboro.system.extras import bring

__all__ = ["Design"]

ROUNDS = 8  # how often, on average, every pair of matchings is mixed


@dataclass(frozen=True, eq=False)
class Design:
    """`matchings[c, i]`: the released record to which matching c sends person i. The first one is the identity, until
    they are mixed."""

    matchings: np.ndarray

    @staticmethod
    def of_arcs(people: int, tails: np.ndarray, heads: np.ndarray) -> Design:
        """From the arcs of a regular graph without self-edges, with the identity first."""
        return Design(np.vstack([np.arange(people), split(people, tails, heads)]))

    @staticmethod
    def of_members(members: np.ndarray) -> Design:
        """From the people behind each released record, if everybody is behind equally many."""
        people, k = members.shape
        return Design(split(people, members.ravel(), np.repeat(np.arange(people), k)))

    @property
    def k(self) -> int:
        """How many matchings."""
        return len(self.matchings)

    @property
    def members(self) -> np.ndarray:
        """For each released record the k people that may be behind it, one column per matching."""
        out = np.empty_like(self.matchings)
        for to, back in zip(self.matchings, out, strict=True):
            back[to] = np.arange(to.size)
        return out.T

    def mixed(self, rng: np.random.Generator) -> Design:
        """The same edges, split into matchings at random: Kempe chains over random pairs of matchings."""
        to = self.matchings.copy()
        back = np.ascontiguousarray(self.members.T)
        pairs = np.sort(rng.integers(0, self.k, (ROUNDS * self.k * self.k, 2)), axis=1)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        matchings.mix(pairs, rng.integers(0, 2**63, 1, dtype=np.uint64), to, back)
        return Design(to)

    def is_complete(self) -> bool:
        """Whether all are matchings and no edge is in two of them (definition 2.6)."""
        numbers = np.arange(self.matchings.shape[1])
        ordered = np.sort(self.members, axis=1)
        return bool((np.sort(self.matchings, axis=1) == numbers).all() and (np.diff(ordered, axis=1) > 0).all())


def split(people: int, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The perfect matchings into which a regular bipartite graph splits: König promises each next one."""
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
