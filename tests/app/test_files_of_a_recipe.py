"""No file that a job reads is written over by what it writes: the recipe's own files neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from oboro.app.cli import app
from oboro.recipe.recipe import Recipe

RECIPE = """
attributes:
  name: {role: identifier}
  sex: {role: quasi, hierarchy: {csv: levels/sex.csv}}
  city: {role: quasi, hierarchy: {tree: levels/city.yaml}}
steps:
  - pseudonymize: {attribute: name, key_file: secret.key}
  - k_anonymize: {k: 2, population: everybody.csv, k_map: 2}
"""
FILES = ("levels/sex.csv", "levels/city.yaml", "secret.key", "everybody.csv")
OPTIONS = ("--output", "--truth", "--report", "--public-report")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "levels").mkdir()
    for name in FILES:
        (tmp_path / name).write_text("mine")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "people.csv").write_text("name,sex,city\nAnn,F,Rome\n")
    return tmp_path


def test_a_recipe_says_which_files_it_names(job: Path) -> None:
    assert Recipe.load(job / "recipe.yaml").files == [job / name for name in FILES]
    assert Recipe(attributes={}, steps=["shuffle"]).files == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("option", OPTIONS)
def test_none_of_them_is_written_over(job: Path, option: str, name: str) -> None:
    words = {"--recipe": "recipe.yaml", "--output": "out.csv", option: f"levels/../{name}"}
    given = [word for key, value in words.items() for word in (key, str(job / value))]
    clash = CliRunner().invoke(app, ["anonymize", str(job / "people.csv"), *given])
    said = str(clash.exception)
    assert f"{option}: " in said
    assert "already the name of another file of this job" in said
    assert all((job / one).read_text() == "mine" for one in FILES)


@pytest.mark.parametrize("name", FILES)
def test_nor_by_an_evaluation(job: Path, name: str) -> None:
    table = str(job / "people.csv")
    given = ["--recipe", str(job / "recipe.yaml"), "--report", str(job / name)]
    clash = CliRunner().invoke(app, ["evaluate", table, table, *given])
    assert "--report: " in str(clash.exception)
    assert "already the name of another file of this job" in str(clash.exception)
    assert (job / name).read_text() == "mine"
