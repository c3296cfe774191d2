"""Which classes join the suppressed: against every set of classes, for every demand, and against smallest first."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import DEMANDS, LOSSES, Case, assert_equals_brute_force, rule_of
from tests.drawing import picks
from tests.naive.lattice import breaks

from oboro.algorithms.lattice import search as lattice_search
from oboro.algorithms.lattice import suppression
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.search import search
from oboro.algorithms.lattice.suppression import CheapestJoin, LinearDemand, RuleDemand, joint_bound
from oboro.data.column import Column

HISTOGRAMS = picks(range(7), min_size=4, max_size=4).filter(any)
LADDER = [["p", "P", "*"], ["q", "P", "*"], ["r", "R", "*"], ["s", "R", "*"], ["u", "U", "*"]]
EVERY = [
    ("distinct", 3),
    ("entropy", 1.6),
    ("entropy", 2.5),
    ("recursive", 2.0, 2),
    ("recursive", 4.0, 3),
    ("alpha", 0.5, None),
    ("alpha", 0.4, "a"),
    ("equal", 0.25),
    ("ordered", 0.2),
    ("hierarchical", 0.2),
    ("disclosure", 1.5),
    ("held", 1.0),
    ("enhanced", 0.5),
    ("basic", 0.5),
]


@settings(max_examples=30, suppress_health_check=[HealthCheck.filter_too_much])
@given(DEMANDS, HISTOGRAMS, st.lists(HISTOGRAMS, min_size=1, max_size=5), picks("abcd", max_size=12))
@example(("held", 1.0), [0, 1, 1, 6], [[0, 0, 1, 0]], [*"aaaacccd"])  # c is as rare as may be, a is not asked
def test_what_mends_a_group_adds_what_it_lacks(demand, held, others, rest):
    """The half-space: every set of classes that makes the group keep the rule adds at least as much as the group lacks."""
    rule = rule_of(Column.of([*"abcd", *rest, *np.repeat(list("abcd"), held)]), demand)
    fold = _watched(rule)
    held, each = fold(np.array(held)), np.stack([fold(np.array(one)) for one in others])
    assume(rule.breaks(held))
    gap, gains = rule.lacking(held, each)
    for chosen in product([False, True], repeat=len(others)):
        mask = np.array(chosen)
        if gap > 0 and not rule.breaks(held + each[mask].sum(axis=0)):
            assert gains[mask].sum() >= gap * (1 - 1e-9)


@settings(max_examples=30, suppress_health_check=[HealthCheck.filter_too_much])
@given(DEMANDS, HISTOGRAMS, st.lists(HISTOGRAMS, min_size=1, max_size=5), picks("abcd", max_size=12), st.data())
def test_what_mends_a_group_reaches_the_sum_of_any_other_group(demand, held, others, rest, data):
    """The half-space of a fractional group holds for every set of classes that joins."""
    rule = rule_of(Column.of([*"abcd", *rest, *np.repeat(list("abcd"), held)]), demand)
    fold = _watched(rule)
    base, each = fold(np.array(held)), np.stack([fold(np.array(one)) for one in others])
    parts = data.draw(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=len(others), max_size=len(others)))
    told = rule.lacking_at(base + np.array(parts) @ each, base, each)
    for chosen in product([False, True], repeat=len(others) if told is not None else 0):
        mask = np.array(chosen, dtype=bool)
        if told is not None and not rule.breaks(base + each[mask].sum(axis=0)):
            assert told[1][mask].sum() >= told[0] - 1e-9 * (abs(told[0]) + np.abs(told[1]).sum())


@settings(max_examples=40)
@given(
    picks(product(range(1, 10), range(7)), min_size=1, max_size=7),
    st.lists(st.tuples(st.integers(0, 12), picks(range(-2, 6), min_size=7, max_size=7)), min_size=1, max_size=3),
    st.integers(0, 40),
)
def test_the_joint_bound_is_below_every_set_and_tells_which_classes_are_needed(classes, asked, room):
    sizes, costs = np.array(classes).T
    costs = costs / 7
    demands = [
        LinearDemand(np.zeros(1), np.array(gains[: sizes.size])[:, np.newaxis], np.ones(1), float(least))
        for least, gains in asked
    ]
    sets = [np.array(mask) for mask in product([False, True], repeat=sizes.size)]
    able = [
        mask
        for mask in sets
        if sizes[mask].sum() <= room and not any(one.broken(one.each[mask].sum(axis=0)) for one in demands)
    ]
    high = min((costs[mask].sum() for mask in able), default=costs.sum())
    joint = joint_bound(demands, sizes, costs, room, float(high))
    if joint is None:
        return
    for mask in able:
        paid = costs[mask].sum()
        assert joint.least <= paid + 1e-12
        assert joint.gains[mask].sum() >= joint.gap - 1e-12
        assert (joint.least + np.maximum(joint.reduced[mask], 0.0) <= paid + 1e-9).all()
        assert (joint.least + np.maximum(-joint.reduced[~mask], 0.0) <= paid + 1e-9).all()


def test_one_sum_tells_at_least_as_much_with_others_as_alone():
    """46.3 of equal records must join; the room, and a sum that nearly all reach, are of no use beside it."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(5, 40, 400)
    gains, costs = sizes * rng.choice([1.0, 0.9], sizes.size), sizes * rng.choice([1.0, 1.02], sizes.size)
    asked = [(gains, 46.3), (sizes.astype(float), 1.0)]
    demands = [LinearDemand(np.zeros(1), some[:, np.newaxis], np.ones(1), least) for some, least in asked]
    joint = joint_bound(demands, sizes, costs, 200, 120.0)
    assert joint.least >= 46.299


