"""What a class loses in every finer node, beside all ways to divide it."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from tests.algorithms.lattice_cases import DEMANDS, cases, rule_of
from tests.drawing import picks

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels.nodes import judge
from oboro.data.column import Column


def removed(rule, held):
    """Of one class that breaks the rule, as its judge says it."""
    kind = (rule.kind, rule.count, rule.level, rule.whole, rule.tree)
    order, secrets, nobody = np.arange(held.size), np.arange(held.size, dtype=np.uint8), np.zeros(0, np.int32)
    least, verdict = np.full(1, -1), np.zeros(1, np.uint8)
    judge(order, np.array([0, held.size]), secrets, held, nobody, *kind, least, verdict)
    assert verdict[0] == 1
    return least[0]


@settings(max_examples=35)
@given(DEMANDS, picks(range(6), min_size=4, max_size=4), picks(range(1, 10), min_size=4, max_size=4))
def test_no_part_of_a_class_that_keeps_the_rule_lacks_fewer_records(demand, held, more):
    whole = np.array(held) + np.array(more)
    column = Column.of([value for value, times in zip("abcd", whole, strict=True) for _ in range(times)])
    rule = rule_of(column, demand)
    some = np.array(held if rule.whole.size == 4 else [sum(held) - held[0], held[0]])
    if rule.strong or not rule.joinable or not some.any() or not rule.breaks(some):
        return
    parts = [np.array(part) for part in product(*(range(times + 1) for times in some)) if any(part)]
    kept = max((int(part.sum()) for part in parts if not rule.breaks(part)), default=0)
    assert 0 <= removed(rule, some) <= int(some.sum()) - kept


def test_what_goes_at_least_by_hand():
    column = Column.of(list("aabbccddee" * 10))
    rule = rule_of(column, ("equal", 0.2))
    # Nine a and one b are 0.7 away: 0.2 + 0.2 of what is left may be a, so at least 25 / 3 of them go.
    assert removed(rule, np.array([9, 1, 0, 0, 0])) == 9
    assert removed(rule_of(column, ("recursive", 2.0, 2)), np.array([9, 2, 1, 0, 0])) == 3
    assert removed(rule_of(column, ("entropy", 3.0)), np.array([5, 5, 0, 0, 0])) == 10  # two values are never three
    assert removed(rule_of(column, ("alpha", 0.5, None)), np.array([8, 2, 0, 0, 0])) == 6
    assert removed(rule_of(column, ("disclosure", 1.0)), np.array([4, 2, 2, 2, 0])) == 10
    assert removed(rule_of(column, ("basic", 0.5)), np.array([4, 2, 2, 1, 1])) == 2


@settings(max_examples=30)
@given(cases())
def test_finer_nodes_suppress_at_least_as_many(case):
    problem = case.problem()
    checker, lattice = NodeChecker.of(problem), problem.lattice
    nodes = list(product(*(range(size) for size in lattice.shape)))
    judged = {levels: checker.judge(checker.classes(levels)) for levels in nodes[:: max(1, len(nodes) // 24)]}
    for coarse, one in judged.items():
        assert one.surely <= one.suppressed
        for fine, other in judged.items():
            if other.asked and all(low <= high for low, high in zip(fine, coarse, strict=True)):
                assert one.surely <= other.suppressed
