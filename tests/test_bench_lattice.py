"""The benchmark of the lattice search: that it runs without data, and that looking at every node agrees with the search."""

from __future__ import annotations

import json
from math import inf

import pytest
from tests.test_lattice import larger_case

from oboro.app import bench
from oboro.app.bench import lattice
from oboro.app.bench.exhaustive import best_losses
from oboro.errors import UsageError
from oboro.partition.search import search


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
    monkeypatch.setattr(lattice, "QUICK", (100_000,))
    monkeypatch.setattr(lattice, "WARM", 20_000)
    monkeypatch.setattr(lattice, "MANY", 14)
    bench.run("lattice", quick=True, as_json=True, output=tmp_path)
    rows = json.loads(capsys.readouterr().out)
    assert {row["table"] for row in rows} == {"library", "many columns"}
    assert json.loads((tmp_path / "lattice.json").read_text())["command"] == "oboro bench lattice --quick"


def test_more_is_only_done_where_there_is_more():
    with pytest.raises(UsageError, match="quick"):
        bench.run("lattice", quick=True, full=True)
    with pytest.raises(UsageError, match="no more"):
        bench.run("delay_free", full=True)
