"""Counting who is suppressed at several nodes from columns of labels, one column for each attribute and level."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["EXACT", "FAILED", "MIX", "UNKNOWN", "WHOLE", "count_columns", "fill_keys"]

UNKNOWN, FAILED, EXACT = (
    0,
    1,
    2,
)  # what is known of a node: ask another way; at least so many are suppressed; so many are
AT_ONCE = 2048  # rows whose keys are written together, so that they stay in the nearest memory
MIX = 0x9E3779B1  # an odd number: neighbouring keys go far apart
WHOLE = 1 << 31  # keys that have a number each


@kernel(inner=True, bare=True)
def fill_keys(
    node: np.ndarray, first: np.ndarray, labels: np.ndarray, columns: np.ndarray, whole: bool, keys: np.ndarray
) -> None:
    """The key of every row at a node; unless `whole`, different classes may have the same. O(rows · attributes below the top)."""
    for begin in range(0, keys.size, AT_ONCE):
        part = keys[begin : begin + AT_ONCE]
        part[:] = 0
        for a in range(node.size):
            if labels[a, node[a]] > 1:
                held, times = columns[first[a, node[a]], begin : begin + AT_ONCE], np.uint32(MIX)
                if whole:
                    times = np.uint32(labels[a, node[a]])
                for i in range(
                    part.size
                ):  # slices from 0 on, and four bytes throughout: several at a time, a seventh of the time
                    part[i] = np.uint32(part[i] * times) + np.uint32(held[i])


@kernel(inner=True, bare=True)
def _number_slots(keys: np.ndarray, slots: np.ndarray, most: int) -> bool:
    """Give each row the number of its key's slot instead of its key; False if there are more than `most` different ones."""
    shift, last, found = np.uint32(0), slots.size - 1, 0
    while np.uint64(slots.size) << np.uint64(shift) < np.uint64(1) << np.uint64(32):
        shift += np.uint32(1)
    for i in range(keys.size):
        key = keys[i]
        place = np.int64(np.uint32(key * np.uint32(MIX)) >> shift)
        while slots[place] != key + 1 and slots[place] != 0:
            place = (place + 1) & last
        if slots[place] == 0:
            found += 1
            if found > most:
                return False
            slots[place] = key + 1
        keys[i] = place
    return True


@kernel(inner=True, bare=True)
def _count(keys: np.ndarray, weights: np.ndarray, k: int, mix: bool, counts: np.ndarray) -> int:
    """Add the weights by key, or by where it is thrown. Returns the records in what is below k. O(rows + counts).

    A weight is read whether it is added or not: nobody can foretell which class is full, and a branch takes five times as long.
    """
    shift, gone, enough = np.uint32(0), 0, np.int32(k)
    if mix:
        while np.uint64(counts.size) << np.uint64(shift) < np.uint64(1) << np.uint64(32):
            shift += np.uint32(1)
        for i in range(keys.size):
            place = np.int64(np.uint32(keys[i] * np.uint32(MIX)) >> shift)
            held, weight = counts[place], weights[i]
            counts[place] = held + weight * (held < enough)
    else:
        for i in range(keys.size):
            held, weight = counts[keys[i]], weights[i]
            counts[keys[i]] = held + weight * (held < enough)
    for begin in range(0, counts.size, AT_ONCE):
        part, some = counts[begin : begin + AT_ONCE], np.int32(0)
        for place in range(part.size):
            held = np.int32(part[place])
            some = np.int32(some + (held if held < enough else np.int32(0)))
        gone += some
    return gone


@kernel(inner=True, bare=True)
def _tally(
    node: np.ndarray,
    keys: np.ndarray,
    weights: np.ndarray,
    k: int,
    counts: np.ndarray,
    codes: np.ndarray,
    offsets: np.ndarray,
    begins: np.ndarray,
    steps: np.ndarray,
    tally: np.ndarray,
) -> None:
    """Add up the rows of classes below k by attribute and by what they cost. O(rows + suppressed rows · attributes).

    `keys` gets these rows.
    """
    found = 0
    for i in range(keys.size):
        small = counts[keys[i]] < k
        keys[found] = i
        found += small
    for a in range(node.size):
        begin = begins[a, node[a]] - offsets[a]
        for j in range(found):
            tally[a, steps[begin + codes[keys[j], a]]] += weights[keys[j]]


@kernel()
def count_columns(
    nodes: np.ndarray,
    columns: np.ndarray,
    first: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    codes: np.ndarray,
    offsets: np.ndarray,
    begins: np.ndarray,
    steps: np.ndarray,
    k: int,
    most: int,
    classes: int,
    lost: np.ndarray,
    hurdle: float,
    keys: np.ndarray,
    counts: np.ndarray,
    slots: np.ndarray,
    tally: np.ndarray,
    out: np.ndarray,
) -> None:
    """How many records some nodes suppress where k alone is asked; of those who suppress too many, at least how many.

    On level v of attribute a row i has the label `columns[first[a, v], i]` of `labels[a, v]`. Rows of different classes that are
    thrown together make classes larger: who is suppressed then is suppressed in truth. So nodes that fail take one pass over the
    rows; of the others those who were thrown together are told apart. More than `classes` classes have none that does not fail.
    `weights` are at most k, which is enough. `counts` and `slots` have a power of two each and are zeroed, and again afterwards.

    Gives in `out` what is known, how many records are suppressed, and how many classes are kept; in `tally[a, step]` the suppressed
    by what they cost, unless they are more than `most`, or `lost` (by the levels, and at least for each suppressed record) is more
    than `hurdle`. O(rows · attributes below the top).
    """
    for m in range(nodes.shape[0]):
        node, space = nodes[m], 1
        for a in range(node.size):
            space = min(space * labels[a, node[a]], WHOLE)
        whole = space < WHOLE
        mix = space > counts.size
        fill_keys(node, first, labels, columns, whole, keys)
        used = counts if mix else counts[:space]
        gone = _count(keys, weights, k, mix, used)
        out[m, 0], out[m, 1], out[m, 2] = FAILED, gone, 0
        if gone <= most:
            if mix:
                used[:] = 0
                if not whole:
                    out[m, 0] = UNKNOWN
                elif _number_slots(keys, slots, classes):
                    used = counts[: slots.size]
                    gone, mix = _count(keys, weights, k, False, used), False
                else:
                    out[m, 1] = most + 1
                slots[:] = 0
            if not mix:
                kept = 0
                for place in range(used.size):
                    kept += used[place] >= k
                out[m, 0], out[m, 1], out[m, 2] = FAILED if gone > most else EXACT, gone, kept
                if 0 < gone <= most and lost[m, 0] + gone * lost[m, 1] <= hurdle:
                    _tally(node, keys, weights, k, used, codes, offsets, begins, steps, tally[m])
        used[:] = 0