def test_no_set_has_a_part_of_a_record():
    """46.3 records are lacking, so 47 join; which of very many sets of 47 it is need not be looked at one by one."""
    sizes = np.tile(np.arange(5, 45), 12)
    costs = sizes * np.tile([1.0, 1.1], 240)
    demand = LinearDemand(np.zeros(1), sizes[:, np.newaxis], np.ones(1), 46.3)
    value = lambda joined: float(costs[list(joined)].sum())  # noqa: E731
    found = CheapestJoin([demand], sizes, costs, 400, value, float, float, 400).run()
    assert (found.whole, found.loss) == (True, pytest.approx(47.0))


def _watched(rule):
    """Counts of a, b, c, d as the rule numbers them: with one watched value, it and the rest."""
    if rule.whole.size == 4:
        return lambda counts: counts.astype(np.int64)
    place = 0 if rule.whole[1] else None
    return lambda counts: np.array(
        [counts.sum() - (0 if place is None else counts[place]), 0 if place is None else counts[place]], dtype=np.int64
    )


@st.composite
def groups(draw):
    count = draw(st.integers(1, 7))
    demand = draw(DEMANDS)
    base = np.array(draw(HISTOGRAMS))
    each = np.array(draw(st.lists(HISTOGRAMS, min_size=count, max_size=count)))
    costs = np.array(draw(picks(range(6), min_size=count, max_size=count))) / 7
    return demand, base, each, costs, draw(st.integers(0, 40)), draw(st.sampled_from([np.inf, 1.0, 0.5]))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups(), st.sampled_from([1, 2, 48]))
