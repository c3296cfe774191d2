"""Evaluation of a node of the lattice: equivalence classes, suppressed records and information loss.

Everything is read from distinct tuples of codes with their counts. Nothing depends on the order of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat
from math import inf, log, prod
from operator import attrgetter, getitem, itemgetter, le
from threading import Lock, local
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from oboro.algorithms.lattice import constraints
from oboro.algorithms.lattice.constraints import Rule
from oboro.algorithms.lattice.kernels import attributes, nodes
from oboro.algorithms.lattice.kernels.attributes import (
    FinerClasses,
    KeyReading,
    Room,
    RuleArrays,
    join_classes,
    judge_nodes,
)
from oboro.algorithms.lattice.kernels.classes import DIRECT, EXACT, HASHES, UNKNOWN, count_columns, count_nodes
from oboro.algorithms.lattice.kernels.nodes import keys as read_keys
from oboro.algorithms.lattice.losses import CellLoss, ClassLoss
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import WRONG_BY, Node, NodeClasses, Problem
from oboro.algorithms.lattice.suppression import ALL, MAX_GROUPS_TRIED, UNASKED, ask_rule, complete, joining
from oboro.data.column import Column, smallest_unsigned
from oboro.data.grouping import Groups, number_alike
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.kernels import grouping

if TYPE_CHECKING:
    from oboro.algorithms.lattice.constraints import Population

__all__ = [
    "DistinctTuples",
    "FinerNodes",
    "FusedDigits",
    "LabelColumns",
    "Ladders",
    "NodeChecker",
    "NodeCounts",
    "NodeVerdicts",
    "RolledRules",
    "RolledUp",
    "RuleScratch",
    "columns_of",
    "combinations",
    "lie_near",
    "packed_rules",
]


# Distinct tuples ------------------------------------------------------------------------------------------------------
# Distinct combinations of codes with their counts: nodes are evaluated from them instead of the records.


KEY_SPACE = 1 << 62  # keys up to here are summed without overflow; more attributes are keyed in blocks
SAMPLE = 20_000  # rows looked at to guess whether many records share their tuple
ALWAYS = 1 << 17  # rows up to which that is not worth a guess


@dataclass(frozen=True, eq=False)
class DistinctTuples:
    """Distinct combinations of codes and how many records share them."""

    codes: np.ndarray
    """One row per tuple, one column per attribute; the attributes' codes are numbered through."""
    blocks: tuple[range, ...]
    """Attributes in a row whose values together make a key; only where there are very many is there more than one block."""
    offsets: np.ndarray
    """Where each attribute's codes start."""
    weights: np.ndarray
    secrets: tuple[np.ndarray, ...]
    rows: np.ndarray | None
    """Which tuple each record is (None: record i is tuple i)."""
    people: np.ndarray | None = None
    """How many of the population share each tuple, if there is one; then some tuples have people and no record."""
    persons: np.ndarray | None = None
    """Whose each tuple is, where people are counted: tuples come in this order, and no two people share one."""

    def __len__(self) -> int:
        return int(self.weights.size)

    @staticmethod
    def of(
        columns: Sequence[Column],
        secrets: Sequence[np.ndarray],
        rows: int,
        population: Population | None = None,
        person: Column | None = None,
    ) -> DistinctTuples:
        """Reduce the records (and the population, as if it stood below them) to tuples where enough share one."""
        if person is not None:
            return DistinctTuples._by_person(columns, tuple(secrets), rows, person)
        values, codes = list(map(attrgetter("values"), columns)), list(map(attrgetter("codes"), columns))
        secrets = tuple(secrets)
        if population is not None:
            codes = [np.concatenate(both) for both in zip(codes, population.codes, strict=True)]
            secrets = tuple(np.pad(secret, (0, len(population))) for secret in secrets)  # whose counts nobody reads
        every = codes[0].size
        labels, weights = None, np.ones(every, dtype=np.int64)
        weights[rows:] = 0
        people = None if population is None else 1 - weights
        if _many_alike([*codes, *secrets], every):
            groups = Groups.of([*map(Column, values, codes), *map(_as_column, secrets)], every)
            first = itemgetter(groups.first_rows())
            codes, secrets = list(map(first, codes)), tuple(map(first, secrets))
            labels, weights = groups.labels[:rows], groups.sizes if people is None else _sums(groups, weights)
            people = None if people is None else _sums(groups, people)
        widths = list(map(len, values))
        return DistinctTuples(*_numbered_through(codes, widths), weights, secrets, labels, people)

    @staticmethod
    def counted(codes: Sequence[np.ndarray], widths: Sequence[int], weights: np.ndarray) -> DistinctTuples:
        """Build tuples from combinations counted elsewhere; tied to no records."""
        return DistinctTuples(*_numbered_through(codes, widths), weights, (), None)

    @staticmethod
    def _by_person(
        columns: Sequence[Column], secrets: tuple[np.ndarray, ...], rows: int, person: Column
    ) -> DistinctTuples:
        """The records in the order of their persons; what one person has twice is one tuple."""
        order, starts = np.empty(rows, dtype=np.uint32), np.concatenate([[0], np.cumsum(person.counts)])
        grouping.by_code(person.codes, starts[:-1], order)
        codes, persons = [column.codes[order] for column in columns], person.codes[order].astype(np.int32)
        secrets = tuple(secret[order] for secret in secrets)
        tuples = DistinctTuples(
            *_numbered_through(codes, [len(column.values) for column in columns]),
            np.ones(rows, dtype=np.int64),
            secrets,
            _inverse(order),
            persons=persons,
        )
        if not _many_alike([*codes, *secrets, persons], rows, together=True):
            return tuples
        held = [Column(column.values, part) for column, part in zip(columns, codes, strict=True)]
        return tuples.merged(Groups.of(held, rows).labels)

    def taken(self, which: np.ndarray) -> DistinctTuples:
        """Return some of the tuples (a boolean each); no longer tied to records."""
        return replace(
            self,
            codes=self.codes[which],
            weights=self.weights[which],
            secrets=tuple(secret[which] for secret in self.secrets),
            rows=None,
            people=None if self.people is None else self.people[which],
            persons=None if self.persons is None else self.persons[which],
        )

    def merged(self, labels: np.ndarray) -> DistinctTuples:
        """Merge tuples with the same label (and the same sensitive values); any of them represents all."""
        groups = self._alike(labels)
        first = groups.first_rows()
        return replace(
            self,
            codes=self.codes[first],
            weights=_sums(groups, self.weights),
            people=None if self.people is None else _sums(groups, self.people),
            secrets=tuple(secret[first] for secret in self.secrets),
            rows=groups.labels if self.rows is None else groups.labels[self.rows],
            persons=None if self.persons is None else self.persons[first],
        )

    def _alike(self, labels: np.ndarray) -> Groups:
        """Tuples with the same label, the same secrets and the same person; numbered in the order of the tuples."""
        columns = [_as_column(labels), *(_as_column(secret) for secret in self.secrets)]
        if self.persons is None:
            return Groups.of(columns, len(self))
        labels = Groups.of(columns, len(self)).labels if self.secrets else labels
        out, last = np.empty(len(self), dtype=np.uint32), np.full(int(labels.max(initial=0)) + 1, -1, dtype=np.int64)
        found = nodes.number_by_person(labels, self.persons, last, out)
        return Groups(out, np.bincount(out, minlength=found))


