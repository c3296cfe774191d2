"""The classes of a node and their *parts*: how many records of each have each combination of sensitive values.

Both are put together from the classes of a finer node. A class is any tuple of it, its records and its parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.kernels.columns.column_counts import WHOLE, fill_keys
from oboro.decide.lattice.kernels.rolled_counts import (
    DIRECT,
    HASHES,
    fill_table,
    key_of,
    more_slots,
    slot_of,
    source_of,
)
from oboro.kernels import kernel

__all__ = [
    "FinerClasses",
    "KeyReading",
    "Room",
    "count_values",
    "gather_parts",
    "join_classes",
    "list_held",
    "number_classes",
    "order_by_class",
]

ALL_OF = 12  # times as many tuples as are asked for


class FinerClasses(NamedTuple):
    """The classes of node `nodes[s]` are `tuples[bounds[s] : bounds[s + 1]]`, with their `weights`; the parts of class c are
    `values[starts[c] : starts[c + 1]]`, `counts` times, and `owners` says whose each is."""

    nodes: np.ndarray
    bounds: np.ndarray
    tuples: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    owners: np.ndarray


class KeyReading(NamedTuple):
    """How the key of a tuple is read: as in `count_nodes`, or from `columns`, if there are any, as in `count_columns`."""

    digits: np.ndarray
    order: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray
    first: np.ndarray
    labels: np.ndarray
    numbers: np.ndarray
    columns: np.ndarray
    places: np.ndarray


class Room(NamedTuple):
    """What a thread writes on. `slots`, `held` and `own` are zero before and after; `count_nodes` says how many slots there are."""

    slots: np.ndarray
    table: np.ndarray
    every: np.ndarray
    each: np.ndarray
    keys: np.ndarray
    places: np.ndarray
    firsts: np.ndarray
    held: np.ndarray
    some: np.ndarray
    own: np.ndarray
    few: np.ndarray
    surplus: np.ndarray
    spare: np.ndarray
    more: np.ndarray
    rows: np.ndarray
    sums: np.ndarray


@kernel()
def join_classes(
    node: np.ndarray,
    finer: FinerClasses,
    reading: KeyReading,
    room: Room,
    kept: np.ndarray,
    parts: np.ndarray,
    kept_starts: np.ndarray,
) -> int:
    """The classes of one node with their parts, to judge coarser nodes from; returns how many there are.

    `kept` gets their tuples, `room.sums` their records, `parts` the values, the counts and the owners of their parts; it has room
    for one more.
    """
    begin, end, found = number_classes(node, finer, reading, room)
    kept[:found] = room.firsts[:found]
    if (found + 1) * room.held.size <= room.rows.size:
        count_values(begin, end, found, 0, room.held.size, finer, room)
        _list_counted(found, room, parts, kept_starts)
    else:
        order_by_class(end - begin, found, room.places)
        _list_gathered(begin, found, finer, room, parts, kept_starts)
    return found


@kernel(inner=True, bare=True)
def _list_counted(found: int, room: Room, parts: np.ndarray, starts: np.ndarray) -> None:
    """The parts of all classes after `count_values`. What is not there is written and written over: nobody can foretell it."""
    rows, begins, width, written = room.rows, room.places[1], room.held.size, 0
    values, counts, owners = parts[0], parts[1], parts[2]
    for c in range(found):
        begin, starts[c] = begins[c], written
        for value in range(width):
            held = rows[begin + value]
            values[written], counts[written], owners[written] = value, held, c
            written += held > 0
    starts[found] = written


@kernel(inner=True, bare=True)
def _list_gathered(
    begin: int, found: int, finer: FinerClasses, room: Room, parts: np.ndarray, starts: np.ndarray
) -> None:
    """The same after `order_by_class`."""
    held, some, written = room.held, room.some, 0
    for c in range(found):
        starts[c] = written
        n = gather_parts(c, begin, finer, room, 0)
        for j in range(n):
            value = some[j]
            parts[0, written], parts[1, written], parts[2, written] = value, held[value], c
            held[value] = 0
            written += 1
    starts[found] = written


@kernel(inner=True, bare=True)
def number_classes(
    node: np.ndarray, finer: FinerClasses, reading: KeyReading, room: Room
) -> tuple[np.int64, np.int64, np.int64]:
    """Put the classes of a node together from those of the finer one that has fewest; returns where these begin and end, and how
    many classes there are.

    Each of the finer ones gets the number of its class in `places[0]`, each class its records in `sums` and its first tuple in
    `firsts`.
    """
    source = source_of(node, finer.nodes, finer.bounds)
    begin, end = finer.bounds[source], finer.bounds[source + 1]
    tuples, weights = finer.tuples[begin:end], finer.weights[begin:end]
    space = _read_keys(node, tuples, reading, room)
    held, each, keys, places, sums = room.slots, room.each, room.keys, room.places, room.sums
    direct = space <= np.uint64(8 * tuples.size + DIRECT)
    mask, found = np.uint64(HASHES - 1), 0
    for j in range(tuples.size):
        key = each[j]
        spot = key if direct else slot_of(key, held, mask, keys)
        number = held[spot]
        if number > 0:
            sums[number - 1] += weights[j]
            places[0, j] = number - 1
            continue
        keys[found], sums[found], places[0, j], room.firsts[found] = key, weights[j], found, tuples[j]
        found += 1
        held[spot] = found
        if not direct and np.uint64(2 * found) > mask:
            mask = more_slots(held, mask, keys, found)
    if direct:
        for c in range(found):
            held[keys[c]] = 0
    else:
        held[: mask + np.uint64(1)] = 0
    return np.int64(begin), np.int64(end), np.int64(found)


@kernel(inner=True, bare=True)
def _read_keys(node: np.ndarray, tuples: np.ndarray, reading: KeyReading, room: Room) -> int:
    """The keys of some tuples, in `room.each`; returns how many keys can be.

    From columns of labels the keys of all tuples take less time than those of a twelfth of them digit by digit.
    """
    each, space = room.each, 1
    for a in range(node.size):
        space = min(space * reading.labels[a, node[a]], WHOLE)
    if space < WHOLE and ALL_OF * tuples.size >= reading.columns.shape[1] > 0:
        fill_keys(node, reading.places, reading.labels, reading.columns, True, room.every)
        for j in range(tuples.size):
            each[j] = np.uint64(room.every[tuples[j]])
        return np.uint64(space)
    keys = fill_table(
        node, reading.order, reading.ends, reading.first, reading.labels, reading.numbers, reading.offsets, room.table
    )
    for j in range(tuples.size):
        each[j] = key_of(reading.digits, tuples[j], room.table)
    return keys


@kernel(inner=True, bare=True)
def order_by_class(size: int, found: int, places: np.ndarray) -> None:
    """The finer classes class by class in `places[2]`; where each class begins in `places[1]`, and the last ends."""
    for c in range(found + 1):
        places[1, c] = 0
    for j in range(size):
        places[1, places[0, j]] += 1
    total = 0
    for c in range(found):
        total += places[1, c]
        places[1, c] = total
    places[1, found] = total
    for j in range(size - 1, -1, -1):
        places[1, places[0, j]] -= 1
        places[2, places[1, places[0, j]]] = j


@kernel(inner=True, bare=True)
def count_values(begin: int, end: int, found: int, k: int, width: int, finer: FinerClasses, room: Room) -> None:
    """How often each class of k records has each value, from `rows[places[1, c]]` on; the small classes together come first.

    The parts are read as they stand: half the time of going from class to class, as `order_by_class` and `gather_parts` do where
    the counters would be too many.
    """
    places, sums, rows, last = room.places, room.sums, room.rows, 0
    values, counts, owners = finer.values, finer.counts, finer.owners
    for c in range(found):
        last += width * (sums[c] >= k)
        places[1, c] = last * (sums[c] >= k)
    rows[: last + width] = 0
    for j in range(end - begin):
        places[2, j] = places[1, places[0, j]]
    for e in range(finer.starts[begin], finer.starts[end]):
        rows[places[2, owners[e]] + values[e]] += counts[e]


@kernel(inner=True, bare=True)
def list_held(held: np.ndarray, some: np.ndarray) -> int:
    """Which values there are; returns how many."""
    n = 0
    for value in range(held.size):
        some[n] = value
        n += held[value] > 0
    return n


@kernel(inner=True, bare=True)
def gather_parts(c: int, begin: int, finer: FinerClasses, room: Room, n: int) -> int:
    """Add up the parts of class c; returns how many combinations are in `some`."""
    places, held, some = room.places, room.held, room.some
    starts, values, counts = finer.starts, finer.values, finer.counts
    for spot in range(places[1, c], places[1, c + 1]):
        one = begin + places[2, spot]
        for e in range(starts[one], starts[one + 1]):
            value = values[e]  # whether it is new is not to be guessed, so it is written down in any case
            some[n] = value
            n += held[value] == 0
            held[value] += counts[e]
    return n
