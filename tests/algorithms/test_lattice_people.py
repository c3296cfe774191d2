"""Classes of k people: the search of the lattice against plain loops over all nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import (
    EVERY_WAY,
    Case,
    assert_equals_brute_force,
    cases,
    checked,
    larger_case,
    solved,
)
from tests.naive.people import NaivePeople

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.local_recoding import recode
from oboro.algorithms.lattice.search import search
from oboro.data.column import Column


@dataclass
class PeopleCase(Case):
    owners: list = field(default_factory=list)
    whole: bool = False

    def problem(self, order=None):
        plain = super().problem(order)
        order = range(len(self.secret)) if order is None else order
        person = Column.of([self.owners[i] for i in order])
        rules = tuple(rule.counting(person) for rule in plain.rules)
        return replace(plain, person=person, rules=rules, whole_people=self.whole)

    def naive(self):
        return NaivePeople(super().naive(), self.owners, self.whole)


@st.composite
def shared(draw, whole):
    """A case whose records belong to fewer people; the suppressed are a class or left out."""
    case = draw(cases())
    n = len(case.secret)
    owners = draw(st.lists(st.integers(0, draw(st.integers(0, 8))), min_size=n, max_size=n))
    limit = int(draw(st.floats(0, 0.6)) * len(set(owners))) if whole else case.limit
    changed = {"limit": limit, "relaxed": draw(st.booleans())}
    return PeopleCase(**{**vars(case), **changed}, owners=owners, whole=whole)


@settings(max_examples=30)
@given(shared(whole=False))
def test_every_search_equals_brute_force(case):
    assert_equals_brute_force(case, *EVERY_WAY)


@settings(max_examples=30)
@given(shared(whole=True))
def test_whole_people_equal_brute_force(case):
    minimal, best, seen = solved(case.naive())
    found = search(case.problem())
    assert found.minimal == minimal
    assert (found.best is None) == (best is None)
    if best is not None:
        assert (found.best.loss, found.best.levels) == (pytest.approx(best[0], abs=1e-9), best[1])
        assert (found.best.suppressed, found.best.extra) == seen[best[1]][:2]


@settings(max_examples=30)
@given(st.booleans().flatmap(lambda whole: shared(whole)), st.randoms())
def test_every_node_is_seen_as_by_plain_loops(case, random):
    naive = case.naive()
    order = list(range(naive.n))
    random.shuffle(order)
    checker = NodeChecker.of(case.problem(order))
    for levels in naive.nodes():
        suppressed, extra, satisfying, cost = checked(naive, levels)
        for view in (checker, checker.rebased(levels)):
            node = view.check(levels)
            assert (node.satisfying, node.feasible) == (satisfying, cost is not None)
            if cost is not None:
                assert (node.suppressed, node.extra) == (suppressed, extra)
                assert node.loss == pytest.approx(cost, abs=1e-9)


@settings(max_examples=35)
@given(shared(whole=False))
def test_levels_by_class_hold_k_people(case):
    """Whoever is released at a node stands with k − 1 others there; the suppressed stand together, or are left out."""
    case = replace(case, demands=[])
    recoded = recode(case.problem())
    if recoded is None:
        return
    labels, classes = case.naive().labels, {}
    for i, node in enumerate(recoded.rows):
        levels = recoded.nodes[node] if node >= 0 else ()
        key = (node, *(labels[a][level][i] for a, level in enumerate(levels)))
        classes.setdefault(key, set()).add(case.owners[i])
    kept = [people for (node, *_), people in classes.items() if node >= 0 or not case.relaxed]
    assert all(len(people) >= case.k for people in kept)


def test_a_larger_table_with_many_records_a_person():
    """Beyond the sample by which rows are reduced to tuples: the same as with every row for itself."""
    plain = larger_case("loss", rows=30_000, attributes=3)
    owners = np.random.default_rng(5).integers(0, 4000, 30_000)
    panel = PeopleCase(**vars(plain), owners=owners.tolist())
    problem = replace(panel.problem(), k=40)
    checker = NodeChecker.of(problem)
    for levels in [(0, 0, 0), (1, 0, 1), (2, 1, 0)]:
        found = checker.classes(levels)
        keys = list(
            zip(
                *(
                    problem.hierarchies[a].levels[level].table[problem.columns[a].codes]
                    for a, level in enumerate(levels)
                ),
                strict=True,
            )
        )
        people = {}
        for key, owner in zip(keys, owners.tolist(), strict=True):
            people.setdefault(key, set()).add(owner)
        assert sorted(found.persons) == sorted(map(len, people.values()))
