"""Kernels that evaluate one node of a generalization lattice: keys of classes, their sizes, violated rules.

A *tuple* is a combination of codes that occurs in the table, with the number of records that share it (its weight). A
node's `table` holds, for every code of every attribute (the attributes one after the other, codes numbered through),
the generalized code times a stride, so that the sum over the attributes is the class's key: the same key means the
same class, exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.algorithms.lattice.kernels.attributes import (
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
    Room,
    RuleArrays,
    ask,
    list_held,
)
from oboro.algorithms.lattice.kernels.classes import WHOLE, fill_keys
from oboro.algorithms.lattice.kernels.dense_attributes import breaks_disclosure, breaks_likeness, least_removed
from oboro.algorithms.lattice.kernels.dominance import choose, count_above, count_below, note, promising
from oboro.kernels.hashing import hash_of, short_hash, short_shift, slot_of
from oboro.kernels.jit import kernel

__all__ = [
    "AT_ONCE",
    "FAILED",
    "HOLDS",
    "UNCLEAR",
    "Curve",
    "JoinedRows",
    "KeptMarks",
    "KeptRoom",
    "asked_of",
    "breaks",
    "distinct_people",
    "finest_alone",
    "is_bad",
    "join_alike",
    "judge",
    "judge_counted",
    "keys",
    "number_by_person",
    "order_by_class",
    "settle_kept",
    "sizes",
    "spread_labels",
    "tally",
]


SLACK = 1e-9  # entropies closer to the limit than this are left to exact arithmetic


def _keys(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    out[:] = table[codes].sum(axis=1, dtype=np.uint64)


@kernel(little=_keys)
def keys(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """Compute one key per tuple. O(tuples · attributes)."""
    for i in range(codes.shape[0]):
        key = np.uint64(0)
        for a in range(codes.shape[1]):
            key += table[codes[i, a]]
        out[i] = key


def _sizes(labels: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    np.add.at(out, labels, weights)


@kernel(little=_sizes)
def sizes(labels: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` the number of records in each class. O(tuples)."""
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
    """Order the tuples class by class (a counting sort); `starts` says where each class begins and is moved to where it
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
    """Count the different people of each class; tuples come in the order of their persons. `last` holds −1. O(tuples)."""
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
    """Judge whether a class with `held` records of each sensitive value violates a rule: 0 no, 1 yes, 2 too close for
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


# Verdicts on all classes ----------------------------------------------------------------------------------------------
# Rules about sensitive values, judged for every class at once: a counter for each class and value.


@kernel()
def judge_counted(
    labels: np.ndarray,
    place: np.ndarray,
    classes: np.ndarray,
    secrets: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    most: int,
    held: np.ndarray,
    least: np.ndarray,
    out: np.ndarray,
) -> None:
    """As `judge`, for records, with a counter for each class and value: the tuples are read once, as they come.

    `place` numbers the `classes` that are asked, −1 for the others; `held` has a zeroed row for each. Once the classes that break
    the rule have more than `most` records (of which as many go at least, where `least` is asked), the rest is not asked.
    O(tuples + classes · what `breaks` costs).
    """
    for i in range(labels.size):
        row = place[labels[i]]
        if row >= 0:
            held[row, secrets[i]] += weights[i]
    gone = np.int64(0)
    for row in range(classes.size):
        c = classes[row]
        verdict = breaks(held[row], sizes[c], kind, count, level, whole, tree)
        if verdict > 0:
            out[c] = verdict
            if verdict == 1 and least.size:
                least[c] = least_removed(held[row], sizes[c], kind, count, level, whole, tree)
                gone += least[c]
            elif verdict == 1:
                gone += sizes[c]
            if gone > most:
                return


# Verdict on one class -------------------------------------------------------------------------------------------------
# One class of a node where no record may be suppressed: all rows with the labels of one row.


AT_ONCE = 2048  # rows that are compared together, so that the marks stay in the nearest memory


class JoinedRows(NamedTuple):
    """Row i has the label `columns[first[a, v], i]` of `labels[a, v]` and a combination of secrets, and is `weights[i]` records."""

    columns: np.ndarray
    first: np.ndarray
    labels: np.ndarray
    secrets: np.ndarray
    weights: np.ndarray


@kernel(inner=True, bare=True)
def asked_of(held: np.ndarray, size: int, k: int, rules: RuleArrays, room: Room) -> int:
    """Judge a class with these values by the rules: −1 it satisfies all, −2 undecided, else it violates one. O(values)."""
    return ask(list_held(held, room.some), size, k, False, rules, held, room)


