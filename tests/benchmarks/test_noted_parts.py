"""Kills in parts: what was broken off goes on, what fails is said, and at the end nothing is left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import kill_run
from benchmarks.kill_run import NotedParts


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NotedParts:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kill_run, "PART", 4)
    return NotedParts("nats", 10, seed=7)


def found(kind: Any, kills: int, seed: int) -> dict[str, Any]:
    return {"kills": kills, "wrong": 0, "failed": [], "records": 300, "seconds": 1.5, "steps": {"half": kills}}


def test_a_run_goes_on_where_it_was_broken_off(run: NotedParts) -> None:
    seeds: list[int] = []

    def broken_off(kind: Any, kills: int, seed: int) -> dict[str, Any]:
        if len(seeds) == 2:
            raise KeyboardInterrupt
        seeds.append(seed)
        return found(kind, kills, seed)

    with pytest.raises(KeyboardInterrupt):
        run.run(None, broken_off)
    assert run.status() == "nats: 8 of 10 kills, 0 wrong"
    run.run(None, lambda kind, kills, seed: seeds.append(seed) or found(kind, kills, seed))
    assert seeds == [7, 1007, 2007]
    whole = run.whole()
    assert (whole["kills"], whole["wrong"], whole["seconds"], whole["steps"]) == (10, 0, 4.5, {"half": 10})
    assert not run.folder.exists()


def test_a_part_that_fails_or_is_lost_is_wrong(run: NotedParts) -> None:
    def failing(kind: Any, kills: int, seed: int) -> dict[str, Any]:
        if seed > 1000:
            raise RuntimeError("no broker")
        return found(kind, kills, seed)

    run.run(None, failing)
    run._place(2).unlink()
    whole = run.whole()
    assert (whole["kills"], whole["wrong"]) == (4, 2)
    assert "no broker" in whole["failed"][0]
    assert run.folder.exists()  # so that it may be run again