def test_the_cheapest_join_equals_trying_every_set(monkeypatch, group, quick):
    """Also where a bound on all demands at once and compiled sums come soon."""
    monkeypatch.setattr(suppression, "QUICK", quick)
    demand, base, each, costs, room, hurdle = group
    whole = Column.of([*"abcd", *np.repeat(list("abcd"), base + each.sum(axis=0))])
    rule = rule_of(whole, demand)
    fold, sizes = _watched(rule), each.sum(axis=1)
    demands = [
        LinearDemand(np.array([base.sum()]), sizes[:, np.newaxis], np.ones(1), 9.0),
        RuleDemand(fold(base), np.stack([fold(one) for one in each]), rule),
    ]
    value = lambda joined: float(0.25 + sum(costs[list(joined)]))  # noqa: E731
    found = CheapestJoin(demands, sizes, costs, room, value, float, float, 10_000, hurdle).run()
    assert found.whole
    letters, best = "abcd", None
    everything = [letter for letter, n in zip(letters, 1 + base + each.sum(axis=0), strict=True) for _ in range(n)]
    for count in range(len(costs) + 1):
        for chosen in combinations(range(len(costs)), count):
            held = base + each[list(chosen)].sum(axis=0)
            secrets = [letter for letter, n in zip(letters, held, strict=True) for _ in range(n)]
            size, loss = int(sizes[list(chosen)].sum()), value(chosen)
            if size <= room and len(secrets) >= 9 and not breaks(secrets, everything, demand) and loss <= hurdle:
                best = min(best or (loss, size), (loss, size), key=lambda pair: (round(pair[0], 10), pair[1]))
    assert (found.chosen is None) == (best is None)
    if best is not None:
        assert (found.loss, sizes[list(found.chosen)].sum()) == (pytest.approx(best[0]), best[1])


@settings(max_examples=40)
@given(
    picks(product(range(5, 10), range(7)), min_size=1, max_size=7),
    st.integers(0, 8),
    st.integers(0, 25),
    st.sampled_from([np.inf, 1.0, 0.5]),
)
def test_where_any_class_is_enough_the_cheapest_joins(classes, lacking, room, hurdle):
    """Only records are lacking. A class that joins may add them all, so that one is enough, or a part."""
    sizes, costs = np.array(classes).T
    costs = costs / 7
    demand = LinearDemand(np.array([10 - lacking]), sizes[:, np.newaxis], np.ones(1), 10.0)
    value = lambda joined: float(0.25 + 1.5 * sum(costs[list(joined)]))  # noqa: E731  # costs are what it is at least
    found = CheapestJoin([demand], sizes, costs, room, value, float, float, 10_000, hurdle).run()
    sets = [some for count in range(len(costs) + 1) for some in combinations(range(len(costs)), count)]
    able = [
        (round(value(some), 10), int(sizes[list(some)].sum()))
        for some in sets
        if sizes[list(some)].sum() >= lacking and sizes[list(some)].sum() <= room and value(some) <= hurdle
    ]
    assert found.whole
    assert (found.chosen is None) == (not able)
    if able:
        assert (round(found.loss, 10), int(sizes[list(found.chosen)].sum())) == min(able)