@kernel(inner=True)
def is_bad(
    i: int,
    node: np.ndarray,
    rows: JoinedRows,
    k: int,
    rules: RuleArrays,
    room: Room,
    marks: np.ndarray,
) -> bool:
    """Return whether the class of row i at a node surely has too few records or breaks a rule. O(rows · attributes),
    many at a time.
    """
    columns, first, labels, secrets, weights = rows
    held, size = room.held, np.int64(0)
    for begin in range(0, secrets.size, AT_ONCE):
        end = min(begin + AT_ONCE, secrets.size)
        part = marks[: end - begin]
        part[:] = 1
        for a in range(node.size):
            if labels[a, node[a]] > 1:
                column = columns[first[a, node[a]], begin:end]
                wanted = columns[first[a, node[a]], i]
                for j in range(part.size):
                    part[j] &= np.uint16(column[j] == wanted)
        for j in range(part.size):
            if part[j]:
                size += weights[begin + j]
                held[secrets[begin + j]] += weights[begin + j]
    bad = size < k or asked_of(held, size, k, rules, room) >= 0
    held[:] = 0
    return bad


# Joined rows ----------------------------------------------------------------------------------------------------------
# Equal rows as one, and their labels on every level; levels of one attribute that fail by themselves.


@kernel()
def join_alike(
    codes: np.ndarray,
    numbers: np.ndarray,
    begins: np.ndarray,
    labels: np.ndarray,
    secrets: np.ndarray,
    values: int,
    weights: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    firsts: np.ndarray,
    sums: np.ndarray,
) -> int:
    """Join rows with the same labels and the same sensitive values; returns how many are left. O(rows · attributes).

    Code c of attribute a has the label `numbers[begins[a] + c]` of `labels[a]`. All combinations, with the `values` that a secret
    can have, must be fewer than 2^62. `slots` is a power of two, at least twice the rows, and zeroed. Gives in `firsts` a row of
    each, and in `sums` its records.
    """
    found, mask = 0, np.uint64(slots.size - 1)
    for i in range(secrets.size):
        key = np.uint64(secrets[i])
        for a in range(begins.size):
            key = key * np.uint64(labels[a]) + np.uint64(numbers[begins[a] + np.int64(codes[a, i])])
        spot = slot_of(key, hash_of(key), slots, mask, keys)
        number = slots[spot]
        if number > 0:
            sums[number - 1] += weights[i]
            continue
        keys[found], sums[found], firsts[found] = key, weights[i], i
        found += 1
        slots[spot] = found
    return found


@kernel()
def spread_labels(
    codes: np.ndarray, numbers: np.ndarray, begins: np.ndarray, owners: np.ndarray, out: np.ndarray
) -> None:
    """Columns of labels: `out[c, i]` is the label of row i, whose code is `codes[owners[c], i]`, from `begins[c]` on."""
    for c in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[c, i] = numbers[begins[c] + np.int64(codes[owners[c], i])]


@kernel()
def finest_alone(
    codes: np.ndarray,
    numbers: np.ndarray,
    begins: np.ndarray,
    labels: np.ndarray,
    widths: np.ndarray,
    heights: np.ndarray,
    secrets: np.ndarray,
    k: int,
    rules: RuleArrays,
    room: Room,
    counters: np.ndarray,
    out: np.ndarray,
) -> None:
    """Find for each attribute the finest level that does not fail by itself, all others left out. O(rows · attributes).

    What fails so fails in every node. `counters` has two zeroed rows of values for each code of an attribute.
    """
    values = rules.combined.shape[1]
    for a in range(heights.size):
        for i in range(secrets.size):
            counters[0, np.int64(codes[a, i]), np.int64(secrets[i])] += 1
        out[a] = heights[a]
        for level in range(heights[a], -1, -1):
            for code in range(widths[a]):
                label = np.int64(numbers[begins[a, level] + code])
                for value in range(values):
                    counters[1, label, value] += counters[0, code, value]
            bad = False
            for label in range(labels[a, level]):
                size = np.int64(0)
                for value in range(values):
                    size += counters[1, label, value]
                if size > 0 and (size < k or asked_of(counters[1, label], size, k, rules, room) >= 0):
                    bad = True
                    break
            counters[1, : labels[a, level]] = 0
            if bad:
                break
            out[a] = level
        counters[0, : widths[a]] = 0


# Nodes without suppression --------------------------------------------------------------------------------------------
# Select and judge nodes where no record may be suppressed, one after the other in one call.
#
# A node fails as soon as one class has fewer than k records or violates a rule, and then everything finer fails. The
# people who made other nodes fail are tested first (*witnesses*): a person unique in one node is so in most, and their
# class alone is read much sooner than all classes are numbered.


FAILED, HOLDS, UNCLEAR = 0, 1, 2  # what a node came to
ALONE = 24  # so many checks go one by one, for each settles much;
EACH = 1 << 10  # later ones go together, of so many nodes one, for each choice looks at all nodes


