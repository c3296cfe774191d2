"""Kernels for rules on sensitive attributes: parts of classes, verdicts on a class, lower bounds on its suppressed
records.

As `breaks` (kernels `nodes`) and `least_removed` (kernels `dense_attributes`), for classes that contain few of all
values, without allocating arrays: `some[:n]` are the values that the class contains, `held` their counts. Sums of whole
numbers are the same in any order, and are divided once, so the verdicts are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.algorithms.lattice.kernels.classes import (
    DIRECT,
    HASHES,
    WHOLE,
    fill_keys,
    fill_table,
    key_of,
    source_of,
)
from oboro.kernels.hashing import hash_of, more_slots, slot_of
from oboro.kernels.jit import kernel

__all__ = [
    "ALPHA",
    "BASIC_LIKENESS",
    "DISCLOSURE",
    "DISCLOSURE_OF_HELD",
    "DISTINCT",
    "ENHANCED_LIKENESS",
    "ENTROPY",
    "FAILS",
    "HELD_ALONE",
    "KINDS",
    "MONOTONE",
    "OPEN",
    "RECURSIVE",
    "T_ORDERED",
    "T_TREE",
    "FinerClasses",
    "KeyReading",
    "Room",
    "RuleArrays",
    "RuleKind",
    "ask",
    "count_values",
    "fewest_gone",
    "gather_parts",
    "join_classes",
    "judge_nodes",
    "list_held",
    "number_classes",
    "order_by_class",
    "verdict",
]


# Kinds of rules -------------------------------------------------------------------------------------------------------
# Kinds of rules about the sensitive values of a class, as kernels know them, and the properties that a search may
# assume.
#
# A new kind is a number and a line in `KINDS`; every kernel that judges classes ends in an error for an unknown number.


DISTINCT, ENTROPY, RECURSIVE, T_ORDERED, T_TREE, ALPHA = range(6)
DISCLOSURE, DISCLOSURE_OF_HELD, BASIC_LIKENESS, ENHANCED_LIKENESS = range(6, 10)


class RuleKind(NamedTuple):
    """Properties of a kind of rule, where records are counted. Where people are counted, no class follows from another."""

    monotone: bool = False
    """A class that keeps the rule keeps it after being joined with any other."""
    union_closed: bool = True
    """Two classes that keep the rule keep it when they are joined."""
    ordered_codes: bool = False
    """The verdict depends on the order of the values' codes."""
    compared_with_whole: bool = False
    """The verdict depends on the distribution in the whole table."""
    by_share: bool = False
    """Each value's share is compared with its own in the whole table; `count` is the number of records of the whole table."""
    held_alone: bool = False
    """Values that a class lacks may be left out of its histogram."""
    strict: bool = False
    """A class that lies exactly on the limit breaks the rule."""


KINDS: dict[int, RuleKind] = {
    DISTINCT: RuleKind(monotone=True, held_alone=True),
    ENTROPY: RuleKind(held_alone=True),
    RECURSIVE: RuleKind(held_alone=True, strict=True),
    T_ORDERED: RuleKind(ordered_codes=True, compared_with_whole=True),
    T_TREE: RuleKind(compared_with_whole=True),
    ALPHA: RuleKind(),
    DISCLOSURE: RuleKind(compared_with_whole=True, by_share=True, strict=True),
    DISCLOSURE_OF_HELD: RuleKind(union_closed=False, compared_with_whole=True, by_share=True, strict=True),
    BASIC_LIKENESS: RuleKind(compared_with_whole=True, by_share=True),
    ENHANCED_LIKENESS: RuleKind(compared_with_whole=True, by_share=True),
}
MONOTONE = tuple(kind for kind, its in KINDS.items() if its.monotone)
HELD_ALONE = tuple(kind for kind, its in KINDS.items() if its.held_alone)


# Classes and their parts ----------------------------------------------------------------------------------------------
# The classes of a node and their *parts*: how many records of each have each combination of sensitive values.
#
# Both are put together from the classes of a finer node. A class is represented by any one of its tuples, with its
# records and its parts.


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
    """Tables for reading the key of a tuple: as in `count_nodes`, or from `columns`, if there are any, as in
    `count_columns`.
    """

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
    """Work memory of a thread. `slots`, `held` and `own` are zero before and after; `count_nodes` says how many slots
    there are.
    """

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
    """Build the classes of one node with their parts, to judge coarser nodes from; returns how many there are.

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
        spot = key if direct else slot_of(key, hash_of(key), held, mask, keys)
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
    """Count each value in each class of k records, from `rows[places[1, c]]` on; the small classes together come first.

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
    """List the values that occur; returns how many."""
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


