"""Who is nearest to a record and who is farthest from it, by exhaustive scan on all cores.

Records stand in columns (`points[j, i]` is attribute j of record i), so that one attribute of neighbouring records lies
side by side in memory and the compiler can treat several records at once. The square of a distance is the sum over
numeric attributes of the squared difference (`gaps[j]` where exactly one of the two is missing; `gaps[j]` is 0 for an
attribute without missing values) and over categories of 1 where they differ.

Every choice follows one total order, by distance and then by `ids`: the result depends neither on the order in memory
nor on the number of threads.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel, prange

__all__ = ["BLOCK", "PARALLEL_BLOCKS", "merge", "remove", "scan", "scan_parallel"]

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
    """Squared distances of `out.size` records from `start` on to (`target`, `traits`). O(records · attributes)."""
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
def remove(points: np.ndarray, categories: np.ndarray, ids: np.ndarray, count: int, gone: np.ndarray) -> int:
    """Take records out in place, the last one filling each gap; `gone` is descending. Returns the new count."""
    for position in gone:
        count -= 1
        ids[position] = ids[count]
        for j in range(points.shape[0]):
            points[j, position] = points[j, count]
        for j in range(categories.shape[0]):
            categories[j, position] = categories[j, count]
    return count
