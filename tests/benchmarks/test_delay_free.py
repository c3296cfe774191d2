"""The bench of streams without delay, on a few people: every figure is there, every mode keeps its promise, pictures are drawn."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from benchmarks import delay_free, registry

MODES = {"swap", "count", "paper", "fixed", "sequential"}


def adult(folder: Path) -> None:
    """As many people as files, with Adult's fifteen columns."""
    rng = random.Random(3)
    folder.mkdir()
    for name in ("adult.data", "adult.test"):
        lines = [", ".join(rng.choice("aab?") for _ in range(15)) for _ in range(200)]
        (folder / name).write_text("\n".join(["|a comment", *lines, ""]))


def test_every_figure_and_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adult(tmp_path / "adult")
    monkeypatch.setenv("OBORO_DATA", str(tmp_path))
    monkeypatch.setattr(delay_free, "MADE_UP", 200)
    monkeypatch.setattr(delay_free, "KNOWN", 10)
    stages = set()
    registry.run("delay-free", quick=True, output=tmp_path / "out", progress=lambda stage, *_: stages.add(stage))
    rows = json.loads((tmp_path / "out" / "delay_free.json").read_text())["rows"]
    for metric in ("cells", "latency_us_median", "latency_s_total", "promise_holds"):
        assert {row["method"] for row in rows if row["table"] == "Figure 5" and row["metric"] == metric} == MODES
    assert all(row["ours"] == 1 for row in rows if row["metric"] == "promise_holds")
    assert {row["method"] for row in rows if row["table"] == "known owners"} == MODES
    assert {row["parameters"]["d"] for row in rows if row["table"] == "attributes"} == {5, 10}
    assert {row["metric"] for row in rows} >= {"push_many_per_s", "records_per_s"}
    whole = {(row["method"], row["ours"]) for row in rows if row["table"] == "Figure 5" and row["metric"] == "cells"}
    last = {row["method"]: row["ours"] for row in rows if "point" in row["table"] and row["metric"] == "cells"}
    assert set(last.items()) == whole, "a curve ends where the stream does"
    assert {f"{mode}, k = 3" for mode in MODES} <= stages
    assert (tmp_path / "out" / "delay_free-figure5.png").read_bytes().startswith(b"\x89PNG")
    assert "vega" in (tmp_path / "out" / "delay_free.html").read_text()
