"""Kernels for the closure of a group of records, its loss and its rules: shared by Mondrian and the top-down methods.

Records are rows of small codes. An *ordered* attribute's codes are ranks (a missing number has the last one); what a
group has in common is its smallest and largest rank. A *tree* attribute's codes are leaves; what a group has in common
is the lowest level on which they all have one ancestor, held as that level and any one of the leaves. Either way two
whole numbers say it: `low` and `high`.

The loss of such a closure (NCP; Xu et al. 2006, section 3) is the part of the domain that it leaves open, times the
attribute's weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oboro.algorithms.lattice.kernels.attributes import HELD_ALONE
from oboro.algorithms.lattice.kernels.nodes import breaks
from oboro.kernels.jit import kernel

__all__ = [
    "AttributeTables",
    "LocalProblem",
    "SensitiveRules",
    "allowed",
    "apart",
    "ascending",
    "close",
    "joined",
    "keeps",
    "loss",
    "part_keeps",
    "place",
    "widen",
]


Whole = int | np.signedinteger[Any]

DENSE = 64  # a counter for every value is cheaper than sorting until there are many more values than records


class AttributeTables(NamedTuple):
    """The attributes, one after the other in flat arrays.

    Ordered: `value[offset + rank]` is the place of the rank, 0 to the attribute's weight; `missing` is the rank of a
    missing number (−1: there is none). Tree: `table[offset + level · width + leaf]` is the ancestor's number and
    `value` at the same place its loss; the last level has one ancestor for all.
    """

    ordered: np.ndarray
    offset: np.ndarray
    width: np.ndarray
    missing: np.ndarray
    weight: np.ndarray
    table: np.ndarray
    value: np.ndarray


class SensitiveRules(NamedTuple):
    """Rules about sensitive attributes, as `lattice.breaks` takes them, one after the other in flat arrays.

    `person` is the rule whose values are people (−1: there is none). The other rules then count people, not records.
    """

    person: int
    secrets: np.ndarray
    kind: np.ndarray
    least: np.ndarray
    level: np.ndarray
    width: np.ndarray
    height: np.ndarray
    whole: np.ndarray
    whole_offset: np.ndarray
    tree: np.ndarray
    tree_offset: np.ndarray


class LocalProblem(NamedTuple):
    """Records, a row of codes each, and what every group of them must keep."""

    codes: np.ndarray
    shape: AttributeTables
    rules: SensitiveRules
    k: int


@kernel(inner=True)
def loss(shape: AttributeTables, j: int, low: Whole, high: Whole) -> float:
    """Return the part of its domain that attribute j's closure leaves open, times the weight. O(1)."""
    if shape.ordered[j]:
        if low == high:
            return 0.0
        if high == shape.missing[j]:
            return float(shape.weight[j])  # a number or nothing: no interval says that
        return float(shape.value[shape.offset[j] + high] - shape.value[shape.offset[j] + low])
    return float(shape.value[shape.offset[j] + low * shape.width[j] + high])


@kernel(inner=True)
def climb(shape: AttributeTables, j: int, level: int, leaf: Whole, code: Whole) -> int:
    """Find the lowest level from `level` on where two leaves have one ancestor. O(height)."""
    place = shape.offset[j] + level * shape.width[j]
    while shape.table[place + leaf] != shape.table[place + code]:
        level += 1
        place += shape.width[j]
    return level


