"""A soak ends when it should, and says of every moment what it must."""

from __future__ import annotations

import pytest

from benchmarks import soak
from benchmarks.registry import run
from benchmarks.soak import METRICS, MODES, rows
from oboro.errors import UsageError


def test_a_moment_of_every_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "WARM", 0.05)
    monkeypatch.setattr(soak, "MADE_UP", 5000)
    monkeypatch.setattr(soak, "PAUSE", 0.1)
    found = rows(seconds=0.7)
    for mode in MODES:
        mine = [row for row in found if row.method == mode]
        records = [row.ours for row in mine if row.metric == "records"]
        assert len(records) == 1
        assert records[0] is not None
        assert records[0] > 100
        assert {row.metric for row in mine if row.table == "over time"} == set(METRICS)
        assert all(row.ours is not None and row.ours > 0 for row in mine if row.metric in ("memory_mb", "state_mb"))


def test_seconds_are_for_what_lasts() -> None:
    with pytest.raises(UsageError, match="soak"):
        run("histogram", seconds=3)
