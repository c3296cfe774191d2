"""Kernels that count the classes of several nodes, each from the classes of a finer node counted before."""

from __future__ import annotations

from typing import Any

import numpy as np

from oboro.kernels.hashing import SHORT_GOLDEN, add_to_pair, hash_of, more_slots, short_hash, short_shift, slot_of
from oboro.kernels.jit import kernel

__all__ = [
    "DIRECT",
    "EXACT",
    "FAILED",
    "HASHES",
    "UNKNOWN",
    "WHOLE",
    "count_columns",
    "count_nodes",
    "count_sizes",
    "count_sizes_hashed",
    "fill_keys",
    "fill_table",
    "key_of",
    "read_sizes",
    "read_sizes_of_rows",
    "row_key",
    "source_of",
]


# Class keys -----------------------------------------------------------------------------------------------------------
# Counter of a class: indexed by its key, or by a hash of the key where there are too many keys for a counter each.


@kernel(inner=True, bare=True)
def row_key(codes: np.ndarray, row: int, table: np.ndarray) -> int:
    """Return the key of the class of a row."""
    key = np.int64(0)
    for j in range(codes.shape[1]):
        key += np.int64(table[codes[row, j]])
    return key


# Counting from label columns ------------------------------------------------------------------------------------------
# Count the suppressed records of several nodes from columns of labels, one column for each attribute and level.


UNKNOWN, FAILED, EXACT = (
    0,
    1,
    2,
)  # what is known of a node: ask another way; at least so many are suppressed; so many are
AT_ONCE = 2048  # rows whose keys are written together, so that they stay in the nearest memory
WHOLE = 1 << 31  # keys that have a number each


@kernel(inner=True, bare=True)
def fill_keys(
    node: np.ndarray, first: np.ndarray, labels: np.ndarray, columns: np.ndarray, whole: bool, keys: np.ndarray
) -> None:
    """Compute the key of every row at a node; unless `whole`, different classes may have the same. O(rows · attributes
    below the top).
    """
    for begin in range(0, keys.size, AT_ONCE):
        part = keys[begin : begin + AT_ONCE]
        part[:] = 0
        for a in range(node.size):
            if labels[a, node[a]] > 1:
                held, times = columns[first[a, node[a]], begin : begin + AT_ONCE], SHORT_GOLDEN
                if whole:
                    times = np.uint32(labels[a, node[a]])
                for i in range(
                    part.size
                ):  # slices from 0 on, and four bytes throughout: several at a time, a seventh of the time
                    part[i] = np.uint32(part[i] * times) + np.uint32(held[i])


@kernel(inner=True, bare=True)
def _number_slots(keys: np.ndarray, slots: np.ndarray, most: int) -> bool:
    """Give each row the number of its key's slot instead of its key; False if there are more than `most` different ones."""
    shift, last, found = short_shift(slots.size), slots.size - 1, 0
    for i in range(keys.size):
        key = keys[i]
        place = short_hash(key, shift)
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
    gone, enough = 0, np.int32(k)
    if mix:
        shift = short_shift(counts.size)
        for i in range(keys.size):
            place = short_hash(keys[i], shift)
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
    """Count the suppressed records of some nodes where k is the only requirement; above the limit the count is a lower
    bound.

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


# Roll-up of class sizes -----------------------------------------------------------------------------------------------


DIRECT = 1 << 10  # keys that have a slot each, beside eight for each tuple
HASHES = 1 << 12  # slots to begin with, otherwise


@kernel(little=True)
def source_of(node: np.ndarray, seen: np.ndarray, bounds: np.ndarray) -> int:
    """Choose the `seen` node that is nowhere coarser and has fewest classes: `bounds` says where these begin. O(seen)."""
    found, least = 0, bounds[1] - bounds[0]
    for s in range(1, seen.shape[0]):
        if bounds[s + 1] - bounds[s] < least:
            finer = True
            for a in range(node.size):
                if seen[s, a] > node[a]:
                    finer = False
                    break
            if finer:
                found, least = s, bounds[s + 1] - bounds[s]
    return found


@kernel(inner=True, bare=True)
def fill_table(
    node: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    first: np.ndarray,
    labels: np.ndarray,
    numbers: np.ndarray,
    offsets: np.ndarray,
    table: np.ndarray,
) -> int:
    """Compute for each value of each digit its part of a node's keys; returns how many keys can be (at most 2^62)."""
    start, stride = 0, np.uint64(1)
    for g in range(ends.size - 1):
        size, count = 1, np.uint64(1)
        table[start] = 0
        for j in range(ends[g], ends[g + 1]):
            a = order[j]
            held, width, begin = np.uint64(labels[a, node[a]]), offsets[a + 1] - offsets[a], first[a, node[a]]
            for i in range(size - 1, -1, -1):
                part = table[start + i] * held
                for code in range(width):
                    table[start + i * width + code] = part + np.uint64(numbers[begin + code])
            size *= width
            count *= held
        for i in range(start, start + size):
            table[i] *= stride
        start += size
        stride *= count
    return stride


