"""The benchmark of the lattice search: that it runs without data, and that looking at every node agrees with the search."""

from __future__ import annotations

import json
from math import inf

import pytest
from tests.decide.lattice_cases import larger_case

from oboro import papers
from oboro.decide.lattice.search import search
from oboro.errors import UsageError
from oboro.papers import lattice_bench
from oboro.papers.compared.exhaustive_lattice import best_losses


def test_every_node_agrees_with_the_search():
    case = larger_case("arx", rows=200, attributes=4)
    case.weights = [1.0] * 4
    problem = case.problem()
    cells = [(3, case.limit), (2, 0), (300, 10)]
    found = best_losses(problem.columns, problem.hierarchies, cells)
    assert found[3, case.limit] == pytest.approx(search(problem).best.loss, abs=1e-12)
    assert found[2, 0] >= found[3, case.limit]
    assert found[300, 10] == inf


def test_it_runs_without_data(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("OBORO_DATA", raising=False)
    monkeypatch.setattr(lattice_bench, "QUICK", (100_000,))
    monkeypatch.setattr(lattice_bench, "WARM", 20_000)
    monkeypatch.setattr(lattice_bench, "MANY", 14)
    papers.run("lattice", quick=True, as_json=True, output=tmp_path)
    rows = json.loads(capsys.readouterr().out)
    assert {row["table"] for row in rows} == {"library", "many columns"}
    assert json.loads((tmp_path / "lattice.json").read_text())["command"] == "oboro bench lattice --quick"


def test_more_is_only_done_where_there_is_more():
    with pytest.raises(UsageError, match="quick"):
        papers.run("lattice", quick=True, full=True)
    with pytest.raises(UsageError, match="no larger"):
        papers.run("delay_free", full=True)
