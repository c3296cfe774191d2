"""The search of the lattice against plain loops: every node, every rule, every loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import (
    DEMANDS,
    EVERY_WAY,
    LOSSES,
    Case,
    assert_equals_brute_force,
    cases,
    checked,
    larger_case,
    rule_of,
)
from tests.drawing import picks
from tests.naive.lattice import breaks

from oboro.algorithms.lattice import evaluator, status, suppression
from oboro.algorithms.lattice import problem as lattice_problem
from oboro.algorithms.lattice.constraints import diversity_rule
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.losses import CellLoss, loss_of
from oboro.algorithms.lattice.nodes import Lattice
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.search import search
from oboro.data.column import Column
from oboro.hierarchies.spec import HierarchySpec
from oboro.kernels import hashing


@settings(max_examples=30)
@given(cases(), st.sampled_from([0, 0, status.FEW]))
def test_every_search_and_every_node_equal_brute_force(case, few):
    """All minimal nodes, the optimum alone, depth first, of few nodes and as if of many; each node, which loses no less than its
    bound."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(status, "FEW", few)
        problem, seen = assert_equals_brute_force(case, *EVERY_WAY)
    checker, bounded = NodeChecker.of(problem), isinstance(problem.loss, CellLoss)
    bases, slopes = problem.loss.bounds(problem.limit) if bounded else ((), ())
    for levels, (suppressed, extra, satisfying, loss) in seen.items():
        node = checker.check(levels)
        assert (node.suppressed, node.satisfying, node.feasible) == (suppressed, satisfying, loss is not None) or (
            not satisfying
            and node.suppressed > problem.limit  # weak rules are not asked once strong ones suppress too many
        )
        if loss is not None:
            assert node.extra == extra
            assert node.loss == pytest.approx(loss, abs=1e-9)
        if node.feasible and bounded:
            base, slope = (
                sum(part[level] for part, level in zip(parts, levels, strict=True)) for parts in (bases, slopes)
            )
            assert base + slope * node.suppressed <= problem.loss.fold(node.loss) + 1e-9


def test_weak_rules_are_not_taken_for_monotone():
    """Tables in which a coarser node fails although a finer one satisfies: nothing may be concluded from it."""
    rng, against = np.random.default_rng(1), 0
    ladder = [["p", "P", "*"], ["q", "P", "*"], ["r", "R", "*"], ["s", "R", "*"]]
    demands = [("alpha", 0.6, None), ("entropy", 1.6), ("recursive", 2.0, 2), ("equal", 0.3), ("ordered", 0.3)]
    for number in range(60):
        n = int(rng.integers(12, 30))
        columns = [rng.choice(list("pqrs"), n).tolist() for _ in range(2)]
        demand = demands[number % len(demands)]
        case = Case(
            columns, [ladder, ladder], rng.choice(list("ab"), n).tolist(), 2, n * 4 // 5, [demand], "loss", [1, 1]
        )
        problem, seen = assert_equals_brute_force(case, {"minimal": True}, {"minimal": False})
        good = {node for node, result in seen.items() if result[2]}
        against += any(p not in good for node in good for p in problem.lattice.parents(node))
    assert against > 5


@pytest.mark.parametrize("many", [0, 1 << 30], ids=["counted", "ordered"])
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_rules_are_asked_alike_by_counters_and_class_by_class(monkeypatch, many, case):
    """Whatever breaks a rule goes; where that is too much, the rest need not be asked."""
    monkeypatch.setattr(suppression, "MANY", many)
    problem, naive = case.problem(), case.naive()
    checker = NodeChecker.of(problem)
    for levels in naive.nodes():
        suppressed, _, satisfying, loss = checked(naive, levels)
        node = checker.check(levels)
        assert (node.satisfying, node.feasible) == (satisfying, loss is not None)
        assert node.suppressed == suppressed or (not satisfying and node.suppressed > problem.limit)
        whole = checker.judge(checker.classes(levels))
        assert whole.suppressed == suppressed or whole.surely > problem.limit
        assert loss is None or node.loss == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_larger_tables_are_seen_as_by_plain_loops(loss):
    """Large enough that keys are hashed, and counted, in the same scratch memory one after the other."""
    case = larger_case(loss)
    problem, naive = case.problem(), case.naive()
    checker = NodeChecker.of(problem)
    rng = np.random.default_rng(2)
    picks = [tuple(int(rng.integers(0, height + 1)) for height in problem.lattice.heights) for _ in range(12)]
    for levels in [problem.lattice.bottom, problem.lattice.top, *picks]:
        node = checker.check(levels)
        suppressed, extra, satisfying, cost = checked(naive, levels)
        assert (node.suppressed, node.extra, node.satisfying) == (suppressed, extra, satisfying)
        assert (node.loss == np.inf) if cost is None else node.loss == pytest.approx(cost, rel=1e-9)
        coarser = checker.rebased(levels)
        assert coarser.check(levels) == node
        assert coarser.check(problem.lattice.top) == checker.check(problem.lattice.top)


