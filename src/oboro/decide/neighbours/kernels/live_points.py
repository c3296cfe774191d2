"""A live set of records as points: distances, and the regions of FDH and FDHQ, with records coming and going.

Distance, squared: the squared differences of the numbers, a weight for each category that differs, and a gap for each
number that is missing on one side only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.kernels import kernel

__all__ = [
    "Anchors",
    "LivePoints",
    "Metric",
    "PointRows",
    "apart",
    "beyond",
    "copy_row",
    "key_of",
    "keys_of",
    "link",
    "put",
    "squares",
    "take_out",
]

STRIDE = 16  # coordinates between two looks at the limit


class PointRows(NamedTuple):
    """Where records stand, a row each."""

    points: np.ndarray  # numbers, scaled; a missing one stands at the centre
    traits: np.ndarray  # categories, as codes
    lacking: np.ndarray  # 1 where the number is missing
    holes: np.ndarray  # how many numbers are missing


class Metric(NamedTuple):
    """What a difference counts."""

    weights: np.ndarray  # of each category, squared
    gaps: np.ndarray  # of each number that is missing on one side, squared


class Anchors(NamedTuple):
    """`s` sets of `A` anchors: key digit i of a set is how many of the radii of its anchor i a point lies beyond."""

    places: np.ndarray  # [coordinate, s · A]: all anchors are measured at once
    radii: np.ndarray  # [base − 1, s · A], ascending
    sets: int
    each: int
    distances: np.ndarray  # room for the distances of one point


class LivePoints(NamedTuple):
    """Slots, some of which hold a record that can be found; in as many linked lists of its region as there are sets."""

    at: PointRows
    alive: np.ndarray
    number: np.ndarray  # which record of the stream stands in a slot: decides between equal distances
    keys: np.ndarray  # [slot, set]
    first: np.ndarray  # [set, region]: a slot, or −1
    after: np.ndarray  # [slot, set]
    before: np.ndarray  # [slot, set]
    stamp: np.ndarray  # the last query that measured a slot: one distance a query, however many sets
    some: np.ndarray  # room for slots that a query looks at
    shift: np.ndarray  # what is taken from points before they become float32
    wide: np.ndarray  # float32 [row, d + 1]: −2 x and |x|² of those who are there, without gaps; no rows: not asked for
    owner: np.ndarray  # [row]: whose
    row: np.ndarray  # [slot]
    rows: np.ndarray  # how many


@kernel(inner=True, bare=True)
def squares(a: np.ndarray, i: int, b: np.ndarray, j: int, limit: float) -> float:
    """The squared distance of two rows, or something above `limit` as soon as it is above it."""
    width = a.shape[1]
    total, at = 0.0, 0
    while at + STRIDE <= width:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for m in range(at, at + STRIDE, 4):
            d0, d1, d2, d3 = (
                a[i, m] - b[j, m],
                a[i, m + 1] - b[j, m + 1],
                a[i, m + 2] - b[j, m + 2],
                a[i, m + 3] - b[j, m + 3],
            )
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        total += (s0 + s1) + (s2 + s3)
        if total > limit:
            return total
        at += STRIDE
    for m in range(at, width):
        total += (a[i, m] - b[j, m]) * (a[i, m] - b[j, m])
    return total


@kernel(inner=True, bare=True)
def beyond(metric: Metric, a: PointRows, i: int, b: PointRows, j: int) -> float:
    """What categories and missing numbers add to the squared distance of two records."""
    total = 0.0
    for m in range(a.traits.shape[1]):
        if a.traits[i, m] != b.traits[j, m]:
            total += metric.weights[m]
    if a.holes[i] + b.holes[j] > 0:
        for m in range(a.lacking.shape[1]):
            if a.lacking[i, m] != b.lacking[j, m]:
                total += metric.gaps[m]
    return total


@kernel(inner=True, bare=True)
def apart(metric: Metric, a: PointRows, i: int, b: PointRows, j: int) -> float:
    """The squared distance of two records."""
    return squares(a.points, i, b.points, j, np.inf) + beyond(metric, a, i, b, j)


@kernel(inner=True, bare=True)
def copy_row(source: np.ndarray, i: int, target: np.ndarray, j: int) -> None:
    """Row i becomes row j."""
    for m in range(source.shape[1]):
        target[j, m] = source[i, m]


@kernel(inner=True, bare=True)
def key_of(anchors: Anchors, one: int) -> int:
    """The region in one set of anchors, from the distances to all of them: digits to the base of the parts, first anchor first."""
    base, key = anchors.radii.shape[0] + 1, 0
    for i in range(anchors.each):
        at, digit = one * anchors.each + i, 0
        for part in range(base - 1):
            if anchors.distances[at] > anchors.radii[part, at]:
                digit += 1
        key = key * base + digit
    return key


@kernel(inner=True, bare=True)
def keys_of(anchors: Anchors, points: np.ndarray, i: int, keys: np.ndarray, out: int) -> None:
    """The region of a point in every set. Anchors lie side by side, so that many are measured at once, in order of coordinates."""
    distances, places = anchors.distances, anchors.places
    distances[:] = 0
    for m in range(points.shape[1]):
        x = points[i, m]
        for a in range(distances.size):
            distances[a] += (x - places[m, a]) * (x - places[m, a])
    for a in range(distances.size):
        distances[a] = np.sqrt(distances[a])
    for one in range(anchors.sets):
        keys[out, one] = key_of(anchors, one)


@kernel(bare=True)
def put(live: LivePoints, anchors: Anchors, slot: int) -> None:
    """Let a record whose place is written be found."""
    live.alive[slot] = 1
    if anchors.sets > 0:
        keys_of(anchors, live.at.points, slot, live.keys, slot)
        link(live, slot)
    if live.wide.shape[0] > 0:
        _widen(live, slot)


@kernel(inner=True, bare=True)
def _widen(live: LivePoints, slot: int) -> None:
    """Write a point into the next row."""
    points, shift, wide = live.at.points, live.shift, live.wide
    row, width, norm = live.rows[0], points.shape[1], 0.0
    for m in range(width):
        x = points[slot, m] - shift[m]
        wide[row, m] = -2 * x
        norm += x * x
    wide[row, width] = norm
    live.owner[row], live.row[slot] = slot, row
    live.rows[0] = row + 1


@kernel(inner=True, bare=True)
def _narrow(live: LivePoints, slot: int) -> None:
    """Let the last row take a point's place."""
    wide, row, last = live.wide, live.row[slot], live.rows[0] - 1
    for m in range(wide.shape[1]):
        wide[row, m] = wide[last, m]
    moved = live.owner[last]
    live.owner[row], live.row[moved] = moved, row
    live.rows[0] = last


@kernel(inner=True, bare=True)
def link(live: LivePoints, slot: int) -> None:
    """Enter a slot into the lists of its regions."""
    for one in range(live.first.shape[0]):
        key = live.keys[slot, one]
        behind = live.first[one, key]
        live.after[slot, one], live.before[slot, one] = behind, -1
        if behind >= 0:
            live.before[behind, one] = slot
        live.first[one, key] = slot


@kernel(bare=True)
def take_out(live: LivePoints, slot: int) -> None:
    """Let a record be found no more."""
    live.alive[slot] = 0
    for one in range(live.first.shape[0]):
        behind, ahead = live.after[slot, one], live.before[slot, one]
        if behind >= 0:
            live.before[behind, one] = ahead
        if ahead >= 0:
            live.after[ahead, one] = behind
        else:
            live.first[one, live.keys[slot, one]] = behind
    if live.wide.shape[0] > 0:
        _narrow(live, slot)
