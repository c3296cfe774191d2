"""The shortest way through the program, as a newcomer goes it: it singles nobody out, or it ends with exit code 1."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.command_line import call
from tests.recipe.public_tables import public_table

OLD_GUESS = """
attributes:
  state: {role: quasi}
  sex: {role: quasi}
  age: {role: quasi, hierarchy: {intervals: [5, 10, 20]}}
  status: {role: other}
  T.categ: {role: other}
  diag: {role: other}
  death: {role: other}
unnamed: drop
steps:
  - k_anonymize: {k: 5, suppress: 0.05}
"""


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """A public table of 2,843 patients; 2,220 of them are unique by two dates."""
    public_table("MASS/Aids2").drop(columns="Unnamed: 0").to_csv(tmp_path / "aids.csv", index=False)
    return tmp_path


def test_the_starter_recipe_releases_nobody_who_is_unique_by_dates(patients: Path) -> None:
    starter = call("init", "aids.csv", cwd=patients)
    (patients / "r.yaml").write_text(starter.out)
    done = call("anonymize", "aids.csv", "--recipe", "r.yaml", "--output", "out.csv", cwd=patients)
    assert done.code == 0, done.err
    released = pd.read_csv(patients / "out.csv", dtype=str, keep_default_na=False)
    for columns in (["diag"], ["death"], ["diag", "death"]):
        assert int(released.groupby(columns).size().min()) > 1


@pytest.mark.parametrize("report", [(), ("--report", "report.html")])
def test_dates_that_a_recipe_calls_other_end_the_run(patients: Path, report: tuple[str, ...]) -> None:
    """2,220 are unique by both dates, more by all four columns together (counted by pandas); a report does not change that."""
    (patients / "r.yaml").write_text(OLD_GUESS)
    done = call("anonymize", "aids.csv", "--recipe", "r.yaml", "--output", "out.csv", *report, cwd=patients)
    table = pd.read_csv(patients / "aids.csv")
    alone = int((table.groupby(["status", "T.categ", "diag", "death"]).size() == 1).sum())
    assert done.code == 1
    assert f"{alone:,} of 2,843" in done.err or f"{alone} of 2843" in done.err
    assert "2,220" in done.err or "2220" in done.err
    assert not (patients / "out.csv").exists()
    assert not (patients / "report.html").exists()


def test_classes_of_one_man_with_many_rows_are_noticed(tmp_path: Path) -> None:
    """545 men with eight rows each: by rows every class holds eight or more, by men some hold one."""
    men = public_table("Ecdat/Males")[["nr", "year", "school", "ethn"]]
    men.assign(school=men["school"] + men["nr"] % 40 * 100).to_csv(tmp_path / "men.csv", index=False)
    assert "person: nr" in call("init", "men.csv", cwd=tmp_path).out
    asked = ("verify", "men.csv", "--quasi", "school,ethn", "--k", 8)
    assert call(*asked, cwd=tmp_path).code == 0
    assert call(*asked, "--person", "nr", cwd=tmp_path).code == 1
