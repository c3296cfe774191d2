"""The report of a real stream run: its promise is verified on what went in and what came out."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call

from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, run_stream

RECIPE = """
attributes:
  sex: {role: quasi}
  age: {role: quasi, hierarchy: {intervals: [10, 40]}}
  illness: {role: sensitive}
steps:
  - k_anonymize: {k: 3, l_diversity: {illness: 2}}
"""
NUMBERS = """
attributes:
  speed: {role: quasi}
  east: {role: quasi}
steps:
  - k_anonymize: {k: 3}
"""


def table(names: str, rows: list[str]) -> str:
    return "\n".join([names, *rows]) + "\n"


@pytest.fixture
def delay_free(tmp_path: Path) -> Path:
    rng = random.Random(1)
    rows = [f"{rng.choice('FM')},{rng.randint(20, 59)},{rng.choice(('flu', 'cold', 'gout'))}" for _ in range(150)]
    streamed(tmp_path, table("sex,age,illness", rows), RECIPE)
    return tmp_path


@pytest.fixture
def window(tmp_path: Path) -> Path:
    rng = random.Random(2)
    rows = [f"{rng.gauss(50, 9):.1f},{rng.gauss(0, 1):.2f}" for _ in range(150)]
    streamed(tmp_path, table("speed,east", rows), NUMBERS, mode="window", window=40)
    return tmp_path


def streamed(folder: Path, data: str, recipe: str, **options: Any) -> None:
    (folder / "in.csv").write_text(data)
    (folder / "recipe.yaml").write_text(recipe)
    moments: list[dict[str, Any]] = []
    places = {"source": str(folder / "in.csv"), "target": str(folder / "out.csv")}
    moments.append(run_stream(Recipe.load(folder / "recipe.yaml"), StreamOptions(**options), **places))
    (folder / "metrics.ndjson").write_text("".join(json.dumps(one) + "\n" for one in moments))


def evaluated(folder: Path, *more: str) -> dict[str, Any]:
    files = [str(folder / name) for name in ("in.csv", "out.csv")]
    given = ["--recipe", str(folder / "recipe.yaml"), "--stream-metrics", str(folder / "metrics.ndjson")]
    arguments = ["evaluate", *files, *given, "--attempts", "50", "--json", *more]
    done = call(*arguments)
    found: dict[str, Any] = json.loads(done.out)
    assert done.code == int(found["holds"] is False or found["exposed"]["refused"] > 0), done.err
    return found


def test_a_delay_free_stream_is_verified_as_one(delay_free: Path) -> None:
    found = evaluated(delay_free, "--report", str(delay_free / "r.html"), "--lang", "ja")
    assert found["holds"] is True
    models = [one["model"] for one in found["verification"]["verdicts"]]
    assert models == ["stream 3-anonymity", "stream distinct 2-diversity of illness"]
    assert found["least_candidates"] >= 3
    assert found["risk_applies"] is False
    assert "ストリーム 3-匿名性" in (delay_free / "r.html").read_text()


def test_a_record_that_too_few_preceded_breaks_it(delay_free: Path) -> None:
    lines = (delay_free / "out.csv").read_text().splitlines()
    lines[1] = (delay_free / "in.csv").read_text().splitlines()[1]  # the first record as it came in
    (delay_free / "out.csv").write_text("\n".join(lines) + "\n")
    assert evaluated(delay_free)["holds"] is False


def test_records_that_do_not_correspond_are_not_verified(delay_free: Path) -> None:
    lines = (delay_free / "out.csv").read_text().splitlines()
    (delay_free / "out.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert evaluated(delay_free)["holds"] is None
    (delay_free / "out.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert evaluated(delay_free)["holds"] is None


def test_a_window_is_verified_by_the_groups_that_it_released(window: Path) -> None:
    found = evaluated(window)
    assert [one["model"] for one in found["verification"]["verdicts"]] == ["3-anonymity"]
    assert found["holds"] is True
    assert found["risk_applies"] is True
    measured = {one["name"]: one["value"] for one in found["utility"] if one["column"] is None}
    assert measured["mean_squared_error"] > 0  # it is known which record was made from which: they come in order


def test_a_recipe_that_is_no_streams_is_not_held_against_one(delay_free: Path) -> None:
    (delay_free / "recipe.yaml").write_text(RECIPE + "  - shuffle: {}\n")
    assert evaluated(delay_free)["holds"] is None
