"""Tables, hierarchies and demands for the search of the lattice: small ones drawn, larger ones made, each with its naive twin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import reject
from hypothesis import strategies as st
from tests.drawing import picks
from tests.naive.lattice import SECRET_TREE, Naive, TooMany

from oboro.algorithms.lattice.constraints import (
    Population,
    alpha_rule,
    closeness_rule,
    disclosure_rule,
    diversity_rule,
    likeness_rule,
)
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.losses import loss_of
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.search import search
from oboro.data.column import Column
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.texts import texts_of

LOSSES = ["loss", "precision", "discernibility", "average_class_size", "entropy", "arx"]


@dataclass
class Case:
    columns: list
    rows: list  # hierarchy rows, per attribute
    secret: list
    k: int
    limit: int
    demands: list
    loss: str
    weights: list
    others: list | None = None  # columns of the people who are in the population and not in the table
    crowd: tuple = (1, 0.0, 1.0)  # k-map, least and greatest presence
    most: int | None = None
    risk: float | None = None
    relaxed: bool = False  # the suppressed need be no safe class

    def problem(self, order=None):
        order = range(len(self.secret)) if order is None else order
        columns = tuple(Column.of([column[i] for i in order]) for column in self.columns)
        population = None
        if self.others is not None:
            both = [Column.of([*c, *o]) for c, o in zip(self.columns, self.others, strict=True)]
            columns = tuple(Column(c.values, c.codes[list(order)]) for c in both)
            population = Population(tuple(c.codes for c in both), *self.crowd)
        hierarchies = tuple(HierarchySpec(rows=rows).build(f"a{a}", columns[a]) for a, rows in enumerate(self.rows))
        secret = Column.of([self.secret[i] for i in order])
        rules = tuple(rule_of(secret, demand) for demand in self.demands)
        loss = loss_of(self.loss, columns, hierarchies, self.weights, self.k)
        limits = (population, self.most, self.risk)
        return Problem(columns, hierarchies, self.k, self.limit, rules, loss, *limits, relaxed=self.relaxed)

    def naive(self):
        problem = self.problem()
        labels, shares, people = [], [], []
        for a, (column, hierarchy, rows) in enumerate(
            zip(problem.columns, problem.hierarchies, self.rows, strict=True)
        ):
            texts = [texts_of(level.labels) for level in hierarchy.levels]
            if problem.population is not None:
                codes = problem.population.codes[a]
                people.append(
                    [[t[level.table[c]] for c in codes] for t, level in zip(texts, hierarchy.levels, strict=True)]
                )
            labels.append(
                [[t[level.table[c]] for c in column.codes] for t, level in zip(texts, hierarchy.levels, strict=True)]
            )
            if self.loss == "arx":
                shares.append(_leaf_shares(rows, column.values.to_pylist(), column.decode().to_pylist(), labels[-1]))
            else:
                shares.append([[level.share[level.table[c]] for c in column.codes] for level in hierarchy.levels])
        demands = [(self.secret, demand) for demand in self.demands]
        crowd = (people, *self.crowd) if people else None
        risks = (self.most, self.risk)
        naive = Naive(labels, shares, self.k, self.limit, demands, self.loss, self.weights, crowd, *risks)
        naive.relaxed = self.relaxed
        return naive


def _leaf_shares(rows, values, cells, labels):
    """ARX's share of leaves beyond the first for each record on each level; a missing value is a row of the hierarchy there."""
    paths = [list(map(str, row)) for row in rows]
    if None in values:
        first = cells.index(None) if None in cells else None
        paths.append([None if first is None else level[first] for level in labels])
    return [
        [0.0 if label is None else (sum(p[i] == label for p in paths) - 1) / max(len(paths) - 1, 1) for label in level]
        for i, level in enumerate(labels)
    ]


def rule_of(column, demand):
    kind, *rest = demand
    if kind in ("distinct", "entropy"):
        return diversity_rule("s", column, l=rest[0], kind=kind)
    if kind == "recursive":
        return diversity_rule("s", column, c=rest[0], l=rest[1], kind=kind)
    if kind == "alpha":
        return alpha_rule("s", column, alpha=rest[0], value=rest[1])
    if kind in ("disclosure", "held"):
        return disclosure_rule("s", column, delta=rest[0], held=kind == "held")
    if kind in ("basic", "enhanced"):
        return likeness_rule("s", column, beta=rest[0], enhanced=kind == "enhanced")
    tree = HierarchySpec(rows=[[value, *path] for value, path in SECRET_TREE.items()])
    hierarchy = tree.build("s", column) if kind == "hierarchical" else None
    return closeness_rule("s", column, t=rest[0], distance=kind, hierarchy=hierarchy)


