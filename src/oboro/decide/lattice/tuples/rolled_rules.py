"""Nodes judged from the classes of finer ones that were judged before, where classes must keep rules about sensitive values.

As `rolled_up`, and each class also knows how many of its records have each combination of sensitive values (its *parts*), so that
no tuple is read again. Tuples with the same values and other secrets are one class with several parts from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log
from threading import Lock, local
from typing import NamedTuple

import numpy as np

from oboro.decide.class_rules import Rule
from oboro.decide.lattice.kernels import rule_kinds
from oboro.decide.lattice.kernels.node_classes import keys as read_keys
from oboro.decide.lattice.kernels.rolled_counts import DIRECT, HASHES
from oboro.decide.lattice.kernels.rules.class_parts import FinerClasses, KeyReading, Room, join_classes
from oboro.decide.lattice.kernels.rules.judged_nodes import RuleArrays, judge_nodes
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import WRONG_BY, Problem
from oboro.decide.lattice.tuples.distinct_tuples import DistinctTuples
from oboro.decide.lattice.tuples.fused_digits import FusedDigits
from oboro.decide.lattice.tuples.label_columns import columns_of, lie_near
from oboro.decide.lattice.tuples.rolled_up import FinerNodes, Ladders
from oboro.table.dataset import Column
from oboro.table.groups import Groups

__all__ = ["NodeVerdicts", "RolledRules", "RuleScratch", "combinations", "packed_rules"]

PLACES = 16  # parts kept for each tuple, all nodes together,
ENOUGH = 1 << 22  # but no more than these
COUNTERS = 1 << 17  # counters of a class and a combination of values,
EACH = 4  # or so many for each part
LOGS = 1 << 12  # counts whose x · log x is looked up


class NodeVerdicts(NamedTuple):
    """What is known of some nodes, one row each."""

    sums: np.ndarray
    """See `judge_nodes`."""
    tallies: np.ndarray
    """The suppressed records by attribute and by what they cost, where they are not too many and the node may still win."""


def combinations(rules: Sequence[Rule], secrets: Sequence[np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's combination of secrets, and for each rule its value in each."""
    if len(rules) == 1:
        return secrets[0], np.arange(rules[0].whole.size)[np.newaxis]
    columns = [Column(np.arange(rule.whole.size), one) for rule, one in zip(rules, secrets, strict=True)]
    groups = Groups.of(columns, rows)
    first = groups.first_rows()
    return groups.labels, np.array([one[first] for one in secrets], dtype=np.int64)


def packed_rules(rules: list[Rule], combined: np.ndarray) -> RuleArrays:
    """Some rules as arrays, with what is asked again and again looked up: ancestors, growths, logarithms."""
    count, width = len(rules), max(rule.whole.size for rule in rules)
    height = max(rule.tree.shape[0] for rule in rules)
    kinds = np.array([[r.kind, r.count, r.whole.size, r.tree.shape[0]] for r in rules], dtype=np.int64)
    whole, tree = np.zeros((count, width), np.int64), np.zeros((count, height, width), np.int64)
    above, caps = np.zeros((count, height, width + 1), np.int64), np.zeros((count, width + 1))
    for i, rule in enumerate(rules):
        own, deep = rule.whole.size, rule.tree.shape[0]
        whole[i, :own], tree[i, :deep, :own] = rule.whole, rule.tree
        for h in range(deep):
            np.add.at(above[i, h], rule.tree[h], rule.whole)
        above[i, 0, own], caps[i, own] = rule.whole.sum(), np.count_nonzero(rule.whole)
        caps[i, :own] = _growths(rule)
    numbers = np.arange(LOGS, dtype=np.float64)
    bits = numbers * np.log(np.maximum(numbers, 1.0))
    return RuleArrays(kinds, np.array([r.level for r in rules]), whole, tree, above, caps, combined, bits)


def _growths(rule: Rule) -> list[float]:
    """By how much of itself the share of each value may grow, where the rule limits that."""
    if rule.kind != rule_kinds.ENHANCED_LIKENESS:
        return [rule.level] * rule.whole.size
    return [min(rule.level, -log(held / rule.count)) if held else 0.0 for held in rule.whole.tolist()]


def _with_node(
    finer: FinerClasses, node: np.ndarray, tuples: np.ndarray, weights: np.ndarray, parts: _Parts
) -> FinerClasses:
    """One node more. What others read meanwhile is not touched: they have the old bounds."""
    used, last = int(finer.bounds[-1]), int(finer.starts[finer.bounds[-1]])
    size, more = tuples.size, parts.values.size
    finer.tuples[used : used + size], finer.weights[used : used + size] = tuples, weights
    finer.starts[used + 1 : used + size + 1] = last + parts.starts[1:]
    finer.values[last : last + more], finer.counts[last : last + more] = parts.values, parts.counts
    finer.owners[last : last + more] = parts.owners
    return finer._replace(nodes=np.vstack([finer.nodes, node]), bounds=np.append(finer.bounds, used + size))


def _has_room(finer: FinerClasses, classes: int, parts: int) -> bool:
    """Whether so many more fit."""
    used = int(finer.bounds[-1])
    return used + classes <= finer.tuples.size and int(finer.starts[used]) + parts <= finer.values.size


class _Parts(NamedTuple):
    values: np.ndarray
    counts: np.ndarray
    owners: np.ndarray
    starts: np.ndarray


