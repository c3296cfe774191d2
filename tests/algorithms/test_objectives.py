"""What a generalization costs: every loss with every aggregate, factor and weight, against brute force and by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log2, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import cases
from tests.naive.lattice import TooMany

from oboro.algorithms.lattice.losses import loss_of
from oboro.algorithms.lattice.search import checker_for, search, search_by_rank
from oboro.techniques.k_anonymize import KAnonymize

CELLS = ["loss", "precision", "entropy", "arx", "arx_entropy", "arx_bits", "height"]


@given(
    case=cases(),
    loss=st.sampled_from(CELLS),
    aggregate=st.sampled_from([None, "mean", "geometric", "sum", "max"]),
    factor=st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]),
    zero=st.booleans(),
)
def test_search_equals_brute_force(case, loss, aggregate, factor, zero):
    weights = [0.0, *case.weights[1:]] if zero else case.weights
    case = replace(case, loss=loss, weights=weights)
    naive = case.naive()
    naive.aggregate, naive.factor = aggregate, factor
    try:
        _, best, _ = naive.solve()
    except TooMany:
        assume(False)
    problem = case.problem()
    cost = loss_of(loss, problem.columns, problem.hierarchies, weights, case.k, aggregate, factor)
    found = search(replace(problem, loss=cost))
    if best is None:
        assert found.best is None
        return
    assert found.best is not None
    assert found.best.loss == pytest.approx(best[0], abs=1e-9)
    assert found.bound is None or found.bound <= best[0] + 1e-9


@given(case=cases(), loss=st.sampled_from(CELLS), factor=st.sampled_from([0.2, 0.5, 0.7]), zero=st.booleans())
def test_ranks_equal_brute_force(case, loss, factor, zero):
    weights = [0.0, *case.weights[1:]] if zero else case.weights
    case = replace(case, loss=loss, weights=weights)
    naive = case.naive()
    naive.aggregate, naive.factor = "rank", factor
    try:
        _, best, seen = naive.solve()
    except TooMany:
        assume(False)
    problem = case.problem()
    cost = loss_of(loss, problem.columns, problem.hierarchies, weights, case.k, "rank", factor)
    problem = replace(problem, loss=cost)
    found = search_by_rank(problem, checker_for(problem))
    assert found.exact
    assert (None if found.best is None else found.best.levels) == (None if best is None else best[1])
    if best is not None:
        assert found.best.loss == pytest.approx(best[0][0], abs=1e-9)
        assert found.ranks == pytest.approx(best[0], abs=1e-9)
        assert found.best.suppressed + found.best.extra == sum(seen[best[1]][:2])


FOUR = {"x": ["a", "a", "b", "c"]}
TREE = {"x": {"role": "quasi", "hierarchy": {"rows": [["a", "A", "*"], ["b", "B", "*"], ["c", "B", "*"]]}}}


def value(**step):
    from tests.techniques.test_k_anonymize import run

    return run(KAnonymize(**step), FOUR, TREE).facts["loss"]["value"]


def test_entropy_as_arx_has_it_by_hand():
    """Level 1 joins b and c: 2 · log₂ 2 of 4 · log₂ 4 − 2 · log₂ 2 = 6 bits. Suppressed at level 0, b and c have 2 bits too."""
    assert value(k=2, loss="arx_entropy", levels={"x": 1}) == pytest.approx(2 / 6)
    assert value(k=2, suppress=0.5, loss="arx_entropy", levels={"x": 0}) == pytest.approx(2 / 6)
    # In bits, as its plain entropy has them.
    assert value(k=2, loss="arx_bits", levels={"x": 1}) == pytest.approx(2)
    assert value(k=2, suppress=0.5, loss="arx_bits", levels={"x": 0}) == pytest.approx(2)
    # The other entropy counts a suppressed record as one of which nothing is known: log₂ 4 each for b and c.
    assert value(k=2, suppress=0.5, loss="entropy", levels={"x": 0}) == pytest.approx(2 * log2(4) / 6)


def test_factors_by_hand():
    """Two of four suppressed: all of their cells at 0.5, half of it at 0.25. Generalization counts half at 0.75."""
    assert value(k=2, suppress=0.5, levels={"x": 0}) == pytest.approx(0.5)
    assert value(k=2, suppress=0.5, gen_factor=0.25, levels={"x": 0}) == pytest.approx(0.25)
    assert value(k=2, levels={"x": 1}, gen_factor=0.75) == pytest.approx(0.5 * value(k=2, levels={"x": 1}))
    assert value(k=2, levels={"x": 1}, loss="height") == 1.0


def test_weights_change_the_value_of_arx_and_not_its_levels():
    """ARX's geometric mean is that of (1 + part) · weight: with weights 1 and 1/4, half of what it is without, plus 1 less."""
    from tests.techniques.test_k_anonymize import run

    columns = {"x": ["a", "a", "b", "c"], "y": ["a", "b", "b", "b"]}
    roles = dict.fromkeys(columns, TREE["x"])
    plain = run(KAnonymize(k=2, loss="arx"), columns, roles).facts
    weighed = run(KAnonymize(k=2, loss="arx"), columns, {**roles, "y": {**TREE["x"], "weight": 0.25}}).facts
    assert weighed["levels"] == plain["levels"]
    assert weighed["loss"]["value"] == pytest.approx((1 + plain["loss"]["value"]) * sqrt(0.25) - 1)


