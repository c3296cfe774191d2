"""Heuristics for k-concealment: greedy, lottery and TSP, as in the paper. Each makes k − 1 matchings beside the
identity.

Deviation from the paper: algorithm 1 as printed always finds the person itself, at distance zero. Here, edges that are
in use, the identity's included, are excluded from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from oboro._lazy import bring
from oboro.algorithms.concealment import kernels
from oboro.algorithms.concealment.design import Design, People, SimilarTiles
from oboro.errors import UsageError

__all__ = ["TOURS", "NoMatchingLeft", "annealed", "clustered", "clusters", "greedy", "lottery", "tsp"]


# Simulated annealing --------------------------------------------------------------------------------------------------
# The least edge cost is not the least information loss: a local search on the loss of the closures themselves.


NEIGHBOURS = 16
HOT, COLD = 0.05, 0.015  # temperatures, in parts of the mean distance of neighbours; 0.3 … 0.003 came out 3 % worse


def annealed(people: People, design: Design, effort: int, rng: np.random.Generator) -> Design:
    """Exchange near people between closures, `effort` times per person, so that the closures lose less.

    Everybody stays behind k released records and every record stays k people's; which of the k matchings is called the
    identity does not matter for the loss, so all edges may move.
    """
    n = len(people)
    count = min(n - 1, NEIGHBOURS)
    near = SimilarTiles(people).nearest(count)
    members = np.ascontiguousarray(design.members)
    places = np.ascontiguousarray(people.places.T)
    typical = people.cost(near.T) / near.size or 1.0
    state = rng.integers(0, 2**63, 1, dtype=np.uint64)
    kernels.anneal(places, people.caps, people.ordered, near, effort * n, HOT * typical, COLD * typical, state, members)
    return Design.of_members(members) if people.ncp(members) < people.ncp(design.members) else design


# Greedy, lottery, TSP -------------------------------------------------------------------------------------------------


RESTARTS = 200


class NoMatchingLeft(UsageError):
    """A heuristic found no further matching among so few people."""


def greedy(distances: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Run algorithm 1: in random order each person takes the nearest free one; on a dead end the matching starts again."""
    matchings, barred = _begin(len(distances))
    for number in range(1, k):
        for _ in range(RESTARTS):
            to = np.empty(len(distances), dtype=np.int64)
            if kernels.nearest_free(distances, rng.permutation(len(distances)), barred, to):
                break
        else:
            raise NoMatchingLeft(f"greedy met {RESTARTS} dead ends at matching {number + 1} of {k}; use method: exact")
        _add(to, matchings, barred)
    return np.array(matchings)


