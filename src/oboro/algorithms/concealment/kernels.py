"""Kernels of k-concealment: closure loss and annealing, matchings, costs of pairs, tours, minimum-cost transport.

The transportation problem: send `supply` units from every person to others, at most one along each arc, at the least
cost.

Costs and prices are whole numbers, so that nothing depends on rounding. With `sender` and `receiver` prices, the
reduced cost of an arc is cost − sender[i] − receiver[j]. A choice of arcs is optimal among the given arcs if every used
arc has a reduced cost of at most zero, every other one of at least zero, and everybody receives as much as they send.

`settle` keeps the first two conditions for any receivers' prices by choosing each sender's cheapest arcs; `balance`
then moves surplus units along shortest paths to receivers that lack some (successive shortest paths, Ahuja, Magnanti &
Orlin, "Network Flows", 1993, section 9.7). Good prices leave few units to move, over short paths: `auction` finds such
prices.
"""

from __future__ import annotations

import heapq

import numpy as np

from oboro.kernels.distances import between
from oboro.kernels.jit import coin, kernel, prange

__all__ = [
    "TILE",
    "anneal",
    "auction",
    "balance",
    "change",
    "cheapest_insertion",
    "draw",
    "follow_nearest",
    "insertion",
    "loss",
    "matrix",
    "mix",
    "nearest",
    "nearest_free",
    "priced",
    "settle",
    "two_opt",
    "underpriced",
    "unproved",
]


# Closure loss and annealing -------------------------------------------------------------------------------------------
# Exchange people between closures to reduce their information loss: simulated annealing on the loss that is published.


@kernel()
def loss(places: np.ndarray, caps: np.ndarray, ordered: np.ndarray, members: np.ndarray) -> float:
    """Information loss of the closure of some people: the range of numbers, one cap for each further category.

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
    """Increase of a closure's loss if the person in one slot is replaced by another."""
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


# Mixing matchings -----------------------------------------------------------------------------------------------------
# Mix the matchings of a design by Kempe chains.


@kernel()
def mix(pairs: np.ndarray, state: np.ndarray, to: np.ndarray, back: np.ndarray) -> None:
    """Mix pairs of matchings in turn: for every cycle that the two form, exchange their edges or not, by a coin.

    `to[c, i]` is where matching c sends i, `back[c, j]` whom it sends to j. Both stay matchings, the edges stay the same.
    """
    people = to.shape[1]
    seen = np.empty(people, dtype=np.bool_)
    cycle = np.empty(people, dtype=np.int64)
    for p in range(pairs.shape[0]):
        one, other = pairs[p, 0], pairs[p, 1]
        seen[:] = False
        for start in range(people):
            length, i = 0, start
            while not seen[i]:
                seen[i] = True
                cycle[length] = i
                length += 1
                i = back[other, to[one, i]]
            if length == 0 or coin(state) >> np.uint64(63) == 0:
                continue
            for i in cycle[:length]:
                first, second = to[one, i], to[other, i]
                to[one, i], to[other, i] = second, first
            for i in cycle[:length]:
                back[one, to[one, i]], back[other, to[other, i]] = i, i


# Nearest neighbours and costs of pairs --------------------------------------------------------------------------------
# Nearest people, and the pairs whose cost is too low to be left out: all pairs, a tile of similar people at a time.
#
# A person is one place per attribute, and an attribute counts at most its cap: the distance of two people is Σ min(|x −
# y|, cap). Numbers lie within one cap of each other; categories, and a missing number, lie two caps apart, so that any
# two different ones are exactly one cap apart. One formula without branches lets the processor take eight pairs at
# once.
#
# Single precision selects pairs, double precision decides about them. People come in the `order` of `SimilarTiles`, as
# `tiles` (tiles × attributes × people; the last person fills the last one); `low` and `high` are the ends of each tile
# (attributes × tiles). A tile that is too far as a whole is skipped.


TILE = 64  # people who are ruled out together
HOME = 64  # people who are looked at one after the other, because they look into the same tiles
ROUNDED = 4096.0  # more than whole numbers up to 2⁶⁰ can be off as floating-point numbers, a few times


@kernel(parallel=True)
def matrix(places: np.ndarray, caps: np.ndarray, out: np.ndarray) -> None:
    """Compute all distances, people × people."""
    for i in prange(places.shape[1]):
        for j in range(places.shape[1]):
            out[i, j] = between(places, caps, i, j)


