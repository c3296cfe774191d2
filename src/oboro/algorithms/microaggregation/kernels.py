"""Kernels of microaggregation (MDAV, V-MDAV): distances, nearest and farthest record, by exhaustive scan or by a tree
of boxes.

The tree is complete: node i has the children 2i + 1 and 2i + 2, and the nodes of one level share the records evenly.
Each leaf's records lie side by side, those that remain first. A node has the box of its remaining records: the smallest
and the largest of every number, a mark for missing values, and the category that all share (MIXED: none). So a bound on
every distance in it is exact, rounding included: the same operations in the same order, on numbers that are further in
or further out. The result is that of `scan`, distance by distance and id by id.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oboro.algorithms.partitioning.kernels.closures import ascending
from oboro.kernels.jit import kernel, prange

__all__ = [
    "BLOCK",
    "LEAF",
    "PARALLEL_BLOCKS",
    "SORTING",
    "BoxTree",
    "Centre",
    "Shell",
    "apart",
    "build",
    "farthest",
    "fill",
    "go",
    "mdav",
    "merge",
    "nearest",
    "outermost",
    "remove_from_tree",
    "remove_records",
    "scan",
    "scan_parallel",
    "vmdav",
]


# Exhaustive scan ------------------------------------------------------------------------------------------------------
# Nearest and farthest records of a record, by exhaustive scan on all cores.
#
# Records are columns (`points[j, i]` is attribute j of record i), so that one attribute of neighbouring records lies
# side by side in memory and the compiler can treat several records at once. The square of a distance is the sum over
# numeric attributes of the squared difference (`gaps[j]` where exactly one of the two is missing; `gaps[j]` is 0 for an
# attribute without missing values) and over categories of 1 where they differ.
#
# Every choice follows one total order, by distance and then by `ids`: the result depends neither on the order in memory
# nor on the number of threads.


BLOCK = 8192  # records a block: 64 kB of distances stay in the cache while the nearest are picked out of them
# Waking and awaiting threads costs 10 µs on an idle machine, but up to a time slice (4 ms) where others compute too:
# MDAV of 40,000 records took 1 s either way on an idle machine, but 25 s instead of 2 s in parallel on a busy one.
PARALLEL_BLOCKS = 32


@kernel()
def measure(
    points: np.ndarray,
    categories: np.ndarray,
    gaps: np.ndarray,
    target: np.ndarray,
    traits: np.ndarray,
    start: int,
    out: np.ndarray,
) -> None:
    """Compute the squared distances of `out.size` records from `start` on to (`target`, `traits`). O(records ·
    attributes).
    """
    # Loops run over slices from 0: with `range(start, stop)` numba allows for negative positions and takes 4 × as long.
    out[:] = 0.0
    for j in range(points.shape[0]):
        values = points[j, start : start + out.size]
        place = target[j]
        if gaps[j] == 0.0:
            for i in range(out.size):
                difference = values[i] - place
                out[i] += difference * difference
        else:
            for i in range(out.size):
                lacking = np.isnan(values[i])
                difference = values[i] - place
                apart = 0.0 if lacking and np.isnan(place) else gaps[j]
                out[i] += apart if lacking or np.isnan(place) else difference * difference
    for j in range(categories.shape[0]):
        codes = categories[j, start : start + out.size]
        for i in range(out.size):
            out[i] += 1.0 if codes[i] != traits[j] else 0.0


@kernel(inner=True, bare=True)
def offer(position: int, distances: np.ndarray, ids: np.ndarray, heap: np.ndarray, size: int) -> int:
    """Keep the first `heap.size` records by (distance, id): a heap with the last of them on top. Returns its size."""
    if size < heap.size:
        child = size
        while child > 0 and _before(heap[(child - 1) // 2], position, distances, ids):
            heap[child] = heap[(child - 1) // 2]
            child = (child - 1) // 2
        heap[child] = position
        return size + 1
    if size == 0 or not _before(position, heap[0], distances, ids):
        return size
    parent = 0
    while 2 * parent + 1 < size:
        child = 2 * parent + 1
        if child + 1 < size and _before(heap[child], heap[child + 1], distances, ids):
            child += 1
        if not _before(position, heap[child], distances, ids):
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = position
    return size


@kernel(inner=True, bare=True)
def _before(a: int, b: int, distances: np.ndarray, ids: np.ndarray) -> bool:
    return bool(distances[a] < distances[b] or (distances[a] == distances[b] and ids[a] < ids[b]))


@kernel(inner=True)
def _farthest(distances: np.ndarray, ids: np.ndarray) -> int:
    far = 0
    most = distances[0]
    for i in range(distances.size):
        if distances[i] >= most and (distances[i] > most or ids[i] > ids[far]):
            far = i
            most = distances[i]
    return far


@kernel(inner=True)
def _nearest(distances: np.ndarray, ids: np.ndarray, out: np.ndarray) -> None:
    size = 0
    most = np.inf
    for i in range(distances.size):
        if distances[i] <= most:
            size = offer(i, distances, ids, out, size)
            if size == out.size:
                most = distances[out[0]]


@kernel(inner=True)
def _scan_block(
    points: np.ndarray,
    categories: np.ndarray,
    gaps: np.ndarray,
    ids: np.ndarray,
    count: int,
    target: np.ndarray,
    traits: np.ndarray,
    start: int,
    distances: np.ndarray,
    near: np.ndarray,
) -> int:
    part = distances[start : min(count, start + BLOCK)]
    names = ids[start : start + part.size]
    measure(points, categories, gaps, target, traits, start, part)
    if near.size:
        _nearest(part, names, near)
        near += start
    return start + _farthest(part, names)


@kernel()
def scan(
    points: np.ndarray,
    categories: np.ndarray,
    gaps: np.ndarray,
    ids: np.ndarray,
    count: int,
    target: np.ndarray,
    traits: np.ndarray,
    distances: np.ndarray,
    near: np.ndarray,
    far: np.ndarray,
) -> None:
    """Measure the first `count` records against one record, block by block.

    `distances` gets the squared distances; row b of `near` the positions of block b's nearest records (as many as it
    has columns, or all of the block), and `far[b]` the position of its farthest. O(count · attributes).
    """
    for block in range(far.size):
        start = block * BLOCK
        far[block] = _scan_block(points, categories, gaps, ids, count, target, traits, start, distances, near[block])


@kernel(parallel=True)
def scan_parallel(
    points: np.ndarray,
    categories: np.ndarray,
    gaps: np.ndarray,
    ids: np.ndarray,
    count: int,
    target: np.ndarray,
    traits: np.ndarray,
    distances: np.ndarray,
    near: np.ndarray,
    far: np.ndarray,
) -> None:
    """`scan` on all cores; below `PARALLEL_BLOCKS` blocks waking the threads costs more than it saves."""
    for block in prange(far.size):
        start = block * BLOCK
        far[block] = _scan_block(points, categories, gaps, ids, count, target, traits, start, distances, near[block])


@kernel()
def merge(
    distances: np.ndarray, ids: np.ndarray, count: int, near: np.ndarray, far: np.ndarray, out: np.ndarray
) -> int:
    """The nearest records of all blocks, in no order; returns the position of the farthest. O(blocks · k log k)."""
    size = 0
    farthest = far[0]
    for block in range(far.size):
        if _before(farthest, far[block], distances, ids):
            farthest = far[block]
        held = min(near.shape[1], min(count, (block + 1) * BLOCK) - block * BLOCK)
        for i in range(held):
            size = offer(near[block, i], distances, ids, out, size)
    return int(farthest)


@kernel()
def remove_records(points: np.ndarray, categories: np.ndarray, ids: np.ndarray, count: int, gone: np.ndarray) -> int:
    """Take records out in place, the last one filling each gap; `gone` is descending. Returns the new count."""
    for position in gone:
        count -= 1
        ids[position] = ids[count]
        for j in range(points.shape[0]):
            points[j, position] = points[j, count]
        for j in range(categories.shape[0]):
            categories[j, position] = categories[j, count]
    return count


# Tree of boxes --------------------------------------------------------------------------------------------------------


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


# Building and shrinking the tree --------------------------------------------------------------------------------------


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
    """Put the records of the smallest keys before the middle (Hoare's selection): 2.5 → 0.5 s for a million, against
    sorting.
    """
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
def remove_from_tree(tree: BoxTree, one: Any) -> None:
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
    """Return whether the box of a leaf may be smaller without the record at a position."""
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
    """Return whether the box of the node, or that it holds anybody, is not what it was."""
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


# Searching the tree ---------------------------------------------------------------------------------------------------


@kernel(inner=True, bare=True)
def apart(
    points: np.ndarray,
    categories: np.ndarray,
    gaps: np.ndarray,
    target: np.ndarray,
    traits: np.ndarray,
    position: int,
) -> float:
    """Return the squared distance of one record, added up as `measure` does."""
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
    """Find the positions of the remaining records nearest to a place, the last of them first; returns how many.

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
    """Return the position of the remaining record farthest from a place; of equally far ones that with the largest id."""
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
    """Return whether there are only numbers, and none is missing."""
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


# MDAV on the tree -----------------------------------------------------------------------------------------------------
# MDAV and V-MDAV on a tree of the records that remain.


SORTING = 4  # to measure all and sort the outermost costs about as much for each as looking at four
OUTER = 16  # one of so many stands in the queue
SAMPLED = 64  # one of so many is asked how far the outermost are
ROUNDING = 1e-9  # far more than the roots and sums of a bound can be off


class Centre(NamedTuple):
    """Sums behind the mean of each number and the most frequent category of the remaining records."""

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
        remove_from_tree(tree, heap[i])


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
    """Measure the distance of every remaining record, in the order of the tree."""
    found, first = 0, (1 << tree.levels) - 1
    for leaf in range(1 << tree.levels):
        start = (tree.ids.size * leaf) >> tree.levels
        for p in range(start, start + tree.held[first + leaf]):
            reach[found] = np.sqrt(apart(tree.points, tree.categories, tree.gaps, target, traits, p))
            positions[found] = p
            found += 1


@kernel(inner=True, bare=True)
def _moved(tree: BoxTree, shell: Shell, target: np.ndarray, traits: np.ndarray) -> float:
    """Return how far the centre has moved since the queue was made."""
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
    """Group all records as `oboro.algorithms.microaggregation.mdav` says; `labels[id]` is the group. Returns how many groups."""
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