@kernel(inner=True)
def joined(shape: AttributeTables, codes: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return the loss of a closure after one more record joins, summed over the attributes in their order."""
    total = 0.0
    for j in range(codes.size):
        code = np.int64(codes[j])  # one type, one compilation
        if shape.ordered[j]:
            total += loss(shape, j, min(low[j], code), max(high[j], code))
        else:
            total += loss(shape, j, climb(shape, j, low[j], high[j], code), high[j])
    return total


@kernel(inner=True)
def apart(shape: AttributeTables, one: np.ndarray, other: np.ndarray) -> float:
    """Return the loss of the closure of two records."""
    total = 0.0
    for j in range(one.size):
        a, b = np.int64(one[j]), np.int64(other[j])
        if a == b:
            continue
        if shape.ordered[j]:
            total += loss(shape, j, min(a, b), max(a, b))
        else:
            total += loss(shape, j, climb(shape, j, 0, a, b), a)
    return total


@kernel(inner=True)
def close(shape: AttributeTables, codes: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """The closure of one record alone."""
    for j in range(codes.size):
        low[j] = codes[j] if shape.ordered[j] else 0
        high[j] = codes[j]


@kernel(inner=True)
def widen(shape: AttributeTables, codes: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Let one more record into a closure."""
    for j in range(codes.size):
        code = np.int64(codes[j])
        if shape.ordered[j]:
            low[j] = min(low[j], code)
            high[j] = max(high[j], code)
        else:
            low[j] = climb(shape, j, low[j], high[j], code)


@kernel()
def keeps(rules: SensitiveRules, items: np.ndarray, loads: np.ndarray) -> bool:
    """Return whether a group satisfies every rule; too close to a limit for logarithms counts as violated.

    O(records + values); where people are counted, O(records · log(records) + values).
    """
    for r in range(rules.kind.size):
        width, height = rules.width[r], rules.height[r]
        whole = rules.whole[rules.whole_offset[r] : rules.whole_offset[r] + width]
        tree = rules.tree[rules.tree_offset[r] : rules.tree_offset[r] + width * height].reshape((height, width))
        if rules.person >= 0 and r != rules.person:
            held, size = _people_held(rules.secrets[r], rules.secrets[rules.person], items, width)
        elif rules.kind[r] in HELD_ALONE and width > DENSE + 2 * items.size:
            held = _present(rules.secrets[r], items, loads)
            size = held.sum()
        else:
            held = _held(rules.secrets[r], items, loads, width)
            size = held.sum()
        if breaks(held, size, rules.kind[r], rules.least[r], rules.level[r], whole, tree) != 0:
            return False
    return True


@kernel(inner=True)
def _held(secrets: np.ndarray, items: np.ndarray, loads: np.ndarray, width: int) -> np.ndarray:
    """Count the records of a group with each sensitive value."""
    held = np.zeros(width, dtype=np.int64)
    for i in range(items.size):
        held[secrets[items[i]]] += loads[i]
    return held


@kernel(inner=True)
def _present(secrets: np.ndarray, items: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """The same for those that occur, without a counter for those that do not. O(n log n)."""
    own = np.empty(items.size)
    for i in range(items.size):
        own[i] = secrets[items[i]]
    order = ascending(own)
    counts = np.zeros(items.size, dtype=np.int64)
    found = 0
    for i in range(items.size):
        if i > 0 and own[order[i]] != own[order[i - 1]]:
            found += 1
        counts[found] += loads[order[i]]
    return counts[: found + 1]


@kernel(inner=True)
def _people_held(secrets: np.ndarray, persons: np.ndarray, items: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Count the people of a group with each sensitive value, and its people. O(n log n)."""
    held = np.zeros(width, dtype=np.int64)
    own = np.empty(items.size)
    for i in range(items.size):
        own[i] = persons[items[i]]
    people, before, last = 0, -1, np.full(width, -1, dtype=np.int64)
    for i in ascending(own):
        person, value = np.int64(persons[items[i]]), secrets[items[i]]
        people += person != before
        held[value] += person != last[value]
        before = last[value] = person
    return held, people


@kernel(inner=True)
def ascending(keys: np.ndarray) -> np.ndarray:
    """The places of the keys in ascending order, equal ones as they stand. O(n log n).

    Written out (runs of 1, 2, 4 … merged) because numba's own takes 3 s to compile in every kernel that calls it.
    """
    order, spare = np.arange(keys.size), np.empty(keys.size, dtype=np.int64)
    run = 1
    while run < keys.size:
        for start in range(0, keys.size, 2 * run):
            left, right = start, min(start + run, keys.size)
            middle, stop = right, min(start + 2 * run, keys.size)
            for at in range(start, stop):
                if left < middle and (right >= stop or keys[order[left]] <= keys[order[right]]):
                    spare[at] = order[left]
                    left += 1
                else:
                    spare[at] = order[right]
                    right += 1
        order, spare = spare, order
        run *= 2
    return order


# Two groups from one: `side[i]` is how much of item i's weight goes to the first ----------------------------------------


@kernel(inner=True)
def allowed(problem: LocalProblem, items: np.ndarray, loads: np.ndarray, side: np.ndarray) -> bool:
    """Return whether both groups are large enough and satisfy every rule."""
    first, total = 0, 0
    for i in range(items.size):
        first += side[i]
        total += loads[i]
    if first < problem.k or total - first < problem.k:
        return False
    rules = problem.rules
    return bool(part_keeps(rules, items, loads, side, True) and part_keeps(rules, items, loads, side, False))


@kernel(inner=True)
def part_keeps(rules: SensitiveRules, items: np.ndarray, loads: np.ndarray, side: np.ndarray, first: bool) -> bool:
    """Return whether one of two groups satisfies every rule."""
    if rules.kind.size == 0:
        return True
    chosen, parts = np.empty_like(items), np.empty_like(loads)
    at = 0
    for i in range(items.size):
        part = side[i] if first else loads[i] - side[i]
        if part > 0:
            chosen[at], parts[at] = items[i], part
            at += 1
    return bool(keeps(rules, chosen[:at], parts[:at]))


@kernel(inner=True)
def place(items: np.ndarray, loads: np.ndarray, side: np.ndarray, out: np.ndarray, out_loads: np.ndarray) -> np.ndarray:
    """Write the first group and then the second, each in the order of the items; returns where they end."""
    at = 0
    ends = np.empty(2, dtype=np.int64)
    for i in range(items.size):
        if side[i] > 0:
            out[at], out_loads[at] = items[i], side[i]
            at += 1
    ends[0] = at
    for i in range(items.size):
        if side[i] < loads[i]:
            out[at], out_loads[at] = items[i], loads[i] - side[i]
            at += 1
    ends[1] = at
    return ends
