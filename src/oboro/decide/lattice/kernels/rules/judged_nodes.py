"""Judging the classes of several nodes by rules about sensitive values, each from the classes of a finer node (`class_parts`)."""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels.rolled_counts import fill_table, source_of
from oboro.decide.lattice.kernels.rule_kinds import DISTINCT
from oboro.decide.lattice.kernels.rules.class_parts import (
    count_values,
    gather_parts,
    list_held,
    number_classes,
    order_by_class,
)
from oboro.decide.lattice.kernels.rules.class_verdicts import fewest_gone, verdict
from oboro.kernels import kernel

__all__ = ["FAILS", "OPEN", "judge_nodes"]

JUDGED, FAILS, OPEN = 0, 1, 2  # every class was judged, enough to fail, too close for logarithms


@kernel()
def judge_nodes(
    nodes: np.ndarray,
    seen: np.ndarray,
    bounds: np.ndarray,
    tuples: np.ndarray,
    weights: np.ndarray,
    starts: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    owners: np.ndarray,
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
    exempt: bool,
    kinds: np.ndarray,
    levels: np.ndarray,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    combined: np.ndarray,
    bits: np.ndarray,
    slots: np.ndarray,
    table: np.ndarray,
    keys: np.ndarray,
    places: np.ndarray,
    firsts: np.ndarray,
    held: np.ndarray,
    some: np.ndarray,
    own: np.ndarray,
    list_: np.ndarray,
    surplus: np.ndarray,
    spare: np.ndarray,
    more: np.ndarray,
    rows: np.ndarray,
    sums: np.ndarray,
    tally: np.ndarray,
    out: np.ndarray,
) -> None:
    """Everything about some nodes whose classes must have k records and keep some rules. O(classes and parts of the finer nodes).

    The classes of node `seen[s]` are `tuples[bounds[s] : bounds[s + 1]]`, with their `weights`; the parts of class c are
    `values[starts[c] : starts[c + 1]]`, `counts` times. Keys and costs are read as in `count_nodes`. Rule r has
    `kinds[r]` (kind, count, width, heights), `combined[r, value]` is its value in a combination.

    Gives in `out` how it was judged, the suppressed records (at least, where it fails), how many go in every finer node,
    the classes, the kept ones, the squared sizes of all and of the kept ones, and whether the suppressed are a safe class; in
    `tally[a, step]` the suppressed by what they cost, where they are at most `most`.
    """
    for m in range(nodes.shape[0]):
        source = source_of(nodes[m], seen, bounds)
        begin, end = bounds[source], bounds[source + 1]
        space = fill_table(nodes[m], order, ends, first, labels, numbers, offsets, table)
        found = number_classes(
            tuples[begin:end], weights[begin:end], digits, table, space, slots, keys, places, firsts, sums
        )
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
        width = combined.shape[1]
        few = (found + 1) * width <= rows.size
        if few:
            count_values(begin, end, found, places, starts, values, counts, owners, k, width, sums, rows)
        else:
            order_by_class(end - begin, found, places)
        _judge(
            begin, found, places, starts, values, counts, k, most, kinds, levels, whole, tree, above, caps, combined, bits, held,
            some, own, list_, surplus, spare, more, few, rows, sums, out[m],
        )  # fmt: skip
        if out[m, 0] != JUDGED or out[m, 1] == 0 or out[m, 1] > most:
            continue
        if not exempt:
            _ask_suppressed(
                begin, found, places, starts, values, counts, k, kinds, levels, whole, tree, above, caps, combined, bits, held,
                some, own, list_, surplus, spare, more, few, rows, sums, out[m],
            )  # fmt: skip
        for c in range(found):
            if sums[c] < 0:
                i = firsts[c]
                for a in range(nodes.shape[1]):
                    tally[m, a, steps[first[a, nodes[m, a]] - offsets[a] + np.int64(codes[i, a])]] -= sums[c]


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
def _ask(
    n: int,
    size: int,
    k: int,
    least: bool,
    kinds: np.ndarray,
    levels: np.ndarray,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    combined: np.ndarray,
    bits: np.ndarray,
    held: np.ndarray,
    values: np.ndarray,
    own: np.ndarray,
    list_: np.ndarray,
    surplus: np.ndarray,
    spare: np.ndarray,
    more: np.ndarray,
) -> int:
    """Ask the rules of a class whose combinations are `values[:n]`: −1 it keeps all, −2 undecided, else how many of it go in every
    finer node, if that is asked."""
    for r in range(kinds.shape[0]):
        mine, some, found = held, values, n
        if kinds.shape[0] > 1:
            mine, some = own, list_
            found = _of_rule(held, values, n, combined[r], own, list_)
        kind, count, width, height = kinds[r, 0], kinds[r, 1], kinds[r, 2], kinds[r, 3]
        usual, ladder = whole[r, :width], tree[r, :height]
        broken = verdict(
            mine, some, found, size, kind, count, levels[r], usual, ladder, above[r], caps[r], bits, surplus
        )
        gone = np.int64(0)
        if broken == 1 and least:
            gone = size
            if kind != DISTINCT:
                gone = fewest_gone(
                    mine, some, found, size, k, kind, count, levels[r], usual, ladder, above[r], caps[r], surplus,
                    spare, more,
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
    places: np.ndarray,
    starts: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    k: int,
    most: int,
    kinds: np.ndarray,
    levels: np.ndarray,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    combined: np.ndarray,
    bits: np.ndarray,
    held: np.ndarray,
    some: np.ndarray,
    own: np.ndarray,
    list_: np.ndarray,
    surplus: np.ndarray,
    spare: np.ndarray,
    more: np.ndarray,
    few: bool,
    rows: np.ndarray,
    sums: np.ndarray,
    out: np.ndarray,
) -> None:
    """Judge the classes; the records of those that go become negative. Ends as soon as the node fails with every finer one."""
    width = combined.shape[1]
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
            n = gather_parts(places[1, c], places[1, c + 1], begin, places, starts, values, counts, held, some, 0)
        gone = _ask(
            n, size, k, True, kinds, levels, whole, tree, above, caps, combined, bits, mine, some, own, list_, surplus,
            spare, more,
        )  # fmt: skip
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
    begin: int,
    found: int,
    places: np.ndarray,
    starts: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    k: int,
    kinds: np.ndarray,
    levels: np.ndarray,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    combined: np.ndarray,
    bits: np.ndarray,
    held: np.ndarray,
    some: np.ndarray,
    own: np.ndarray,
    list_: np.ndarray,
    surplus: np.ndarray,
    spare: np.ndarray,
    more: np.ndarray,
    few: bool,
    rows: np.ndarray,
    sums: np.ndarray,
    out: np.ndarray,
) -> None:
    """Whether the suppressed are a class that keeps the rules."""
    if out[1] < k:
        out[7] = 0
        return
    n, mine = 0, held
    if few:
        mine = rows[: combined.shape[1]]
        n = list_held(mine, some)
    for c in range(0 if few else found):
        if sums[c] < 0:
            n = gather_parts(places[1, c], places[1, c + 1], begin, places, starts, values, counts, held, some, n)
    kept = _ask(
        n, out[1], k, False, kinds, levels, whole, tree, above, caps, combined, bits, mine, some, own, list_, surplus,
        spare, more,
    )  # fmt: skip
    for j in range(0 if few else n):
        held[some[j]] = 0
    if kept == -2:
        out[0] = OPEN
    out[7] = kept == -1
