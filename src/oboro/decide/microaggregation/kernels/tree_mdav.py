"""MDAV and V-MDAV on a tree of the records that remain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.local.kernels.group_closures import ascending
from oboro.decide.microaggregation.kernels.record_tree import BoxTree, apart, farthest, go, nearest, remove
from oboro.kernels import kernel

__all__ = ["SORTING", "Centre", "Shell", "mdav", "outermost", "vmdav"]

SORTING = 4  # to measure all and sort the outermost costs about as much for each as looking at four
OUTER = 16  # one of so many stands in the queue
SAMPLED = 64  # one of so many is asked how far the outermost are
ROUNDING = 1e-9  # far more than the roots and sums of a bound can be off


class Centre(NamedTuple):
    """What the mean of each number and the most frequent category of the remaining records are made of."""

    sums: np.ndarray
    present: np.ndarray
    occurrences: np.ndarray
    offset: np.ndarray


@kernel(inner=True, bare=True)
def _centre(centre: Centre, target: np.ndarray, traits: np.ndarray) -> None:
    for j in range(target.size):
        target[j] = centre.sums[j] / centre.present[j] if centre.present[j] > 0 else np.nan
    for j in range(traits.size):
        counts = centre.occurrences[centre.offset[j] : centre.offset[j + 1]]
        traits[j] = 0
        for code in range(counts.size):
            if counts[code] > counts[traits[j]]:
                traits[j] = code


@kernel(inner=True, bare=True)
def _close(tree: BoxTree, centre: Centre, heap: np.ndarray, label: int, labels: np.ndarray) -> None:
    """Make these positions a group and take them out; they become ids."""
    for i in range(heap.size):
        for j in range(tree.points.shape[1]):
            own = tree.points[heap[i], j]
            if not np.isnan(own):
                centre.sums[j] -= own
                centre.present[j] -= 1
        for j in range(tree.categories.shape[1]):
            centre.occurrences[centre.offset[j] + tree.categories[heap[i], j]] -= 1
        heap[i] = tree.ids[heap[i]]
    for i in range(heap.size):
        labels[heap[i]] = label
        remove(tree, heap[i])


class Shell(NamedTuple):
    """The outermost records by their distance from an earlier centre, far to near: that distance, and where they stand.

    The centre moves little as records leave. Whoever was nearer to the earlier centre than the farthest so far, less the
    way that the centre went, cannot be farther from the present one (triangle inequality).
    """

    queue: np.ndarray  # ids
    reach: np.ndarray
    points: np.ndarray  # in the order of the queue: looking at one after the other takes a tenth of the time
    categories: np.ndarray
    place: np.ndarray
    traits: np.ndarray
    floor: np.ndarray  # everybody else was nearer than this
    state: np.ndarray  # how many stand in the queue, how many of the first have left, how many were looked at


@kernel(inner=True)
def outermost(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray, labels: np.ndarray) -> int:
    """`farthest` from a centre: its position. The queue is made anew when looking has cost as much as that does."""
    if shell.state[2] >= SORTING * tree.held[0]:
        _measure_shell(tree, shell, target, traits)
    found = _first_in_shell(tree, shell, target, traits, labels)
    if found < 0:
        _measure_shell(tree, shell, target, traits)
        found = _first_in_shell(tree, shell, target, traits, labels)
    return tree.where[found] if found >= 0 else farthest(tree, target, traits)


@kernel(inner=True, bare=True)
def _first_in_shell(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray, labels: np.ndarray) -> int:
    """The farthest id; −1 where somebody outside of the queue might be farther."""
    moved = _moved(tree, shell, target, traits)
    best, most, limit, gone = -1, -1.0, -np.inf, 0
    start, stop = shell.state[1], shell.state[0]
    at = start
    while at < stop and not shell.reach[at] < limit:
        distance = apart(shell.points, shell.categories, tree.gaps, target, traits, at)
        one = shell.queue[at]
        if distance > most or (distance == most and one > best):
            if labels[one] >= 0:
                gone += 1
            else:
                best, most = one, distance
                limit = np.sqrt(most) * (1 - ROUNDING) - moved * (1 + ROUNDING)
        at += 1
    shell.state[2] += at - start
    if 4 * gone > at - start:
        _pack(shell, labels, start, at)
    return best if best >= 0 and (at < stop or shell.floor[0] <= limit) else -1


@kernel(inner=True, bare=True)
def _pack(shell: Shell, labels: np.ndarray, start: int, stop: int) -> None:
    """Leave out who has left, between two places of the queue."""
    to = stop
    for i in range(stop - 1, start - 1, -1):
        if labels[shell.queue[i]] < 0:
            to -= 1
            shell.queue[to], shell.reach[to] = shell.queue[i], shell.reach[i]
            for j in range(shell.points.shape[1]):
                shell.points[to, j] = shell.points[i, j]
            for j in range(shell.categories.shape[1]):
                shell.categories[to, j] = shell.categories[i, j]
    shell.state[1] += to - start


@kernel(inner=True)
def _measure_shell(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray) -> None:
    reach, positions = np.empty(tree.held[0]), np.empty(tree.held[0], dtype=np.int64)
    _measure_all(tree, target, traits, reach, positions)
    shell.floor[0] = -np.inf
    if reach.size > SAMPLED * OUTER:  # any floor will do
        sample = reach[::SAMPLED].copy()
        shell.floor[0] = sample[ascending(sample)[sample.size - sample.size // OUTER]]
    chosen = np.flatnonzero(reach >= shell.floor[0])
    order = ascending(-reach[chosen])
    for i in range(order.size):
        one = chosen[order[i]]
        shell.queue[i], shell.reach[i] = tree.ids[positions[one]], reach[one]
        shell.points[i], shell.categories[i] = tree.points[positions[one]], tree.categories[positions[one]]
    shell.place[:], shell.traits[:] = target, traits
    shell.state[0], shell.state[1], shell.state[2] = order.size, 0, 0


@kernel(inner=True, bare=True)
def _measure_all(
    tree: BoxTree, target: np.ndarray, traits: np.ndarray, reach: np.ndarray, positions: np.ndarray
) -> None:
    """How far every remaining record is, in the order of the tree."""
    found, first = 0, (1 << tree.levels) - 1
    for leaf in range(1 << tree.levels):
        start = (tree.ids.size * leaf) >> tree.levels
        for p in range(start, start + tree.held[first + leaf]):
            reach[found] = np.sqrt(apart(tree.points, tree.categories, tree.gaps, target, traits, p))
            positions[found] = p
            found += 1


@kernel(inner=True, bare=True)
def _moved(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray) -> float:
    """How far the centre went since the queue was made."""
    total = 0.0
    for j in range(target.size):
        if np.isnan(target[j]) != np.isnan(shell.place[j]):
            total += tree.gaps[j]
        elif not np.isnan(target[j]):
            total += (target[j] - shell.place[j]) ** 2
    for j in range(traits.size):
        total += 1.0 if traits[j] != shell.traits[j] else 0.0
    return float(np.sqrt(total))


@kernel()
def mdav(tree: BoxTree, centre: Centre, shell: Shell, k: int, labels: np.ndarray) -> int:
    """Group all records as `oboro.decide.microaggregation.mdav` says; `labels[id]` is the group. Returns how many groups."""
    target, traits = np.empty(tree.points.shape[1]), np.empty(tree.categories.shape[1], dtype=np.int64)
    heap = np.empty(k, dtype=np.int64)
    groups = 0
    while tree.held[0] >= 2 * k:
        last = tree.held[0] < 3 * k
        _centre(centre, target, traits)
        go(tree, outermost(tree, shell, target, traits, labels), target, traits)
        nearest(tree, target, traits, heap)
        opposite = -1 if last else tree.ids[farthest(tree, target, traits)]
        _close(tree, centre, heap, groups, labels)
        groups += 1
        if not last:
            go(tree, tree.where[opposite], target, traits)
            nearest(tree, target, traits, heap)
            _close(tree, centre, heap, groups, labels)
            groups += 1
    if tree.held[0] > 0:
        groups += 1
    for position in range(tree.ids.size):
        if labels[tree.ids[position]] < 0:
            labels[tree.ids[position]] = groups - 1
    return groups


@kernel()
def vmdav(tree: BoxTree, centre: Centre, k: int, gamma: float, queue: np.ndarray, labels: np.ndarray) -> int:
    """V-MDAV: groups of k, extended up to 2k − 1 while the nearest outsider is nearer to the group than `gamma` times its
    distance to other outsiders. `queue` holds the ids from the farthest from the centre to the nearest. Fewer than k
    records stay without a group (label −1). Returns how many groups.
    """
    target, traits = np.empty(tree.points.shape[1]), np.empty(tree.categories.shape[1], dtype=np.int64)
    heap, one = np.empty(k, dtype=np.int64), np.empty(1, dtype=np.int64)
    members, partner = np.empty(2 * k, dtype=np.int64), np.empty(2 * k, dtype=np.int64)
    reach = np.empty(2 * k)
    groups, at = 0, 0
    while tree.held[0] >= k:
        while labels[queue[at]] >= 0:
            at += 1
        go(tree, tree.where[queue[at]], target, traits)
        nearest(tree, target, traits, heap)
        for i in range(k):
            members[i], partner[i] = tree.ids[heap[i]], -1
        _close(tree, centre, heap, groups, labels)
        size = k
        while size < 2 * k - 1 and tree.held[0] > 0:
            outsider, inside = _outsider(tree, labels, members[:size], partner, reach, target, traits)
            if not inside < gamma * gamma * _alone(tree, outsider, target, traits):
                break
            one[0] = tree.where[outsider]
            _close(tree, centre, one, groups, labels)
            members[size], partner[size] = outsider, -1
            size += 1
        groups += 1
    return groups


@kernel(inner=True)
def _outsider(
    tree: BoxTree,
    labels: np.ndarray,
    members: np.ndarray,
    partner: np.ndarray,
    reach: np.ndarray,
    target: np.ndarray,
    traits: np.ndarray,
) -> tuple[int, float]:
    """The remaining record nearest to any member, and how near; each member remembers its own as long as it remains."""
    one = np.empty(1, dtype=np.int64)
    best = 0
    for i in range(members.size):
        if partner[i] < 0 or labels[partner[i]] >= 0:
            go(tree, tree.where[members[i]], target, traits)
            nearest(tree, target, traits, one)
            partner[i], reach[i] = tree.ids[one[0]], tree.distances[one[0]]
        if reach[i] < reach[best] or (reach[i] == reach[best] and partner[i] < partner[best]):
            best = i
    return partner[best], reach[best]


@kernel(inner=True)
def _alone(tree: BoxTree, one: int, target: np.ndarray, traits: np.ndarray) -> float:
    """The squared distance from a remaining record to the nearest other one; infinite if there is none."""
    pair = np.empty(2, dtype=np.int64)
    go(tree, tree.where[one], target, traits)
    if nearest(tree, target, traits, pair) < 2:
        return np.inf
    return float(tree.distances[pair[0]])