def _read(nodes: np.ndarray, seen: np.ndarray, bounds: np.ndarray, *rest: Any) -> int:
    """How many codes are read; of what is written on, most is not touched."""
    return int(nodes.size * bounds[1])


def _count_nodes(nodes: np.ndarray, seen: np.ndarray, bounds: np.ndarray, *rest: Any) -> None:
    tuples, weights, _, codes, _, _, offsets, first, labels, numbers, steps, k, most = rest[:13]
    kept_ends, tally, histogram, out = rest[-4:]
    kept_ends[:] = 0
    for m in range(len(nodes)):
        source = source_of.little(nodes[m], seen, bounds)  # type: ignore[attr-defined]
        held, sums = tuples[bounds[source] : bounds[source + 1]], weights[bounds[source] : bounds[source + 1]]
        key = np.zeros(held.size, dtype=np.uint64)
        for a in range(nodes.shape[1]):
            begin = first[a, nodes[m, a]] - offsets[a]
            key = key * np.uint64(labels[a, nodes[m, a]]) + numbers[begin + codes[held, a]].astype(np.uint64)
        _, one, which = np.unique(key, return_index=True, return_inverse=True)
        sizes = np.zeros(one.size, dtype=np.int64)
        np.add.at(sizes, which, sums)
        if len(histogram):
            np.add.at(histogram[m], np.minimum(sizes, histogram.shape[1] - 1), 1)
        small, large = sizes < k, sizes[sizes >= k]
        gone = int(sizes[small].sum())
        out[m] = gone, sizes.size, large.size, sizes @ sizes, large @ large, large.min(initial=1 << 62)
        if 0 < gone <= most:
            for a in range(nodes.shape[1]):
                begin = first[a, nodes[m, a]] - offsets[a]
                np.add.at(tally[m, a], steps[begin + codes[held[one[small]], a]], sizes[small])


