"""Exchange people between closures until these lose little: simulated annealing on the loss that is published."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.chance import coin

__all__ = ["anneal", "change", "loss"]


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
def change(
    places: np.ndarray, caps: np.ndarray, ordered: np.ndarray, members: np.ndarray, slot: int, comer: int
) -> float:
    """How much more a closure loses if the person in one slot makes room for another."""
    total = 0.0
    goer = members[slot]
    for a in range(caps.size):
        old, new = places[goer, a], places[comer, a]
        if old == new:
            continue
        if ordered[a]:
            low, high, least, most = old, old, new, new
            for s in range(members.size):
                if s != slot:
                    value = places[members[s], a]
                    low, high, least, most = min(low, value), max(high, value), min(least, value), max(most, value)
            total += min(most - least, caps[a]) - min(high - low, caps[a])
        else:
            stays, known = False, False
            for s in range(members.size):
                if s != slot:
                    value = places[members[s], a]
                    stays |= value == old
                    known |= value == new
            total += caps[a] * (int(stays) - int(known))
    return total


@kernel(inner=True)
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
) -> float:
    """Exchange a person of one closure with a near person of another, `moves` times, from temperature `hot` to `cold`.

    `members[j]` are the people of closure j; everybody stays in as many closures, in none of them twice. Who comes is near
    to someone who is there. Returns how much less the closures lose. O(attributes · k) per move, and only for those
    attributes in which the two people differ.
    """
    people, k = members.shape
    where = np.empty((people, k), dtype=np.int64)  # the closures of each person
    filled = np.zeros(people, dtype=np.int64)
    gained = 0.0
    for j in range(people):
        for m in members[j]:
            where[m, filled[m]] = j
            filled[m] += 1
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
        limit = -heat * np.log(1.0 - _uniform(state))
        worse = change(places, caps, ordered, members[j], out, wanted)
        worse += change(places, caps, ordered, members[there], slot, leaver)
        if worse > limit:
            continue
        members[j, out], members[there, slot] = wanted, leaver
        gained -= worse
        _moved(where[wanted], there, j)
        _moved(where[leaver], j, there)
    return gained


@kernel(inner=True)
def _in(members: np.ndarray, wanted: int) -> bool:
    for m in members:  # noqa: SIM110  (numba knows no any() over a generator)
        if m == wanted:
            return True
    return False


@kernel(inner=True)
def _moved(where: np.ndarray, before: int, after: int) -> None:
    for s in range(where.size):
        if where[s] == before:
            where[s] = after
            return