class KeptRoom(NamedTuple):
    """Work memory. `slots` is a power of two and zero before and after; there is a place in `known`, `sizes` and `one`
    for each class, as many as k records fit into the rows; `ids` and `keys` have one for each row.
    """

    slots: np.ndarray
    known: np.ndarray
    sizes: np.ndarray
    one: np.ndarray
    ids: np.ndarray
    keys: np.ndarray
    counters: np.ndarray
    marks: np.ndarray
    witnesses: np.ndarray


class KeptMarks(NamedTuple):
    """Status of every node; see `dominance.note`."""

    satisfies: np.ndarray
    fails: np.ndarray
    seen: np.ndarray
    covered: np.ndarray
    surely: np.ndarray
    base: np.ndarray
    """What the levels lose; nothing is added to it, for nobody is suppressed."""


class Curve(NamedTuple):
    """Numbers of nodes that failed and that satisfied, by entropy in steps; see `FailureCurve`. `tried`: nodes that
    were judged only for what they settle, and how many satisfied.
    """

    entropy: np.ndarray
    step: float
    failed: np.ndarray
    passed: np.ndarray
    tried: np.ndarray


@kernel(inner=True)
def _number(keys: np.ndarray, space: int, weights: np.ndarray, room: KeptRoom) -> int:
    """Give each row the number of its class; returns how many there are, or −1 if they are more than can hold k records each."""
    slots, known, sizes, ids, found = room.slots, room.known, room.sizes, room.ids, 0
    direct, mask, shift = space <= slots.size, np.uint64(slots.size - 1), short_shift(slots.size)
    for i in range(keys.size):
        key = keys[i]
        place = slot_of(key, np.uint64(key) if direct else np.uint64(short_hash(key, shift)), slots, mask, known)
        number = slots[place]
        if number == 0:
            if found == known.size:
                found = -1
                break
            known[found], sizes[found], room.one[found] = key, 0, i
            found += 1
            number = found
            slots[place] = found
        sizes[number - 1] += weights[i]
        ids[i] = number - 1
    slots[:] = 0
    return found


@kernel(inner=True)
def _first_bad(found: int, k: int, rows: JoinedRows, rules: RuleArrays, own: Room, room: KeptRoom) -> int:
    """A class that breaks a rule; −1: none does, −2: none for certain. O(rows), times classes · values where those are more than
    the counters."""
    values, ids, unclear = rules.combined.shape[1], room.ids, False
    several = room.counters.size // values
    for begin in range(0, found, several):
        end = min(begin + several, found)
        held = room.counters[: (end - begin) * values]
        held[:] = 0
        for i in range(rows.secrets.size):
            if begin <= ids[i] < end:
                held[(ids[i] - begin) * values + rows.secrets[i]] += rows.weights[i]
        for c in range(begin, end):
            told = asked_of(held[(c - begin) * values : (c - begin + 1) * values], room.sizes[c], k, rules, own)
            if told >= 0:
                return c
            unclear |= told == -2
    return -2 if unclear else -1


@kernel(inner=True)
def _judge_kept_node(node: np.ndarray, k: int, rows: JoinedRows, rules: RuleArrays, own: Room, room: KeptRoom) -> int:
    """Return whether a node holds. O(rows · attributes), less where a witness tells."""
    witnesses = room.witnesses
    for w in range(witnesses.size):
        who = witnesses[w]
        if who >= 0 and is_bad(who, node, rows, k, rules, own, room.marks):
            witnesses[1 : w + 1] = witnesses[:w].copy()
            witnesses[0] = who
            return FAILED
    space = 1
    for a in range(node.size):
        space = min(space * rows.labels[a, node[a]], WHOLE)
    fill_keys(node, rows.first, rows.labels, rows.columns, space < WHOLE, room.keys)
    found, bad = _number(room.keys, space, rows.weights, room), -1
    if found < 0:
        return FAILED
    for c in range(found):
        if room.sizes[c] < k and (bad < 0 or room.sizes[c] < room.sizes[bad]):
            bad = c
    if bad < 0:
        bad = _first_bad(found, k, rows, rules, own, room)
    if bad >= 0:
        witnesses[1:] = witnesses[:-1].copy()
        witnesses[0] = room.one[bad]
        return FAILED
    return HOLDS if bad == -1 and space < WHOLE else UNCLEAR


