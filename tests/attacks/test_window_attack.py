"""The attack on a window's first places: a report runs it, places that are kept give it away, exchanged ones do not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import oboro
from oboro.attacks.window_owner import guess_first_owners
from oboro.data.dataset import Dataset
from oboro.recipe.recipe import Recipe

QUASI = ["x", "y"]
EIGHT = [f"a{number}" for number in range(8)]
RECIPE: dict[str, Any] = {
    "attributes": {**{name: {"role": "quasi"} for name in EIGHT}, "ticket": {"role": "other"}},
    "steps": [{"k_anonymize": {"k": 5}}],
}


def _stream(seed: int, order: Any, records: int = 600) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rng = random.Random(seed)
    came = [{**{name: rng.gauss(0, 1) for name in EIGHT}, "ticket": f"t{rng.getrandbits(40)}"} for _ in range(records)]
    window = Recipe(**RECIPE).stream(mode="window", window=100, order=order)
    return came, [one for record in came for one in window.push(record)] + window.flush()


def _table(records: list[dict[str, Any]]) -> Dataset:
    return Dataset.of({name: [one[name] for one in records] for name in (*EIGHT, "ticket")})


@pytest.mark.parametrize(("order", "guessed"), [("kept", True), ("exchanged", False)])
def test_the_owner_of_the_first_place(order: str, guessed: bool) -> None:
    right = tried = blind = 0
    for seed in range(4):
        found = guess_first_owners(*map(_table, _stream(seed, order)), EIGHT, 5)
        assert found is not None
        right, tried, blind = right + found.found.right, tried + found.found.tried, blind + found.control.right
    assert tried > 100
    assert abs(blind / tried - 0.2) < 0.04
    assert (right / tried > 0.36) is guessed  # blind: a fifth; 4 standard deviations of a hundred groups are 0.16


def test_the_naive_twin_agrees() -> None:
    """Two groups of three by hand: the first owner is the outlier of one, and of the other not."""
    before = Dataset.of({"x": [0.0, 1.0, 11.0, 0.0, 1.0, 11.0], "y": [0.0] * 6, "who": list("abcdef")})
    names = {"y": [0.0] * 3 + [5.0] * 3}
    before = before.with_columns(Dataset.of({"y": names["y"]}).columns)
    released = Dataset.of({"x": [4.0] * 6, "y": names["y"], "who": list("cabdef")})  # c stands first, then d
    found = guess_first_owners(before, released, QUASI, 3)
    assert found is not None
    assert (found.found.right, found.found.tried, found.control.right) == (
        1,
        2,
        1,
    )  # farthest: c and f; central: b and e
    alone = Dataset.of({"x": [4.0] * 6, "y": names["y"]})
    assert guess_first_owners(before.select(QUASI), alone, QUASI, 3) is None  # nothing tells whose a place is


def test_a_report_of_a_window_runs_it(tmp_path: Path) -> None:
    came, went = _stream(1, "kept")
    for name, records in (("in.ndjson", came), ("out.ndjson", went)):
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in records))
    moments = [{"mode": "window", "records": 600, "seconds": 1.0}]
    report = oboro.evaluate(tmp_path / "in.ndjson", tmp_path / "out.ndjson", Recipe(**RECIPE), stream=moments)
    found = next(one for one in report.attacks if one.kind == "window_owner")
    assert (found.found.share or 0) > 0.4
    page = report.to_html()
    assert "naming the owner of a group" in page
