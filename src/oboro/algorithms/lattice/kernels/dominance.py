"""Kernels over all nodes of a lattice: bounds of boxes, nodes finer or coarser than others, the next nodes to evaluate.
Arrays have one axis per attribute, flattened; `shape` gives the axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oboro.kernels.jit import kernel

__all__ = [
    "ENTER",
    "LEAVE",
    "OVER",
    "REACHED",
    "SPLIT",
    "Sums",
    "Walk",
    "below_any",
    "cheapest_cover",
    "choose",
    "count_above",
    "count_below",
    "least_of_box",
    "meet",
    "note",
    "promising",
]


# Bounds of boxes ------------------------------------------------------------------------------------------------------
# Lower bound on the loss of the nodes of a box: the least loss of each block of attributes within the box, added up.


@kernel(little=True)
def least_of_box(
    low: np.ndarray,
    high: np.ndarray,
    gone: float,
    attributes: np.ndarray,
    firsts: np.ndarray,
    strides: np.ndarray,
    base: np.ndarray,
    slope: np.ndarray,
    surely: np.ndarray,
) -> float:
    """Sum over blocks of the least base + slope · suppressed between two nodes, `gone` being suppressed at least.

    Block b has the `attributes` from `firsts[b]` to `firsts[b + 1]`. The arrays of all blocks lie one after the other. `strides`
    says how far apart two levels of each of these attributes are, and then where each block begins. O(nodes of the box by block).
    """
    total, blocks = 0.0, firsts.size - 1
    levels = low.copy()
    for b in range(blocks):
        first, last = firsts[b], firsts[b + 1]
        place = strides[attributes.size + b]
        for i in range(first, last):
            levels[attributes[i]] = low[attributes[i]]
            place += low[attributes[i]] * strides[i]
        least = np.inf
        while True:
            least = min(least, base[place] + slope[place] * max(surely[place], gone))
            i = last - 1
            while i >= first and levels[attributes[i]] == high[attributes[i]]:
                place -= (high[attributes[i]] - low[attributes[i]]) * strides[i]
                levels[attributes[i]] = low[attributes[i]]
                i -= 1
            if i < first:
                break
            levels[attributes[i]] += 1
            place += strides[i]
        total += least
    return total


@kernel()
def below_any(levels: np.ndarray, nodes: np.ndarray) -> bool:
    """Return whether a node is below one of some nodes, or is one of them. O(nodes), and few attributes of each."""
    for node in range(nodes.shape[0]):
        a = 0
        while a < levels.size and nodes[node, a] >= levels[a]:
            a += 1
        if a == levels.size:
            return True
    return False


# Cheapest cover by classes --------------------------------------------------------------------------------------------
# The classes that join at the least cost so that several weighted sums reach their targets: branch and bound over
# classes.
#
# Each branching decides on the class that the cheapest fractional set takes in part: it joins, or it stays. The walk
# stops wherever all sums are reached, for the caller to decide how to continue, and resumes from there.


ENTER, LEAVE, SPLIT = 0, 1, 2  # what is to be done: look at the group, give it up, or let a class join or stay
REACHED, OVER, SPENT = 0, 1, 2  # why the walk stopped: all sums are reached, no group is left, no step is left
SAME = 1e-12  # costs closer than this are equal


class Sums(NamedTuple):
    """Contributions of classes to each sum, a row each, and the classes that add something: by cost and by size for
    what they add.
    """

    gains: np.ndarray
    by_cost: np.ndarray
    by_size: np.ndarray
    helping: np.ndarray
    """How many of a row's classes add something."""


class Walk(NamedTuple):
    """State of the walk: the classes that were decided on so far, and what was known before each decision."""

    place: np.ndarray
    """How many were decided on, and how many steps are left."""
    decided: np.ndarray
    """For each class: 0 not yet, 1 joins, 2 stays."""
    classes: np.ndarray
    lacking: np.ndarray
    costs: np.ndarray
    sizes: np.ndarray