@kernel(little=_count_nodes, work=_read)
def count_nodes(
    nodes: np.ndarray,
    seen: np.ndarray,
    bounds: np.ndarray,
    tuples: np.ndarray,
    weights: np.ndarray,
    digits: np.ndarray,
    codes: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    offsets: np.ndarray,
    first: np.ndarray,
    labels: np.ndarray,
    numbers: np.ndarray,
    steps: np.ndarray,
    k: int,
    most: int,
    keep: bool,
    slots: np.ndarray,
    table: np.ndarray,
    keys: np.ndarray,
    kept: np.ndarray,
    kept_weights: np.ndarray,
    kept_ends: np.ndarray,
    tally: np.ndarray,
    histogram: np.ndarray,
    out: np.ndarray,
) -> None:
    """Count the classes and suppressed records of some nodes with k as the only requirement. O(classes of the finer
    nodes · digits + classes · attributes).

    The classes of node `seen[s]` are `tuples[bounds[s] : bounds[s + 1]]`, any tuple of each, with their `weights`; the first is
    the finest, where every tuple is a class. Keys are read from `digits`, costs from `codes` (numbered through from `offsets`):
    on level v of attribute a, code c has the label `numbers[first[a, v] + c]` of `labels[a, v]` and pays `steps[first[a, v] + c]`.
    `slots` is zeroed, and again afterwards; it has eight for each tuple, `DIRECT`, and `HASHES` more.

    Gives in `out` the suppressed records, the classes, the kept ones, the sum of squared sizes of all and of the kept ones, and
    the smallest kept size; in `tally[a, step]` the suppressed by what they cost, unless these are more than `most`; in `histogram`,
    if it has rows, how many classes have each size, the last one or more; and in `kept` and `kept_weights`, if asked to `keep`
    them, the classes, up to `kept_ends`, where they are few enough to be worth it.
    """
    for m in range(nodes.shape[0]):
        source = source_of(nodes[m], seen, bounds)
        begin, end = bounds[source], bounds[source + 1]
        space = fill_table(nodes[m], order, ends, first, labels, numbers, offsets, table)
        base = kept_ends[m]
        mine, sizes = kept[base:], kept_weights[base:]
        held, sums = tuples[begin:end], weights[begin:end]
        if space <= np.uint64(8 * (end - begin) + DIRECT):
            found = _count_by_key(held, sums, digits, table, slots, keys, mine, sizes)
        else:
            found = _count_by_hash(held, sums, digits, table, slots, keys, mine, sizes)
        suppressed, large, squares, large_squares, smallest = 0, 0, 0, 0, np.int64(1) << np.int64(62)
        for c in range(found):
            size = sizes[c]
            stays = np.int64(size >= k)  # not a branch: nobody can foretell it
            suppressed += size - stays * size
            squares += size * size
            large += stays
            large_squares += stays * size * size
            smallest = min(smallest, size + (1 - stays) * (np.int64(1) << np.int64(62)))
        if 0 < suppressed <= most:
            for c in range(found):
                size = sizes[c]
                if size < k:
                    for a in range(nodes.shape[1]):
                        place = first[a, nodes[m, a]] - offsets[a] + np.int64(codes[mine[c], a])
                        tally[m, a, steps[place]] += size
        if histogram.shape[0] > 0:
            last = np.int64(histogram.shape[1] - 1)
            for c in range(found):
                histogram[m, min(sizes[c], last)] += 1
        # The next node writes over what is not kept; there must be room for its classes, however many these are.
        worth = keep and 4 * found <= 3 * (end - begin) and base + found + keys.size <= kept.size
        kept_ends[m + 1] = base + found if worth else base
        out[m, 0], out[m, 1], out[m, 2] = suppressed, found, large
        out[m, 3], out[m, 4], out[m, 5] = squares, large_squares, smallest


@kernel(inner=True, bare=True)
def key_of(digits: np.ndarray, i: int, table: np.ndarray) -> int:
    """Return the key of a tuple. Three digits are the usual number: written out, half the time of a loop."""
    if digits.shape[1] == 3:
        return table[digits[i, 0]] + table[digits[i, 1]] + table[digits[i, 2]]
    key = np.uint64(0)
    for g in range(digits.shape[1]):
        key += table[digits[i, g]]
    return key


@kernel(inner=True, bare=True)
def _count_by_key(
    tuples: np.ndarray,
    weights: np.ndarray,
    digits: np.ndarray,
    table: np.ndarray,
    held: np.ndarray,
    keys: np.ndarray,
    mine: np.ndarray,
    sizes: np.ndarray,
) -> int:
    """The classes of some tuples, a tuple and the size of each; returns how many there are. `held` has a counter for each key."""
    found = 0
    for j in range(tuples.size):
        i = tuples[j]
        key = key_of(digits, i, table)
        if held[key] == 0:
            keys[found] = key
            mine[found] = i
            found += 1
        held[key] += weights[j]
    for c in range(found):
        sizes[c] = held[keys[c]]
        held[keys[c]] = 0
    return found