@kernel(inner=True)
def _block(tile: np.ndarray, caps: np.ndarray, mine: np.ndarray, out: np.ndarray) -> None:
    """Distances of one person to those of a tile (attributes × people), attribute by attribute."""
    for p in range(TILE):
        out[p] = 0.0
    for a in range(caps.size):
        here, cap = mine[a], caps[a]
        for p in range(TILE):
            out[p] += min(abs(tile[a, p] - here), cap)


@kernel(inner=True)
def _apart(mine: np.ndarray, caps: np.ndarray, low: np.ndarray, high: np.ndarray, out: np.ndarray) -> None:
    """How far one person is from everybody in each tile, at least. Roundings are monotone: `_block` says no less of anybody."""
    for t in range(out.size):
        out[t] = 0.0
    for a in range(caps.size):
        here, cap = mine[a], caps[a]
        least, most, nothing = low[a], high[a], here - here
        for t in range(out.size):
            out[t] += min(max(max(least[t] - here, here - most[t]), nothing), cap)


@kernel(inner=True)
def _taken(tiles: np.ndarray, one: int, out: np.ndarray) -> None:
    """The places of one person."""
    for a in range(out.size):
        out[a] = tiles[one // TILE, a, one % TILE]


@kernel(parallel=True)
def nearest(
    tiles: np.ndarray, caps: np.ndarray, order: np.ndarray, low: np.ndarray, high: np.ndarray, near: np.ndarray
) -> None:
    """Find the nearest others of each person, into the columns of `near`.

    Of equally near ones those that follow first in a circle of all people: within a group of like people everybody is then
    near to equally many, where "the first ones" would make a few of them everybody's neighbours.
    """
    for home in prange(-(-order.size // HOME)):
        _nearest(tiles, caps, order, low, high, np.int64(home), near)


@kernel(inner=True)
def _nearest(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    home: int,
    near: np.ndarray,
) -> None:
    """Find the nearest others, as `nearest` does, for the n-th `HOME` people; their own tile comes first, and then the
    following ones.
    """
    people, count, mine = order.size, near.shape[1], np.empty(caps.size, dtype=tiles.dtype)
    far, distances = np.empty(len(tiles), dtype=tiles.dtype), np.empty(TILE, dtype=tiles.dtype)
    best = np.empty(count, dtype=tiles.dtype)
    for one in range(home * HOME, min(people, (home + 1) * HOME)):
        best[:] = np.inf
        i = order[one]
        _taken(tiles, one, mine)
        _apart(mine, caps, low, high, far)
        for turn in range(len(tiles)):
            t = (one // TILE + turn) % len(tiles)
            if far[t] > best[count - 1]:
                continue
            _block(tiles[t], caps, mine, distances)
            for p in range(min(TILE, people - t * TILE)):
                if distances[p] <= best[count - 1] and t * TILE + p != one:
                    _insert(distances[p], order[t * TILE + p], i, people, best, near[i])


@kernel(inner=True)
def _behind(other: int, own: int, people: int) -> int:
    """How many steps somebody follows in the circle."""
    return other - own if other > own else other - own + people


@kernel(inner=True)
def _insert(distance: float, other: int, own: int, people: int, best: np.ndarray, near: np.ndarray) -> None:
    """Keep the nearest; of equally near ones those that follow `own` first."""
    at, steps = best.size, _behind(other, own, people)
    while at > 0 and (
        distance < best[at - 1] or (distance == best[at - 1] and steps < _behind(near[at - 1], own, people))
    ):
        at -= 1
    for later in range(best.size - 1, at, -1):
        best[later], near[later] = best[later - 1], near[later - 1]
    if at < best.size:
        best[at], near[at] = distance, other


@kernel(parallel=True)
def priced(
    places: np.ndarray, caps: np.ndarray, scale: float, starts: np.ndarray, heads: np.ndarray, out: np.ndarray
) -> None:
    """The cost of each arc in whole units of 1 / scale; `starts` and `heads` are the arcs by sender."""
    for i in prange(starts.size - 1):
        for arc in range(starts[i], starts[i + 1]):
            out[arc] = np.int64(np.rint(between(places, caps, i, heads[arc]) * scale))


@kernel(inner=True)
def _underpriced(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    exact: np.ndarray,
    exact_caps: np.ndarray,
    scale: float,
    asked: np.ndarray,
    home: int,
    sender: np.ndarray,
    receiver: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    slack: int,
    worth: np.ndarray,
    dearest: np.ndarray,
    found: np.ndarray,
    gains: np.ndarray,
) -> None:
    """Find the pairs, as `underpriced` does, for the n-th `HOME` senders. Compiled by itself it takes a fifth of the
    time.
    """
    most, mine = found.shape[1], np.empty(caps.size, dtype=np.float32)
    far, distances = np.empty(len(tiles), dtype=np.float32), np.empty(TILE, dtype=np.float32)
    for a in range(home * HOME, min(asked.size, (home + 1) * HOME)):
        one = asked[a]
        i = order[one]
        found[a], gains[a] = -1, -slack
        pays = np.float32(sender[i] / scale)
        _taken(tiles, one, mine)
        _apart(mine, caps, low, high, far)
        for t in range(len(tiles)):
            if far[t] - dearest[t] >= pays:
                continue
            _block(tiles[t], caps, mine, distances)
            for p in range(min(TILE, order.size - t * TILE)):
                if distances[p] - worth[t * TILE + p] >= pays or t * TILE + p == one:
                    continue
                j = order[t * TILE + p]
                cost = np.int64(np.rint(between(exact, exact_caps, i, j) * scale))
                gain = sender[i] + receiver[j] - cost
                if gain >= gains[a, most - 1] and gain > -slack and not _holds(heads, starts[i], starts[i + 1], j):
                    _keep(gain, j, gains[a], found[a])


@kernel(parallel=True)
def underpriced(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    exact: np.ndarray,
    exact_caps: np.ndarray,
    scale: float,
    asked: np.ndarray,
    sender: np.ndarray,
    receiver: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    slack: int,
    worth: np.ndarray,
    dearest: np.ndarray,
    found: np.ndarray,
    gains: np.ndarray,
) -> None:
    """The pairs of the `asked` senders that are no arcs yet and whose cost, in whole units of 1 / scale, lies below
    sender[i] + receiver[j] + slack: their heads into `found` (−1: none), what they gain into `gains`, most first.

    `tiles`, `caps`, `low` and `high` in single precision, in which senders are `asked` by their place in the `order`; `exact`
    ones in double, by their number as everything else. `starts` and `heads` are the arcs by sender, heads ascending. `worth` is
    what each receiver and the slack are worth, in the order and single precision, and not too little: by more than that can err;
    `dearest` the most of a tile. Where not all fit, the ones that gain most stay; an empty place holds −slack, so that in
    any case every pair that gains more than the last place is there.
    """
    for home in prange(-(-asked.size // HOME)):
        _underpriced(
            tiles, caps, order, low, high, exact, exact_caps, scale, asked, np.int64(home), sender, receiver, starts, heads, slack,
            worth, dearest, found, gains,
        )  # fmt: skip


@kernel(parallel=True)
def unproved(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    scale: float,
    sender: np.ndarray,
    receiver: np.ndarray,
    dearest: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute the gain, by the prices, of all pairs of each sender that are not chosen.

    Everything but `starts` and `heads` is in the `order`: these are the chosen arcs by number of the sender, heads ascending.
    `dearest` is the greatest receiver's price of a tile. In double precision throughout: zeros are a proof.
    """
    for home in prange(-(-order.size // HOME)):
        _unproved(tiles, caps, order, low, high, scale, np.int64(home), sender, receiver, dearest, starts, heads, out)


@kernel(inner=True)
def _unproved(
    tiles: np.ndarray,
    caps: np.ndarray,
    order: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    scale: float,
    home: int,
    sender: np.ndarray,
    receiver: np.ndarray,
    dearest: np.ndarray,
    starts: np.ndarray,
    heads: np.ndarray,
    out: np.ndarray,
) -> None:
    """What `unproved` finds for the n-th `HOME` senders. Only where a pair might gain, roundings included, whole numbers decide."""
    far, costs, mine = np.empty(len(tiles)), np.empty(TILE), np.empty(caps.size)
    for one in range(home * HOME, min(order.size, (home + 1) * HOME)):
        i, wrong = order[one], np.int64(0)
        begin, end = starts[i], starts[i + 1]
        pays = float(sender[one]) + ROUNDED
        _taken(tiles, one, mine)
        _apart(mine, caps, low, high, far)
        for t in range(len(tiles)):
            if far[t] * scale - dearest[t] >= pays:
                continue
            _block(tiles[t], caps, mine, costs)
            for p in range(min(TILE, order.size - t * TILE)):
                gain = sender[one] + receiver[t * TILE + p] - np.int64(np.rint(costs[p] * scale))
                if gain > 0 and t * TILE + p != one and not _holds(heads, begin, end, order[t * TILE + p]):
                    wrong += gain
        out[one] = wrong


@kernel(inner=True)
def _holds(heads: np.ndarray, first: int, last: int, wanted: int) -> bool:
    end = last  # what follows belongs to the next sender
    while first < last:
        middle = (first + last) // 2
        if heads[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first < end and heads[first] == wanted


@kernel(inner=True)
def _keep(gain: int, other: int, gains: np.ndarray, found: np.ndarray) -> None:
    """Keep the ones that gain most; of equal ones those of smaller numbers."""
    at = gains.size
    while at > 0 and (gains[at - 1] < gain or (gains[at - 1] == gain and found[at - 1] > other)):
        at -= 1
    for later in range(gains.size - 1, at, -1):
        gains[later], found[later] = gains[later - 1], found[later - 1]
    if at < gains.size:
        gains[at], found[at] = gain, other


# Tours and random matchings -------------------------------------------------------------------------------------------
# Tours through all people, and random matchings: the paper's heuristics on a matrix of distances.
#
# A tour is an order of the people; the last one returns to the first.


@kernel()
def follow_nearest(distances: np.ndarray, start: int, tour: np.ndarray) -> None:
    """Make a tour that always continues to the nearest person not visited yet."""
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
            _insert_in_tour(distances, here, order[0], following)
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
def _insert_in_tour(distances: np.ndarray, one: int, start: int, following: np.ndarray) -> None:
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
    """Grow a tour by the person that lengthens it least. Each remembers its best place, and searches again only if that
    is gone.
    """
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
    """Find the place where a person lengthens the tour least, and by how much."""
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
    """Send each person, in this order, to the nearest one that is free and not barred; False: for one none was found."""
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
    """Draw `draws` random matchings without barred edges and keep the cheapest; False: none was found.

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


# Minimum-cost transport -----------------------------------------------------------------------------------------------


@kernel()
def settle(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    supply: int,
    receiver: np.ndarray,
    stale: np.ndarray,
    sender: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
) -> None:
    """Let every `stale` sender choose its cheapest arcs again; `used`, the senders' prices and the loads follow."""
    for i in range(starts.size - 1):
        if not stale[i]:
            continue
        first, last = starts[i], starts[i + 1]
        reduced = np.empty(last - first, dtype=np.int64)
        for arc in range(first, last):
            # Of equally cheap arcs those in use come first: doubled costs leave room for that.
            reduced[arc - first] = 2 * (costs[arc] - receiver[heads[arc]]) + (0 if used[arc] else 1)
            if used[arc]:
                load[heads[arc]] -= 1
            used[arc] = False
        order = np.argsort(reduced, kind="mergesort")
        for p in range(supply):
            arc = first + order[p]
            used[arc] = True
            load[heads[arc]] += 1
            sender[i] = costs[arc] - receiver[heads[arc]]


@kernel()
def auction(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    supply: int,
    step: int,
    most: int,
    receiver: np.ndarray,
) -> int:
    """Lower the receivers' prices until about as many want to send to each as should.

    Each receiver sells `supply` places. A sender bids for the cheapest places that it lacks as much as makes the next best
    as dear, and `step` more; who is outbid bids again (Bertsekas & Castañón, "The auction algorithm for the transportation
    problem", 1989). At the end every choice is within `step` of a cheapest one, or `most` bids were made: prices are
    a start for `settle` and `balance`, which are right with any. Returns the number of bids.
    """
    people = starts.size - 1
    slots, owner = np.empty((people, supply), dtype=np.int64), np.full((people, supply), -1, dtype=np.int64)
    price, tails = -receiver, np.empty(heads.size, dtype=np.int32)
    for i in range(people):
        slots[i] = price[i]
        tails[starts[i] : starts[i + 1]] = i
    held, missing = np.zeros(heads.size, dtype=np.bool_), np.full(people, supply, dtype=np.int64)
    queue, first, waiting, bids = np.arange(people), 0, people, 0
    value, wanted = np.empty(supply + 1, dtype=np.int64), np.empty(supply + 1, dtype=np.int64)
    while waiting > 0 and bids < most:
        i, need = queue[first], missing[queue[first]]
        first, waiting = (first + 1) % people, waiting - 1
        _cheapest(starts[i], starts[i + 1], heads, costs, price, held, value[: need + 1], wanted[: need + 1])
        limit = value[need] if value[need] < np.iinfo(np.int64).max else value[need - 1]
        for arc in wanted[:need]:
            outbid = _sell(arc, heads[arc], limit + step - costs[arc], slots, owner, price, held)
            if outbid >= 0:
                loser = tails[outbid]
                if missing[loser] == 0:
                    queue[(first + waiting) % people] = loser
                    waiting += 1
                missing[loser] += 1
        missing[i] = 0
        bids += need
    receiver[:] = -price
    return bids


@kernel(inner=True)
def _cheapest(
    begin: int,
    end: int,
    heads: np.ndarray,
    costs: np.ndarray,
    price: np.ndarray,
    held: np.ndarray,
    value: np.ndarray,
    wanted: np.ndarray,
) -> None:
    """The arcs not held that cost least with their prices, and what they cost."""
    value[:] = np.iinfo(np.int64).max
    last = value.size - 1
    for arc in range(begin, end):
        here = costs[arc] + price[heads[arc]]
        if here < value[last] and not held[arc]:
            at = last
            while at > 0 and value[at - 1] > here:
                value[at], wanted[at] = value[at - 1], wanted[at - 1]
                at -= 1
            value[at], wanted[at] = here, arc


@kernel(inner=True)
def _sell(arc: int, j: int, bid: int, slots: np.ndarray, owner: np.ndarray, price: np.ndarray, held: np.ndarray) -> int:
    """Sell a receiver's cheapest place; returns the arc that held it before, or −1. Its price is its cheapest place's."""
    place = 0
    for s in range(1, slots.shape[1]):
        if slots[j, s] < slots[j, place]:
            place = s
    before = owner[j, place]
    if before >= 0:
        held[before] = False
    owner[j, place], slots[j, place], held[arc] = arc, bid, True
    lowest = bid
    for s in range(slots.shape[1]):
        lowest = min(lowest, slots[j, s])
    price[j] = lowest
    return int(before)


@kernel()
def balance(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    supply: int,
    receiver: np.ndarray,
    sender: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
) -> int:
    """Move every surplus unit along a shortest path to a receiver with too few.

    One search from all who have too much serves a quarter of them, by paths that share nothing but where they begin.
    (One search for each unit: four times slower at 48,842 people.) Returns how many units could not be moved: none, if
    the arcs allow any solution.
    """
    people = starts.size - 1
    first_in, next_in, prev_in, tails = _incoming(starts, heads, used)
    distance = np.full(2 * people, np.iinfo(np.int64).max, dtype=np.int64)  # senders, then receivers
    parent = np.full(2 * people, -1, dtype=np.int64)  # the arc by which a node was reached
    done = np.zeros(2 * people, dtype=np.bool_)
    touched = np.empty(2 * people, dtype=np.int64)
    ends = np.empty(people, dtype=np.int64)
    surplus = np.maximum(load - supply, 0).sum()
    while surplus > 0:
        wanted = max(1, surplus // 4)
        count, reached = _search(
            starts, heads, costs, load - supply, receiver, sender, used, first_in, next_in, tails, wanted,
            distance, parent, done, touched, ends,
        )  # fmt: skip
        if reached == 0:
            return int(surplus)
        _reprice(distance[ends[reached - 1]], touched[:count], done, distance, people, sender, receiver)
        for end in ends[:reached]:
            _shift(end, heads, tails, parent, used, load, first_in, next_in, prev_in)
        surplus -= reached
        for node in touched[:count]:
            distance[node], done[node], parent[node] = np.iinfo(np.int64).max, False, -1
    return 0


@kernel(inner=True)
def _shift(
    node: int,
    heads: np.ndarray,
    tails: np.ndarray,
    parent: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
    first_in: np.ndarray,
    next_in: np.ndarray,
    prev_in: np.ndarray,
) -> None:
    """Move one unit along the path that leads to a receiver."""
    people = load.size
    load[node - people] += 1
    while parent[node] >= 0:
        arc = parent[node]
        if node >= people:
            used[arc] = True
            _link(arc, heads[arc], first_in, next_in, prev_in)
            node = tails[arc]
        else:
            used[arc] = False
            _unlink(arc, heads[arc], first_in, next_in, prev_in)
            node = people + heads[arc]
    load[node - people] -= 1


@kernel(inner=True)
def _incoming(
    starts: np.ndarray, heads: np.ndarray, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The used arcs of each receiver as linked lists, and each arc's sender."""
    people = starts.size - 1
    first_in = np.full(people, -1, dtype=np.int32)
    next_in = np.full(heads.size, -1, dtype=np.int32)
    prev_in = np.full(heads.size, -1, dtype=np.int32)
    tails = np.empty(heads.size, dtype=np.int32)
    for i in range(people):
        for arc in range(starts[i], starts[i + 1]):
            tails[arc] = i
            if used[arc]:
                _link(arc, heads[arc], first_in, next_in, prev_in)
    return first_in, next_in, prev_in, tails


@kernel(inner=True)
def _link(arc: int, j: int, first_in: np.ndarray, next_in: np.ndarray, prev_in: np.ndarray) -> None:
    next_in[arc], prev_in[arc] = first_in[j], -1
    if first_in[j] >= 0:
        prev_in[first_in[j]] = arc
    first_in[j] = arc


@kernel(inner=True)
def _unlink(arc: int, j: int, first_in: np.ndarray, next_in: np.ndarray, prev_in: np.ndarray) -> None:
    if prev_in[arc] >= 0:
        next_in[prev_in[arc]] = next_in[arc]
    else:
        first_in[j] = next_in[arc]
    if next_in[arc] >= 0:
        prev_in[next_in[arc]] = prev_in[arc]


@kernel(inner=True)
def _search(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    excess: np.ndarray,
    receiver: np.ndarray,
    sender: np.ndarray,
    used: np.ndarray,
    first_in: np.ndarray,
    next_in: np.ndarray,
    tails: np.ndarray,
    wanted: int,
    distance: np.ndarray,
    parent: np.ndarray,
    done: np.ndarray,
    touched: np.ndarray,
    ends: np.ndarray,
) -> tuple[int, int]:
    """Dijkstra from all receivers with an excess, until `wanted` with too little are reached by disjoint paths.

    From a receiver the way leads back along used arcs, from a sender on along unused ones. Returns how many nodes were
    touched and how many `ends` were found, nearest first.
    """
    people = starts.size - 1
    count, reached = 0, 0
    spare = np.maximum(excess, 0)
    taken = np.zeros(2 * people, dtype=np.bool_)
    heap = [(np.int64(0), np.int64(0))]
    heap.pop()
    for j in range(people):
        if spare[j] > 0:
            distance[people + j] = 0
            touched[count] = people + j
            count += 1
            heap.append((np.int64(0), np.int64(people + j)))
    while len(heap) > 0 and reached < wanted:
        so_far, node = heapq.heappop(heap)
        if done[node]:
            continue
        done[node] = True
        if node >= people:
            j = node - people
            if excess[j] < 0 and _reserve(node, heads, tails, parent, spare, taken):
                ends[reached] = node
                reached += 1
            arc = first_in[j]
            while arc >= 0:
                i = tails[arc]
                through = so_far - (costs[arc] - sender[i] - receiver[j])
                if through < distance[i]:
                    if distance[i] == np.iinfo(np.int64).max:
                        touched[count] = i
                        count += 1
                    distance[i], parent[i] = through, arc
                    heapq.heappush(heap, (through, np.int64(i)))
                arc = next_in[arc]
        else:
            for arc in range(starts[node], starts[node + 1]):
                to = people + heads[arc]
                through = so_far + costs[arc] - sender[node] - receiver[heads[arc]]
                if not used[arc] and through < distance[to]:
                    if distance[to] == np.iinfo(np.int64).max:
                        touched[count] = to
                        count += 1
                    distance[to], parent[to] = through, arc
                    heapq.heappush(heap, (through, np.int64(to)))
    return count, reached


@kernel(inner=True)
def _reserve(
    end: int, heads: np.ndarray, tails: np.ndarray, parent: np.ndarray, spare: np.ndarray, taken: np.ndarray
) -> bool:
    """Take the path to this end, if it crosses no path taken before and still has a unit where it begins."""
    people = spare.size
    node = end
    while parent[node] >= 0:
        if taken[node]:
            return False
        node = tails[parent[node]] if node >= people else people + heads[parent[node]]
    if spare[node - people] <= 0:
        return False
    spare[node - people] -= 1
    node = end
    while parent[node] >= 0:
        taken[node] = True
        node = tails[parent[node]] if node >= people else people + heads[parent[node]]
    return True


@kernel(inner=True)
def _reprice(
    length: int,
    touched: np.ndarray,
    done: np.ndarray,
    distance: np.ndarray,
    people: int,
    sender: np.ndarray,
    receiver: np.ndarray,
) -> None:
    """New prices with which every arc on the shortest paths costs nothing and no condition breaks."""
    for node in touched:
        if done[node] and distance[node] < length:
            if node < people:
                sender[node] += length - distance[node]
            else:
                receiver[node - people] -= length - distance[node]
