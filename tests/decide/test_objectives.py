"""What a generalization costs: every loss with every aggregate, factor and weight, against brute force and by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log2, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.decide.lattice_cases import cases
from tests.naive.lattice import TooMany

from oboro.decide.lattice.objective import loss_of
from oboro.decide.lattice.search import checker_for, search
from oboro.decide.lattice.worth.rank_search import search_by_rank
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
