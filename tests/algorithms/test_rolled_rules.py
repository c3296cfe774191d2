"""Nodes judged by rules from the classes of finer nodes, beside plain loops and beside judging class by class."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import (
    DEMANDS,
    EVERY_WAY,
    assert_equals_brute_force,
    cases,
    checked,
    larger_case,
    rule_of,
)
from tests.drawing import picks

from oboro.algorithms.lattice import evaluator, status
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels.attributes import fewest_gone, verdict
from oboro.algorithms.lattice.search import search
from oboro.algorithms.lattice.suppression import complete
from oboro.data.column import Column

ASKED = cases().filter(lambda case: case.demands)
MANY_VALUES = [
    ("entropy", 2.5),
    ("recursive", 2.0, 3),
    ("equal", 0.2),
    ("ordered", 0.1),
    ("enhanced", 0.5),
    ("held", 1.0),
]


@pytest.fixture(params=[0, 1 << 17], ids=["class by class", "as they stand"], autouse=True)
def rolled(request, monkeypatch):
    """However small a table is; parts are read in both ways."""
    monkeypatch.setattr(evaluator, "ROLLED", 0)
    monkeypatch.setattr(evaluator, "FEW", 0)
    monkeypatch.setattr(status, "FEW", 0)
    monkeypatch.setattr(evaluator, "COUNTERS", request.param)
    monkeypatch.setattr(evaluator, "EACH", 0 if request.param == 0 else 4)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(ASKED)
def test_every_search_equals_brute_force(case):
    assert_equals_brute_force(case, *EVERY_WAY)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(ASKED, st.booleans())
def test_every_node_is_seen_as_by_plain_loops(case, together):
    problem, naive = case.problem(), case.naive()
    checker = NodeChecker.of(problem)
    nodes = list(naive.nodes())
    found = checker.check_all(nodes) if together else list(map(checker.check, nodes))
    for node in found:
        suppressed, extra, satisfying, loss = checked(naive, node.levels)
        assert (node.satisfying, node.feasible) == (satisfying, loss is not None)
        assert node.suppressed == suppressed or (not satisfying and node.suppressed > problem.limit)
        assert loss is None or (node.loss, node.extra) == (pytest.approx(loss, abs=1e-9), extra)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(ASKED)
def test_finer_nodes_suppress_at_least_as_many(case):
    problem = replace(case.problem(), relaxed=True)
    checker, every = NodeChecker.of(problem), list(product(*map(range, problem.lattice.shape)))
    surely = {node.levels: node.surely for node in checker.check_all(every)}
    whole = replace(checker, problem=replace(problem, limit=problem.rows))
    suppressed = {levels: whole.judge(whole.classes(levels)).suppressed for levels in every}
    for coarse in every[:: max(1, len(every) // 24)]:
        for fine in every[:: max(1, len(every) // 24)]:
            if all(low <= high for low, high in zip(fine, coarse, strict=True)):
                assert surely[coarse] <= suppressed[fine]


@pytest.mark.parametrize("demands", [[one] for one in MANY_VALUES] + [[("distinct", 3), ("equal", 0.2)]], ids=str)
@pytest.mark.parametrize("loss", ["loss", "arx", "discernibility"])
def test_larger_tables_are_judged_as_class_by_class(demands, loss):
    """Enough classes that some are hashed, and that finer nodes are kept; with a limit that some nodes keep."""
    case = larger_case(loss)
    problem = replace(case, demands=demands, limit=400).problem()
    checker, rng = NodeChecker.of(problem), np.random.default_rng(5)
    nodes = [tuple(int(rng.integers(0, height + 1)) for height in problem.lattice.heights) for _ in range(60)]
    for node in checker.check_all(nodes) + checker.check_all(nodes[::-1]):
        classes = checker.judge(checker.classes(node.levels))
        assert node.satisfying == (classes.suppressed <= problem.limit)
        if node.satisfying:
            assert (node.suppressed, node.surely >= classes.surely) == (classes.suppressed, True)
            assert node.loss == complete(checker, classes).loss
        assert node.surely <= max(classes.suppressed, node.suppressed)
    assert len(checker.rolled_rules.seen.nodes) > 3


@pytest.mark.parametrize("demand", MANY_VALUES, ids=str)
def test_larger_searches_equal_those_class_by_class(monkeypatch, demand):
    case = replace(larger_case("loss", rows=600, attributes=5), demands=[demand])
    for limit in (0, 30, 200):
        problem = replace(case, limit=limit).problem()
        monkeypatch.setattr(evaluator, "ROLLED", 0)
        found = search(problem, minimal=True), search(problem, minimal=False)
        monkeypatch.setattr(evaluator, "ROLLED", 1 << 30)
        plain = search(problem, minimal=True)
        best = [
            replace(one.best, surely=0) for one in (*found, plain)
        ]  # what is known of finer nodes is more than there
        assert best[0] == best[1] == best[2]
        assert found[0].minimal == plain.minimal
        assert found[0].exact == found[1].exact == plain.exact is True


def asked(rule, held, k=1):
    """The verdict on one class, and how many of it go in every finer node."""
    packed = evaluator.packed_rules([rule], np.arange(rule.whole.size)[np.newaxis])
    own = evaluator.RuleScratch(1, 1, 1, rule.whole.size).room
    some = np.flatnonzero(held)
    kind, count = packed.kinds[0, :2].tolist()
    how = kind, count, float(packed.levels[0]), packed.whole[0], packed.tree[0]
    one = held, some, some.size, int(held.sum())
    told = verdict(*one, *how, packed.above[0], packed.caps[0], packed.bits, own.surplus)
    gone = fewest_gone(*one, k, *how, packed.above[0], packed.caps[0], own.surplus, own.spare, own.more)
    assert not own.surplus.any()
    return told, gone


@settings(max_examples=40)
@given(DEMANDS, picks(range(6), min_size=4, max_size=4), picks(range(1, 10), min_size=4, max_size=4))
def test_verdicts_are_those_of_every_rule_and_no_part_that_keeps_it_lacks_fewer(demand, held, more):
    whole = np.array(held) + np.array(more)
    column = Column.of([value for value, times in zip("abcd", whole, strict=True) for _ in range(times)])
    rule = rule_of(column, demand)
    some = np.array(held if rule.whole.size == 4 else [sum(held) - held[0], held[0]])
    if not some.any():
        return
    told, gone = asked(rule, some)
    assert told == 2 or bool(told) == rule.breaks(some)
    if rule.strong or not rule.joinable or not rule.breaks(some):
        return
    parts = [np.array(part) for part in product(*(range(times + 1) for times in some)) if any(part)]
    kept = max((int(part.sum()) for part in parts if not rule.breaks(part)), default=0)
    assert 0 <= gone <= int(some.sum()) - kept


def test_what_goes_at_least_by_hand():
    column = Column.of(list("aabbccddee" * 10))
    # Two values have 0.4 of the table, and 0.2 may be too much: nothing of a class without others stays.
    assert asked(rule_of(column, ("equal", 0.2)), np.array([9, 1, 0, 0, 0]))[1] == 10
    # Of T that stay, 0.2 may be a, and 0.5 more too much; b and c are two: T is at most 2 / 0.3.
    assert asked(rule_of(column, ("equal", 0.5)), np.array([9, 1, 1, 0, 0]))[1] == 5
    # A half of what is left may be a: 2 + 1 others, so three of nine.
    assert asked(rule_of(column, ("alpha", 0.5, None)), np.array([9, 2, 1, 0, 0]))[1] == 6
    # Values may have 0.3 each: a and b are too many, and 3 others are 0.4 of what is left.
    assert asked(rule_of(column, ("basic", 0.5)), np.array([9, 8, 1, 1, 1]))[1] == 13
    # No value more often than twice the 1 + 1 that are left without the two most frequent.
    assert asked(rule_of(column, ("recursive", 2.0, 3)), np.array([9, 6, 1, 1, 0]))[1] == 7
    assert asked(rule_of(column, ("entropy", 3.0)), np.array([5, 5, 0, 0, 0]))[1] == 10  # two values are never three
