"""The benchmark of engines: DuckDB beside one machine (a Spark of its own would cost the tests half a minute)."""

from __future__ import annotations

import json

import pytest

from benchmarks import registry, spark


def test_duckdb_finds_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(spark, "QUICK", (60_000,))
    monkeypatch.setattr(spark, "_is_here", lambda engine: engine == "duckdb")
    registry.run("spark", quick=True, as_json=True)
    rows = json.loads(capsys.readouterr().out)
    for method in ("duckdb", "duckdb_buckets"):  # with codes of all rows, and with none of them
        mine = {row["metric"]: row["ours"] for row in rows if row["method"] == method}
        assert [mine[f"same_{name}"] for name in ("levels", "suppressed", "loss")] == [1, 1, 1]
        assert mine.keys() >= {"ratio_to_one_machine", "seconds", "driver_mb"}
    phases = {row["parameters"].get("phase") for row in rows if row["metric"] == "seconds"}
    assert phases >= {"gather", "decide", "publish", "verify", "all"}
