"""Nodes counted from columns of labels, beside plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import Case, assert_equals_brute_force, cases

from oboro.algorithms.lattice import anytime, evaluator, search
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels import dominance
from oboro.algorithms.lattice.losses import CellLoss


def plain(case):
    return Case(case.columns, case.rows, case.secret, case.k, case.limit, [], case.loss, case.weights)


@pytest.fixture
def small(monkeypatch):
    """However small a table is."""
    monkeypatch.setattr(evaluator, "ROLLED", 0)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases(), st.booleans())
def test_what_is_counted_equals_plain_loops(small, case, tight):
    """With hardly any place, tuples fall together: fewer are then seen to go, never more, and those told apart are all seen."""
    problem = plain(case).problem()
    assume(isinstance(problem.loss, CellLoss))
    checker = NodeChecker.of(problem)
    columns = evaluator.LabelColumns(problem, checker.tuples)
    if tight:
        place = 2 << columns.classes.bit_length()
        columns.scratch = evaluator._ColumnScratch(len(checker.tuples), place, place, columns.weights.dtype.type)
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


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(cases())
def test_every_search_equals_brute_force(small, case):
    assert_equals_brute_force(plain(case), {"minimal": True}, {"minimal": False})


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
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


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(cases())
def test_large_lattices_are_listed_too_and_climbed_first(small, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "LISTED", 0)
        patch.setattr(search, "WIDE", 0)
        patch.setattr(anytime, "KICKS", 2)
        assert_equals_brute_force(plain(case), {"minimal": False, "prove": True})
        hurried, problem = plain(case), plain(case).problem()
        patch.setattr(search, "ENOUGH", 1)
        patch.setattr(search, "CLIMBED", 0)
        found, exact = (
            search.search(problem, minimal=False),
            search.search(hurried.problem(), minimal=False, prove=True),
        )
        if exact.best is not None and found.best is not None and isinstance(problem.loss, CellLoss):
            assert found.bound <= exact.best.loss <= found.best.loss
            assert found.exact or found.stopped == "size"


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_what_nodes_say_of_others_equals_plain_slices(shape, data):
    """One by one and in sweeps."""
    size, count = int(np.prod(shape)), data.draw(st.integers(1, 6))
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    nodes = np.stack([random.integers(0, width, count) for width in shape], axis=1)
    flags = [random.random(count) < 0.5 for _ in range(3)]
    least, floor = random.integers(0, 9, count).astype(np.int32), np.where(flags[0], random.random(count), -np.inf)
    marks = [np.zeros(size, dtype=bool) for _ in range(4)] + [np.zeros(size, dtype=np.int32), np.full(size, -1.0)]
    naive = [mark.copy() for mark in marks]
    dominance.note.py_func(nodes, np.array(shape), *flags, least, floor, *marks)
    dominance._note(nodes, np.array(shape), *flags, least, floor, *naive)
    for mark, expected in zip(marks, naive, strict=True):
        assert (mark == expected).all()


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1, max_size=30), st.integers(1, 8))
def test_the_best_come_first_and_of_equal_ones_the_first(scores, most):
    """A chain of nodes in which all are comparable but fill takes them: as a stable sort does."""
    held, places, count = np.empty(most), np.empty(most, dtype=np.int64), 0
    for place, score in enumerate(scores):
        if count < most:
            count += 1
            dominance._rise.py_func(held, places, count - 1, score, place)
        elif score > held[0]:
            dominance._sink.py_func(held, places, count, score, place)
    for end in range(count - 1, 0, -1):
        score, place = held[end], places[end]
        held[end], places[end] = held[0], places[0]
        dominance._sink.py_func(held, places, end, score, place)
    expected = np.argsort(-np.array(scores), kind="stable")[:most]
    assert places[:count].tolist() == expected.tolist()
