"""Concealment by plain loops over everything there is."""

from __future__ import annotations

from itertools import combinations, permutations


def distance(places, caps, one, other):
    return sum(min(abs(row[one] - row[other]), cap) for row, cap in zip(places, caps, strict=True))


def cheapest_regular(distances, supply):
    """The least cost of a graph in which everybody has `supply` arcs to others and from others.

    One sender after the other; of all choices that fill the receivers alike only the cheapest goes on, which loses none.
    """
    n = len(distances)
    reached = {(0,) * n: 0.0}
    for i in range(n):
        then = {}
        for received, so_far in reached.items():
            for heads in combinations([j for j in range(n) if j != i], supply):
                filled = tuple(count + (j in heads) for j, count in enumerate(received))
                cost = so_far + sum(distances[i][j] for j in heads)
                if max(filled) <= supply and cost < then.get(filled, float("inf")):
                    then[filled] = cost
        reached = then
    return reached[(supply,) * n]


def cheapest_matchings(distances, supply):
    """The same, over all sets of perfect matchings that share no edge with each other or with the identity."""
    n = len(distances)
    every = [way for way in permutations(range(n)) if all(i != j for i, j in enumerate(way))]

    def least(first, chosen):
        if len(chosen) == supply:
            return sum(distances[i][j] for way in chosen for i, j in enumerate(way))
        apart = (
            at
            for at in range(first, len(every))
            if all(a != b for way in chosen for a, b in zip(way, every[at], strict=True))
        )
        return min((least(at + 1, [*chosen, every[at]]) for at in apart), default=float("inf"))

    return least(0, [])


def unproved(people, tails, heads, sender, receiver, scale):
    """What the prices leave open: chosen arcs that do not gain, and other pairs that would."""
    n = len(people)
    chosen, total = set(zip(tails.tolist(), heads.tolist(), strict=True)), 0
    for i in range(n):
        for j in range(n):
            cost = round(distance(people.places, people.caps, i, j) * scale)
            reduced = cost - int(sender[i]) - int(receiver[j])
            if i != j:
                total += max(reduced, 0) if (i, j) in chosen else max(-reduced, 0)
    return total


def possible_pairs(fits):
    """fits[r][o]: the pairs (r, o) that occur in some way to give every record an original of its own."""
    records, originals = len(fits), len(fits[0]) if fits else 0
    found = set()
    for way in permutations(range(originals), records):
        if all(fits[r][o] for r, o in enumerate(way)):
            found.update(enumerate(way))
    return found


def cheapest_pairs(distances, free=None):
    free = list(range(len(distances))) if free is None else free
    if not free:
        return 0.0
    first, rest = free[0], free[1:]
    return min(
        distances[first][other] + cheapest_pairs(distances, [one for one in rest if one != other]) for other in rest
    )
