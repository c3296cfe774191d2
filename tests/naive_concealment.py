"""Concealment by plain loops over everything there is."""

from __future__ import annotations

from itertools import combinations, permutations, product


def distance(places, caps, one, other):
    return sum(min(abs(row[one] - row[other]), cap) for row, cap in zip(places, caps, strict=True))


def cheapest_regular(distances, supply):
    """The least cost of a graph in which everybody has `supply` arcs to others and from others."""
    n = len(distances)
    choices = [list(combinations([j for j in range(n) if j != i], supply)) for i in range(n)]
    best = float("inf")
    for choice in product(*choices):
        received = [0] * n
        for heads in choice:
            for j in heads:
                received[j] += 1
        if all(count == supply for count in received):
            best = min(best, sum(distances[i][j] for i, heads in enumerate(choice) for j in heads))
    return best


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
