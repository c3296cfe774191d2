"""The records as kernels read them where nobody may be suppressed: joined where they agree on the levels that are still asked."""

from __future__ import annotations

from math import prod

import numpy as np

from oboro.decide.lattice.kernels.kept.joined_rows import finest_alone, join_alike, spread_labels
from oboro.decide.lattice.kernels.kept.kept_nodes import KeptRoom
from oboro.decide.lattice.kernels.kept.one_class import AT_ONCE, JoinedRows
from oboro.decide.lattice.kernels.rules.judged_nodes import RuleArrays
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Problem
from oboro.decide.lattice.tuples.rolled_rules import RuleScratch, combinations, packed_rules

__all__ = ["KeptRows"]

KEY_SPACE = 1 << 62  # combinations up to here have a key each
COUNTERS = 1 << 16  # of classes and values that are counted together,
EACH = 4  # or so many for each row
MOST_ALONE = 1 << 22  # counters for one attribute by itself
WITNESSES = 3  # people that are asked before all others


class KeptRows:
    """The rows of a problem, and what they are judged by."""

    def __init__(self, problem: Problem) -> None:
        self.problem, hierarchies = problem, problem.hierarchies
        shape = len(hierarchies), max(problem.lattice.shape)
        self.begins, self.labels = np.zeros((2, *shape), dtype=np.int64)
        tables, begin = [], 0
        for a, hierarchy in enumerate(hierarchies):
            for v, level in enumerate(hierarchy.levels):
                self.begins[a, v], self.labels[a, v] = begin, len(level.labels)
                tables.append(level.table)
                begin += level.table.size
        self.numbers = np.concatenate(tables).astype(np.uint16)
        self.widths = np.array([len(column.values) for column in problem.columns])
        self.codes = np.stack([column.codes.astype(np.uint16) for column in problem.columns])
        secrets, combined = combinations(problem.rules, [rule.codes for rule in problem.rules], problem.rows)
        self.secrets, self.weights = secrets.astype(np.uint32), np.ones(problem.rows, dtype=np.int64)
        self.rules: RuleArrays = packed_rules(list(problem.rules), combined)
        self.values = self.rules.combined.shape[1]
        self.own = RuleScratch(1, 1, 1, max(self.values, self.rules.whole.shape[1])).room

    def finest_alone(self) -> Levels:
        """On each attribute the finest level that does not fail by itself."""
        each = max(int(self.widths.max()), int(self.labels.max())) * self.values
        if each > MOST_ALONE:
            return self.problem.lattice.bottom
        out, heights = np.empty(len(self.widths), dtype=np.int64), np.array(self.problem.lattice.heights)
        counters = np.zeros((2, each // self.values, self.values), dtype=np.int64)
        ladders = self.numbers, self.begins, self.labels, self.widths, heights
        finest_alone(self.codes, *ladders, self.secrets, self.problem.k, self.rules, self.own, counters, out)
        return tuple(out.tolist())

    def join(self, levels: Levels) -> None:
        """Rows that agree on these levels, and in their secrets, are one from now on."""
        every = np.arange(len(levels)), np.array(levels)
        labels, size = self.labels[every], self.secrets.size
        if prod(labels.tolist()) * self.values >= KEY_SPACE:
            return
        slots, keys = np.zeros(2 << size.bit_length(), dtype=np.int32), np.empty(size, dtype=np.uint64)
        firsts, sums = np.empty((2, size), dtype=np.int64)
        given = self.codes, self.numbers, self.begins[every], labels, self.secrets, self.values, self.weights
        found = join_alike(*given, slots, keys, firsts, sums)
        order = np.argsort(keys[:found])
        firsts = firsts[order]
        self.codes, self.secrets = self.codes[:, firsts], self.secrets[firsts]
        self.weights = sums[order]

    def above(self, levels: Levels) -> tuple[JoinedRows, KeptRoom]:
        """The labels on these levels and everything coarser, counted from there, and room to judge nodes of them."""
        heights = self.problem.lattice.heights
        which = [(a, v) for a, least in enumerate(levels) for v in range(least, heights[a] + 1)]
        owners, own = np.array(which).T.copy()
        columns = np.empty((len(which), self.secrets.size), dtype=np.uint16)
        spread_labels(self.codes, self.numbers, self.begins[owners, own], owners, columns)
        first, labels = np.zeros((2, *self.labels.shape), dtype=np.int64)
        for c, (a, v) in enumerate(which):
            first[a, v - levels[a]], labels[a, v - levels[a]] = c, self.labels[a, v]
        return JoinedRows(columns, first, labels, self.secrets, self.weights), self._room()

    def _room(self) -> KeptRoom:
        size, classes = self.secrets.size, self.problem.rows // self.problem.k
        return KeptRoom(
            np.zeros(max(4096, 4 << min(classes, size).bit_length()), dtype=np.int32),
            np.empty(classes, dtype=np.uint32),
            np.empty(classes, dtype=np.int64),
            np.empty(classes, dtype=np.int64),
            np.empty(size, dtype=np.int32),
            np.empty(size, dtype=np.uint32),
            np.empty(max(COUNTERS, EACH * size), dtype=np.int64),
            np.empty(AT_ONCE, dtype=np.uint16),
            np.full(WITNESSES, -1, dtype=np.int64),
        )
