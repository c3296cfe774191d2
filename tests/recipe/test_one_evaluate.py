"""Python and the command line give the same report on the same files, whoever made the release."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.command_line import call

import oboro

RECIPE = """
attributes:
  name: {role: identifier}
  age: {role: quasi, hierarchy: {intervals: [10, 20]}}
  sex: {role: quasi}
  disease: {role: sensitive}
steps:
  - drop_columns: {attributes: [name]}
  - k_anonymize: {k: 3}
seed: 1
"""
Kind = tuple[list[str], dict[str, Any]]
KINDS: dict[str, Kind] = {
    "roles named": (
        ["--quasi", "age,sex", "--sensitive", "disease"],
        {"quasi": ["age", "sex"], "sensitive": ["disease"]},
    ),
    "roles guessed": ([], {}),
    "recipe": (["--recipe", "recipe.yaml"], {"recipe": "recipe.yaml"}),
    "unpaired": (["--quasi", "age", "--unpaired"], {"quasi": ["age"], "unpaired": True}),
    "a target": (["--quasi", "age", "--target", "disease"], {"quasi": ["age"], "target": "disease"}),
    "a control group": (["--quasi", "age", "--control", "control.csv"], {"quasi": ["age"], "control": "control.csv"}),
    "the truth": (["--quasi", "age,sex", "--truth", "truth.csv"], {"quasi": ["age", "sex"], "truth": "truth.csv"}),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People, a shuffled release of them with labels such as 20-29, and what belongs to it."""
    rng = random.Random(3)
    people = pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(150)],
            "age": [rng.randint(20, 69) for _ in range(150)],
            "sex": [rng.choice("FM") for _ in range(150)],
            "disease": [rng.choice(["flu", "cold", "gout"]) for _ in range(150)],
        }
    )
    order = list(range(150))
    rng.shuffle(order)
    released = people.drop(columns="name").iloc[order]
    released["age"] = [f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in released["age"]]
    people.to_csv(tmp_path / "people.csv", index=False)
    released.to_csv(tmp_path / "released.csv", index=False)
    people.sample(frac=0.3, random_state=1).to_csv(tmp_path / "control.csv", index=False)
    pd.DataFrame({"original_row": [place + 1 for place in order]}).to_csv(tmp_path / "truth.csv", index=False)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(*words: str) -> dict[str, Any]:
    """What the command line prints, with few guesses."""
    done = call("evaluate", "people.csv", "released.csv", *words, "--attempts", "50", "--json")
    assert done.code == 0, done.err
    report: dict[str, Any] = json.loads(done.out)
    return report


def plain(report: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(report.as_dict()))
    return content


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_the_command_line_give_the_same_report(kind: str, folder: Path) -> None:
    words, options = KINDS[kind]
    assert plain(oboro.evaluate("people.csv", "released.csv", **options, attempts=50)) == printed(*words)


def test_a_recipe_evaluates_by_the_same_function(folder: Path) -> None:
    recipe = oboro.Recipe.load("recipe.yaml")
    assert plain(recipe.evaluate("people.csv", "released.csv", attempts=50)) == printed("--recipe", "recipe.yaml")


def test_frames_give_the_same_but_for_the_files(folder: Path) -> None:
    recipe = oboro.Recipe.parse(RECIPE)
    people, released = (pd.read_csv(name, dtype=str, keep_default_na=False) for name in ("people.csv", "released.csv"))
    found, expected = plain(recipe.evaluate(people, released, attempts=50)), printed("--recipe", "recipe.yaml")
    assert found.pop("files") == {}
    assert set(expected.pop("files")) == {"input", "output", "recipe"}
    assert found == expected


def test_a_shuffled_release_is_not_compared_row_by_row(folder: Path) -> None:
    recipe = oboro.Recipe.parse(RECIPE.replace(", hierarchy: {intervals: [10, 20]}", ""))
    report = recipe.evaluate("people.csv", "released.csv", attempts=0)
    loss = next(one for one in report.utility if one.name == "ncp" and one.column is None)
    assert loss.value == pytest.approx(0.09, abs=0.03)