@kernel(inner=True)
def _fit(curve: Curve) -> tuple[float, float]:
    """As `FailureCurve.fit`."""
    failed, passed, size = curve.failed, curve.passed, curve.failed.size
    wrong = passed.sum()
    least, total, times = wrong + failed.sum() + 1, 0, 0
    for i in range(size):
        wrong += failed[i] - passed[i]
        if wrong < least:
            least, total, times = wrong, 0, 0
        if wrong == least:
            total, times = total + i, times + 1
    centre, far, strays = total / times + 0.5, 0.0, 0
    for i in range(size):
        stray = failed[i] if i + 0.5 <= centre else passed[i]
        far += abs(i + 0.5 - centre) * stray
        strays += stray
    return centre * curve.step, max(0.25, far / max(strays, 1) * curve.step)


@kernel(inner=True)
def _chosen(
    shape: np.ndarray, marks: KeptMarks, curve: Curve, open_: np.ndarray, counts: np.ndarray, out: np.ndarray
) -> int:
    """The next nodes to judge; returns how many: at least one, for a waiting node counts itself. O(nodes of the lattice)."""
    below, above = counts[0], counts[1]
    count_below(open_, shape, below)
    count_above(open_, shape, above)
    centre, width = _fit(curve)
    trust = min(1.0, 2.0 * curve.tried[1] / (curve.tried[0] + 2.0))
    return choose(open_, ~open_, trust, marks.satisfies, curve.entropy, centre, width, below, above, shape, False, out)


@kernel(inner=True, bare=True)
def _place(node: np.ndarray, shape: np.ndarray) -> int:
    place = 0
    for a in range(shape.size):
        place = place * shape[a] + node[a]
    return place


@kernel(inner=True)
def _note(node: np.ndarray, told: int, shape: np.ndarray, marks: KeptMarks, curve: Curve, open_: np.ndarray) -> None:
    """Note what one node came to, for itself and for others."""
    one, holds, place = node.reshape(1, node.size), np.array([told == HOLDS]), _place(node, shape)
    nobody, unknown = np.zeros(1, np.int32), np.full(1, -np.inf)
    satisfies, fails, seen, covered, surely, base = marks
    note(one, shape, holds, ~holds, holds, nobody, unknown, satisfies, fails, seen, covered, surely, base)
    curve.tried[0] += not open_[place]
    curve.tried[1] += told == FAILED and not open_[place]
    spot = min(max(int(curve.entropy[place] / curve.step), 0), curve.failed.size - 1)
    curve.failed[spot] += told == FAILED
    curve.passed[spot] += told == HOLDS


@kernel(inner=True)
def _mark_open(
    every: bool, low: float, high: float, before: int, marks: KeptMarks, slope: np.ndarray, out: np.ndarray
) -> int:
    """Mark the waiting nodes: those that may beat the best, or with `every` those that are not settled; returns how
    many.
    """
    if not every:
        return promising(marks.fails, marks.seen, marks.base, slope, marks.surely, low, high, before, out)
    count = 0
    for i in range(out.size):
        out[i] = not (marks.fails[i] or marks.satisfies[i])
        count += out[i]
    return count


@kernel()
def settle_kept(
    first: np.ndarray,
    every: bool,
    low: float,
    high: float,
    before: int,
    k: int,
    shape: np.ndarray,
    rows: JoinedRows,
    rules: RuleArrays,
    own: Room,
    room: KeptRoom,
    marks: KeptMarks,
    curve: Curve,
    counts: np.ndarray,
    slope: np.ndarray,
    nodes: np.ndarray,
    told: np.ndarray,
) -> int:
    """Judge nodes until one may change the best, none is waiting, or `told` is full; returns how many. O(rows · attributes) each,
    and O(nodes of the lattice) to choose some.

    First the nodes of `first`, then those that are expected to settle most of what may beat the best so far (`low`, `high`,
    `before` as in `promising`), or with `every` most of all that is not settled; then holding nodes do not end it. `nodes` and
    `told` get what was judged and what it came to. `counts` has two rows for all nodes, `slope` is 0.
    """
    open_, several = np.ones(marks.base.size, dtype=np.bool_), max(1, marks.base.size // EACH)
    chosen, at, end = first, 0, first.shape[0]
    for j in range(told.size):
        if at == end:
            if _mark_open(every, low, high, before, marks, slope, open_) == 0:
                return j
            chosen = np.empty((1 if marks.seen.sum() < ALONE else several, shape.size), dtype=np.int64)
            at, end = 0, _chosen(shape, marks, curve, open_, counts, chosen)
        nodes[j] = chosen[at]
        at += 1
        known = marks.satisfies[_place(nodes[j], shape)]
        told[j] = HOLDS if known else _judge_kept_node(nodes[j], k, rows, rules, own, room)
        if told[j] != UNCLEAR:
            _note(nodes[j], told[j], shape, marks, curve, open_)
        if told[j] == UNCLEAR or (told[j] == HOLDS and not every):
            return j + 1
    return told.size
