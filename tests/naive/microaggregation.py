"""MDAV and the values of its groups as obvious loops, and spaces to try them on."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

from hypothesis import strategies as st
from tests.drawing import picks

from oboro.data.grouping import Groups

NAN = float("nan")


def naive_distance(one, other, gaps):
    total = 0.0
    for a, b, gap in zip(one[0], other[0], gaps, strict=True):
        if math.isnan(a) or math.isnan(b):
            total += 0.0 if math.isnan(a) and math.isnan(b) else gap
        else:
            total += (a - b) * (a - b)
    for a, b in zip(one[1], other[1], strict=True):
        total += a != b
    return total


def naive_centre(records):
    numbers = []
    for values in zip(*(record[0] for record in records), strict=True):
        present = [value for value in values if not math.isnan(value)]
        numbers.append(sum(present) / len(present) if present else NAN)
    traits = []
    for values in zip(*(record[1] for record in records), strict=True):
        counts = Counter(values)
        traits.append(min(counts, key=lambda value: (-counts[value], value)))
    return numbers, traits


def naive_mdav(records, gaps, k):
    """Groups as a list of lists of positions in `records`."""

    def key(record):
        return [(math.isnan(value), value) for value in record[0]] + [(False, value) for value in record[1]]

    left = sorted(range(len(records)), key=lambda i: key(records[i]))
    rank = {i: place for place, i in enumerate(left)}

    def by_distance(target):
        return sorted(left, key=lambda i: (naive_distance(records[i], target, gaps), rank[i]))

    groups = []

    def close(group):
        groups.append(group)
        for i in group:
            left.remove(i)

    while len(left) >= 3 * k:
        r = by_distance(naive_centre([records[i] for i in left]))[-1]
        around = by_distance(records[r])
        s = around[-1]
        close(around[:k])
        close(by_distance(records[s])[:k])
    if len(left) >= 2 * k:
        r = by_distance(naive_centre([records[i] for i in left]))[-1]
        close(by_distance(records[r])[:k])
    if left:
        close(list(left))
    return groups


def naive_aggregate(name, values):
    present = sorted(value for value in values if not math.isnan(value))
    if not present:
        return NAN
    if name == "mean":
        return min(max(sum(present) / len(present), present[0]), present[-1])
    if name == "median":
        return (present[(len(present) - 1) // 2] + present[len(present) // 2]) / 2
    counts = Counter(present)
    return min(counts, key=lambda value: (-counts[value], value))


def as_sets(groups: Groups):
    order, starts = groups.members()
    return {frozenset(order[a:b].tolist()) for a, b in pairwise(starts)}


coordinates = st.one_of(st.integers(-6, 6).map(float), st.just(NAN))


@st.composite
def spaces(draw):
    rows = draw(st.integers(1, 40))
    numeric, categorical = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    plain = draw(st.booleans())
    numbers = [
        draw(st.lists(st.integers(-6, 6).map(float) if plain else coordinates, min_size=rows, max_size=rows))
        for _ in range(numeric)
    ]
    traits = [draw(picks(range(4), min_size=rows, max_size=rows)) for _ in range(categorical)]
    gaps = [49.0 if any(map(math.isnan, column)) else 0.0 for column in numbers]
    return numbers, gaps, traits, rows, draw(st.integers(2, 6))
