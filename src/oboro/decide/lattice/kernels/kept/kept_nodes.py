"""Choosing and judging nodes where nobody may be suppressed, one after the other in one call.

A node fails as soon as one class has fewer than k records or breaks a rule, and then everything finer fails. The people who made
other nodes fail are asked first (*witnesses*): whoever stands out in one node does so in most, and their class alone is read much
sooner than all classes are told apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.kernels.columns.column_counts import MIX, WHOLE, fill_keys
from oboro.decide.lattice.kernels.kept.one_class import JoinedRows, asked_of, is_bad
from oboro.decide.lattice.kernels.node_marks import choose, count_above, count_below, note, promising
from oboro.decide.lattice.kernels.rules.class_parts import Room
from oboro.decide.lattice.kernels.rules.judged_nodes import RuleArrays
from oboro.kernels import kernel

__all__ = ["FAILED", "HOLDS", "UNCLEAR", "Curve", "KeptMarks", "KeptRoom", "settle_kept"]

FAILED, HOLDS, UNCLEAR = 0, 1, 2  # what a node came to
ALONE = 24  # so many checks go one by one, for each settles much;
EACH = 1 << 10  # later ones go together, of so many nodes one, for each choice looks at all nodes


class KeptRoom(NamedTuple):
    """What is written on. `slots` is a power of two and zero before and after; there is a place in `known`, `sizes` and `one` for
    each class, as many as k records fit into the rows; `ids` and `keys` have one for each row."""

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
    """What is known of every node; see `node_marks.note`."""

    satisfies: np.ndarray
    fails: np.ndarray
    seen: np.ndarray
    covered: np.ndarray
    surely: np.ndarray
    base: np.ndarray
    """What the levels lose; nothing is added to it, for nobody is suppressed."""


class Curve(NamedTuple):
    """How many nodes failed and held, by entropy in steps; see `FailureCurve`. `tried`: nodes that were checked only for what they
    settle, and how many did."""

    entropy: np.ndarray
    step: float
    failed: np.ndarray
    passed: np.ndarray
    tried: np.ndarray


@kernel(inner=True)
def _number(keys: np.ndarray, space: int, weights: np.ndarray, room: KeptRoom) -> int:
    """Give each row the number of its class; returns how many there are, or −1 if they are more than can hold k records each."""
    slots, known, sizes, ids, found = room.slots, room.known, room.sizes, room.ids, 0
    direct, last, shift = space <= slots.size, slots.size - 1, np.uint32(0)
    while np.uint64(slots.size) << np.uint64(shift) < np.uint64(1) << np.uint64(32):
        shift += np.uint32(1)
    for i in range(keys.size):
        key = keys[i]
        place = np.int64(key) if direct else np.int64(np.uint32(key * np.uint32(MIX)) >> shift)
        number = slots[place]
        while number != 0 and known[number - 1] != key:
            place = (place + 1) & last
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
def _judge(node: np.ndarray, k: int, rows: JoinedRows, rules: RuleArrays, own: Room, room: KeptRoom) -> int:
    """Whether a node holds. O(rows · attributes), less where a witness tells."""
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
    """Which nodes are waiting: those that may beat the best, or with `every` those that are not settled; returns how many."""
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
        told[j] = HOLDS if known else _judge(nodes[j], k, rows, rules, own, room)
        if told[j] != UNCLEAR:
            _note(nodes[j], told[j], shape, marks, curve, open_)
        if told[j] == UNCLEAR or (told[j] == HOLDS and not every):
            return j + 1
    return told.size
