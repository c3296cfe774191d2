"""Exchange people between closures until these lose little: simulated annealing on the loss that is published."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.mixing import coin

__all__ = ["anneal", "loss"]


@kernel()
def loss(places: np.ndarray, caps: np.ndarray, ordered: np.ndarray, members: np.ndarray) -> float:
    """What the closure of some people leaves open: the range of numbers, one cap for each further category.

    `places` is people × attributes here: one person's attributes lie together.
    """
    total = 0.0
    for a in range(caps.size):
        if ordered[a]:
            low = high = places[members[0], a]
            for m in members[1:]:
                low, high = min(low, places[m, a]), max(high, places[m, a])
            total += min(high - low, caps[a])
        else:
            for s in range(1, members.size):
                new = True
                for t in range(s):
                    if places[members[t], a] == places[members[s], a]:
                        new = False
                        break
                if new:
                    total += caps[a]
    return total


@kernel()
def _uniform(state: np.ndarray) -> float:
    return (coin(state) >> np.uint64(11)) * 2.0**-53


@kernel()
def anneal(
    places: np.ndarray,
    caps: np.ndarray,
    ordered: np.ndarray,
    near: np.ndarray,
    moves: int,
    hot: float,
    cold: float,
    state: np.ndarray,
    members: np.ndarray,
) -> None:
    """Exchange a person of one closure with a near person of another, `moves` times, from temperature `hot` to `cold`.

    `members[j]` are the people of closure j; everybody stays in as many closures, in none of them twice. A third of the
    exchanges want an own neighbour's place, so that nearly all proposals are between like people.
    """
    people, k = members.shape
    where = np.empty((people, k), dtype=np.int64)  # the closures of each person
    filled = np.zeros(people, dtype=np.int64)
    losses = np.empty(people)
    for j in range(people):
        losses[j] = loss(places, caps, ordered, members[j])
        for m in members[j]:
            where[m, filled[m]] = j
            filled[m] += 1
    one, other = np.empty(k, dtype=members.dtype), np.empty(k, dtype=members.dtype)
    cooling = (cold / hot) ** (1.0 / max(1, moves))
    heat = hot
    for _ in range(moves):
        heat *= cooling
        j = int(coin(state) % np.uint64(people))
        out = int(coin(state) % np.uint64(k))
        keeper = members[j, int(coin(state) % np.uint64(k))]
        wanted = near[keeper, int(coin(state) % np.uint64(near.shape[1]))]
        there = where[wanted, int(coin(state) % np.uint64(k))]
        leaver = members[j, out]
        if there == j or leaver == wanted or _in(members[j], wanted) or _in(members[there], leaver):
            continue
        slot = 0
        while members[there, slot] != wanted:
            slot += 1
        one[:], other[:] = members[j], members[there]
        one[out], other[slot] = wanted, leaver
        first, second = loss(places, caps, ordered, one), loss(places, caps, ordered, other)
        worse = first + second - losses[j] - losses[there]
        if worse > 0 and _uniform(state) >= np.exp(-worse / heat):
            continue
        members[j, out], members[there, slot] = wanted, leaver
        losses[j], losses[there] = first, second
        _moved(where[wanted], there, j)
        _moved(where[leaver], j, there)


@kernel()
def _in(members: np.ndarray, wanted: int) -> bool:
    for m in members:  # noqa: SIM110  (numba knows no any() over a generator)
        if m == wanted:
            return True
    return False


@kernel()
def _moved(where: np.ndarray, before: int, after: int) -> None:
    for s in range(where.size):
        if where[s] == before:
            where[s] = after
            return
