"""Round trips through all people, and matchings at random: the paper's heuristics on a matrix of distances.

A tour is an order of the people; the last one returns to the first.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.chance import coin

__all__ = ["cheapest_insertion", "draw", "follow_nearest", "insertion", "nearest_free", "two_opt"]


@kernel()
def follow_nearest(distances: np.ndarray, start: int, tour: np.ndarray) -> None:
    """From a start always on to the nearest person who was not visited yet."""
    people = tour.size
    free = np.ones(people, dtype=np.bool_)
    here = start
    for step in range(people):
        tour[step] = here
        free[here] = False
        best, length = -1, np.inf
        for other in range(people):
            if free[other] and distances[here, other] < length:
                best, length = other, distances[here, other]
        here = best


@kernel()
def insertion(distances: np.ndarray, order: np.ndarray, way: int, tour: np.ndarray) -> None:
    """Grow a tour person by person, each where it lengthens the tour least.

    Who is next: the nearest to the tour (way 0), the farthest from it (1), or as in `order` (2). `order[0]` begins.
    """
    people = tour.size
    following = np.full(people, -1, dtype=np.int64)
    away = np.full(people, np.inf)
    here = order[0]
    following[here] = here
    for step in range(people):
        if step > 0:
            here = order[step] if way == 2 else _next(away, following, way)
            _insert(distances, here, order[0], following)
        for other in range(people):
            away[other] = min(away[other], distances[here, other])
    _unroll(order[0], following, tour)


@kernel(inner=True)
def _next(away: np.ndarray, following: np.ndarray, way: int) -> int:
    best, score = -1, np.inf
    for other in range(away.size):
        if following[other] < 0:
            value = away[other] if way == 0 else -away[other]
            if value < score:
                best, score = other, value
    return best


@kernel(inner=True)
def _insert(distances: np.ndarray, one: int, start: int, following: np.ndarray) -> None:
    place, _ = _best_place(distances, one, start, following)
    following[one] = following[place]
    following[place] = one


@kernel(inner=True)
def _unroll(start: int, following: np.ndarray, tour: np.ndarray) -> None:
    here = start
    for step in range(tour.size):
        tour[step] = here
        here = following[here]


@kernel()
def cheapest_insertion(distances: np.ndarray, start: int, tour: np.ndarray) -> None:
    """Grow a tour by whoever lengthens it least. Each remembers its best place, and looks again only if that is gone."""
    people = tour.size
    following = np.full(people, -1, dtype=np.int64)
    following[start] = start
    place = np.full(people, start, dtype=np.int64)
    growth = np.empty(people)
    for other in range(people):
        growth[other] = 2 * distances[start, other]
    for _ in range(people - 1):
        best = -1
        for other in range(people):
            if following[other] < 0 and (best < 0 or growth[other] < growth[best]):
                best = other
        before = place[best]
        on = following[before]
        following[before], following[best] = best, on
        for other in range(people):
            if following[other] >= 0:
                continue
            if place[other] == before:
                place[other], growth[other] = _best_place(distances, other, start, following)
                continue
            for here, there in ((before, best), (best, on)):
                more = distances[here, other] + distances[other, there] - distances[here, there]
                if more < growth[other]:
                    place[other], growth[other] = here, more
    _unroll(start, following, tour)


@kernel(inner=True)
def _best_place(distances: np.ndarray, one: int, start: int, following: np.ndarray) -> tuple[int, float]:
    """After whom somebody lengthens the tour least, and by how much."""
    place, growth, here = start, np.inf, start
    while True:
        on = following[here]
        more = distances[here, one] + distances[one, on] - distances[here, on]
        if more < growth:
            place, growth = here, more
        here = on
        if here == start:
            return place, growth


@kernel()
def two_opt(distances: np.ndarray, tour: np.ndarray) -> None:
    """Turn a part of the tour round wherever that shortens it, until no such part is left."""
    people = tour.size
    better = True
    while better:
        better = False
        for i in range(people - 1):
            for j in range(i + 2, people):
                a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % people]
                if a == d:
                    continue
                gain = distances[a, b] + distances[c, d] - distances[a, c] - distances[b, d]
                if gain > 1e-10:
                    low, high = i + 1, j
                    while low < high:
                        tour[low], tour[high] = tour[high], tour[low]
                        low += 1
                        high -= 1
                    better = True


@kernel()
def nearest_free(distances: np.ndarray, order: np.ndarray, barred: np.ndarray, to: np.ndarray) -> bool:
    """Send everybody, in this order, to the nearest one that is free and not barred; False: someone found none."""
    free = np.ones(order.size, dtype=np.bool_)
    for i in order:
        best, length = -1, np.inf
        for j in range(order.size):
            if free[j] and not barred[i, j] and distances[i, j] < length:
                best, length = j, distances[i, j]
        if best < 0:
            return False
        free[best] = False
        to[i] = best
    return True


@kernel()
def draw(distances: np.ndarray, barred: np.ndarray, draws: int, state: np.ndarray, best: np.ndarray) -> bool:
    """The cheapest of `draws` random matchings without barred edges; False: none was found.

    A barred edge is exchanged with that of a random other person until none is left. (Drawing anew until no edge is barred,
    as printed, would take e^(k−1) times as long.)
    """
    people = best.size
    to = np.arange(people)
    least = np.inf
    for _ in range(draws):
        for i in range(people - 1, 0, -1):
            j = int(coin(state) % np.uint64(i + 1))
            to[i], to[j] = to[j], to[i]
        if not _mend(barred, state, to):
            continue
        cost = 0.0
        for i in range(people):
            cost += distances[i, to[i]]
        if cost < least:
            least = cost
            best[:] = to
    return least < np.inf


@kernel(inner=True)
def _mend(barred: np.ndarray, state: np.ndarray, to: np.ndarray) -> bool:
    people = to.size
    for i in range(people):
        tries = 0
        while barred[i, to[i]]:
            j = int(coin(state) % np.uint64(people))
            if not barred[i, to[j]] and (j > i or not barred[j, to[i]]):
                to[i], to[j] = to[j], to[i]
            tries += 1
            if tries > 50 * people:
                return False
    return True
