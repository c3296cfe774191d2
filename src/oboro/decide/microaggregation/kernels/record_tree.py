"""Nearest and farthest records among those that remain, by a tree of boxes.

The tree is complete: node i has the children 2i + 1 and 2i + 2, and the nodes of one level share the records evenly.
Each leaf's records stand side by side, those that remain first. A node knows the box of its remaining records: the
smallest and the largest of every number, whether one is missing, and the category that all share (MIXED: none). So a
bound on every distance in it is exact, rounding included: the same operations in the same order, on numbers that are
further in or further out. What is found is what `distance.scan` finds, distance by distance and id by id.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oboro.decide.microaggregation.kernels.exhaustive_scan import offer
from oboro.kernels import kernel

__all__ = ["LEAF", "BoxTree", "apart", "build", "farthest", "fill", "go", "nearest", "remove"]

LEAF = 16  # records in a leaf, at most
MIXED = -1


class BoxTree(NamedTuple):
    """`points[p, j]` and `categories[p, j]` at position p; `ids[p]` who stands there and `where[id]` the way back."""

    points: np.ndarray
    categories: np.ndarray
    gaps: np.ndarray
    ids: np.ndarray
    where: np.ndarray
    levels: int
    held: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lacking: np.ndarray
    shared: np.ndarray
    distances: np.ndarray
    stack: np.ndarray
    bounds: np.ndarray


# Building and shrinking -----------------------------------------------------------------------------------------------


@kernel()
def build(points: np.ndarray, categories: np.ndarray, levels: int, ids: np.ndarray) -> None:
    """Order the ids (given as 0 … n − 1) so that every node of a complete tree holds neighbours. O(n log n).

    A node is cut along its widest attribute; different categories count as 1 apart. Without attributes there is nothing to order.
    """
    n = ids.size
    if points.shape[1] + categories.shape[1] == 0:
        return
    keys = np.empty(n)
    for level in range(levels):
        for node in range(1 << level):
            start, stop = (n * node) >> level, (n * (node + 1)) >> level
            part = ids[start:stop]
            if part.size < 2:
                continue
            j = _widest(points, categories, part)
            for i in range(part.size):
                own = points[part[i], j] if j < points.shape[1] else categories[part[i], j - points.shape[1]]
                keys[i] = np.inf if np.isnan(own) else own
            _divide(keys[: part.size], part, ((n * (2 * node + 1)) >> (level + 1)) - start)


@kernel(inner=True, bare=True)
def _divide(keys: np.ndarray, part: np.ndarray, middle: int) -> None:
    """Put whoever has the smallest keys before the middle (Hoare's selection): 2.5 → 0.5 s for a million, against sorting."""
    low, high, draw = 0, keys.size - 1, 1
    while low < high:
        draw = (draw * 1103515245 + 12345) & 0x7FFFFFFF  # a pivot that no order of the records can foresee
        pivot = keys[low + draw % (high - low + 1)]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                part[i], part[j] = part[j], part[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel(inner=True, bare=True)
def _widest(points: np.ndarray, categories: np.ndarray, part: np.ndarray) -> int:
    best, widest = 0, -1.0
    for j in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for i in part:
            if not np.isnan(points[i, j]):
                low, high = min(low, points[i, j]), max(high, points[i, j])
        if high - low > widest:
            best, widest = j, high - low
    for j in range(categories.shape[1]):
        for i in part:
            if categories[i, j] != categories[part[0], j] and widest < 1.0:
                best, widest = points.shape[1] + j, 1.0
    return best


@kernel()
def fill(tree: BoxTree) -> None:
    """Set up every node from the leaves upwards; all records remain. O(n · attributes)."""
    n, first = tree.ids.size, (1 << tree.levels) - 1
    for position in range(n):
        tree.where[tree.ids[position]] = position
    for leaf in range(1 << tree.levels):
        tree.held[first + leaf] = ((n * (leaf + 1)) >> tree.levels) - ((n * leaf) >> tree.levels)
        _measure_leaf(tree, first + leaf)
    for node in range(first - 1, -1, -1):
        _measure_node(tree, node)


@kernel(inner=True, bare=True)
def remove(tree: BoxTree, one: Any) -> None:
    """Take one record (by id) out. O((leaf + log n) · attributes)."""
    n, first = tree.ids.size, (1 << tree.levels) - 1
    position = tree.where[one]
    leaf = ((position + 1) * (1 << tree.levels) - 1) // n  # the last leaf that starts at or before the position
    node = first + leaf
    last = ((n * leaf) >> tree.levels) + tree.held[node] - 1
    other = tree.ids[last]
    tree.ids[position], tree.ids[last] = other, one
    tree.where[other], tree.where[one] = position, last
    for j in range(tree.points.shape[1]):
        tree.points[position, j], tree.points[last, j] = tree.points[last, j], tree.points[position, j]
    for j in range(tree.categories.shape[1]):
        swap = tree.categories[position, j]
        tree.categories[position, j] = tree.categories[last, j]
        tree.categories[last, j] = swap
    tree.held[node] -= 1
    changed = _on_edge(tree, node, last)
    if changed:
        _measure_leaf(tree, node)
    while node > 0:
        node = (node - 1) // 2
        if changed:  # seldom beyond a few levels
            changed = _measure_node(tree, node)
        else:
            tree.held[node] -= 1


@kernel(inner=True, bare=True)
def _on_edge(tree: BoxTree, node: int, position: int) -> bool:
    """Whether the box of a leaf may be smaller without the record at a position."""
    if tree.held[node] == 0:
        return True
    for j in range(tree.points.shape[1]):
        own = tree.points[position, j]
        if not tree.low[node, j] < own < tree.high[node, j]:  # also where it is missing
            return True
    for j in range(tree.categories.shape[1]):  # noqa: SIM110  (a generator would not compile)
        if tree.shared[node, j] == MIXED:
            return True
    return False


@kernel(inner=True, bare=True)
def _measure_leaf(tree: BoxTree, node: int) -> None:
    start = (tree.ids.size * (node - (1 << tree.levels) + 1)) >> tree.levels
    for j in range(tree.points.shape[1]):
        tree.low[node, j], tree.high[node, j], tree.lacking[node, j] = np.inf, -np.inf, False
    for p in range(start, start + tree.held[node]):
        for j in range(tree.points.shape[1]):
            if np.isnan(tree.points[p, j]):
                tree.lacking[node, j] = True
            else:
                tree.low[node, j] = min(tree.low[node, j], tree.points[p, j])
                tree.high[node, j] = max(tree.high[node, j], tree.points[p, j])
        for j in range(tree.categories.shape[1]):
            own = tree.categories[p, j]
            tree.shared[node, j] = own if p == start or tree.shared[node, j] == own else MIXED


@kernel(inner=True, bare=True)
def _measure_node(tree: BoxTree, node: int) -> bool:
    """Whether the box of the node, or that it holds anybody, is not what it was."""
    left, right = 2 * node + 1, 2 * node + 2
    held = tree.held[left] + tree.held[right]
    changed, tree.held[node] = held == 0, held
    for j in range(tree.points.shape[1]):
        low, high = min(tree.low[left, j], tree.low[right, j]), max(tree.high[left, j], tree.high[right, j])
        lacking = tree.lacking[left, j] or tree.lacking[right, j]
        changed |= low != tree.low[node, j] or high != tree.high[node, j] or lacking != tree.lacking[node, j]
        tree.low[node, j], tree.high[node, j], tree.lacking[node, j] = low, high, lacking
    for j in range(tree.categories.shape[1]):
        one, other = tree.shared[left, j], tree.shared[right, j]
        shared = one if one == other or tree.held[right] == 0 else MIXED
        shared = other if tree.held[left] == 0 else shared
        changed |= shared != tree.shared[node, j]
        tree.shared[node, j] = shared
    return changed


# Searching ------------------------------------------------------------------------------------------------------------


@kernel(inner=True, bare=True)
def apart(
    points: np.ndarray,
    categories: np.ndarray,
    gaps: np.ndarray,
    target: np.ndarray,
    traits: np.ndarray,
    position: int,
) -> float:
    """The squared distance of one record, added up as `distance.measure` does."""
    total = 0.0
    for j in range(target.size):
        own = points[position, j]
        if gaps[j] != 0.0 and (np.isnan(own) or np.isnan(target[j])):
            total += 0.0 if np.isnan(own) and np.isnan(target[j]) else gaps[j]
        else:
            total += (own - target[j]) * (own - target[j])
    for j in range(traits.size):
        total += 1.0 if categories[position, j] != traits[j] else 0.0
    return total


@kernel(inner=True, bare=True)
def _bound(tree: BoxTree, target: np.ndarray, traits: np.ndarray, node: int, far: bool) -> float:
    """No record of the node is nearer (or, with `far`, farther) than this."""
    total = 0.0
    for j in range(target.size):
        low, high = tree.low[node, j], tree.high[node, j]
        place, gap = target[j], tree.gaps[j]
        if far:
            inner = max((high - place) * (high - place), (low - place) * (low - place))
        else:
            inner = (low - place) * (low - place) if place < low else 0.0
            if place > high:
                inner = (high - place) * (high - place)
        if gap != 0.0:
            lost = 0.0 if np.isnan(place) else gap  # to a missing number
            if np.isnan(place):
                inner = gap
            if low > high:
                inner = lost
            elif tree.lacking[node, j]:
                inner = max(inner, lost) if far else min(inner, lost)
        total += inner
    for j in range(traits.size):
        shared = tree.shared[node, j]
        unlike = far if shared == MIXED else shared != traits[j]
        total += 1.0 if unlike else 0.0
    return total


@kernel(inner=True, bare=True)
def nearest(tree: BoxTree, target: np.ndarray, traits: np.ndarray, heap: np.ndarray) -> int:
    """The positions of the remaining records nearest to a place, the last of them first; returns how many.

    O(log n) where there are few attributes.
    """
    size, waiting, first, plain = 0, 1, (1 << tree.levels) - 1, _is_plain(tree.gaps, traits)
    low, high, held, stack, bounds = tree.low, tree.high, tree.held, tree.stack, tree.bounds
    tree.stack[0], tree.bounds[0] = 0, 0.0
    while waiting > 0:
        waiting -= 1
        node = tree.stack[waiting]
        if size == heap.size and tree.bounds[waiting] > tree.distances[heap[0]]:
            continue
        if node < first:
            if plain:
                waiting = _push_plain(low, high, held, stack, bounds, target, 2 * node + 1, False, waiting)
            else:
                waiting = _push(tree, target, traits, 2 * node + 1, False, waiting)
            continue
        start = (tree.ids.size * (node - first)) >> tree.levels
        for p in range(start, start + tree.held[node]):
            tree.distances[p] = apart(tree.points, tree.categories, tree.gaps, target, traits, p)
            size = offer(p, tree.distances, tree.ids, heap, size)
    return size


@kernel(inner=True, bare=True)
def farthest(tree: BoxTree, target: np.ndarray, traits: np.ndarray) -> int:
    """The position of the remaining record farthest from a place; of equally far ones that with the largest id."""
    best, most, waiting, first, plain = -1, -1.0, 1, (1 << tree.levels) - 1, _is_plain(tree.gaps, traits)
    low, high, held, stack, bounds = tree.low, tree.high, tree.held, tree.stack, tree.bounds
    tree.stack[0], tree.bounds[0] = 0, np.inf
    while waiting > 0:
        waiting -= 1
        node = tree.stack[waiting]
        if tree.bounds[waiting] < most:
            continue
        if node < first:
            if plain:
                waiting = _push_plain(low, high, held, stack, bounds, target, 2 * node + 1, True, waiting)
            else:
                waiting = _push(tree, target, traits, 2 * node + 1, True, waiting)
            continue
        start = (tree.ids.size * (node - first)) >> tree.levels
        for p in range(start, start + tree.held[node]):
            distance = apart(tree.points, tree.categories, tree.gaps, target, traits, p)
            if distance > most or (distance == most and tree.ids[p] > tree.ids[best]):
                best, most = p, distance
    return best


@kernel(inner=True, bare=True)
def _push(tree: BoxTree, target: np.ndarray, traits: np.ndarray, left: int, far: bool, waiting: int) -> int:
    """Let two siblings wait, the more promising one on top; empty ones are left out."""
    one, other = _bound(tree, target, traits, left, far), _bound(tree, target, traits, left + 1, far)
    for second in range(2):
        of_left = (second == 0) == (one < other if far else one > other)
        node = left if of_left else left + 1
        if tree.held[node] > 0:
            tree.stack[waiting], tree.bounds[waiting] = node, one if of_left else other
            waiting += 1
    return waiting


@kernel(inner=True, bare=True)
def _is_plain(gaps: np.ndarray, traits: np.ndarray) -> bool:
    """Whether there are only numbers, and none is missing."""
    plain = traits.size == 0
    for j in range(gaps.size):
        plain &= gaps[j] == 0.0
    return plain


@kernel(inner=True, bare=True)
def _push_plain(
    low: np.ndarray,
    high: np.ndarray,
    held: np.ndarray,
    stack: np.ndarray,
    bounds: np.ndarray,
    target: np.ndarray,
    left: int,
    far: bool,
    waiting: int,
) -> int:
    """`_push` where there are only numbers: to hand a whole tree over for each bound took a seventh of the time of MDAV."""
    one, other = 0.0, 0.0
    for j in range(target.size):
        below, above = low[left, j] - target[j], target[j] - high[left, j]
        under, over = low[left + 1, j] - target[j], target[j] - high[left + 1, j]
        if far:
            one += max(above * above, below * below)
            other += max(over * over, under * under)
        else:
            out, outside = max(max(below, above), 0.0), max(max(under, over), 0.0)
            one += out * out
            other += outside * outside
    left_first = one < other if far else one > other  # the more promising one comes on top
    first, second = (left, left + 1) if left_first else (left + 1, left)
    if held[first] > 0:
        stack[waiting], bounds[waiting] = first, one if left_first else other
        waiting += 1
    if held[second] > 0:
        stack[waiting], bounds[waiting] = second, other if left_first else one
        waiting += 1
    return waiting


@kernel(inner=True, bare=True)
def go(tree: BoxTree, position: int, target: np.ndarray, traits: np.ndarray) -> None:
    """Stand where a record stands."""
    for j in range(target.size):
        target[j] = tree.points[position, j]
    for j in range(traits.size):
        traits[j] = tree.categories[position, j]
