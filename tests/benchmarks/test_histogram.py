"""The benchmark of the histogram paper, on a small part of its work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import histogram, registry
from benchmarks.histogram import MIXTURES, Mixture, true_divergence
from benchmarks.rows import BenchRow, printed
from oboro.errors import UsageError
from oboro.techniques.columns import Density


def test_mixtures_are_what_the_paper_says() -> None:
    rng = np.random.default_rng(0)
    mixture = MIXTURES["a"]
    values = mixture.draw(20_000, rng)
    assert (np.diff(values) >= 0).all()
    assert values.mean() == pytest.approx(0.4 * 1 + 0.6 * 3, abs=0.03)
    expected = 0.4 * stats.norm.pdf(1.3, 1, 0.2) + 0.6 * stats.norm.pdf(1.3, 3, 0.5)
    assert mixture.density(np.array([1.3]))[0] == pytest.approx(expected)


def test_true_divergence_of_a_flat_density() -> None:
    """KL of a standard normal, cut to ±1, from the uniform density on ±1: log 2 − entropy of the cut normal."""
    flat = Density.of(np.array([-1.0, 1.0]), np.array([10]), "uniform")
    expected = np.log(2) - stats.truncnorm(-1, 1).entropy()
    assert true_divergence(Mixture((1.0,), (0.0,), (1.0,)), flat, steps=2000) == pytest.approx(expected, abs=1e-6)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OBORO_DATA", raising=False)
    monkeypatch.setattr(histogram, "DRAWS_QUICK", 1)
    monkeypatch.setattr(histogram, "QUICK_LEVELS", [5])
    monkeypatch.setattr(histogram, "RECORDS", {"1": 300})
    monkeypatch.setattr(histogram, "SIZES", {"1": {5: (5.5, 17.2, 100)}})
    monkeypatch.setattr(histogram, "MIXTURES", {"c": MIXTURES["c"]})


@pytest.mark.usefixtures("small")
def test_rows_pictures_and_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    registry.run("histogram", quick=True, as_json=True, output=tmp_path)
    captured = capsys.readouterr()
    rows: list[dict[str, Any]] = json.loads(captured.out)
    assert "OBORO_DATA" in captured.err
    assert all(set(row) == {"table", "method", "parameters", "metric", "ours", "paper", "seconds"} for row in rows)
    hansen = next(row for row in rows if row["table"] == "1" and row["method"] == "hansen")
    assert hansen["paper"] == 5.5
    assert 5 <= hansen["ours"] < 10
    assert {"Figure 2", "Figure 3"} <= {row["table"] for row in rows}
    recorded = json.loads((tmp_path / "histogram.json").read_text())
    assert recorded["rows"] == rows
    assert recorded["command"] == "python -m benchmarks histogram --quick"
    assert (tmp_path / "histogram-figure1.png").read_bytes().startswith(b"\x89PNG")
    assert "<script" in (tmp_path / "histogram.html").read_text()


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    printed([BenchRow("3", "hansen", {"k": 5}, "mean_interval_size", 687.9, 687.9, 0.01)])
    shown = capsys.readouterr().out
    assert "Table 3" in shown
    assert "687.9" in shown
    assert "1.000" in shown


def test_an_unknown_benchmark_is_named() -> None:
    with pytest.raises(UsageError, match=r"no benchmark 'nope'; there are .*'histogram'"):
        registry.run("nope")