@pytest.mark.parametrize("loss", ["loss", "discernibility"])
def test_larger_lattices_equal_brute_force(loss):
    """Enough nodes for the search to narrow its view several times."""
    case = larger_case(loss, rows=300, attributes=5)
    assert case.problem().lattice.size == 3**5
    assert_equals_brute_force(case, {"minimal": True}, {"minimal": False})


@settings(max_examples=30)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(case, random):
    order = list(range(len(case.secret)))
    random.shuffle(order)
    one, other = search(case.problem()), search(case.problem(order))
    assert one == other
    if one.best is not None:
        first = NodeChecker.of(case.problem()).suppressed_rows(one.best)
        assert (first[order] == NodeChecker.of(case.problem(order)).suppressed_rows(other.best)).all()


@settings(max_examples=50)
@given(DEMANDS, st.data())
def test_joining_classes_keeps_rules(demand, data):
    histogram = picks(range(7), min_size=4, max_size=4).filter(any)
    one, other, rest = (np.array(data.draw(histogram)) for _ in range(3))
    secret = np.repeat(["a", "b", "c", "d"], one + other + rest)
    rule = rule_of(Column.of([*"abcd", *secret]), demand)
    good = not rule.breaks(_fold(rule, one))
    if rule.strong and good:
        assert not rule.breaks(_fold(rule, one + other))
    if rule.joinable and good and not rule.breaks(_fold(rule, other)):
        assert not rule.breaks(_fold(rule, one + other))


@settings(max_examples=50)
@given(DEMANDS, picks(range(7), min_size=4, max_size=4).filter(any), picks("abcd"))
def test_rules_equal_plain_loops(demand, counts, rest):
    secrets = [letter for letter, count in zip("abcd", counts, strict=True) for _ in range(count)]
    whole = [*"abcd", *secrets, *rest]
    rule = rule_of(Column.of(whole), demand)
    assert rule.breaks(_fold(rule, np.array(counts))) == breaks(secrets, whole, demand)


def _fold(rule, counts):
    """Counts of a, b, c, d as the rule numbers them: with one watched value, it and the rest."""
    if rule.whole.size == 4:
        return counts.astype(np.int64)
    watched = counts[0] if rule.whole[1] else 0
    return np.array([counts.sum() - watched, watched], dtype=np.int64)


def test_an_entropy_of_exactly_log_l_is_enough():
    rule = diversity_rule("s", Column.of(list("aaaabcde")), l=4.0, kind="entropy")
    assert not rule.breaks(np.array([4, 1, 1, 1, 1]))
    assert rule.breaks(np.array([5, 1, 1, 1, 1]))


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=60), st.integers(0, 3))
def test_numbering_by_hash_equals_a_dictionary(keys, spread):
    keys = np.array(keys, dtype=np.uint64) >> np.uint64(spread * 20)
    slots = np.zeros(128, dtype=np.uint32)
    out = np.empty(keys.size, dtype=np.uint32)
    found = hashing.number_by_hash(keys, slots, out)
    seen: dict = {}
    expected = [seen.setdefault(int(key), len(seen)) for key in keys]
    assert out.tolist() == expected
    assert found == len(seen)