def test_a_weight_of_zero_under_arx_is_said_to_make_all_choices_alike():
    from tests.techniques.test_k_anonymize import run

    weighted = {"x": {**TREE["x"], "weight": 0}, "y": {"role": "quasi"}}
    table = {**FOUR, "y": list("pppp")}
    outcome = run(KAnonymize(k=2, loss="arx"), table, weighted)
    assert outcome.facts["loss"]["value"] == -1
    assert [warning.id for warning in outcome.warnings] == ["search.all_alike"]
    assert not run(KAnonymize(k=2, loss="arx", aggregate="mean"), table, weighted).warnings


def test_local_recoding_refuses_what_depends_on_who_is_suppressed():
    with pytest.raises(ValueError, match="recoding: global"):
        KAnonymize(k=2, recoding="local", loss="height")
    with pytest.raises(ValueError, match="aggregate: rank"):
        KAnonymize(k=2, recoding="local", aggregate="rank")


def test_ranks_by_hand():
    """Level 1 of x and of y lose as much at most; by rank the one that also loses less beside it is taken."""
    from tests.techniques.test_k_anonymize import run

    table = {"x": ["a", "a", "b", "c"], "y": ["p", "p", "q", "q"], "z": ["u", "v", "w", "w"]}
    trees = {"x": [["a", "A", "*"], ["b", "B", "*"], ["c", "B", "*"]], "y": [["p", "*"], ["q", "*"]]}
    trees["z"] = [["u", "U", "*"], ["v", "U", "*"], ["w", "W", "*"]]
    roles = {name: {"role": "quasi", "hierarchy": {"rows": rows}} for name, rows in trees.items()}
    ranked = run(KAnonymize(k=2, aggregate="rank"), table, roles).facts
    assert {name: one["level"] for name, one in ranked["levels"].items()} == {"x": 1, "y": 0, "z": 1}
    assert ranked["loss"]["exact"]


def test_a_missing_value_is_a_leaf_under_arx_by_hand():
    """Keeping x and joining a and b loses √(1 · (1 + 4/6 · 1/2)) − 1; `*` for v and missing would lose all of x."""
    from tests.techniques.test_k_anonymize import run

    table = {"x": ["v", "v", None, None, "v", "v"], "y": list("ababcc")}
    tree = {"role": "quasi", "hierarchy": {"rows": [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]]}}
    facts = run(KAnonymize(k=2, loss="arx"), table, {"x": {"role": "quasi"}, "y": tree}).facts
    assert {name: one["level"] for name, one in facts["levels"].items()} == {"x": 0, "y": 1}
    assert facts["loss"]["value"] == pytest.approx(sqrt(4 / 3) - 1)
    assert facts["loss"]["exact"]
    # ARX's hierarchies list the missing value as an empty text: the same table, the same loss.
    listed = {"role": "quasi", "hierarchy": {"rows": [["v", "*"], ["", "*"]]}}
    assert run(KAnonymize(k=2, loss="arx"), table, {"x": listed, "y": tree}).facts["loss"] == facts["loss"]
    starred = run(KAnonymize(k=2, loss="arx", levels={"x": 1, "y": 0}), table, {"x": {"role": "quasi"}, "y": tree})
    assert starred.facts["loss"]["value"] == pytest.approx(sqrt(2) - 1)