@kernel(inner=True, bare=True)
def _count_by_hash(
    tuples: np.ndarray,
    weights: np.ndarray,
    digits: np.ndarray,
    table: np.ndarray,
    held: np.ndarray,
    keys: np.ndarray,
    mine: np.ndarray,
    sizes: np.ndarray,
) -> int:
    """The same where keys are too many for a counter each. A slot holds the number of a class, from 1 on.

    There are at least twice as many slots as classes so far, and not many more, so that they stay in the cache.
    """
    mask, found = np.uint64(HASHES - 1), 0
    for j in range(tuples.size):
        i = tuples[j]
        key = key_of(digits, i, table)
        spot = slot_of(key, hash_of(key), held, mask, keys)
        number = held[spot]
        if number > 0:
            sizes[number - 1] += weights[j]
            continue
        keys[found], mine[found], sizes[found] = key, i, weights[j]
        found += 1
        held[spot] = found
        if np.uint64(2 * found) > mask:
            mask = more_slots(held, mask, keys, found)
    held[: mask + np.uint64(1)] = 0
    return found


# Counting class sizes -------------------------------------------------------------------------------------------------
# Number of records in classes of each size: the result kept of one evaluation of a node, for every k.
#
# Rows lie in slices that no class crosses, as in kernels `slices`; a node's `table` gives for each digit its part of
# the key.


@kernel()
def count_sizes(codes: np.ndarray, table: np.ndarray, most: int, counters: np.ndarray) -> None:
    """Count the rows of one slice, each class up to `most`. O(rows · digits).

    Two to four digits are the usual numbers, and written out they take half the time of a loop over them.
    """
    if codes.shape[1] == 2:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]])
            held = counters[np.uint64(key)]
            counters[np.uint64(key)] = held + (held < most)
        return
    if codes.shape[1] == 3:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]]) + np.int64(table[codes[i, 2]])
            held = counters[np.uint64(key)]
            counters[np.uint64(key)] = held + (held < most)
        return
    if codes.shape[1] == 4:
        for i in range(codes.shape[0]):
            key = np.int64(table[codes[i, 0]]) + np.int64(table[codes[i, 1]])
            key += np.int64(table[codes[i, 2]]) + np.int64(table[codes[i, 3]])
            held = counters[np.uint64(key)]
            counters[np.uint64(key)] = held + (held < most)
        return
    for i in range(codes.shape[0]):
        key = np.int64(0)
        for j in range(codes.shape[1]):
            key += np.int64(table[codes[i, j]])
        held = counters[np.uint64(key)]
        counters[np.uint64(key)] = held + (held < most)


@kernel()
def read_sizes(counters: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many classes have each size, from all counters. O(counters)."""
    for spot in range(counters.size):
        out[counters[spot]] += 1


@kernel()
def read_sizes_of_rows(codes: np.ndarray, table: np.ndarray, counters: np.ndarray, out: np.ndarray) -> None:
    """The same from the counters of the rows alone, which are set to 0: where counters are many. O(rows · digits)."""
    for i in range(codes.shape[0]):
        key = row_key(codes, i, table)
        out[counters[np.uint64(key)]] += 1
        counters[np.uint64(key)] = 0


@kernel()
def count_sizes_hashed(codes: np.ndarray, table: np.ndarray, held: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many classes have each size, where the keys are too many for a counter each: (key, count) pairs.

    `held` is zeroed and has a power of two of pairs, at least twice as many as rows. Sizes beyond the end of `out` count
    as its last. O(rows · digits).
    """
    mask = np.uint64((held.size >> 1) - 1)
    for i in range(codes.shape[0]):
        key = np.uint64(0)
        for j in range(codes.shape[1]):
            key += np.uint64(table[codes[i, j]])
        add_to_pair(key, hash_of(key), held, mask, 1)
    for spot in range(mask + np.uint64(1)):
        out[min(held[2 * spot + 1], out.size - 1)] += 1
