"""Judging the classes of several nodes by rules about sensitive values, each from the classes of a finer node (`class_parts`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.kernels.rules.class_parts import (
    FinerClasses,
    KeyReading,
    Room,
    count_values,
    gather_parts,
    list_held,
    number_classes,
    order_by_class,
)
from oboro.decide.lattice.kernels.rules.class_verdicts import fewest_gone, verdict
from oboro.kernels import kernel

__all__ = ["FAILS", "OPEN", "RuleArrays", "ask", "judge_nodes"]

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
    """Everything about some nodes whose classes must have k records and keep some rules. O(classes and parts of the finer nodes).

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
    """Ask the rules of a class whose combinations are `room.some[:n]`: −1 it keeps all, −2 undecided, else how many of it go in
    every finer node, if that is asked."""
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
    """Whether the suppressed are a class that keeps the rules, after `_judge_counted`."""
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