@kernel()
def cheapest_cover(
    action: int,
    sums: Sums,
    rows: int,
    costs: np.ndarray,
    sizes: np.ndarray,
    room: int,
    price: float,
    high: float,
    most: int,
    walk: Walk,
) -> int:
    """Resume the walk; returns why it stopped. Groups that cost more than `high`, or as much with at least `most`
    records, are given up. `price`: what each record costs at least. O(steps · sums · classes).
    """
    while True:
        at = walk.place[0]
        if action == ENTER:
            walk.place[1] -= 1
            if walk.place[1] < 0:
                return SPENT
            cost, records, one = _least(sums, rows, costs, sizes, room - walk.sizes[at], walk.lacking[at], walk.decided)
            cost += walk.costs[at]
            if cost < np.inf:
                cost = max(cost, price * (walk.sizes[at] + records))
            worse = cost == np.inf or cost > high + SAME or (cost >= high - SAME and walk.sizes[at] + records >= most)
            if not worse and one < 0:
                return REACHED
        else:
            worse, one = action == LEAVE, _smallest(sizes, room - walk.sizes[at], walk.decided)
        action = ENTER
        if worse or one < 0:
            if not _back(walk, rows):
                return OVER
        else:
            _join(walk, sums.gains, rows, one, costs[one], sizes[one])


@kernel(inner=True, bare=True)
def _least(
    sums: Sums,
    rows: int,
    costs: np.ndarray,
    sizes: np.ndarray,
    room: int,
    lacking: np.ndarray,
    decided: np.ndarray,
) -> tuple[float, int, int]:
    """Return the least cost of reaching all sums, how many records that takes, and the class taken in part; -1: none is
    lacking.
    """
    worst, records, one = 0.0, 0.0, -1
    for row in range(rows):
        if lacking[row] <= 0:
            continue
        cost, last = _fraction(
            sums.gains[row], sums.by_cost[row, : sums.helping[row]], costs, sizes, room, lacking[row], decided
        )
        some, _ = _fraction(
            sums.gains[row], sums.by_size[row, : sums.helping[row]], sizes, sizes, room, lacking[row], decided
        )
        if last < 0 or some > room * (1 + 1e-9):
            return np.inf, 0, 0
        records = max(records, some)
        if one < 0 or cost > worst:
            worst, one = cost, last
    return worst, int(np.ceil(records - 1e-9 * room)), one


@kernel(inner=True, bare=True)
def _fraction(
    gains: np.ndarray,
    order: np.ndarray,
    prices: np.ndarray,
    sizes: np.ndarray,
    room: int,
    lacking: float,
    decided: np.ndarray,
) -> tuple[float, int]:
    """The least price of what is lacking, the last class in part, and which one that is; -1 where all are not enough."""
    total = 0.0
    for place in range(order.size):
        c = order[place]
        if decided[c] != 0 or sizes[c] > room:
            continue
        if gains[c] >= lacking:
            return total + prices[c] * (lacking / gains[c]), c
        lacking -= gains[c]
        total += prices[c]
    return np.inf, -1


@kernel(inner=True, bare=True)
def _smallest(sizes: np.ndarray, room: int, decided: np.ndarray) -> int:
    """The first class that is not decided on and for which there is room."""
    for c in range(sizes.size):
        if decided[c] == 0 and sizes[c] <= room:
            return c
    return -1


@kernel(inner=True, bare=True)
def _join(walk: Walk, gains: np.ndarray, rows: int, c: int, cost: float, size: int) -> None:
    """Let a class join."""
    at = walk.place[0]
    walk.classes[at], walk.decided[c], walk.place[0] = c, 1, at + 1
    walk.costs[at + 1], walk.sizes[at + 1] = walk.costs[at] + cost, walk.sizes[at] + size
    for row in range(rows):
        walk.lacking[at + 1, row] = walk.lacking[at, row] - gains[row, c]


@kernel(inner=True, bare=True)
def _back(walk: Walk, rows: int) -> bool:
    """Let the last class stay that joined; False where none did."""
    while walk.place[0] > 0:
        at = walk.place[0] - 1
        c = walk.classes[at]
        if walk.decided[c] == 1:
            walk.decided[c] = 2
            walk.costs[at + 1], walk.sizes[at + 1] = walk.costs[at], walk.sizes[at]
            for row in range(rows):
                walk.lacking[at + 1, row] = walk.lacking[at, row]
            return True
        walk.decided[c] = 0
        walk.place[0] = at
    return False


# Marks of nodes -------------------------------------------------------------------------------------------------------


LONG = 16  # nodes in a row from which on several at a time are worth it