def test_a_column_without_any_value_loses_nothing_under_arx():
    from tests.techniques.test_k_anonymize import run

    empty = {"x": [None] * 4, "y": ["a", "a", "b", "b"]}
    roles = {"x": {"role": "quasi"}, "y": {"role": "quasi"}}
    for level in (0, 1):
        facts = run(KAnonymize(k=2, loss="arx", levels={"x": level, "y": 0}), empty, roles).facts
        assert facts["loss"]["value"] == 0.0
    only = run(KAnonymize(k=2, loss="arx", levels={"x": 1}), {"x": [None] * 4}, {"x": {"role": "quasi"}}).facts
    assert only["loss"]["value"] == 0.0


def test_a_value_that_was_suppressed_before_loses_all_under_arx():
    from tests.techniques.test_k_anonymize import run

    for level in (0, 1):
        step = KAnonymize(k=1, loss="arx", levels={"x": level})
        facts = run(step, {"x": ["a", "b", "*", "*"]}, {"x": {"role": "quasi"}}).facts
        assert facts["loss"]["value"] == pytest.approx(1.0 if level else 0.5)


TREES = [
    {"a": ["*"], "b": ["*"], "c": ["*"]},
    {"a": ["A", "*"], "b": ["A", "*"], "c": ["c", "*"]},
    {"a": ["A", "Z"], "b": ["B", "Z"], "c": ["B", "Z"]},
    {"v": ["*"]},
    {"v": ["V", "*"]},
]


def written(tree, cells, level):
    """Labels of cells: a missing value keeps its own until one label speaks for all."""
    if level == 0:
        return cells
    all_ = len({path[level - 1] for path in tree.values()}) == 1
    return [
        tree[cell][level - 1] if cell is not None else next(iter(tree.values()))[level - 1] if all_ else None
        for cell in cells
    ]


def lost_of(tree, cells, level, loss):
    """The part of the domain that each cell's label covers, by counting values."""
    labels, leaves = written(tree, cells, level), list(tree)
    if loss == "arx":
        leaves = [*leaves, None] if None in cells else leaves
        own = written(tree, leaves, level)
        return [(own.count(label) - 1) / max(len(leaves) - 1, 1) for label in labels]
    own = written(tree, leaves, level)
    shares = [0.0 if own.count(label) <= 1 else own.count(label) / len(leaves) for label in labels]
    return [1.0 if label == "*" else share for label, share in zip(labels, shares, strict=True)]


@given(data=st.data(), loss=st.sampled_from([*CELLS, "discernibility", "average_class_size"]))
def test_tables_with_missing_values_equal_brute_force(data, loss):
    """From the recipe's step, with and without suppression: the loss that is found is the least of all, and never negative."""
    from tests.naive.lattice import Naive
    from tests.techniques.test_k_anonymize import run

    from oboro.errors import PromiseError

    rows, width = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 3))
    trees = [data.draw(st.sampled_from(TREES)) for _ in range(width)]
    table = {
        f"c{i}": data.draw(st.lists(st.sampled_from([*tree, None]), min_size=rows, max_size=rows))
        for i, tree in enumerate(trees)
    }
    suppress, k = data.draw(st.sampled_from([0.0, 0.4, 0.7])), data.draw(st.integers(1, 3))
    heights = [range(len(next(iter(tree.values()))) + 1) for tree in trees]
    columns = list(zip(trees, table.values(), heights, strict=True))
    labels = [[written(tree, cells, level) for level in levels] for tree, cells, levels in columns]
    shares = [[lost_of(tree, cells, level, loss) for level in levels] for tree, cells, levels in columns]
    naive = Naive(labels, shares, k, int(suppress * rows + 1e-9), [], loss, [1.0] * width)
    try:
        _, best, _ = naive.solve()
    except TooMany:
        assume(False)
    roles = {
        name: {"role": "quasi", "hierarchy": {"rows": [[value, *path] for value, path in tree.items()]}}
        for name, tree in zip(table, trees, strict=True)
    }
    step = KAnonymize(k=k, suppress=suppress, loss=loss)
    if best is None:
        with pytest.raises(PromiseError):
            run(step, table, roles)
        return
    found = run(step, table, roles).facts["loss"]
    assert found["exact"]
    assert found["value"] >= 0
    assert found["value"] == pytest.approx(best[0], abs=1e-9)
