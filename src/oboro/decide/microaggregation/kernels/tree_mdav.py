"""MDAV and V-MDAV on a tree of the records that remain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.local.kernels.group_closures import ascending
from oboro.decide.microaggregation.kernels.record_tree import BoxTree, apart, farthest, go, nearest, remove
from oboro.kernels import kernel

__all__ = ["SORTING", "Centre", "Shell", "mdav", "outermost", "vmdav"]

SORTING = 10  # sorting a record costs about as much as looking at ten
ROUNDING = 1e-9  # far more than the roots and sums of a bound can be off


class Centre(NamedTuple):
    """What the mean of each number and the most frequent category of the remaining records are made of."""

    sums: np.ndarray
    present: np.ndarray
    occurrences: np.ndarray
    offset: np.ndarray


@kernel(inner=True)
def _centre(centre: Centre, target: np.ndarray, traits: np.ndarray) -> None:
    for j in range(target.size):
        target[j] = centre.sums[j] / centre.present[j] if centre.present[j] > 0 else np.nan
    for j in range(traits.size):
        counts = centre.occurrences[centre.offset[j] : centre.offset[j + 1]]
        traits[j] = 0
        for code in range(counts.size):
            if counts[code] > counts[traits[j]]:
                traits[j] = code


@kernel(inner=True)
def _close(tree: BoxTree, centre: Centre, heap: np.ndarray, label: int, labels: np.ndarray) -> None:
    """Make these positions a group and take them out."""
    chosen = np.empty(heap.size, dtype=np.int64)
    for i in range(heap.size):
        chosen[i] = tree.ids[heap[i]]
        for j in range(tree.points.shape[1]):
            own = tree.points[heap[i], j]
            if not np.isnan(own):
                centre.sums[j] -= own
                centre.present[j] -= 1
        for j in range(tree.categories.shape[1]):
            centre.occurrences[centre.offset[j] + tree.categories[heap[i], j]] -= 1
    for one in chosen:
        labels[one] = label
        remove(tree, one)


class Shell(NamedTuple):
    """The ids by their distance from an earlier centre, far to near, and that distance.

    The centre moves little as records leave. Whoever was nearer to the earlier centre than the farthest so far, less the
    way that the centre went, cannot be farther from the present one (triangle inequality).
    """

    queue: np.ndarray
    reach: np.ndarray
    place: np.ndarray
    traits: np.ndarray
    state: np.ndarray  # how many stand in the queue, how many of the first have left, how many were looked at


@kernel(inner=True)
def outermost(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray, labels: np.ndarray) -> int:
    """`farthest` from a centre: its position. The queue is made anew when looking has cost as much as that does."""
    if shell.state[2] >= SORTING * tree.held[0]:
        _measure_shell(tree, shell, target, traits, labels)
    moved = _moved(tree, shell, target, traits)
    best, most, limit = -1, -1.0, -np.inf
    for i in range(shell.state[1], shell.state[0]):
        one = shell.queue[i]
        shell.state[2] += 1
        if labels[one] >= 0:
            if i == shell.state[1]:
                shell.state[1] += 1
            continue
        if shell.reach[i] < limit:
            break
        distance = apart(tree, target, traits, tree.where[one])
        if distance > most or (distance == most and one > tree.ids[best]):
            best, most = tree.where[one], distance
            limit = np.sqrt(most) * (1 - ROUNDING) - moved * (1 + ROUNDING)
    return best


@kernel(inner=True)
def _measure_shell(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray, labels: np.ndarray) -> None:
    found = 0
    for i in range(shell.state[0]):
        one = shell.queue[i]
        if labels[one] < 0:
            shell.queue[found], shell.reach[found] = one, -np.sqrt(apart(tree, target, traits, tree.where[one]))
            found += 1
    order = ascending(shell.reach[:found])
    ids, reach = shell.queue[:found].copy(), shell.reach[:found].copy()
    for i in range(found):
        shell.queue[i], shell.reach[i] = ids[order[i]], -reach[order[i]]
    for j in range(target.size):
        shell.place[j] = target[j]
    for j in range(traits.size):
        shell.traits[j] = traits[j]
    shell.state[0], shell.state[1], shell.state[2] = found, 0, 0


@kernel(inner=True)
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