def lottery(distances: np.ndarray, k: int, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Run algorithm 2: of `draws` random matchings the cheapest."""
    matchings, barred = _begin(len(distances))
    state = rng.integers(0, 2**63, 1, dtype=np.uint64)
    for number in range(1, k):
        to = np.empty(len(distances), dtype=np.int64)
        if not kernels.draw(distances, barred, draws, state, to):
            raise NoMatchingLeft(f"lottery drew no matching {number + 1} of {k} among {len(distances)} people")
        _add(to, matchings, barred)
    return np.array(matchings)


def tsp(distances: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 3: the shortest of nine tours, then the same tour the other way round, then a tour of other edges …"""
    matchings, barred = _begin(len(distances))
    while len(matchings) < k:
        to = _shortest(distances, barred, rng)
        _add(to, matchings, barred)
        if len(matchings) < k:
            back = np.argsort(to)
            if barred[np.arange(back.size), back].any():
                raise NoMatchingLeft(f"a tour through {len(distances)} people has no other way round")
            _add(back, matchings, barred)
            barred |= barred.T
    return np.array(matchings)


def _begin(people: int) -> tuple[list[np.ndarray], np.ndarray]:
    return [np.arange(people)], np.eye(people, dtype=bool)


def _add(to: np.ndarray, matchings: list[np.ndarray], barred: np.ndarray) -> None:
    matchings.append(to)
    barred[np.arange(to.size), to] = True


# Tours ----------------------------------------------------------------------------------------------------------------

Tour = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _shortest(distances: np.ndarray, barred: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The shortest tour without barred edges, as a matching: everybody is sent to the next one."""
    apart = float(distances.max()) * len(distances) + 1.0  # a barred edge costs more than any tour
    lengths = np.where(barred | barred.T, apart, distances)
    best, least = None, apart
    for order in _tours(lengths, rng):
        cost = float(lengths[order, np.roll(order, -1)].sum())
        if cost < least:
            best, least = order, cost
    if best is None:
        raise NoMatchingLeft(f"no tour through {len(distances)} people is left")
    to = np.empty(best.size, dtype=np.int64)
    to[best] = np.roll(best, -1)
    return to


def _tours(lengths: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return (make(lengths, rng) for make in TOURS.values())


def _identity(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.arange(len(lengths))


def _random(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(len(lengths))


def _inserted(way: int) -> Tour:
    def make(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        tour = np.empty(len(lengths), dtype=np.int64)
        kernels.insertion(lengths, rng.permutation(len(lengths)), way, tour)
        return tour

    return make


def _cheapest(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    tour = np.empty(len(lengths), dtype=np.int64)
    kernels.cheapest_insertion(lengths, int(rng.integers(len(lengths))), tour)
    return tour


def _followed(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    tour = np.empty(len(lengths), dtype=np.int64)
    kernels.follow_nearest(lengths, int(rng.integers(len(lengths))), tour)
    return tour


def _repeated(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    tour, best, least = np.empty(len(lengths), dtype=np.int64), np.arange(len(lengths)), np.inf
    for start in range(len(lengths)):
        kernels.follow_nearest(lengths, start, tour)
        cost = float(lengths[tour, np.roll(tour, -1)].sum())
        if cost < least:
            best, least = tour.copy(), cost
    return best


def _turned(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    tour = rng.permutation(len(lengths))
    kernels.two_opt(lengths, tour)
    return tour


TOURS: dict[str, Tour] = {  # the nine of the paper's table 7, in its order
    "identity": _identity,
    "random": _random,
    "nearest insertion": _inserted(0),
    "cheapest insertion": _cheapest,
    "farthest insertion": _inserted(1),
    "arbitrary insertion": _inserted(2),
    "nn": _followed,
    "repetitive nn": _repeated,
    "two opt": _turned,
}


# Clustering -----------------------------------------------------------------------------------------------------------
# Divide and conquer: a heuristic inside every cluster of near people (the paper's algorithm 4, clusters by Ward).


def clusters(distances: np.ndarray, least: int) -> list[np.ndarray]:
    """Cut Ward's tree wherever both parts keep `least` people; better than one cut at the same height for all."""
    if len(distances) < 2 * least:
        return [np.arange(len(distances))]
    hierarchy, distance = bring("scipy.cluster.hierarchy"), bring("scipy.spatial.distance")
    open_, closed = [hierarchy.to_tree(hierarchy.ward(distance.squareform(distances, checks=False)))], []
    while open_:
        node = open_.pop()
        parts = (node.get_left(), node.get_right()) if not node.is_leaf() else ()
        if parts and min(part.get_count() for part in parts) >= least:
            open_ += parts
        else:
            closed.append(np.array(sorted(node.pre_order())))
    return closed


def clustered(
    heuristic: Callable[[np.ndarray], np.ndarray], distances: np.ndarray, k: int, larger: int = 12
) -> np.ndarray:
    """Join the matchings of all clusters; where a cluster is too small for the heuristic, all clusters get larger."""
    least = k
    while True:
        try:
            return _joined(heuristic, distances, clusters(distances, least), k)
        except NoMatchingLeft:
            if least >= len(distances) or least > k + larger:
                raise
            least += 1


def _joined(
    heuristic: Callable[[np.ndarray], np.ndarray], distances: np.ndarray, parts: list[np.ndarray], k: int
) -> np.ndarray:
    out = np.empty((k, len(distances)), dtype=np.int64)
    for part in parts:
        out[:, part] = part[heuristic(distances[np.ix_(part, part)])]
    return out
