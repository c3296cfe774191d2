"""Checking one node of a generalization lattice: keys of classes, their sizes, what they break.

A *tuple* is a combination of codes that occurs in the table, with the number of records that share it (its weight). A
node's `table` holds, for every code of every attribute (the attributes one after the other, codes numbered through),
the generalized code times a stride, so that the sum over the attributes is the class's key: the same key means the
same class, exactly.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels.least_removed import least_removed
from oboro.decide.lattice.kernels.rule_kinds import (
    ALPHA,
    BASIC_LIKENESS,
    DISCLOSURE,
    DISCLOSURE_OF_HELD,
    DISTINCT,
    ENHANCED_LIKENESS,
    ENTROPY,
    RECURSIVE,
    T_ORDERED,
    T_TREE,
)
from oboro.decide.lattice.kernels.share_rules import breaks_disclosure, breaks_likeness
from oboro.kernels import kernel

__all__ = [
    "breaks",
    "distinct_people",
    "judge",
    "keys",
    "number_by_hash",
    "number_by_person",
    "order_by_class",
    "sizes",
    "tally",
]

SLACK = 1e-9  # entropies closer to the limit than this are left to exact arithmetic


def _keys(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    out[:] = table[codes].sum(axis=1, dtype=np.uint64)


@kernel(little=_keys)
def keys(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """One key per tuple. O(tuples · attributes)."""
    for i in range(codes.shape[0]):
        key = np.uint64(0)
        for a in range(codes.shape[1]):
            key += table[codes[i, a]]
        out[i] = key


def _number_by_hash(keys: np.ndarray, slots: np.ndarray, out: np.ndarray) -> int:
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    out[:] = np.argsort(np.argsort(first))[which]
    return int(first.size)


@kernel(little=_number_by_hash)
def number_by_hash(keys: np.ndarray, slots: np.ndarray, out: np.ndarray) -> int:
    """Number equal keys alike, 0, 1, 2 … by first appearance; returns how many there are.

    `slots` is filled with −1 and has a power of two places, at least twice as many as keys. Full keys are compared,
    so a collision costs time and never joins two classes.
    """
    mask = np.uint64(slots.size - 1)
    found = 0
    for i in range(keys.size):
        key = keys[i]
        spot = ((key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
        while True:
            first = slots[spot]
            if first < 0:
                slots[spot] = i
                out[i] = found
                found += 1
                break
            if keys[first] == key:
                out[i] = out[first]
                break
            spot = (spot + np.uint64(1)) & mask
    return found


def _sizes(labels: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    np.add.at(out, labels, weights)


@kernel(little=_sizes)
def sizes(labels: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` how many records each class holds. O(tuples)."""
    for i in range(labels.size):
        out[labels[i]] += weights[i]


def _tally(
    codes: np.ndarray, labels: np.ndarray, gone: np.ndarray, weights: np.ndarray, steps: np.ndarray, out: np.ndarray
) -> None:
    rows = np.flatnonzero(gone[labels])
    for a in range(codes.shape[1]):
        np.add.at(out[a], steps[codes[rows, a]], weights[rows])


@kernel(little=_tally)
def tally(
    codes: np.ndarray, labels: np.ndarray, gone: np.ndarray, weights: np.ndarray, steps: np.ndarray, out: np.ndarray
) -> None:
    """Add to `out[a, steps[code]]` how many records of the classes that go hold that code. O(tuples · attributes)."""
    for i in range(labels.size):
        if gone[labels[i]]:
            for a in range(codes.shape[1]):
                out[a, steps[codes[i, a]]] += weights[i]