# Verdicts on one class ------------------------------------------------------------------------------------------------


SLACK = 1e-9  # entropies closer to the limit than this are left to exact arithmetic
ROUNDING = 1e-9  # what sums of weights may be wrong by, as a part of what they add up
TANGENTS = 3  # of the entropy, each where the one before says that the class would be left


@kernel(inner=True, bare=True)
def verdict(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    bits: np.ndarray,
    surplus: np.ndarray,
) -> int:
    """Judge whether the class violates the rule: 0 no, 1 yes, 2 too close for logarithms. O(values held), ordered
    O(values).
    """
    most = np.int64(0)
    for j in range(n):
        most = max(most, held[some[j]])
    if kind == DISTINCT:
        return 1 if n < count or (count > 1 and most >= size) else 0
    if kind == RECURSIVE:
        return 1 if count > 1 and most >= size else _breaks_recursive(held, some, n, size, most, count, level, surplus)
    if kind == ENTROPY:
        return _breaks_entropy(held, some, n, size, most, level, bits)
    if kind == ALPHA:
        watched = most if count < 0 else held[count]
        return 1 if watched / size > level else 0
    if kind == T_ORDERED:
        return 1 if _ordered_distance(held, size, whole) > level else 0
    if kind == T_TREE:
        return 1 if _tree_distance(held, some, n, size, whole, tree, above, surplus) > level else 0
    if kind in (DISCLOSURE, DISCLOSURE_OF_HELD, BASIC_LIKENESS, ENHANCED_LIKENESS):
        return _breaks_shares(held, some, n, size, kind, count, level, whole, caps)
    raise ValueError("a kind of rule that this kernel does not know")


@kernel(inner=True, bare=True)
def _breaks_recursive(
    held: np.ndarray, some: np.ndarray, n: int, size: int, most: int, count: int, level: float, largest: np.ndarray
) -> int:
    """As in `node_classes`."""
    rest = size - (most if count == 2 else _sum_of_largest(held, some, n, min(count - 1, n), largest))
    return 0 if rest > 0 and most / rest < level else 1


@kernel(inner=True, bare=True)
def _breaks_entropy(
    held: np.ndarray, some: np.ndarray, n: int, size: int, most: int, level: float, bits: np.ndarray
) -> int:
    """From x · log x of whole numbers: size · (entropy − log(level))."""
    if most * n == size:
        return 1 if n < level else 0  # all equally frequent: exactly log(n)
    over = _times_log(size, bits) - size * np.log(level)
    for j in range(n):
        over -= _times_log(held[some[j]], bits)
    if abs(over) < SLACK * size:
        return 2
    return 1 if over < 0 else 0


@kernel(inner=True, bare=True)
def _times_log(number: int, bits: np.ndarray) -> float:
    return bits[number] if number < bits.size else number * np.log(np.float64(number))


@kernel(inner=True, bare=True)
def _breaks_shares(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    kind: int,
    rows: int,
    level: float,
    whole: np.ndarray,
    caps: np.ndarray,
) -> int:
    """Disclosure and likeness; `caps` has how much a value's share may grow, and last how many values there are."""
    if kind == DISCLOSURE and n < caps[whole.size]:
        return 1
    for j in range(n):
        value = some[j]
        here, everywhere = held[value] * rows, whole[value] * size
        if kind in (DISCLOSURE, DISCLOSURE_OF_HELD):
            if here / everywhere >= level or everywhere / here >= level:
                return 1
        elif here > everywhere and (here - everywhere) / everywhere > caps[value]:
            return 1
    return 0


@kernel(inner=True, bare=True)
def _ordered_distance(held: np.ndarray, size: int, whole: np.ndarray) -> float:
    rows = np.int64(0)
    for value in range(whole.size):
        rows += whole[value]
    moved, carried = 0.0, np.int64(0)
    for value in range(whole.size):
        carried += held[value] * rows - whole[value] * size
        moved += abs(carried)
    return moved / (max(1, whole.size - 1) * float(rows) * size)


