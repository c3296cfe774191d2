"""Judging the classes of several nodes by rules about sensitive values, each from the classes of a finer node (`class_parts`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.kernels.rule_kinds import DISTINCT
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
    tally: np.ndarray,
    out: np.ndarray,
) -> None:
    """Everything about some nodes whose classes must have k records and keep some rules. O(classes and parts of the finer nodes).

    Gives in `out` how it was judged, the suppressed records (at least, where it fails), how many go in every finer node,
    the classes, the kept ones, the squared sizes of all and of the kept ones, and whether the suppressed are a safe class; in
    `tally[a, step]` the suppressed by what they cost, where they are at most `most`. Costs are read as in `count_nodes`.
    """
    width, sums = rules.combined.shape[1], room.sums
    for m in range(nodes.shape[0]):
        begin, end, found = number_classes(nodes[m], finer, reading, room)
        out[m, 0], out[m, 1], out[m, 7] = JUDGED, 0, 1
        out[m, 3], out[m, 4], out[m, 5], out[m, 6] = found, 0, 0, 0
        for c in range(found):
            out[m, 5] += sums[c] * sums[c]
            if sums[c] < k:
                out[m, 1] += sums[c]
        out[m, 2] = out[m, 1]
        if out[m, 1] > most:
            out[m, 0] = FAILS
            continue
        few = (found + 1) * width <= room.rows.size
        if few:
            count_values(begin, end, found, k, width, finer, room)
        else:
            order_by_class(end - begin, found, room.places)
        _judge(begin, found, k, most, few, finer, rules, room, out[m])
        if out[m, 0] != JUDGED or out[m, 1] == 0 or out[m, 1] > most:
            continue
        if not exempt:
            _ask_suppressed(begin, found, k, few, finer, rules, room, out[m])
        for c in range(found):
            if sums[c] < 0:
                i = room.firsts[c]
                for a in range(nodes.shape[1]):
                    place = reading.first[a, nodes[m, a]] - reading.offsets[a] + np.int64(codes[i, a])
                    tally[m, a, steps[place]] -= sums[c]


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
            gone = size
            if kind != DISTINCT:
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
def _judge(
    begin: int,
    found: int,
    k: int,
    most: int,
    few: bool,
    finer: FinerClasses,
    rules: RuleArrays,
    room: Room,
    out: np.ndarray,
) -> None:
    """Judge the classes; the records of those that go become negative. Ends as soon as the node fails with every finer one."""
    held, some, rows, sums, places = room.held, room.some, room.rows, room.sums, room.places
    width = rules.combined.shape[1]
    for c in range(found):
        size = sums[c]
        if size < k:
            sums[c] = -size
            continue
        mine = held
        if few:
            mine = rows[places[1, c] : places[1, c] + width]
            n = list_held(mine, some)
        else:
            n = gather_parts(c, begin, finer, room, 0)
        gone = ask(n, size, k, True, rules, mine, room)
        for j in range(n):
            if few:  # who goes is counted with the small classes
                rows[some[j]] += mine[some[j]] * (gone >= 0)
            else:
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
def _ask_suppressed(
    begin: int, found: int, k: int, few: bool, finer: FinerClasses, rules: RuleArrays, room: Room, out: np.ndarray
) -> None:
    """Whether the suppressed are a class that keeps the rules."""
    if out[1] < k:
        out[7] = 0
        return
    n, mine, some = 0, room.held, room.some
    if few:
        mine = room.rows[: rules.combined.shape[1]]
        n = list_held(mine, some)
    for c in range(0 if few else found):
        if room.sums[c] < 0:
            n = gather_parts(c, begin, finer, room, n)
    kept = ask(n, out[1], k, False, rules, mine, room)
    for j in range(0 if few else n):
        room.held[some[j]] = 0
    if kept == -2:
        out[0] = OPEN
    out[7] = kept == -1
