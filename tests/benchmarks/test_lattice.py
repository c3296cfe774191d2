"""The benchmark of the lattice search: that it runs without data, and that looking at every node agrees with the search."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf

import pytest
from tests.algorithms.lattice_cases import larger_case

from benchmarks import heuristics, lattice, registry
from benchmarks.heuristics import METHODS, ArxSearch
from benchmarks.lattice import best_losses
from oboro.algorithms.lattice.search import search
from oboro.errors import UsageError


def test_every_node_agrees_with_the_search():
    case = larger_case("arx", rows=200, attributes=4)
    case.weights = [1.0] * 4
    problem = case.problem()
    cells = [(3, case.limit), (2, 0), (300, 10)]
    found = best_losses(problem.columns, problem.hierarchies, cells)
    assert found[3, case.limit] == pytest.approx(search(problem).best.loss, abs=1e-12)
    assert found[2, 0] >= found[3, case.limit]
    assert found[300, 10] == inf


@pytest.mark.parametrize("method", METHODS)
def test_the_heuristics_of_arx_find_the_optimum_of_a_small_lattice(method):
    """Left alone, those that begin at an end look at everything that matters; the genetic one soon has met every node."""
    case = larger_case("loss", rows=200, attributes=3)
    problem = case.problem()
    told: list = []
    twin = ArxSearch(problem, lambda: twin.checked >= 27 or len(told) > 50, found=told.append)
    twin.run(method)
    best = search(replace(problem, relaxed=True)).best
    assert twin.best == pytest.approx(best.loss)
    assert twin.levels == best.levels
    assert told == sorted(told, reverse=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("looks", [0, 1, 5, 30])
def test_time_that_is_up_at_once_ends_a_heuristic(method, looks):
    asked = []
    twin = ArxSearch(larger_case("loss").problem(), lambda: bool(asked.append(1)) or len(asked) > looks)
    twin.run(method)


def test_it_runs_without_data(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("OBORO_DATA", raising=False)
    monkeypatch.setattr(lattice, "QUICK", (100_000,))
    monkeypatch.setattr(lattice, "WARM", 20_000)
    monkeypatch.setattr(lattice, "MANY", 14)
    monkeypatch.setattr(lattice, "MANY_SECONDS", 1.0)
    monkeypatch.setattr(heuristics, "QUICK", (300, 0.1))
    registry.run("lattice", quick=True, as_json=True, output=tmp_path)
    rows = json.loads(capsys.readouterr().out)
    compared = {f"many columns: {kind}" for kind in ("heuristics", "over time", "fresh tables")}
    assert {row["table"] for row in rows} == {"library", "many columns", *compared}
    assert {row["method"] for row in rows if row["table"] in compared} == {"oboro", *(f"arx {m}" for m in METHODS)}
    assert (tmp_path / "lattice-gap.png").stat().st_size > 1000
    assert json.loads((tmp_path / "lattice.json").read_text())["command"] == "python -m benchmarks lattice --quick"


def test_more_is_only_done_where_there_is_more():
    with pytest.raises(UsageError, match="quick"):
        registry.run("lattice", quick=True, full=True)
    with pytest.raises(UsageError, match="no larger"):
        registry.run("delay_free", full=True)