@kernel(inner=True, bare=True)
def _tree_distance(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    surplus: np.ndarray,
) -> float:
    """`above[h, ancestor]` is how many records of the table an ancestor holds. Those that the class lacks hold too few: so much
    that all of them together lack what the others have too much."""
    rows, moved = above[0, whole.size], np.int64(0)
    for h in range(tree.shape[0]):
        moved += rows * size
        for j in range(n):
            surplus[tree[h, some[j]]] += held[some[j]]
        for j in range(n):
            ancestor = tree[h, some[j]]
            if surplus[ancestor] > 0:
                usual = above[h, ancestor] * size
                moved += abs(surplus[ancestor] * rows - usual) - usual
                surplus[ancestor] = 0
    return float(moved / (2.0 * rows * size * tree.shape[0]))


@kernel(inner=True, bare=True)
def fewest_gone(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    k: int,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    surplus: np.ndarray,
    weights: np.ndarray,
    left: np.ndarray,
) -> int:
    """Lower bound on the records of a class violating a weak rule that every finer node suppresses; all, where fewer
    than k would be left.

    See `least_removed` for why. `surplus` is zeroed, `weights` and `left` are written on.
    """
    fewest = np.int64(0)
    if kind in MONOTONE:  # no part of a class keeps what the class breaks
        fewest = size
    elif kind == RECURSIVE:
        fewest = size if n < count else size - _kept_recursive(held, some, n, size, count, level, surplus)
    elif kind == ENTROPY:
        fewest = size if n < level else _by_entropy(held, some, n, size, k, level, weights, left)
    elif kind == T_ORDERED:
        _ordered(held, size, level, whole, weights)
        fewest = _fewest(held, some, n, size, weights)
    elif kind == T_TREE and tree.shape[0] > 1:
        _tree(held, some, n, size, level, whole, tree, above, surplus, weights)
        fewest = _fewest(held, some, n, size, weights)
    elif kind in (T_TREE, ALPHA, DISCLOSURE, BASIC_LIKENESS, ENHANCED_LIKENESS):
        fewest = _by_shares(held, some, n, size, kind, count, level, whole, above[0, whole.size], caps, weights)
    elif kind != DISCLOSURE_OF_HELD:  # nothing follows of finer nodes
        raise ValueError("a kind of rule that this kernel does not know")
    return size if fewest > 0 and size - fewest < k else fewest


@kernel(inner=True, bare=True)
def _kept_at_most(held: np.ndarray, some: np.ndarray, n: int, most: float, rest: float, weights: np.ndarray) -> int:
    """At most how many of the records stay where each value has at most a share of them (`weights`), or where all that values have
    above theirs is at most the share 1 − `rest`; no more than `most`.

    With T records, the sum of min(held, share · T) must be at least rest · T. That is concave in T, so nothing is kept beyond where
    a tangent meets rest · T, and the next tangent is taken there.
    """
    kept = most
    for _ in range(n + 1):
        below, above = 0.0, 0.0
        for j in range(n):
            if held[some[j]] < weights[some[j]] * kept:
                below += held[some[j]]
            else:
                above += weights[some[j]]
        if rest - above <= ROUNDING or below >= (rest - above) * kept * (1 - ROUNDING):
            break
        kept = below / (rest - above)
    return np.int64(np.floor(kept + ROUNDING * (most + 1)))