def _table(number, demands, loss, rng):
    n, width = int(rng.integers(14, 34)), int(rng.integers(1, 3))
    columns = [rng.choice(list("pqrsu"), n, p=[0.4, 0.2, 0.2, 0.1, 0.1]).tolist() for _ in range(width)]
    secret = rng.choice(list("abcd"), n, p=[0.5, 0.25, 0.15, 0.1]).tolist()
    return Case(columns, [LADDER] * width, secret, int(rng.integers(1, 4)), n * 3 // 4, demands, loss, [1.0] * width)


@pytest.mark.parametrize("quick", [1, 48])
@pytest.mark.parametrize("demand", EVERY, ids=str)
def test_every_demand_equals_brute_force_over_levels_and_joined_sets(monkeypatch, demand, quick):
    monkeypatch.setattr(suppression, "QUICK", quick)
    rng, joined = np.random.default_rng(11), 0
    for number in range(7):
        other = EVERY[int(rng.integers(len(EVERY)))]
        case = _table(number, [demand, other] if number % 3 == 0 else [demand], LOSSES[number % len(LOSSES)], rng)
        assert_equals_brute_force(case, minimal=number % 2 == 0)
        joined += any(NodeChecker.of(case.problem()).check(node).joined for node in case.naive().nodes())
    assert joined or demand[0] in ("distinct", "recursive")


def test_smallest_first_is_not_the_best():
    """One large class mends the group; the small ones that would go first do not, or cost more."""
    rng, better = np.random.default_rng(4), 0
    for number in range(24):
        case = _table(number, [EVERY[number % len(EVERY)]], "loss", rng)
        problem, found = case.problem(), search(case.problem())
        greedy = [_smallest_first(case, problem, node) for node in case.naive().nodes()]
        least = min((one for one in greedy if one is not None), default=None)
        if least is not None:
            assert found.best.loss <= least + 1e-9
        better += found.best is not None and (least is None or found.best.loss < least - 1e-6)
    assert better >= 1


def _smallest_first(case, problem, node):
    """What a node loses where the smallest classes join the suppressed until these are a safe class."""
    checker, naive = NodeChecker.of(problem), case.naive()
    classes = checker.judge(checker.classes(node))
    gone, size = classes.gone.copy(), int(classes.sizes[classes.gone].sum())
    for c in [None, *checker.smallest_first(classes, problem.rows)]:
        if c is not None:
            gone[c], size = True, size + int(classes.sizes[c])
        if size > problem.limit:
            return None
        out = np.flatnonzero(gone[classes.labels][checker.tuples.rows]).tolist()
        if not out or not naive.unsafe(out):
            kept = [np.flatnonzero(classes.labels[checker.tuples.rows] == k).tolist() for k in np.flatnonzero(~gone)]
            return naive.cost(node, kept, out)
    return None


def test_where_the_search_gives_up_the_answer_is_not_called_exact(monkeypatch):
    """Fifty classes, and of ten values each must have a tenth: no step is left to find out which join."""
    monkeypatch.setattr(suppression, "MAX_GROUPS_TRIED", 1)
    monkeypatch.setattr(lattice_search, "LONGER", (1,))
    rng = np.random.default_rng(8)
    unsure = 0
    for number in range(30):
        case = _table(number, [EVERY[1 + number % (len(EVERY) - 1)]], LOSSES[number % len(LOSSES)], rng)
        node_check_defaults(monkeypatch)
        found, (_, best, _) = search(case.problem(), minimal=False), case.naive().solve()
        if best is not None and (found.best is None or found.best.loss > best[0] + 1e-9):
            assert not found.exact
            assert found.stopped == "joined"
            unsure += 1
        if best is not None and found.bound is not None:
            assert found.bound <= best[0] + 1e-9
    assert unsure


def node_check_defaults(monkeypatch):
    monkeypatch.setattr(NodeChecker.check, "__defaults__", (np.inf, 1))


@pytest.mark.parametrize(
    "demand", [("alpha", 0.5, None), ("recursive", 2.0, 3), ("entropy", 3.0), ("equal", 0.3)], ids=str
)
def test_a_larger_table_with_rare_values_is_settled(demand):
    """Hundreds of classes may join; the answer is certain, and its suppressed keep the demand."""
    rng, n = np.random.default_rng(6), 4000
    values = [f"v{i}" for i in range(12)]
    ladder = [[value, f"g{i // 3}", "*"] for i, value in enumerate(values)]
    columns = [
        rng.choice(values, n, p=np.array([30, 20, 15, 10, 8, 5, 4, 3, 2, 1, 1, 1]) / 100).tolist() for _ in range(3)
    ]
    secret = rng.choice(list("abcdefgh"), n, p=[0.3, 0.2, 0.14, 0.12, 0.1, 0.08, 0.04, 0.02]).tolist()
    case = Case(columns, [ladder] * 3, secret, 5, n // 10, [demand], "loss", [1.0, 2.0, 1.0])
    problem = case.problem()
    found = search(problem)
    assert found.exact
    rows = np.flatnonzero(NodeChecker.of(problem).suppressed_rows(found.best))
    assert rows.size == found.best.suppressed + found.best.extra <= problem.limit
    assert not rows.size or not breaks([secret[i] for i in rows], secret, demand)
