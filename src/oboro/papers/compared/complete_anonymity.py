"""Complete k-anonymity by the same costs, to compare with: everybody in a group of exactly k who look alike.

As a design: within a group everybody has an edge to everybody, so the cost of a group is twice the sum over its pairs.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.concealment.design import Design
from oboro.decide.concealment.kernels import tours
from oboro.errors import UsageError
from oboro.system.extras import bring
from oboro.text import Message

__all__ = ["greedy_groups", "group_design", "optimal_pairs"]


def greedy_groups(distances: np.ndarray, k: int, rng: np.random.Generator) -> list[np.ndarray]:
    """In random order everybody still free takes the k − 1 nearest who are free; `k` must divide the people."""
    people = _divisible(len(distances), k)
    free, groups = np.ones(people, dtype=bool), []
    for one in rng.permutation(people):
        if free[one]:
            rest = np.flatnonzero(free & (np.arange(people) != one))
            near = rest[np.argsort(distances[one, rest], kind="stable")[: k - 1]]
            groups.append(np.append(near, one))
            free[groups[-1]] = False
    return groups


def optimal_pairs(distances: np.ndarray) -> list[np.ndarray]:
    """The cheapest complete 2-anonymity: a minimum-weight perfect matching of the people themselves.

    Edmonds' polytope by cutting planes (Grötschel & Holland 1985): solve over edges between near people, cut off odd
    sets that keep to themselves, and let branch and bound decide what is left.
    """
    people = _divisible(len(distances), 2)
    if people < 4:
        return [np.arange(people)] if people else []
    one, other = np.triu_indices(people, 1)
    kept = _worthwhile(distances, one, other)
    one, other = one[kept], other[kept]
    cuts: list[np.ndarray] = []
    while True:
        share = _solve(distances[one, other], one, other, people, cuts, whole=False)
        odd = _odd_sets(share, one, other, people)
        if not odd:
            break
        cuts += odd
    if np.abs(share - np.rint(share)).max() > 1e-6:
        share = _solve(distances[one, other], one, other, people, cuts, whole=True)
    taken = share > 0.5
    return [np.array(pair) for pair in zip(one[taken], other[taken], strict=True)]


def _worthwhile(distances: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Edges that an optimum can hold: those that cost no more than a good solution exceeds the fractional bound.

    Each person's nearest neighbour bounds every solution from below, by half its distance for each of the two ends.
    """
    people = len(distances)
    tour = np.empty(people, dtype=np.int64)
    tours.follow_nearest(distances, 0, tour)
    tours.two_opt(distances, tour)
    lengths = distances[tour, np.roll(tour, -1)]
    best = min(lengths[::2].sum(), lengths[1::2].sum())
    nearest = np.where(np.eye(people, dtype=bool), np.inf, distances).min(axis=1)
    excess = distances[one, other] - (nearest[one] + nearest[other]) / 2
    return np.asarray(excess <= best - nearest.sum() / 2 + 1e-9)


def _solve(
    costs: np.ndarray, one: np.ndarray, other: np.ndarray, people: int, cuts: list[np.ndarray], whole: bool
) -> np.ndarray:
    optimize, csr_array = bring("scipy.optimize"), bring("scipy.sparse").csr_array
    edges = np.arange(costs.size)
    degree = csr_array(
        (np.ones(2 * costs.size), (np.concatenate([one, other]), np.concatenate([edges, edges]))),
        shape=(people, costs.size),
    )
    rules = [optimize.LinearConstraint(degree, 1, 1)]
    if cuts:
        leaving = np.array([np.isin(one, part) != np.isin(other, part) for part in cuts], dtype=float)
        rules.append(optimize.LinearConstraint(csr_array(leaving), 1, np.inf))
    solved = optimize.milp(
        costs, constraints=rules, bounds=optimize.Bounds(0, 1), integrality=np.full(costs.size, int(whole))
    )
    assert solved.x is not None, solved.message
    return np.asarray(solved.x)


def _odd_sets(share: np.ndarray, one: np.ndarray, other: np.ndarray, people: int) -> list[np.ndarray]:
    """Odd components of what is in use: nobody there is matched with anybody outside, so one must be."""
    csr_array = bring("scipy.sparse").csr_array
    connected_components = bring("scipy.sparse.csgraph").connected_components
    used = share > 1e-6
    graph = csr_array((np.ones(used.sum()), (one[used], other[used])), shape=(people, people))
    count, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels, minlength=count)
    return [np.flatnonzero(labels == part) for part in np.flatnonzero(sizes % 2)]


def group_design(groups: list[np.ndarray]) -> Design:
    """Groups of k as a design: the c-th matching sends everybody c places on within the group."""
    k, people = len(groups[0]), sum(map(len, groups))
    matchings = np.empty((k, people), dtype=np.int64)
    for group in groups:
        for c in range(k):
            matchings[c, group] = np.roll(group, -c)
    return Design(matchings)


def _divisible(people: int, k: int) -> int:
    if people % k:
        raise UsageError(Message("error_bench.no_multiple", people=people, k=k))
    return people