def _sums(groups: Groups, numbers: np.ndarray) -> np.ndarray:
    out = np.zeros(len(groups), dtype=np.int64)
    nodes.sizes(groups.labels, numbers, out)
    return out


def _numbered_through(
    codes: Sequence[np.ndarray], widths: Sequence[int]
) -> tuple[np.ndarray, tuple[range, ...], np.ndarray]:
    """The codes side by side, numbered through, the blocks, and where each attribute's codes start."""
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    dtype = smallest_unsigned(int(offsets[-1]))
    out = np.empty((codes[0].size, len(codes)), dtype=dtype)
    for a, part in enumerate(codes):
        np.add(part, dtype(offsets[a]), out=out[:, a], casting="unsafe", dtype=dtype)
    return out, _blocks(widths), offsets


def _inverse(order: np.ndarray) -> np.ndarray:
    out = np.empty(order.size, dtype=np.int64)
    out[order] = np.arange(order.size)
    return out


def _many_alike(codes: Sequence[np.ndarray], rows: int, together: bool = False) -> bool:
    """Return whether reducing to tuples is worth a grouping: always for small tables, else if a sample says that half
    share one. `together` says that those who may share one stand together: then the sample is of a few runs.
    """
    if rows <= ALWAYS:
        return rows > 0
    chosen = np.linspace(0, rows - 1, SAMPLE).astype(np.int64)
    if together:
        chosen = (np.linspace(0, rows - SAMPLE // 20, 20).astype(np.int64)[:, None] + np.arange(SAMPLE // 20)).ravel()
    sample = [_as_column(part[chosen]) for part in codes]
    return len(Groups.of(sample, SAMPLE)) < SAMPLE * 0.9


def _as_column(codes: np.ndarray) -> Column:
    values = np.arange(int(codes.max(initial=0)) + 1)
    return Column(values, codes)


def _blocks(widths: Sequence[int]) -> tuple[range, ...]:
    blocks, start = [], 0
    for a in range(len(widths)):
        if prod(widths[start : a + 1]) > KEY_SPACE:
            blocks.append(range(start, a))
            start = a
    return (*blocks, range(start, len(widths)))


# Fused digits ---------------------------------------------------------------------------------------------------------
# Tuples as few digits: small attributes are fused into one, so that a node's keys are read with fewer look-ups.


WIDEST = 4096  # values of a digit: its part of a node's table stays in the nearest cache
MOST_TABLES = 1024  # of digits at some levels; then they are made anew


@dataclass(frozen=True, eq=False)
class FusedDigits:
    """Attributes of each digit, and the digits of each tuple, numbered through."""

    groups: tuple[tuple[int, ...], ...]
    codes: np.ndarray
    width: int
    """How many values all digits have together."""
    hierarchies: Sequence[Hierarchy]
    _tables: dict[tuple[int, ...], tuple[np.ndarray, int]] = field(default_factory=dict)

    @staticmethod
    def of(codes: np.ndarray, offsets: np.ndarray, block: range, hierarchies: Sequence[Hierarchy]) -> FusedDigits:
        """Build digits from codes, numbered through, of which the digits represent a block. O(tuples · attributes)."""
        widths = np.diff(offsets).tolist()
        groups, sizes = _grouped(widths, block, min(WIDEST, len(codes) // 8))
        out, start = np.empty((len(codes), len(groups)), dtype=smallest_unsigned(sum(sizes))), 0
        for g, group in enumerate(groups):
            digit = np.zeros(len(codes), dtype=np.int64)
            for a in group:
                digit *= widths[a]
                digit += codes[:, a]
                digit -= offsets[a]
            out[:, g] = digit + start
            start += sizes[g]
        return FusedDigits(tuple(map(tuple, groups)), out, sum(sizes), hierarchies)

    def table(self, levels: Levels) -> tuple[np.ndarray, int]:
        """Return for each value of each digit its part of a node's keys, and the number of possible keys."""
        parts, stride = [], 1
        for g, group in enumerate(self.groups):
            key = (g, *map(levels.__getitem__, group))
            if key not in self._tables:
                if len(self._tables) >= MOST_TABLES:
                    self._tables.clear()
                self._tables[key] = self._one(group, levels)
            part, count = self._tables[key]
            parts.append(part * np.uint64(stride))
            stride *= count
        return np.concatenate(parts), stride

    def _one(self, group: tuple[int, ...], levels: Levels) -> tuple[np.ndarray, int]:
        """For each value of one digit the number of its labels, and how many there can be."""
        out, count = np.zeros(1, dtype=np.uint64), 1
        for a in group:
            level = self.hierarchies[a].levels[levels[a]]
            labels = len(level.labels)
            out = np.add.outer(out * np.uint64(labels), level.table.astype(np.uint64)).ravel()
            count *= labels
        return out, count


def _grouped(widths: Sequence[int], block: range, most: int) -> tuple[list[list[int]], list[int]]:
    """Attributes in groups of few values together, and how many; the widest first, each with the narrow ones that still fit."""
    groups: list[list[int]] = []
    sizes: list[int] = []
    for a in sorted(block, key=widths.__getitem__, reverse=True):
        for g, size in enumerate(sizes):
            if size * widths[a] <= most:
                groups[g].append(a)
                sizes[g] *= widths[a]
                break
        else:
            groups.append([a])
            sizes.append(widths[a])
    return groups, sizes


# Node evaluation ------------------------------------------------------------------------------------------------------


ROLLED = 4096  # tuples from which on nodes are judged from finer ones; below, no compiled code is worth its loading


@dataclass(frozen=True, eq=False)
class NodeChecker:
    """Evaluates nodes of a problem. After `rebased(levels)` only nodes that are nowhere finer than these levels."""

    problem: Problem
    tuples: DistinctTuples
    base: Levels
    """Tuples that agree on these levels may be one, so no node finer than them can be checked."""

    @staticmethod
    def of(problem: Problem) -> NodeChecker:
        """Return a checker of every node."""
        tuples = DistinctTuples.of(problem.columns, problem.secrets, problem.rows, problem.population, problem.person)
        return NodeChecker(problem, tuples, problem.lattice.bottom)

    def can_check(self, levels: Levels) -> bool:
        """Return whether the node of these levels and everything coarser can be evaluated."""
        return all(map(le, self.base, levels))

    at_a_time: ClassVar[int | None] = None
    """How many nodes are best checked together; None: that is for the search to say."""

    def prepare(self, several: Sequence[Levels]) -> None:
        """Prepare for the evaluation of these nodes: do now the work that costs as much for several as for one."""

    def at_once(self, levels: Levels) -> bool:
        """Return whether a node is known without reading anything; here: never."""
        return False

    @property
    def weight(self) -> int:
        """Number of tuples or rows that an evaluation reads."""
        return len(self.tuples)

    def check(self, levels: Levels, hurdle: float = inf, steps: int = MAX_GROUPS_TRIED) -> Node:
        """Evaluate one node. O(tuples · attributes).

        Which classes join the suppressed is only asked where the node can lose less than `hurdle`.
        """
        together = self.counts_sizes or self.rolls_rules
        if together and (node := self.check_together([levels], hurdle)[0]) is not None and not node.open:
            return node
        return self.completed(levels, hurdle, steps)

    def completed(self, levels: Levels, hurdle: float = inf, steps: int = MAX_GROUPS_TRIED) -> Node:
        """Evaluate one node class by class, and let classes join the suppressed where these are no safe class."""
        classes = self.judge(self.classes(levels), self.problem.limit)
        suppressed, floor = classes.suppressed, self._floor(classes)
        if suppressed > self.problem.limit:
            return Node(levels, suppressed, classes.surely, 0, False, inf, floor)
        whole = complete(self, classes, hurdle, steps)
        if whole.classes is None:
            return Node(levels, suppressed, classes.surely, 0, True, inf, floor, least=whole.least)
        extra = whole.classes.suppressed - suppressed
        node = Node(levels, suppressed, classes.surely, extra, True, whole.loss, floor)
        return replace(node, least=whole.least, joined=whole.joined)

    def suppressed_tuples(self, node: Node) -> np.ndarray:
        """Return for each tuple whether the node suppresses it. The node must be feasible."""
        classes = self.judge(self.classes(node.levels))
        if not node.joined:
            whole = complete(self, classes).classes
            assert whole is not None, "only feasible nodes are released"
            return whole.out
        stay = np.flatnonzero(~classes.gone)
        labels, numbers = self.labels_of(classes, stay), np.array(node.joined)
        chosen = [stay[(labels == number).all(axis=1)] for number in numbers]
        return joining(classes, np.concatenate(chosen)).out

    def suppressed_rows(self, node: Node) -> np.ndarray:
        """Return for each record whether the node suppresses it. The node must be feasible."""
        gone = self.suppressed_tuples(node)
        return gone[: self.problem.rows] if self.tuples.rows is None else np.asarray(gone[self.tuples.rows])

    def rebased(self, levels: Levels) -> NodeChecker:
        """Return a checker of nodes nowhere finer than these levels: tuples that agree there are one. The same if that
        saves little.
        """
        if self.problem.population is not None and self.problem.population.unclear is not None:
            return self  # values under one label are not alike to a reader
        if self.rolls_rules:
            self.rolled_rules.keep(levels)
            return self
        labels = self.classes(levels).labels
        merged = self.tuples.merged(labels)
        return self if len(merged) > 0.8 * len(self.tuples) else replace(self, tuples=merged, base=levels)

    @cached_property
    def rolled_up(self) -> RolledUp:
        """Counter of nodes where only sizes matter."""

        return RolledUp(self.problem, self.tuples, self.digits[0])

    @cached_property
    def counts_sizes(self) -> bool:
        """True if sizes of classes tell all that is asked, and what is lost."""
        told = self.problem.only_k and isinstance(self.problem.loss, CellLoss | ClassLoss)
        return told and (len(self.tuples.blocks) == 1 or self.columns is not None)

    @cached_property
    def columns(self) -> LabelColumns | None:
        """Faster counter of nodes where only sizes matter and there are enough tuples."""
        if len(self.tuples) < ROLLED or not self.problem.only_k:
            return None

        return LabelColumns.of(self.problem, self.tuples)

    @cached_property
    def rolled_rules(self) -> RolledRules:
        """Judge of nodes where rules on records apply."""

        return RolledRules(self.problem, self.tuples, self.digits[0])

    @cached_property
    def rolls_rules(self) -> bool:
        """True if classes are judged by their sizes and rules alone, and there are enough tuples for compiled code."""
        if len(self.tuples) < ROLLED or len(self.tuples.blocks) > 1:
            return False
        return self.problem.only_rules and isinstance(self.problem.loss, CellLoss | ClassLoss)

    @property
    def many_at_once(self) -> bool:
        """True if several nodes are checked sooner together than one by one."""
        return (self.counts_sizes or self.rolls_rules) and self.at_a_time is None

    def check_all(self, chosen: Sequence[Levels], hurdle: float = inf, *, later: bool = False) -> list[Node]:
        """Evaluate several nodes; some may be left open for `later`, where it takes long which classes join the
        suppressed.
        """
        if not self.many_at_once:
            return list(map(partial(self.check, hurdle=hurdle), chosen))
        found = zip(chosen, self.check_together(chosen, hurdle), strict=True)
        return [
            self.completed(levels, hurdle) if node is None or (node.open and not later) else node
            for levels, node in found
        ]

    def check_together(self, chosen: Sequence[Levels], hurdle: float) -> list[Node | None]:
        """Evaluate several nodes where classes need only be large enough; None where good ones must be suppressed in
        addition.

        Of a node that cannot lose less than `hurdle`, the loss is only bounded.
        """
        assert all(map(self.can_check, chosen)), "a node finer than what the tuples were joined by"
        if self.problem.rules:
            verdicts = self.rolled_rules.judge(np.array(chosen, dtype=np.int64), self.problem.loss.fold(hurdle))
            return [self.problem.node_of_verdicts(*one, hurdle) for one in zip(chosen, *verdicts, strict=True)]
        if self.columns is not None:
            return self.columns.check(self, chosen, hurdle)
        counts = self.rolled_up.count(np.array(chosen, dtype=np.int64), self.problem.k, self.problem.limit)
        return [self.problem.node_of_sizes(*one, hurdle) for one in zip(chosen, *counts, strict=True)]

    def survey(self, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """Return sums over the classes of a node (see `NodeCounts`), and its suppressed records by attribute and cost.
        Parts of a table that share no class add up to the whole: all are sums, but the last of the first is a minimum.
        """
        counts = self.rolled_up.count(np.array([levels]), self.problem.k, self.problem.limit)
        return counts.sizes[0], counts.tallies[0]

    def any_kept(self, levels: Levels) -> bool:
        """Return whether a class of the node is large enough; False is certain quickly, True only as far as size is
        concerned.
        """
        if len(self.tuples.blocks) > 1:
            return True
        return bool(self.rolled_up.count(np.array([levels]), self.problem.k, 0).sizes[0, 2])

    def safe(self, tuples: np.ndarray) -> bool:
        """Return whether some tuples together satisfy every rule as one class."""
        people = 0 if self.tuples.people is None else int(self.tuples.people[tuples].sum())
        size, held = self._as_class(tuples)
        return self._safe(size, people, held)

    def classes(self, levels: Levels) -> NodeClasses:
        """Group the tuples by their generalized codes."""
        assert self.can_check(levels), "a node finer than what the tuples were joined by"
        labels, found = np.zeros(len(self.tuples), dtype=np.uint32), 1
        for digits in self.digits:
            keys = np.empty(len(self.tuples), dtype=np.uint64)
            table, space = digits.table(levels)
            nodes.keys(digits.codes, table, keys)
            if len(self.tuples.blocks) > 1:
                part, parts = number_alike(keys, space)
                grouping.combine(labels, part, parts, keys)
                space = found * parts
            labels, found = number_alike(keys, space)
        sizes = np.zeros(found, dtype=np.int64)
        nodes.sizes(labels, self.tuples.weights, sizes)
        held = NodeClasses(labels, sizes, np.zeros(found, dtype=bool), levels)
        if self.problem.population is not None:
            people, gone, open_ = self.problem.population.counted(self.tuples, labels, found, levels)
            held = replace(held, people=people, if_suppressed=gone, open_people=open_)
        return held if self.tuples.persons is None else replace(held, persons=self.heads(held))

    def heads(self, classes: NodeClasses) -> np.ndarray:
        """Count the different people of each class."""
        assert self.tuples.persons is not None
        out, last = np.zeros(classes.sizes.size, dtype=np.int64), np.full(classes.sizes.size, -1, dtype=np.int32)
        nodes.distinct_people(classes.labels, self.tuples.persons, last, out)
        return out

    @cached_property
    def digits(self) -> tuple[FusedDigits, ...]:
        """The tuples of each block with small attributes fused."""
        tuples = self.tuples
        fused = partial(FusedDigits.of, tuples.codes, tuples.offsets, hierarchies=self.problem.hierarchies)
        return tuple(map(fused, tuples.blocks))

    def steps(self, levels: Levels) -> np.ndarray:
        """For each code, by which of few amounts its suppression is charged."""
        loss = self.problem.loss
        if not isinstance(loss, CellLoss):
            return np.zeros(int(self.tuples.offsets[-1]), dtype=np.uint32)
        return np.concatenate(list(map(attrgetter("step"), map(getitem, loss.costs, levels)))).astype(np.uint32)

    def judge(self, classes: NodeClasses, most: int = ALL) -> NodeClasses:
        """Determine which classes violate a rule. Weak rules are not evaluated once strong ones suppress too many.

        Nor is the rest once classes that break one have more than `most` records.
        """
        if self.problem.whole_people:
            return constraints.judge(self, classes)
        population = self.problem.population
        counted = classes.sizes if classes.persons is None else classes.persons
        verdicts = (counted < self.problem.k).astype(np.uint8)
        if population is not None and classes.people is not None and population.unclear is None:
            verdicts[population.breaks_k_map(classes.people)] = 1
        strong, weak = self.problem.strong_first
        self.ask(strong, classes, verdicts, most)
        surely = self._thinned(classes, verdicts == 1)
        if surely.suppressed > self.problem.limit:
            return replace(surely, surely=surely.suppressed, asked=False)
        least = np.where(surely.gone, classes.sizes, 0)
        if population is not None and classes.people is not None:
            verdicts[population.breaks_k_map(classes.people)] = 1
            verdicts[population.breaks_presence(classes.sizes, classes.people, classes.open_people)] = 1
        if self.problem.earnings is not None:
            verdicts[self.problem.earnings.of_classes(self, classes) <= 0] = 1
        self.ask(weak, classes, verdicts, most, least)
        if classes.persons is None:  # fewer than k of a class are not kept in any finer node
            least = np.where((least > 0) & (classes.sizes - least < self.problem.k), classes.sizes, least)
        return replace(self._thinned(classes, verdicts == 1), surely=max(surely.suppressed, int(least.sum())))

    def _thinned(self, classes: NodeClasses, gone: np.ndarray) -> NodeClasses:
        """Without classes that break a rule; where there are still too many, at least as many records go as the smallest have.

        For any number of classes that go, the smallest have fewest records and leave the most to share the rest.
        """
        judged = replace(classes, gone=gone)
        if (limits := self.problem.class_sizes) and not self.problem.relaxed:
            left, rows = classes.sizes[~gone], self.problem.rows
            judged = replace(judged, thinned=max(limit.excess_of(left, rows) for limit in limits))
        if self.problem.most_classes is None and self.problem.kept_risk is None:
            return judged
        sizes = np.sort(classes.sizes[~gone])
        suppressed, more = judged.suppressed - judged.thinned, 0
        for i in range(sizes.size + 1):
            if not self.problem.too_many(sizes.size - i, suppressed + more):
                break
            more += int(sizes[i])
        return replace(judged, thinned=max(more, judged.thinned))

    def ask(
        self,
        which: Sequence[int],
        classes: NodeClasses,
        verdicts: np.ndarray,
        most: int = ALL,
        least: np.ndarray = UNASKED,
    ) -> None:
        """Raise the verdicts of classes that violate some of the rules to 1; until these have more than `most` records."""
        for i in which:
            ask_rule(self, i, classes, verdicts, most, least)
            for c in np.flatnonzero(verdicts == 2):
                order, starts = classes.members
                size, held = self._as_class(order[starts[c] : starts[c + 1]])
                verdicts[c] = self.problem.rules[i].breaks(held[i], size)

    def _as_class(self, tuples: np.ndarray) -> tuple[int, list[np.ndarray]]:
        """Count the records or people of some tuples together, and those with each value, rule by rule."""
        persons, weights = self.tuples.persons, self.tuples.weights[tuples]
        owners = np.zeros(0, np.int64) if persons is None else persons[tuples].astype(np.int64)
        held = []
        for rule, codes in zip(self.problem.rules, self.tuples.secrets, strict=False):
            width, counts = rule.whole.size, np.zeros(rule.whole.size, dtype=np.int64)
            if persons is None:
                np.add.at(counts, codes[tuples], weights)
            else:
                np.add.at(counts, np.unique(owners * width + codes[tuples]) % width, 1)
            held.append(counts)
        return int(weights.sum()) if persons is None else np.unique(owners).size, held

    def keeps(self, classes: NodeClasses) -> bool:
        """Return whether the suppressed, if there are any, are a class that satisfies every rule (or need not be one)."""
        people = 0 if classes.if_suppressed is None else int(classes.if_suppressed[classes.gone].sum())
        sizes, gone, relaxed = classes.sizes, classes.gone, self.problem.relaxed
        limits = self.problem.class_sizes
        if limits and any(limit.broken_by(sizes, gone, relaxed) for limit in limits):
            return False
        if self.problem.relaxed:  # there is no such class; nobody who fits none may be known to be absent
            population = self.problem.population
            return population is None or population.safe(0, people, classes.open_people)
        size, held = self._as_class(np.flatnonzero(classes.out))
        return self._safe(size, people, held, classes.open_people)

    def _safe(self, size: int, people: int, held: Sequence[np.ndarray], more: int = 0) -> bool:
        """Return whether the suppressed, if there are any, are a class that keeps every rule."""
        rules, population = self.problem.rules, self.problem.population
        if population is not None and not population.safe(size, people, more):
            return False
        if size == 0:
            return True
        return size >= self.problem.least_suppressed and not any(map(Rule.breaks, rules, held, repeat(size)))

    def smallest_first(self, classes: NodeClasses, most: int) -> np.ndarray:
        """Return the kept classes of at most so many records, by size, then by the text of their labels."""
        stay = np.flatnonzero(~classes.gone & (classes.sizes <= most))
        labels = self.labels_of(classes, stay)
        ranks = [self.problem.label_ranks(a, level)[labels[:, a]] for a, level in enumerate(classes.levels)]
        return np.asarray(stay[np.lexsort([*reversed(ranks), classes.sizes[stay]])])

    def labels_of(self, classes: NodeClasses, which: np.ndarray) -> np.ndarray:
        """Return, for some classes and each attribute, the number of the class's label on its level."""
        order, starts = classes.members
        some = order[starts[which]]  # any member tells the labels
        codes = self.tuples.codes[some] - self.tuples.offsets[:-1]
        out = np.empty(codes.shape, dtype=np.int64)
        for a, level in enumerate(classes.levels):
            out[:, a] = self.problem.hierarchies[a].levels[level].table[codes[:, a]]
        return out

    def tallied(self, classes: NodeClasses) -> np.ndarray:
        """Count the suppressed records by attribute and by what they cost."""
        loss, steps = self.problem.loss, self.steps(classes.levels)
        assert isinstance(loss, CellLoss)
        out = np.zeros((len(classes.levels), loss.width), dtype=np.int64)
        labels, gone = classes.labels, classes.gone
        if classes.leaving is not None:
            labels, gone = classes.leaving.astype(np.uint32), np.array([False, True])
        nodes.tally(self.tuples.codes, labels, gone, self.tuples.weights, steps, out)
        return out

    def loss(self, classes: NodeClasses) -> float:
        """Return the information loss with the given suppressed records."""
        loss = self.problem.loss
        if isinstance(loss, CellLoss):
            return loss.value(classes.levels, self.tallied(classes) if classes.suppressed else None)
        if not isinstance(loss, ClassLoss):
            return loss.of_node(self, classes)
        kept = constraints.kept_sizes(self, classes)
        return loss.value(kept.size, int(np.dot(kept, kept)), self.problem.rows - int(kept.sum()))

    def _floor(self, classes: NodeClasses) -> float:
        loss = self.problem.loss
        if isinstance(loss, CellLoss):
            return -inf
        if not isinstance(loss, ClassLoss):
            return loss.least(self, classes)
        filled = classes.sizes[classes.sizes > 0]
        return loss.floor(filled.size, int(np.dot(filled, filled)))


# Roll-up of class sizes -----------------------------------------------------------------------------------------------
# Nodes counted from the classes of finer nodes counted before, where only the sizes of classes matter.
#
# A class of a node is a union of classes of any finer node, so those are enough to count it, and they are fewer than
# the tuples. Kept are the classes of nodes that generalize the third of the attributes with most information as the
# requested nodes do, and the others not at all. Adult, nine columns, k = 5, 10 %: the 188 nodes to the optimum read
# 8,400 entries each instead of 19,500, the 2,743 to all minimal ones 7,750 (counted by replaying recorded searches).
# What lost: keeping the classes of every requested node (15,000, and little more beside these), half or two thirds of
# the attributes, or several such steps (8,200 to 11,000 and 6,100 to 7,700, with two to five times as much kept).


MAX_KEPT_NODES = 256  # nodes whose classes are kept
CLASSES_PER_TUPLE = 24  # classes kept for each tuple, all nodes together
FRESH = 4  # and for each tuple in one call
FEW = 2048  # tuples that are read as soon as classes are kept
NO_HISTOGRAM = np.empty((0, 0), dtype=np.int64)
REFUSED = 3  # so many nodes with too many classes, and no more are tried
WANTED = 2  # so often a finer node must be of use before its classes are kept


class NodeCounts(NamedTuple):
    """Counts of some nodes, one row each."""

    sizes: np.ndarray
    """Suppressed records, classes, kept classes, squared sizes of all and of the kept ones, the smallest kept size."""
    tallies: np.ndarray
    """The suppressed records by attribute and by what they cost, where they are not too many."""


class _Seen(NamedTuple):
    """Nodes whose classes are kept, and these: `tuples[bounds[s] : bounds[s + 1]]`, each with its records."""

    nodes: np.ndarray
    bounds: np.ndarray
    tuples: np.ndarray
    weights: np.ndarray

    @staticmethod
    def of(nodes: np.ndarray, bounds: np.ndarray, places: int) -> _Seen:
        """With places for so many classes; those behind the last node's are free."""
        return _Seen(nodes, bounds, np.empty(places, dtype=np.uint32), np.empty(places, dtype=np.int64))


class Ladders(NamedTuple):
    """On level v of attribute a, code c has the label `numbers[first[a, v] + c]` of `labels[a, v]`; what it pays is in `steps`."""

    first: np.ndarray
    labels: np.ndarray
    numbers: np.ndarray
    steps: np.ndarray

    @staticmethod
    def of(problem: Problem) -> Ladders:
        """Of every attribute and level."""
        most = max(len(hierarchy.levels) for hierarchy in problem.hierarchies)
        first, labels = np.zeros((2, len(problem.hierarchies), most), dtype=np.int64)
        numbers, steps, begin = [], [], 0
        for a, hierarchy in enumerate(problem.hierarchies):
            for v, level in enumerate(hierarchy.levels):
                first[a, v], labels[a, v] = begin, len(level.labels)
                numbers.append(level.table)
                costs = problem.loss.costs[a][v].step if isinstance(problem.loss, CellLoss) else 0 * level.table
                steps.append(costs)
                begin += level.table.size
        return Ladders(first, labels, *(np.concatenate(parts).astype(np.uint32) for parts in (numbers, steps)))


class FinerNodes:
    """Which finer nodes are worth keeping the classes of; none any more where some turned out to have nearly as many as tuples."""

    def __init__(self, problem: Problem) -> None:
        width, self.times, self.lock = len(problem.hierarchies), Counter[tuple[int, ...]](), Lock()
        told = np.argsort([-entropies[0] for entropies in problem.entropies], kind="stable")
        self.telling, self.kept, self.refused = np.zeros(width, dtype=np.int64), 1, 0
        self.telling[told[: width // 3]] = 1

    def wanted(self, nodes: np.ndarray, tuples: int) -> np.ndarray:
        """Finer nodes whose classes are worth keeping from now on: not yet there, and wanted a second time."""
        with self.lock:
            if self.kept >= MAX_KEPT_NODES or tuples < FEW or self.refused >= REFUSED:
                return nodes[:0]
            finer = list(map(tuple, (nodes * self.telling).tolist()))
            before = {one: self.times[one] for one in finer}
            self.times.update(finer)
            ready = [one for one, times in before.items() if times < WANTED <= self.times[one]]
            self.kept += len(ready)
        return np.array(ready, dtype=np.int64).reshape(-1, nodes.shape[1])


class _Scratch(local):
    """Work memory of each thread, kept for the next nodes: touching fresh memory costs more than counting."""

    def __init__(self, tuples: int, table: int) -> None:
        self.slots = np.zeros(8 * tuples + DIRECT + HASHES, dtype=np.int64)
        self.table = np.empty(table, dtype=np.uint64)
        self.keys = np.empty(tuples, dtype=np.uint64)
        self.kept = np.empty((1 + FRESH) * tuples, dtype=np.uint32)
        self.kept_weights = np.empty(self.kept.size, dtype=np.int64)


@dataclass(eq=False)
class RolledUp:
    """Counts the nodes of a problem that asks for nothing but k, from tuples of one block; for whatever k, so it can be kept."""

    problem: Problem
    tuples: DistinctTuples
    digits: FusedDigits
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        width, size = len(self.problem.hierarchies), len(self.tuples)
        self.seen = _Seen.of(
            np.zeros((1, width), np.int64), np.array([0, size]), min(CLASSES_PER_TUPLE * size, max(4 * size, ENOUGH))
        )
        order = np.lexsort(self.digits.codes.T)  # those that are soon one class stand together
        self.seen.tuples[:size], self.seen.weights[:size] = np.arange(size), self.tuples.weights[order]
        self.ladders = Ladders.of(self.problem)
        narrow = np.uint16 if self.digits.width < 1 << 16 and self.tuples.offsets[-1] < 1 << 16 else np.uint32
        self.read = self.digits.codes[order].astype(narrow), self.tuples.codes[order].astype(narrow)
        dealt = np.array([a for group in self.digits.groups for a in group], dtype=np.int64)
        ends = np.cumsum([0, *map(len, self.digits.groups)])
        self.layout = dealt, ends, self.tuples.offsets
        self.scratch = _Scratch(size, self.digits.width)
        self.finer = FinerNodes(self.problem)

    def count(self, nodes: np.ndarray, k: int, most: int, histogram: np.ndarray = NO_HISTOGRAM) -> NodeCounts:
        """Count some nodes; what the suppressed cost only where they are at most so many. Adds to `histogram`, if it is given, for
        each node how many classes have each size (the last: or more)."""
        finer = self.finer.wanted(nodes, len(self.tuples))
        if len(finer):
            self._count(finer, k, -1, keep=True)
        return self._count(nodes, k, most, histogram)

    def _count(
        self, nodes: np.ndarray, k: int, most: int, histogram: np.ndarray = NO_HISTOGRAM, *, keep: bool = False
    ) -> NodeCounts:
        loss, own = self.problem.loss, self.scratch
        width, most = (loss.width, most) if isinstance(loss, CellLoss) else (1, -1)  # others are not counted by cost
        found = NodeCounts(np.empty((len(nodes), 6), np.int64), np.zeros((*nodes.shape, width), np.int64))
        ends = np.zeros(len(nodes) + 1, dtype=np.int64)
        written = (
            own.slots,
            own.table,
            own.keys,
            own.kept,
            own.kept_weights,
            ends,
            found.tallies,
            histogram,
            found.sizes,
        )
        count_nodes(nodes, *self.seen, *self.read, *self.layout, *self.ladders, k, most, keep, *written)
        if ends[-1]:
            self._keep(nodes, ends, own)
        return found

    def _keep(self, nodes: np.ndarray, ends: np.ndarray, own: _Scratch) -> None:
        """Keep the classes of those nodes that are worth it. Whoever counts meanwhile reads none of the places written here."""
        which, last = np.flatnonzero(np.diff(ends)), int(ends[-1])
        with self._lock:
            seen, used = self.seen, int(self.seen.bounds[-1])
            if used + last > seen.tuples.size:
                return
            seen.tuples[used : used + last], seen.weights[used : used + last] = own.kept[:last], own.kept_weights[:last]
            bounds = np.concatenate([seen.bounds, used + ends[which + 1]])
            self.seen = seen._replace(nodes=np.concatenate([seen.nodes, nodes[which]]), bounds=bounds)


# Counting from label columns ------------------------------------------------------------------------------------------
# Nodes counted from columns of labels, where k is the only requirement and losses add up over cells.
#
# A check of 20,000 tuples took 270 to 830 µs where keys were looked up digit by digit, tuple by tuple. Columns that lie
# side by side are multiplied and added several tuples at a time, and a node that fails needs no hash table: tuples that
# fall together by chance only make classes larger.


MAX_COLUMN_TUPLES = 1 << 18  # tuples, above which columns no longer stay near the processor
ROOM = 1 << 28  # bytes for all columns
LARGE = 1 << 16  # labels of a level, or a k, that two bytes do not number


def lie_near(problem: Problem, tuples: int) -> bool:
    """Return whether columns of so many tuples are few and short enough to stay in the processor's cache."""
    levels = [len(level.labels) for hierarchy in problem.hierarchies for level in hierarchy.levels]
    return tuples <= MAX_COLUMN_TUPLES and 2 * len(levels) * tuples <= ROOM and max(levels) < LARGE


def columns_of(
    problem: Problem, codes: np.ndarray, offsets: np.ndarray, kind: type[np.unsignedinteger] = np.uint16
) -> tuple[np.ndarray, np.ndarray]:
    """Return the label of each tuple on each level of each attribute, a column each; and the column of each level."""
    first = np.zeros((len(problem.hierarchies), max(problem.lattice.shape)), dtype=np.int64)
    columns: list[np.ndarray] = []
    for a, hierarchy in enumerate(problem.hierarchies):
        own = codes[:, a] - offsets[a]
        for v, level in enumerate(hierarchy.levels):
            first[a, v] = len(columns)
            columns.append(level.table.astype(kind)[own])
    return np.stack(columns), first


class _ColumnScratch(local):
    """Work memory of each thread."""

    def __init__(self, tuples: int, counts: int, slots: int, kind: type) -> None:
        self.keys = np.empty(tuples, dtype=np.uint32)
        self.counts: np.ndarray = np.zeros(counts, dtype=kind)
        self.slots = np.zeros(slots, dtype=np.uint32)


class LabelColumns:
    """Counts the nodes of a problem. What it cannot tell is left to `RolledUp`."""

    def __init__(self, problem: Problem, tuples: DistinctTuples) -> None:
        self.problem, self.tuples, self.ladders = problem, tuples, Ladders.of(problem)
        kind = smallest_unsigned(int(self.ladders.labels.max()))
        self.columns, self.first = columns_of(problem, tuples.codes, tuples.offsets, kind)
        narrow = np.uint8 if 2 * problem.k < 1 << 8 else np.uint16
        self.weights = np.minimum(tuples.weights, problem.k).astype(narrow)
        self.classes = min(len(tuples), problem.rows // problem.k + max(problem.limit, 0))
        size = 2 << len(tuples).bit_length()
        self.scratch = _ColumnScratch(len(tuples), size, min(2 << self.classes.bit_length(), size), narrow)

    @staticmethod
    def of(problem: Problem, tuples: DistinctTuples) -> LabelColumns | None:
        """The columns of a problem, if its nodes are counted sooner from them."""
        suits = lie_near(problem, len(tuples)) and 2 * problem.k < LARGE and isinstance(problem.loss, CellLoss)
        return LabelColumns(problem, tuples) if suits else None

    def check(self, checker: NodeChecker, chosen: Sequence[Levels], hurdle: float) -> list[Node | None]:
        """Several nodes; None where good classes must be suppressed in addition, or classes must be told one by one."""
        nodes, problem = np.array(chosen, dtype=np.int64), self.problem
        known, counts = self.count(nodes, problem.limit, problem.loss.fold(hurdle))
        if not known.all() and len(self.tuples.blocks) == 1:
            rest = checker.rolled_up.count(nodes[~known], problem.k, problem.limit)
            counts.sizes[~known], counts.tallies[~known], known = rest.sizes, rest.tallies, np.ones_like(known)
        told = zip(chosen, *counts, known.tolist(), strict=True)
        return [
            problem.node_of_sizes(levels, sums, tally, hurdle) if sure else None for levels, sums, tally, sure in told
        ]

    def count(self, nodes: np.ndarray, most: int, hurdle: float = inf) -> tuple[np.ndarray, NodeCounts]:
        """Which nodes are known, and what is counted of them: of those that suppress too many only at least how many.

        What the suppressed cost is not counted for nodes that lose more than `hurdle`, as the loss folds it.
        """
        loss, own = self.problem.loss, self.scratch
        assert isinstance(loss, CellLoss)
        tallies, found = np.zeros((*nodes.shape, loss.width), np.int64), np.zeros((len(nodes), 3), np.int64)
        read = self.tuples.codes, self.tuples.offsets, self.ladders.first, self.ladders.steps
        held = self.columns, self.first, self.ladders.labels, self.weights
        k, lost = self.problem.k, self.problem.least_lost(nodes)
        written = own.keys, own.counts, own.slots, tallies, found
        count_columns(nodes, *held, *read, k, most, self.classes, lost, hurdle + WRONG_BY, *written)
        known, gone, kept = found.T
        few = (known == EXACT) & (gone > 0) & (gone < self.problem.k)  # then the smallest class decides
        sizes = np.zeros((len(nodes), 6), np.int64)
        sizes[:, 0], sizes[:, 2] = gone, kept
        return (known != UNKNOWN) & ~few, NodeCounts(sizes, tallies)


# Roll-up of rules on sensitive values ---------------------------------------------------------------------------------
# Nodes judged from the classes of finer nodes judged before, where classes must satisfy rules about sensitive values.
#
# As `RolledUp`, and each class also has the counts of its combinations of sensitive values (its *parts*), so that no
# tuple is read again. Tuples with the same values and other sensitive values are one class with several parts from the
# start.


PARTS_PER_TUPLE = 16  # parts kept for each tuple, all nodes together,
ENOUGH = 1 << 22  # but no more than these
COUNTERS = 1 << 17  # counters of a class and a combination of values,
EACH = 4  # or so many for each part
LOGS = 1 << 12  # counts whose x · log x is looked up


class NodeVerdicts(NamedTuple):
    """Verdicts on some nodes, one row each."""

    sums: np.ndarray
    """See `judge_nodes`."""
    tallies: np.ndarray
    """The suppressed records by attribute and by what they cost, where they are not too many and the node may still win."""


def combinations(rules: Sequence[Rule], secrets: Sequence[np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each row's combination of sensitive values, and for each rule its value in each."""
    if len(rules) == 1:
        return secrets[0], np.arange(rules[0].whole.size)[np.newaxis]
    columns = [Column(np.arange(rule.whole.size), one) for rule, one in zip(rules, secrets, strict=True)]
    groups = Groups.of(columns, rows)
    first = groups.first_rows()
    return groups.labels, np.array([one[first] for one in secrets], dtype=np.int64)


def packed_rules(rules: list[Rule], combined: np.ndarray) -> RuleArrays:
    """Return some rules as arrays, with frequent values precomputed: ancestors, growths, logarithms."""
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
    if rule.kind != attributes.ENHANCED_LIKENESS:
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
    """Return whether so many more fit."""
    used = int(finer.bounds[-1])
    return used + classes <= finer.tuples.size and int(finer.starts[used]) + parts <= finer.values.size


class _Parts(NamedTuple):
    values: np.ndarray
    counts: np.ndarray
    owners: np.ndarray
    starts: np.ndarray


class RuleScratch(local):
    """Work memory of each thread, kept for the next nodes: `room`, and the classes of a node that may be kept."""

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
        size, room = firsts.size, min(PARTS_PER_TUPLE * order.size, max(2 * order.size, ENOUGH))
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