@kernel(inner=True, bare=True)
def _by_shares(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    rows: int,
    caps: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Alpha, disclosure, likeness and the equal distance: the share of each value is limited, or what shares have too much."""
    most = np.float64(size)
    if kind == DISCLOSURE and n < caps[whole.size]:
        return size
    for j in range(n):
        share = whole[some[j]] / rows
        if kind == T_TREE:
            weights[some[j]] = share
        elif kind == ALPHA:
            weights[some[j]] = level if count < 0 or some[j] == count else 1.0
        elif kind == DISCLOSURE:
            weights[some[j]] = share * level
            most = min(most, held[some[j]] * level / share)
        else:
            weights[some[j]] = share * (1 + caps[some[j]])
    rest = 1.0 - level if kind == T_TREE else 1.0
    return size - min(size, _kept_at_most(held, some, n, most, rest, weights))


@kernel(inner=True, bare=True)
def _kept_recursive(
    held: np.ndarray, some: np.ndarray, n: int, size: int, count: int, level: float, largest: np.ndarray
) -> int:
    """No value stays more often than c times what the values but the l − 1 most frequent have together."""
    rest = size - _sum_of_largest(held, some, n, min(count - 1, n), largest)
    kept, most = np.int64(0), np.int64(np.floor(level * rest * (1 + ROUNDING)))
    for j in range(n):
        kept += min(held[some[j]], most)
    return kept


@kernel(inner=True, bare=True)
def _sum_of_largest(held: np.ndarray, some: np.ndarray, n: int, places: int, largest: np.ndarray) -> int:
    """Count the records of the most frequent values together; these are sorted in `largest`, which is zeroed again."""
    total = np.int64(0)
    for j in range(n if places > 0 else 0):
        number, spot = held[some[j]], places - 1
        if number <= largest[spot]:
            continue
        while spot > 0 and largest[spot - 1] < number:
            largest[spot] = largest[spot - 1]
            spot -= 1
        largest[spot] = number
    for j in range(places):
        total += largest[j]
        largest[j] = 0
    return total


@kernel(inner=True, bare=True)
def _fewest(held: np.ndarray, some: np.ndarray, n: int, size: int, weights: np.ndarray) -> int:
    """The fewest records whose removal adds up what the weighted sum of `held` lacks to be 0. The heaviest value is looked for
    again and again, for few are needed; `weights` of what is taken become 0."""
    lacking, scale = 0.0, 0.0
    for j in range(n):
        part = held[some[j]] * weights[some[j]]
        lacking -= part
        scale += abs(part)
    lacking -= ROUNDING * scale
    taken = 0.0
    for _ in range(n):
        heaviest = some[0]
        for j in range(1, n):
            if weights[some[j]] < weights[heaviest]:
                heaviest = some[j]
        weight = weights[heaviest]
        if lacking <= 0 or weight >= 0:
            break
        part = min(float(held[heaviest]), -lacking / weight)
        taken += part
        lacking += part * weight
        weights[heaviest] = 0.0
    return size if lacking > ROUNDING * scale else np.int64(np.ceil(taken - ROUNDING * size))


@kernel(inner=True, bare=True)
def _by_entropy(
    held: np.ndarray, some: np.ndarray, n: int, size: int, k: int, level: float, weights: np.ndarray, left: np.ndarray
) -> int:
    """By tangents of the entropy, see `least_removed`."""
    most, total = np.int64(0), np.float64(size)
    for j in range(n):
        left[some[j]] = held[some[j]]
    for _ in range(TANGENTS):
        for j in range(n):
            weights[some[j]] = np.log(total / (level * left[some[j]]))
        fewest = _fewest(held, some, n, size, weights)
        if fewest <= most or size - fewest < k:
            return max(most, fewest)
        most, rest, total = fewest, np.float64(fewest), 0.0
        for j in range(n):
            left[some[j]] = held[some[j]]
        for _ in range(n):  # the most frequent values go first
            largest = some[0]
            for j in range(1, n):
                if left[some[j]] > left[largest]:
                    largest = some[j]
            part = min(rest, left[largest] - 0.5)
            left[largest] = -(left[largest] - part)  # below 0: taken
            rest -= part
            if rest <= 0:
                break
        for j in range(n):
            left[some[j]] = abs(left[some[j]])
            total += left[some[j]]
    return most


@kernel(inner=True, bare=True)
def _ordered(held: np.ndarray, size: int, level: float, whole: np.ndarray, weights: np.ndarray) -> None:
    """The signs of what is carried past each value make the distance a weighted sum."""
    rows, carried = np.int64(0), np.int64(0)
    for value in range(whole.size):
        rows += whole[value]
    for value in range(whole.size):
        carried += held[value] * rows - whole[value] * size
        weights[value] = np.sign(carried) / max(1, whole.size - 1)
    far, mean = 0.0, 0.0
    for value in range(whole.size - 1, -1, -1):
        far += weights[value]
        weights[value] = -far
        mean += far * whole[value]
    for value in range(whole.size):
        weights[value] += level + mean / rows


@kernel(inner=True, bare=True)
def _tree(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    surplus: np.ndarray,
    weights: np.ndarray,
) -> None:
    """The signs of what each ancestor holds too much make the distance a weighted sum; those that the class lacks hold too few."""
    rows, half = above[0, whole.size], 0.5 / tree.shape[0]
    mean = np.int64(0)
    for j in range(n):
        weights[some[j]] = level
    for h in range(tree.shape[0]):
        mean -= rows
        for j in range(n):
            surplus[tree[h, some[j]]] += held[some[j]]
        for j in range(n):
            ancestor = tree[h, some[j]]
            sign = np.sign(surplus[ancestor] * rows - above[h, ancestor] * size)
            weights[some[j]] -= sign * half
        for j in range(n):
            ancestor = tree[h, some[j]]
            if surplus[ancestor] > 0:
                mean += (np.sign(surplus[ancestor] * rows - above[h, ancestor] * size) + 1) * above[h, ancestor]
                surplus[ancestor] = 0
    for j in range(n):
        weights[some[j]] += mean * half / rows


# Verdicts on nodes ----------------------------------------------------------------------------------------------------
# Judge the classes of several nodes by rules about sensitive values, each node from the classes of a finer one.


JUDGED, FAILS, OPEN = 0, 1, 2  # every class was judged, enough to fail, too close for logarithms


class RuleArrays(NamedTuple):
    """Rule r has `kinds[r]` (kind, count, width, heights); `combined[r, value]` is its value in a combination."""

    kinds: np.ndarray
    levels: np.ndarray
    whole: np.ndarray
    tree: np.ndarray
    above: np.ndarray
    caps: np.ndarray
    combined: np.ndarray
    bits: np.ndarray


@kernel()
def judge_nodes(
    nodes: np.ndarray,
    finer: FinerClasses,
    reading: KeyReading,
    codes: np.ndarray,
    steps: np.ndarray,
    k: int,
    most: int,
    exempt: bool,
    rules: RuleArrays,
    room: Room,
    lost: np.ndarray,
    hurdle: float,
    tally: np.ndarray,
    out: np.ndarray,
) -> None:
    """Judge some nodes whose classes must have k records and satisfy some rules. O(classes and parts of the finer
    nodes).

    Gives in `out` how it was judged, the suppressed records (at least, where it fails), how many go in every finer node,
    the classes, the kept ones, the squared sizes of all and of the kept ones, and whether the suppressed are a safe class; in
    `tally[a, step]` the suppressed by what they cost, unless they are more than `most`, or `lost` (by the levels, and at least for
    each suppressed record) is more than `hurdle`. Costs are read as in `count_nodes`.
    """
    width, sums = rules.combined.shape[1], room.sums
    for m in range(nodes.shape[0]):
        begin, end, found = number_classes(nodes[m], finer, reading, room)
        squares, small = np.int64(0), np.int64(0)
        for c in range(found):
            squares += sums[c] * sums[c]
            small += sums[c] * (sums[c] < k)
        out[m, 0], out[m, 1], out[m, 2], out[m, 3] = JUDGED, small, small, found
        out[m, 4], out[m, 5], out[m, 6], out[m, 7] = 0, squares, 0, 1
        if out[m, 1] > most:
            out[m, 0] = FAILS
            continue
        few = (found + 1) * width <= room.rows.size
        if few:
            count_values(begin, end, found, k, width, finer, room)
            _judge_counted(found, k, most, rules, room, out[m])
        else:
            order_by_class(end - begin, found, room.places)
            _judge_gathered(begin, found, k, most, finer, rules, room, out[m])
        if out[m, 0] != JUDGED or out[m, 1] == 0 or out[m, 1] > most:
            continue
        if few and not exempt:
            _ask_counted(k, rules, room, out[m])
        elif not exempt:
            _ask_gathered(begin, found, k, finer, rules, room, out[m])
        if lost[m, 0] + out[m, 1] * lost[m, 1] <= hurdle:
            _tally(nodes[m], found, reading, codes, steps, room, tally[m])


@kernel(inner=True, bare=True)
def _tally(
    node: np.ndarray,
    found: int,
    reading: KeyReading,
    codes: np.ndarray,
    steps: np.ndarray,
    room: Room,
    out: np.ndarray,
) -> None:
    """Add up the records of classes that go, whose records are negative. O(classes + classes that go · attributes)."""
    sums, firsts, chosen, n = room.sums, room.firsts, room.places[2], 0
    for c in range(found):
        chosen[n] = c
        n += sums[c] < 0
    for a in range(node.size):
        begin = reading.first[a, node[a]] - reading.offsets[a]
        for j in range(n):
            out[a, steps[begin + np.int64(codes[firsts[chosen[j]], a])]] -= sums[chosen[j]]


@kernel(inner=True, bare=True)
def _of_rule(
    held: np.ndarray, some: np.ndarray, n: int, combined: np.ndarray, mine: np.ndarray, few: np.ndarray
) -> int:
    """The values of one rule from combinations, in `mine` and `few`."""
    found = 0
    for j in range(n):
        value = combined[some[j]]
        few[found] = value
        found += mine[value] == 0
        mine[value] += held[some[j]]
    return found


@kernel(inner=True, bare=True)
def ask(n: int, size: int, k: int, least: bool, rules: RuleArrays, held: np.ndarray, room: Room) -> int:
    """Judge a class whose combinations are `room.some[:n]` by the rules: −1 it satisfies all, −2 undecided, else how
    many of its records every finer node suppresses, if that is requested.
    """
    kinds, surplus = rules.kinds, room.surplus
    for r in range(kinds.shape[0]):
        mine, some, found = held, room.some, n
        if kinds.shape[0] > 1:
            mine, some = room.own, room.few
            found = _of_rule(held, room.some, n, rules.combined[r], mine, some)
        kind, count, width, height = kinds[r, 0], kinds[r, 1], kinds[r, 2], kinds[r, 3]
        level, above, caps = rules.levels[r], rules.above[r], rules.caps[r]
        usual, ladder = rules.whole[r, :width], rules.tree[r, :height]
        broken = verdict(mine, some, found, size, kind, count, level, usual, ladder, above, caps, rules.bits, surplus)
        gone = np.int64(0)
        if broken == 1 and least:
            gone = fewest_gone(
                mine, some, found, size, k, kind, count, level, usual, ladder, above, caps, surplus, room.spare,
                room.more,
            )  # fmt: skip
        if kinds.shape[0] > 1:
            for j in range(found):
                mine[some[j]] = 0
        if broken > 0:
            return gone if broken == 1 else -2
    return -1


@kernel(inner=True, bare=True)
def _judge_counted(found: int, k: int, most: int, rules: RuleArrays, room: Room, out: np.ndarray) -> None:
    """Judge the classes after `count_values`; the records of those that go become negative, and their values are counted with those
    of the small classes. Ends as soon as the node fails with every finer one.

    Not one loop with `_judge_gathered`: where an array may be the one or the other, each class takes three times as long.
    """
    some, rows, sums, begins, width = room.some, room.rows, room.sums, room.places[1], rules.combined.shape[1]
    suppressed, surely, kept, squares = out[1], out[2], np.int64(0), np.int64(0)
    for c in range(found):
        size = sums[c]
        if size < k:
            sums[c] = -size
            continue
        mine = rows[begins[c] : begins[c] + width]
        gone = ask(list_held(mine, some), size, k, True, rules, mine, room)
        if gone == -2:
            out[0] = OPEN
            break
        if gone < 0:
            kept += 1
            squares += size * size
            continue
        for value in range(width):
            rows[value] += mine[value]
        sums[c] = -size
        suppressed += size
        surely += gone
        if surely > most:
            out[0] = FAILS
            break
    out[1], out[2], out[4], out[6] = suppressed, surely, kept, squares


@kernel(inner=True, bare=True)
def _judge_gathered(
    begin: int, found: int, k: int, most: int, finer: FinerClasses, rules: RuleArrays, room: Room, out: np.ndarray
) -> None:
    """As `_judge_counted`, after `order_by_class`, where the counters would be too many."""
    held, some, sums = room.held, room.some, room.sums
    for c in range(found):
        size = sums[c]
        if size < k:
            sums[c] = -size
            continue
        n = gather_parts(c, begin, finer, room, 0)
        gone = ask(n, size, k, True, rules, held, room)
        for j in range(n):
            held[some[j]] = 0
        if gone == -2:
            out[0] = OPEN
            return
        if gone < 0:
            out[4] += 1
            out[6] += size * size
            continue
        sums[c] = -size
        out[1] += size
        out[2] += gone
        if out[2] > most:
            out[0] = FAILS
            return


@kernel(inner=True, bare=True)
def _note_asked(asked: int, out: np.ndarray) -> None:
    if asked == -2:
        out[0] = OPEN
    out[7] = asked == -1


@kernel(inner=True, bare=True)
def _ask_counted(k: int, rules: RuleArrays, room: Room, out: np.ndarray) -> None:
    """Return whether the suppressed are a class that keeps the rules, after `_judge_counted`."""
    if out[1] < k:
        out[7] = 0
        return
    mine = room.rows[: rules.combined.shape[1]]
    _note_asked(ask(list_held(mine, room.some), out[1], k, False, rules, mine, room), out)


@kernel(inner=True, bare=True)
def _ask_gathered(
    begin: int, found: int, k: int, finer: FinerClasses, rules: RuleArrays, room: Room, out: np.ndarray
) -> None:
    """The same after `_judge_gathered`."""
    if out[1] < k:
        out[7] = 0
        return
    n = 0
    for c in range(found):
        if room.sums[c] < 0:
            n = gather_parts(c, begin, finer, room, n)
    asked = ask(n, out[1], k, False, rules, room.held, room)
    for j in range(n):
        room.held[room.some[j]] = 0
    _note_asked(asked, out)