class RuleScratch(local):
    """What each thread writes on, kept for the next nodes: `room`, and the classes of a node that may be kept."""

    def __init__(self, classes: int, parts: int, table: int, width: int) -> None:
        held, own, surplus = np.zeros((3, width), dtype=np.int64)
        some, few = np.empty((2, width + 1), dtype=np.int64)
        spare, more = np.empty((2, width))
        self.room = Room(
            np.zeros(8 * classes + DIRECT + HASHES, dtype=np.int64),
            np.empty(table, dtype=np.uint64),
            np.empty(classes, dtype=np.uint32),
            np.empty(classes, dtype=np.uint64),
            np.empty(classes, dtype=np.uint64),
            np.empty((3, classes + 1), dtype=np.int32),
            np.empty(classes, dtype=np.uint32),
            held,
            some,
            own,
            few,
            surplus,
            spare,
            more,
            np.empty(max(COUNTERS, EACH * parts), dtype=np.int64),
            np.empty(classes, dtype=np.int64),
        )
        self.kept, self.starts = np.empty(classes, dtype=np.uint32), np.empty(classes + 1, dtype=np.int64)
        self.parts = np.empty((3, parts + 1), dtype=np.uint32)


@dataclass(eq=False)
class RolledRules:
    """Judges the nodes of a problem that asks for k and some rules of records, from tuples of one block."""

    problem: Problem
    tuples: DistinctTuples
    digits: FusedDigits
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        order, firsts, combined = self._sorted()
        first = order[firsts]
        narrow = np.uint16 if self.digits.width < 1 << 16 and self.tuples.offsets[-1] < 1 << 16 else np.uint32
        self.codes, self.finer, ladders = (
            self.tuples.codes[first].astype(narrow),
            FinerNodes(self.problem),
            Ladders.of(self.problem),
        )
        dealt = np.array([a for group in self.digits.groups for a in group], dtype=np.int64)
        ends, self.steps = np.cumsum([0, *map(len, self.digits.groups)]), ladders.steps
        digits = self.digits.codes[first].astype(narrow)
        columns = np.zeros((1, 0), dtype=np.uint16), np.zeros((1, 1), dtype=np.int64)
        if lie_near(self.problem, first.size):
            columns = columns_of(self.problem, self.tuples.codes[first], self.tuples.offsets)
        self.reading = KeyReading(digits, dealt, ends, self.tuples.offsets, *ladders[:3], *columns)
        strong, weak = self.problem.strong_first
        self.rules = packed_rules([self.problem.rules[i] for i in (*strong, *weak)], combined[[*strong, *weak]])
        width = max(combined.shape[1], self.rules.whole.shape[1])
        self.scratch = RuleScratch(firsts.size, order.size, self.digits.width, width)

    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tuples in the order of their values, where each class begins, and for each rule its value in every combination."""
        secrets = self.tuples.secrets[: len(self.problem.rules)]
        number, combined = combinations(self.problem.rules, secrets, len(self.tuples))
        keys, (table, _) = np.empty(len(self.tuples), dtype=np.uint64), self.digits.table(self.problem.lattice.bottom)
        read_keys(self.digits.codes, table, keys)
        order = np.argsort(keys)  # those that are soon one class stand together
        keys, new = keys[order], np.ones(order.size, dtype=bool)
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        firsts, weights = np.flatnonzero(new), self.tuples.weights[order]
        size, room = firsts.size, min(PLACES * order.size, max(2 * order.size, ENOUGH))
        self.seen = FinerClasses(
            np.zeros((1, len(self.problem.hierarchies)), np.int64),
            np.array([0, size]),
            np.empty(size + room, np.uint32),
            np.empty(size + room, np.int64),
            np.zeros(size + room + 1, np.int64),
            *np.empty((3, order.size + room), np.uint32),
        )
        self.seen.tuples[:size], self.seen.weights[:size] = np.arange(size), np.add.reduceat(weights, firsts)
        self.seen.starts[: size + 1] = np.append(firsts, order.size)
        self.seen.values[: order.size], self.seen.counts[: order.size] = number[order], weights
        self.seen.owners[: order.size] = np.cumsum(new) - 1
        return order, firsts, combined

    def judge(self, nodes: np.ndarray, hurdle: float = inf) -> NodeVerdicts:
        """Judge some nodes. What the suppressed cost is only counted where a node loses at most `hurdle`, as the loss folds it."""
        for finer in self.finer.wanted(nodes, len(self.tuples)):
            self.keep(finer)
        loss, problem = self.problem.loss, self.problem
        width, lost, above = 1, np.zeros((len(nodes), 2)), -inf  # other losses are not counted by cost
        if isinstance(loss, CellLoss):
            width, lost, above = loss.width, problem.least_lost(nodes), hurdle + WRONG_BY
        found = NodeVerdicts(np.empty((len(nodes), 8), np.int64), np.zeros((*nodes.shape, width), np.int64))
        asked = problem.k, problem.limit, problem.relaxed, self.rules, self.scratch.room, lost, above
        judge_nodes(nodes, self.seen, self.reading, self.codes, self.steps, *asked, found.tallies, found.sums)
        return found

    def keep(self, levels: Sequence[int]) -> None:
        """Keep the classes of one node, if they are few enough to be worth it."""
        own, node = self.scratch, np.array(levels, dtype=np.int64)
        sums = own.room.sums
        found = join_classes(node, self.seen, self.reading, own.room, own.kept, own.parts, own.starts)
        with self._lock:
            last = int(own.starts[found])
            if 4 * found <= 3 * sums.size and _has_room(self.seen, found, last):
                values, counts, owners = own.parts[:, :last]
                held = _Parts(values, counts, owners, own.starts[: found + 1])
                self.seen = _with_node(self.seen, node, own.kept[:found], sums[:found], held)
            else:
                self.finer.refused += 4 * found > 3 * sums.size
