"""Nodes counted from columns of labels, beside plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.decide.lattice_cases import Case, assert_equals_brute_force, cases

from oboro.decide.lattice import node_check
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.tuples import label_columns


def plain(case):
    return Case(case.columns, case.rows, case.secret, case.k, case.limit, [], case.loss, case.weights)


@pytest.fixture
def small(monkeypatch):
    """However small a table is."""
    monkeypatch.setattr(node_check, "ROLLED", 0)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(cases(), st.booleans())
def test_what_is_counted_equals_plain_loops(small, case, tight):
    """With hardly any place, tuples fall together: fewer are then seen to go, never more, and those told apart are all seen."""
    problem = plain(case).problem()
    assume(isinstance(problem.loss, CellLoss))
    checker = NodeChecker.of(problem)
    columns = label_columns.LabelColumns(problem, checker.tuples)
    if tight:
        place = 2 << columns.classes.bit_length()
        columns.scratch = label_columns._Scratch(len(checker.tuples), place, place, columns.weights.dtype.type)
    nodes = list(product(*map(range, problem.lattice.shape)))
    known, counts = columns.count(np.array(nodes, dtype=np.int64), problem.limit)
    for i, levels in enumerate(nodes):
        classes = checker.judge(checker.classes(levels))
        gone, kept = classes.suppressed, int((~classes.gone).sum())
        assert counts.sizes[i, 0] <= gone
        if gone <= problem.limit and known[i]:
            assert (counts.sizes[i, 0], counts.sizes[i, 2]) == (gone, kept)
            assert (counts.tallies[i] == checker.tallied(classes)).all()
        assert (counts.sizes[i, 0] > problem.limit) == (gone > problem.limit)
        assert known[i] or 0 < gone < problem.k
        assert not columns.scratch.counts.any()
        assert not columns.scratch.slots.any()


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(cases())
def test_every_search_equals_brute_force(small, case):
    assert_equals_brute_force(plain(case), {"minimal": True}, {"minimal": False})


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(cases(), st.randoms(use_true_random=False))
def test_large_k_and_many_labels_take_two_bytes(small, case, random):
    case = plain(case)
    case.k = random.choice([1, 127, 128, 300])
    times = 40
    wide = Case(
        [c * times for c in case.columns],
        case.rows,
        case.secret * times,
        case.k,
        case.limit * times,
        [],
        case.loss,
        case.weights,
    )
    problem = wide.problem()
    assume(isinstance(problem.loss, CellLoss))
    checker = NodeChecker.of(problem)
    for levels in product(*map(range, problem.lattice.shape)):
        (node,) = checker.check_together([levels], np.inf)
        classes = checker.judge(checker.classes(levels))
        if node is not None:
            assert node.satisfying == (classes.suppressed <= problem.limit)
            assert not node.satisfying or node.suppressed == classes.suppressed