DEMANDS = st.one_of(
    st.tuples(st.just("distinct"), st.integers(1, 3)),
    st.tuples(st.just("entropy"), st.sampled_from([1.0, 1.5, 2.0, 2.5])),
    st.tuples(st.just("recursive"), st.sampled_from([0.5, 1.0, 2.0, 3.0]), st.integers(1, 3)),
    st.tuples(st.just("alpha"), st.sampled_from([0.3, 0.5, 0.6, 0.75]), st.sampled_from([None, "a", "z"])),
    st.tuples(st.just("equal"), st.sampled_from([0.1, 0.25, 0.5])),
    st.tuples(st.just("ordered"), st.sampled_from([0.1, 0.2, 0.4])),
    st.tuples(st.just("hierarchical"), st.sampled_from([0.1, 0.2, 0.4])),
    st.tuples(st.sampled_from(["disclosure", "held"]), st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0])),
    st.tuples(st.sampled_from(["basic", "enhanced"]), st.sampled_from([0.25, 0.5, 1.0, 2.0])),
)


@st.composite
def hierarchies(draw):
    """Rows value, level 1, …: each level joins labels of the one below; the last may or may not be `*`."""
    values = [f"v{i}" for i in range(draw(st.integers(1, 5)))]
    rows, below = [[v] for v in values], dict.fromkeys(values)
    for level in range(draw(st.integers(0, 3))):
        groups = {label: f"L{level}{draw(st.integers(0, max(0, len(below) - 1)))}" for label in below}
        rows = [[*row, groups[row[-1]]] for row in rows]
        below = dict.fromkeys(row[-1] for row in rows)
    if draw(st.booleans()) or len(rows[0]) == 1:
        rows = [[*row, "*"] for row in rows]
    return rows


@st.composite
def cases(draw):
    attributes = draw(st.integers(1, 4))
    rows = [draw(hierarchies()) for _ in range(attributes)]
    n = draw(st.integers(1, 24))
    columns = []
    for a in range(attributes):
        values = [row[0] for row in rows[a]] + ([None] if draw(st.integers(0, 4)) == 0 else [])
        columns.append(draw(picks(values, min_size=n, max_size=n)))
    secret = draw(picks(["a", "b", "c", "d"], min_size=n, max_size=n))
    return Case(
        columns,
        rows,
        secret,
        k=draw(st.integers(1, 4)),
        limit=int(draw(st.floats(0, 0.6)) * n),
        demands=draw(st.lists(DEMANDS, max_size=2)),
        loss=draw(st.sampled_from(LOSSES)),
        weights=draw(picks([0.5, 1.0, 2.0], min_size=attributes, max_size=attributes)),
    )


def solved(naive):
    """Brute force over levels and joined classes; a case with too many of these is left out."""
    try:
        return naive.solve()
    except TooMany:
        reject()


def checked(naive, levels):
    """One node as plain loops see it; a case with too many sets of classes is left out."""
    try:
        return naive.check(levels)
    except TooMany:
        reject()


EVERY_WAY = ({"minimal": True}, {"minimal": False}, {"strategy": "depth_first", "minimal": True})


def assert_equals_brute_force(case, *ways, **options):
    """Each way to search finds what plain loops find, which are asked once; the problem, and what they saw of every node."""
    minimal, best, seen = solved(case.naive())
    problem = case.problem()
    for way in ways or (options,):
        assert_finds(search(problem, **way), problem, minimal, best, seen)
    return problem, seen


def best_of(seen):
    """The least loss and its node, as plain loops saw them."""
    return min(((round(loss, 10), node) for node, (*_, loss) in seen.items() if loss is not None), default=None)


def assert_finds(found, problem, minimal, best, seen):
    assert found.exact
    if found.minimal is not None:
        assert found.minimal == minimal
    if best is None:
        assert found.best is None
    else:
        assert found.best.loss == pytest.approx(best[0], abs=1e-9)
        assert found.best.levels == best[1]
        suppressed, extra, _, _ = seen[best[1]]
        assert (found.best.suppressed, found.best.extra) == (suppressed, extra)
        assert NodeChecker.of(problem).suppressed_rows(found.best).sum() == suppressed + extra
    assert found.evaluated + found.tagged + found.skipped == found.size == len(seen)


def larger_case(loss, rows=1500, attributes=6):
    rng = np.random.default_rng(3)
    values = [f"v{i}" for i in range(9)]
    ladder = [[value, f"g{i // 3}", "*"] for i, value in enumerate(values)]
    columns = [
        rng.choice(values, rows, p=np.array([20, 10, 8, 6, 4, 2, 2, 1, 1]) / 54).tolist() for _ in range(attributes)
    ]
    secret = rng.choice(list("abcd"), rows).tolist()
    return Case(
        columns,
        [ladder] * attributes,
        secret,
        3,
        rows // 10,
        [],
        loss,
        [1.0, 2.0] * (attributes // 2) + [1.0] * (attributes % 2),
    )