def _order_by_class(labels: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    out[:] = labels.argsort(kind="stable")
    starts += np.bincount(labels, minlength=starts.size)


@kernel(little=_order_by_class)
def order_by_class(labels: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    """The tuples, class by class (a counting sort); `starts` says where each class begins and is moved to where it
    ends.
    """
    for i in range(labels.size):
        label = labels[i]
        out[starts[label]] = i
        starts[label] += 1


def _judge(order: np.ndarray, starts: np.ndarray, secrets: np.ndarray, weights: np.ndarray, *rest: np.ndarray) -> None:
    persons, kind, count, _, whole, _, _, out = rest
    if kind != DISTINCT or persons.size:
        judge.py_func(order, starts, secrets, weights, *rest)  # type: ignore[attr-defined]
        return
    labels = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    found, places = np.unique(labels * whole.size + secrets[order], return_inverse=True)
    held, size, most = np.zeros(found.size, np.int64), *np.zeros((2, starts.size - 1), np.int64)
    np.add.at(held, places, weights[order])
    np.add.at(size, labels, weights[order])
    np.maximum.at(most, found // whole.size, held)
    distinct = np.bincount(found // whole.size, minlength=size.size)
    out[(distinct < count) | ((count > 1) & (most >= size))] = 1


@kernel(little=_judge)
def judge(
    order: np.ndarray,
    starts: np.ndarray,
    secrets: np.ndarray,
    weights: np.ndarray,
    persons: np.ndarray,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    least: np.ndarray,
    out: np.ndarray,
) -> None:
    """Raise in `out` the classes that break one rule about one sensitive attribute to 1, those that are undecided to 2.

    Classes that already stand at 1 are not looked at. `least` (empty: not asked) gets for those that break the rule at least how
    many records go in every finer node. Where tuples have `persons` (empty: they have none), they come in the order
    of these, and people are counted: for a value those who have it. O(tuples + classes · what `breaks` costs).
    """
    held = np.zeros(whole.size, dtype=np.int64)
    last = np.full(whole.size if persons.size else 0, -1, dtype=np.int64)
    for c in range(starts.size - 1):
        if out[c] == 1:
            continue
        size, before = np.int64(0), np.int64(-1)
        for j in range(starts[c], starts[c + 1]):
            value = secrets[order[j]]
            if persons.size == 0:
                held[value] += weights[order[j]]
                size += weights[order[j]]
                continue
            person = np.int64(persons[order[j]])
            size += person != before
            held[value] += person != last[value]
            before = last[value] = person
        verdict = breaks(held, size, kind, count, level, whole, tree)
        if verdict > 0:
            out[c] = verdict
            if verdict == 1 and least.size:
                least[c] = least_removed(held, size, kind, count, level, whole, tree)
        for j in range(starts[c], starts[c + 1]):
            held[secrets[order[j]]] = 0
            if persons.size:
                last[secrets[order[j]]] = -1


@kernel(little=True)
def distinct_people(labels: np.ndarray, persons: np.ndarray, last: np.ndarray, out: np.ndarray) -> None:
    """How many different people each class holds; tuples come in the order of their persons. `last` holds −1. O(tuples)."""
    for i in range(labels.size):
        label = labels[i]
        if last[label] != persons[i]:
            last[label] = persons[i]
            out[label] += 1


@kernel(little=True)
def number_by_person(labels: np.ndarray, persons: np.ndarray, last: np.ndarray, out: np.ndarray) -> int:
    """Number tuples of the same label and person alike, by first appearance; returns how many there are.

    Tuples come in the order of their persons. `last` has a −1 for each label. O(tuples).
    """
    found = 0
    owner = np.empty(labels.size, dtype=np.int64)
    for i in range(labels.size):
        label = labels[i]
        if last[label] < 0 or owner[last[label]] != persons[i]:
            owner[found] = persons[i]
            last[label] = found
            found += 1
        out[i] = last[label]
    return found


@kernel(little=True)
def breaks(
    held: np.ndarray, size: int, kind: int, count: int, level: float, whole: np.ndarray, tree: np.ndarray
) -> int:
    """Whether a class that holds each sensitive value `held` times breaks a rule: 0 no, 1 yes, 2 too close for
    logarithms.

    `size` is how many records it has. Where people are counted it is how many these are, and less than the sum of `held` if some
    have several values; a value that all of them have is known of everybody, and then the class is not diverse.

    Counts are compared as whole numbers and ratios after one division, so that a limit of 0.3 and a share of 3/10
    round alike. O(values), recursive O(values · log), tree O(values · height).
    """
    if kind == DISTINCT:
        return 1 if np.count_nonzero(held) < count or (count > 1 and held.max() >= size) else 0
    if kind == RECURSIVE:
        return 1 if count > 1 and held.max() >= size else _breaks_recursive(held, count, level)
    total = held.sum()
    if kind == ENTROPY:
        return 1 if level > 1 and held.max() >= size else _breaks_entropy(held, total, level)
    if kind == ALPHA:
        most = held.max() if count < 0 else held[count]
        return 1 if most / size > level else 0
    if kind in (DISCLOSURE, DISCLOSURE_OF_HELD):
        return breaks_disclosure(held, size, count, level, whole, kind == DISCLOSURE)
    if kind in (BASIC_LIKENESS, ENHANCED_LIKENESS):
        return breaks_likeness(held, size, count, level, whole, kind == ENHANCED_LIKENESS)
    if kind == T_ORDERED:
        return 1 if _ordered_distance(held, total, whole) > level else 0
    if kind == T_TREE:
        return 1 if _tree_distance(held, total, whole, tree) > level else 0
    raise ValueError("a kind of rule that this kernel does not know")


@kernel(inner=True)
def _breaks_recursive(held: np.ndarray, count: int, level: float) -> int:
    """The most frequent values are looked for one by one: they are few, and to compile a sort takes two seconds."""
    rest, left = held.sum(), held.copy()
    for _ in range(min(count - 1, held.size)):
        largest = left.argmax()
        rest -= left[largest]
        left[largest] = 0
    return 0 if rest > 0 and held.max() / rest < level else 1


@kernel(inner=True)
def _breaks_entropy(held: np.ndarray, total: int, level: float) -> int:
    entropy, distinct = 0.0, 0
    for value in range(held.size):
        if held[value] > 0:
            distinct += 1
            share = held[value] / total
            entropy -= share * np.log(share)
    if held.max() * distinct == total:
        return 1 if distinct < level else 0  # all equally frequent: exactly log(distinct)
    if abs(entropy - np.log(level)) < SLACK:
        return 2
    return 1 if entropy < np.log(level) else 0


@kernel(inner=True)
def _ordered_distance(held: np.ndarray, total: int, whole: np.ndarray) -> float:
    """Earth mover's distance to the whole table where neighbours are 1 / (values − 1) apart."""
    rows = whole.sum()
    moved, carried = 0.0, 0
    for value in range(held.size):
        carried += held[value] * rows - whole[value] * total
        moved += abs(carried)
    return moved / (max(1, held.size - 1) * float(rows) * total)


@kernel(inner=True)
def _tree_distance(held: np.ndarray, total: int, whole: np.ndarray, tree: np.ndarray) -> float:
    """Earth mover's distance to the whole table where two values are as far apart as the height on which they meet.

    `tree[h, value]` is the ancestor's number at height h below the root (0: the value itself). What an ancestor holds
    too much crosses the edge above it; an edge is half a step long, since a value goes up and down again. One height
    only (the values below the root) is the equal distance.
    """
    rows = whole.sum()
    moved = 0
    if tree.shape[0] == 1:  # every value is its own ancestor
        for value in range(held.size):
            moved += abs(held[value] * rows - whole[value] * total)
        return float(moved / (2.0 * rows * total))
    surplus = np.zeros(held.size, dtype=np.int64)
    for h in range(tree.shape[0]):
        surplus[:] = 0
        for value in range(held.size):
            surplus[tree[h, value]] += held[value] * rows - whole[value] * total
        moved += np.abs(surplus).sum()
    return float(moved / (2.0 * rows * total * tree.shape[0]))