def _count_below(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    counts = marked.reshape(shape).astype(out.dtype)
    for axis in range(shape.size):
        counts.cumsum(axis=axis, out=counts)
    out[:] = counts.ravel()


@kernel(little=_count_below, work=lambda marked, shape, out: 4 * marked.size * shape.size)
def count_below(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    """Count for each node the marked nodes that are finer or itself: running sums along every axis. O(nodes · axes)."""
    out[:] = marked
    stride = 1
    for axis in range(shape.size - 1, -1, -1):
        block = stride * shape[axis]
        for start in range(0, out.size, block):
            if stride < LONG:
                for i in range(start + stride, start + block):
                    out[i] += out[i - stride]
                continue
            for row in range(start + stride, start + block, stride):
                finer, here = out[row - stride : row], out[row : row + stride]
                for i in range(stride):  # two slices that do not overlap: several at a time
                    here[i] += finer[i]
        stride = block


@kernel(little=True)
def count_above(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    """Count for each node the marked nodes that are coarser or itself: backwards, above is below. O(nodes · axes)."""
    count_below(
        marked[::-1].copy(), shape, out
    )  # a copy: for an array that runs backwards it would be compiled once more
    for i in range(out.size // 2):
        out[i], out[out.size - 1 - i] = out[out.size - 1 - i], out[i]


@kernel(little=True)
def promising(
    fails: np.ndarray,
    seen: np.ndarray,
    base: np.ndarray,
    slope: np.ndarray,
    surely: np.ndarray,
    low: float,
    high: float,
    before: int,
    out: np.ndarray,
) -> int:
    """Mark nodes that may beat the best so far; returns how many.

    A node's bound is base + slope · surely. Above `high` it cannot win; between `low` and `high` it can only tie, and
    then wins only if it stands before the best. O(nodes).
    """
    count = 0
    for i in range(out.size):
        bound = base[i] + slope[i] * surely[i]
        out[i] = not (fails[i] or seen[i] or bound > high or (bound >= low and i >= before))
        count += out[i]
    return count


def _score(*given: Any) -> int:
    marked, settled, trust, sure, entropy, centre, width, below, above, shape, fill, out = given  # as to `choose`
    away = np.abs((entropy - centre) / width)
    tail = 0.5 / (1.0 + away * (1.0 + away / 2.0 * (1.0 + away / 3.0 * (1.0 + away / 4.0))))
    tail = np.where(marked, 0.5 / (1.0 + away), tail)
    fails = np.where(sure, 0.0, np.where(entropy < centre, tail, 1.0 - tail))
    scores = np.where(marked, fails * below + (1.0 - fails) * above, np.where(settled, 0.0, trust * fails * below))
    best = np.argsort(-scores, kind="stable")[: 4 * len(out)]
    levels = np.stack(np.unravel_index(best[scores[best] > 0], shape), axis=1)
    chosen: list[int] = []
    for i in range(len(levels)):
        steps = levels[chosen] - levels[i]
        if len(chosen) < len(out) and not ((steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)).any():
            chosen.append(i)
    if fill:
        chosen += [i for i in range(len(levels)) if i not in chosen][: len(out) - len(chosen)]
    out[: len(chosen)] = levels[chosen]
    return len(chosen)


@kernel(little=_score, work=lambda marked, *rest: 24 * marked.size)  # they are sorted
def choose(
    marked: np.ndarray,
    settled: np.ndarray,
    trust: float,
    sure: np.ndarray,
    entropy: np.ndarray,
    centre: float,
    width: float,
    below: np.ndarray,
    above: np.ndarray,
    shape: np.ndarray,
    fill: bool,
    out: np.ndarray,
) -> int:
    """Choose the nodes whose results are expected to settle most of the marked ones, one row of levels each; returns
    how many.

    A node fails with a chance that rises with its entropy (never where `sure` to satisfy) and then settles what is below it, else
    what is above it. One that is not marked, nor `settled`, is worth what it settles if it fails, times `trust`: a coarse node that
    fails settles more than any node that could be the best (ten columns, k = 5, 10 %: 3,586 nodes checked instead of 9,330). If it
    does not fail, nothing is won, so its chance falls faster, nearly as a logistic curve but by operations that round alike
    everywhere. Of four times as many as there are rows the best are taken; of two that are comparable only the better, of equal
    ones the first; with `fill` the others after them, where there is room. O(nodes).
    """
    most = 4 * out.shape[0]
    places, scores, held = np.empty(most, dtype=np.int64), np.empty(most), 0
    for i in range(marked.size):
        least = scores[0] if held == most else 0.0
        if (settled[i] and not marked[i]) or max(below[i], above[i]) <= least:
            continue
        away = abs((entropy[i] - centre) / width)
        tail = 0.5 / (1.0 + away * (1.0 + away / 2.0 * (1.0 + away / 3.0 * (1.0 + away / 4.0))))
        tail = 0.5 / (1.0 + away) if marked[i] else tail
        fails = 0.0 if sure[i] else tail if entropy[i] < centre else 1.0 - tail
        score = fails * below[i] + (1.0 - fails) * above[i] if marked[i] else trust * fails * below[i]
        if score <= least:
            continue
        if held < most:
            held += 1
            _rise(scores, places, held - 1, score, i)
        else:
            _sink(scores, places, held, score, i)
    for end in range(held - 1, 0, -1):  # the worst one goes to the end
        score, place = scores[end], places[end]
        scores[end], places[end] = scores[0], places[0]
        _sink(scores, places, end, score, place)
    return _unlike(places[:held], shape, fill, out)


@kernel(inner=True, bare=True)
def _rise(scores: np.ndarray, places: np.ndarray, spot: int, score: float, place: int) -> None:
    """Put one more into a heap with the worst first: the smallest score, of equal ones the last place. O(log held)."""
    while spot > 0:
        above = (spot - 1) // 2
        if scores[above] < score or (scores[above] == score and places[above] > place):
            break
        scores[spot], places[spot] = scores[above], places[above]
        spot = above
    scores[spot], places[spot] = score, place


@kernel(inner=True, bare=True)
def _sink(scores: np.ndarray, places: np.ndarray, held: int, score: float, place: int) -> None:
    """Put one in place of the worst. O(log held)."""
    spot = 0
    while 2 * spot + 1 < held:
        below = 2 * spot + 1
        other = below + 1
        if other < held and (
            scores[other] < scores[below] or (scores[other] == scores[below] and places[other] > places[below])
        ):
            below = other
        if scores[below] > score or (scores[below] == score and places[below] < place):
            break
        scores[spot], places[spot] = scores[below], places[below]
        spot = below
    scores[spot], places[spot] = score, place


@kernel(inner=True)
def _unlike(places: np.ndarray, shape: np.ndarray, fill: bool, out: np.ndarray) -> int:
    """Of two nodes of which one is finer only the first is taken; then, with `fill`, the others."""
    found, node, taken = 0, np.empty(shape.size, dtype=np.int64), np.zeros(places.size, dtype=np.bool_)
    for turn in range(1 + fill):
        for i in range(places.size):
            if taken[i] or found == out.shape[0]:
                continue
            rest = places[i]
            for axis in range(shape.size - 1, -1, -1):
                node[axis] = rest % shape[axis]
                rest //= shape[axis]
            if turn == 1 or not _comparable(node, out[:found]):
                out[found] = node
                found, taken[i] = found + 1, True
    return found


@kernel(inner=True, bare=True)
def _comparable(node: np.ndarray, others: np.ndarray) -> bool:
    """Return whether a node is finer or coarser than one of the others, or one of them."""
    for other in range(others.shape[0]):
        finer, coarser = True, True
        for axis in range(node.size):
            finer &= node[axis] <= others[other, axis]
            coarser &= node[axis] >= others[other, axis]
        if finer or coarser:
            return True
    return False


@kernel(inner=True)
def _sweep(shape: np.ndarray, down: bool, out: np.ndarray) -> None:
    """Raise every node to the greatest of those that are coarser (`down`) or finer, axis by axis. O(nodes · axes)."""
    stride = 1
    for axis in range(shape.size - 1, -1, -1):
        block = stride * shape[axis]
        for start in range(0, out.size, block):
            if stride < LONG and down:
                for i in range(start + block - stride - 1, start - 1, -1):
                    out[i] = max(out[i], out[i + stride])
                continue
            if stride < LONG:
                for i in range(start + stride, start + block):
                    out[i] = max(out[i], out[i - stride])
                continue
            for step in range(1, shape[axis]):
                to = start + (block - (step + 1) * stride if down else step * stride)
                source = to + stride if down else to - stride
                held, raised = out[source : source + stride], out[to : to + stride]
                for i in range(stride):
                    raised[i] = max(raised[i], held[i])
        stride = block


@kernel(inner=True)
def _spread(
    nodes: np.ndarray, which: np.ndarray, value: np.ndarray, shape: np.ndarray, down: bool, out: np.ndarray
) -> None:
    """Raise what is finer (`down`) or coarser than some nodes to their values: one by one, or in a sweep where that is less."""
    bottom, top, work = 0 * shape, shape - 1, 0
    for m in range(nodes.shape[0]):
        if which[m]:
            box = 1
            for axis in range(shape.size):
                box *= nodes[m, axis] + 1 if down else shape[axis] - nodes[m, axis]
            work += box
    if work <= out.size * shape.size // 8:
        for m in range(nodes.shape[0]):
            if which[m]:
                _raise_box(bottom if down else nodes[m], nodes[m] if down else top, shape, value[m], out)
        return
    swept = np.zeros_like(out)
    for m in range(nodes.shape[0]):
        if which[m]:
            place = 0
            for axis in range(shape.size):
                place = place * shape[axis] + nodes[m, axis]
            swept[place] = max(swept[place], value[m])
    _sweep(shape, down, swept)
    for i in range(out.size):
        out[i] = max(out[i], swept[i])


@kernel(inner=True)
def _raise_box(first: np.ndarray, last: np.ndarray, shape: np.ndarray, value: float, out: np.ndarray) -> None:
    """Raise `out` to at least `value` for all nodes between two nodes (on every axis, both included). O(box)."""
    levels = first.copy()
    axes = shape.size
    while True:
        row = 0
        for axis in range(axes):
            row = row * shape[axis] + levels[axis]
        for i in range(row, row + last[axes - 1] - first[axes - 1] + 1):
            out[i] = max(out[i], value)
        axis = axes - 2
        while axis >= 0 and levels[axis] == last[axis]:
            levels[axis] = first[axis]
            axis -= 1
        if axis < 0:
            return
        levels[axis] += 1


def _note(nodes: np.ndarray, shape: np.ndarray, *rest: np.ndarray) -> None:
    passed, down, up, least, floor, *flat = rest
    satisfies, fails, seen, covered, surely, base = map(np.reshape, flat, [shape] * len(flat))
    for m, node in enumerate(nodes.tolist()):
        below, above = tuple(map(slice, (nodes[m] + 1).tolist())), tuple(map(slice, node, shape.tolist()))
        seen[tuple(node)] = True
        (satisfies if passed[m] else fails)[tuple(node)] = True
        fails[below] |= down[m]
        covered[above] |= passed[m]
        satisfies[above] |= up[m]
        np.maximum(surely[below], least[m], out=surely[below])
        np.maximum(base[above], floor[m], out=base[above])


@kernel(little=_note)
def note(
    nodes: np.ndarray,
    shape: np.ndarray,
    passed: np.ndarray,
    down: np.ndarray,
    up: np.ndarray,
    least: np.ndarray,
    floor: np.ndarray,
    satisfies: np.ndarray,
    fails: np.ndarray,
    seen: np.ndarray,
    covered: np.ndarray,
    surely: np.ndarray,
    base: np.ndarray,
) -> None:
    """Record what the results of some nodes imply for others; a row of levels each. O(nodes above and below).

    A node has `passed` or failed; `down`: with everything finer it fails; `up`: with everything coarser it satisfies. Finer ones
    suppress at least as many as `least`, coarser ones lose at least as much as `floor` (−inf: not known).
    """
    yes, fresh, more = np.ones(nodes.shape[0], dtype=np.bool_), passed.copy(), np.zeros(nodes.shape[0], dtype=np.bool_)
    for m in range(nodes.shape[0]):
        place = 0
        for axis in range(shape.size):
            place = place * shape[axis] + nodes[m, axis]
        seen[place] = True
        if passed[m]:
            satisfies[place] = True
            fresh[m] = not covered[place]  # otherwise everything above is
        else:
            fails[place] = True
        more[m] = least[m] > surely[place]
        if floor[m] > base[place]:
            _raise_box(nodes[m], shape - 1, shape, floor[m], base)
    _spread(nodes, fresh, yes, shape, False, covered)
    _spread(nodes, down, yes, shape, True, fails)
    _spread(nodes, up, yes, shape, False, satisfies)
    _spread(nodes, more, least, shape, True, surely)


@kernel(little=True, work=lambda marked, shape, out: marked.size * shape.size)
def meet(marked: np.ndarray, shape: np.ndarray, out: np.ndarray) -> None:
    """Lower `out` to the least level that a marked node has on each axis. O(nodes · axes), less where all are 0 soon."""
    above = 1
    for i in range(marked.size):
        if above == 0:
            return
        if marked[i]:
            above = 0
            rest = i
            for axis in range(shape.size - 1, -1, -1):
                out[axis] = min(out[axis], rest % shape[axis])
                above += out[axis]
                rest //= shape[axis]
