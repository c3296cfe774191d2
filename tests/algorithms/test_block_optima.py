"""The bound by the optima of large blocks never exceeds the optimum, whatever is asked and however losses add up."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import cases, larger_case

from oboro.algorithms.lattice import anytime, search
from oboro.algorithms.lattice.anytime import BlockOptima
from oboro.algorithms.lattice.losses import CellLoss, loss_of

SAME = 1e-12


def stages_of(problem, **options):
    """The bound after each stage."""
    optima = BlockOptima(problem, lambda part: search.search(part, minimal=False, **options))
    bounds = []
    while optima.due(float("inf")):
        optima.advance()
        bounds.append(optima.bound)
    return bounds


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(anytime, "STAGES", (2, 6, 12, 40))
    monkeypatch.setattr(anytime, "DUE", (0, 0, 0, 0))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases(), st.booleans())
def test_no_node_loses_less(small, case, hurried):
    problem = case.problem()
    assume(isinstance(problem.loss, CellLoss))
    exact = search.search(problem, minimal=False)
    assume(exact.best is not None)
    bounds = stages_of(problem, **({"time_limit": 1e-9} if hurried else {}))
    assert bounds == sorted(bounds)
    assert all(bound <= exact.best.loss + SAME for bound in bounds)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(["entropy", "arx", "arx_entropy", "arx_bits", "precision", "height"]), st.data())
def test_whatever_the_loss_and_its_factor(small, case, name, data):
    problem = case.problem()
    weights = [data.draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])) for _ in problem.columns]
    aggregate = data.draw(st.sampled_from([None, "mean", "geometric", "sum", "max"]))
    factor = data.draw(st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
    loss = loss_of(name, problem.columns, problem.hierarchies, weights, case.k, aggregate, factor)
    problem = anytime.replace(problem, loss=loss)
    exact = search.search(problem, minimal=False)
    assume(exact.best is not None)
    assert all(bound <= exact.best.loss + 1e-9 for bound in stages_of(problem))


def test_large_blocks_come_near_the_optimum(small):
    """Six columns in blocks of two and of three; nothing is gained where all are one block."""
    problem = larger_case("loss", rows=300, attributes=6).problem()
    exact = search.search(problem, minimal=False)
    optima = BlockOptima(problem, lambda part: search.search(part, minimal=False))
    first, second = optima._dealt(9), optima._dealt(27)
    assert (len(first), len(second)) == (3, 2)
    assert sorted(a for block in first for a in block) == list(range(6))
    bounds = stages_of(problem)
    assert 0 < bounds[-1] <= exact.best.loss


@pytest.mark.parametrize("prove", [True, False])
def test_a_search_that_cannot_list_tells_the_better_bound(small, monkeypatch, prove):
    monkeypatch.setattr(search, "LISTED", 0)
    monkeypatch.setattr(search, "LISTED_BY_SIZE", 0)
    monkeypatch.setattr(anytime, "KICKS", 2)
    case = larger_case("loss", rows=300, attributes=6)
    asked = []
    found = search.search(
        case.problem(), minimal=False, prove=prove, cancelled=lambda: asked.append(1) or len(asked) > 60
    )
    monkeypatch.setattr(search, "LISTED", 1 << 20)
    exact = search.search(case.problem(), minimal=False)
    assert found.bound <= exact.best.loss <= found.best.loss
    assert found.bound >= max(stages_of(case.problem())[:1])