@pytest.mark.parametrize("values", [3, 40], ids=["counters", "hashes"])
def test_classes_of_finer_nodes_count_as_the_tuples_do(monkeypatch, values):
    """Nodes counted from whatever is kept, in any order, twice; few possible keys and very many."""
    monkeypatch.setattr(evaluator, "FEW", 0)
    rng = np.random.default_rng(values)
    ladder = [[f"v{i}", f"g{i // 3}", "*"] for i in range(values)]
    columns = [rng.choice([row[0] for row in ladder], 400, p=_falling(values)).tolist() for _ in range(6)]
    problem = Case(columns, [ladder] * 6, ["a"] * 400, 3, 60, [], "entropy", [1.0] * 6).problem()
    checker, lattice = NodeChecker.of(problem), problem.lattice
    nodes = rng.permutation(list(np.ndindex(*lattice.shape)))
    for _ in range(2):
        for some in np.array_split(nodes, 40):
            sizes = np.zeros((len(some), 9), dtype=np.int64)
            counts = checker.rolled_up.count(some, 3, problem.limit, sizes)
            for levels, found, tally, by_size in zip(some, *counts, sizes, strict=True):
                classes = checker.classes(tuple(levels.tolist()))
                gone, kept = classes.sizes[classes.sizes < 3], classes.sizes[classes.sizes >= 3]
                figures = [gone.sum(), classes.sizes.size, kept.size, classes.sizes @ classes.sizes, kept @ kept]
                assert found.tolist() == [*figures, kept.min(initial=1 << 62)]
                assert by_size.tolist() == np.bincount(np.minimum(classes.sizes, 8), minlength=9).tolist()
                if 0 < gone.sum() <= problem.limit:
                    assert (tally == checker.tallied(replace(classes, gone=classes.sizes < 3))).all()
    assert len(checker.rolled_up.seen.nodes) > 3


def _falling(values):
    return 2.0 ** -np.arange(values) / (2.0 ** -np.arange(values)).sum()


def test_many_attributes_are_keyed_in_blocks():
    # 40 attributes of 4 values make 80 bits: more than one key can hold.
    rng = np.random.default_rng(5)
    base = rng.integers(0, 4, (10, 40))
    table = base[np.repeat(np.arange(10), 3)]
    columns = tuple(Column.of([str(v) for v in column] + ["0", "1", "2", "3"]) for column in table.T)
    hierarchies = tuple(HierarchySpec().build("a", column) for column in columns)
    problem = Problem(columns, hierarchies, 3, 4, (), loss_of("loss", columns, hierarchies, [1.0] * 40, 3))
    checker = NodeChecker.of(problem)
    assert len(checker.tuples.blocks) == 2
    node = checker.check(problem.lattice.bottom)
    assert (node.suppressed, node.extra) == (4, 0)
    assert checker.suppressed_rows(node).tolist() == [False] * 30 + [True] * 4


@settings(max_examples=25)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.booleans())
def test_entropies_are_those_of_the_labels_and_never_below_none(times, many):
    values = [f"v{i}" for i, count in enumerate(times) for _ in range(count)]
    rows = [[value, "one"] for value in sorted(set(values))]
    case = Case([values], [rows], ["a"] * len(values), 1, 0, [], "loss", [1.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice_problem, "MANY_LABELS", 0 if many else 1 << 12)
        (found,) = case.problem().entropies
    shares = np.array(times) / len(values)
    assert found == pytest.approx([-(shares * np.log(shares)).sum(), 0.0], abs=2e-6)
    assert found[1] == 0 <= found[0]


def test_slices_of_the_lattice_are_what_is_above_and_below():
    lattice = Lattice((1, 2, 1))
    marked = np.zeros(lattice.shape, dtype=bool)
    marked[lattice.above((0, 1, 1))] = True
    assert [tuple(map(int, node)) for node in np.argwhere(marked)] == [(0, 1, 1), (0, 2, 1), (1, 1, 1), (1, 2, 1)]
    assert lattice.minimal(marked) == [(0, 1, 1)]
    assert lattice.count_below(marked)[1, 2, 1] == 4
    assert lattice.count_above(marked)[0, 0, 0] == 4
