"""A state that is saved and taken up again goes on as if there had been no break."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from oboro.stream import DelayFree, Window
from oboro.stream.anonymizer import from_json, to_json

PEOPLE: dict[str, Any] = {"person": "who", "l_diversity": {"s": 2}}


def records(count: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [
        {
            "a": rng.choice("abcdefgh"),
            "b": rng.choice("stuvwxyz"),
            "c": rng.randrange(12),
            "who": rng.randrange(count // 3),
            "s": rng.choice("xyz"),
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("people", [{}, PEOPLE], ids=["records", "people"])
@pytest.mark.parametrize(
    "memory",
    [{"horizon": 50}, {"horizon": 200}, {"horizon_seconds": 40.0}, {"reach": 20}, {"horizon": 150, "reach": 30}],
    ids=str,
)
@pytest.mark.parametrize("mode", ["swap", "count"])
def test_a_break_changes_nothing(mode: str, memory: dict[str, Any], people: dict[str, Any], tmp_path: Path) -> None:
    drop = [] if people else ["who", "s"]
    options = {"attributes": ["a", "b", "c"], "k": 3, "mode": mode, "drop": drop, **memory, **people}
    whole, broken = DelayFree(**options), DelayFree(**options)
    for i, record in enumerate(records(700)):
        if i % 97 == 96:
            broken.save(tmp_path / "state")
            broken = DelayFree.restore(tmp_path / "state")
        assert broken.push(record, now=float(i)) == whole.push(record, now=float(i)), f"record {i}"
    assert broken.stats() == whole.stats()


@pytest.mark.parametrize("name", ["date", "datetime", "mapping"])
def test_a_setting_may_have_any_name(name: str, tmp_path: Path) -> None:
    """A mapping with this one key is not a date."""
    stream = DelayFree([name], 2, weights={name: 2.0}, hierarchies={name: {"intervals": [10]}})
    stream.push({name: 31})
    stream.save(tmp_path / "state")
    assert DelayFree.restore(tmp_path / "state").push({name: 38}) == {name: "30–39"}
    window = Window(["x"], 2, 3, l_diversity={name: 2}, keep=["note"])
    window.push({"x": 1, name: "a", "note": {name: 5}})
    window.save(tmp_path / "window")
    again = Window.restore(tmp_path / "window")
    out = again.push_many([{"x": 1, name: "b", "note": {name: {name: 6}}}]) + again.flush()
    assert sorted((one[name], one["note"][name]) for one in out if one[name] == "a") == [("a", 5)]
    assert any(one["note"] == {name: {name: 6}} for one in out)


def test_what_is_written_down_comes_back() -> None:
    from datetime import date, datetime

    values = [
        date(2020, 1, 2),
        datetime(2020, 1, 2, 3),
        {"date": 1},
        {"date": "x", "y": [{"mapping": {"datetime": None}}]},
    ]
    assert from_json(to_json(values)) == values
