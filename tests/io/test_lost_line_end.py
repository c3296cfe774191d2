"""A CSV file that lost the line end after its header has the first person's values in line one: no error prints them as columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.data.dataset import Dataset
from oboro.data.parameters import names_known

NUMBERS = "name,age,zipAnn Private,31,12345"
WORDS = "name,age,cityAnn Private,Lyon,Kyoto"
HEADER_ONLY = "name,ageAnn Private,Lyon"
SECRETS = ("Private", "31", "12345", "Lyon", "Kyoto")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OBORO_SHOW_VALUES", "0")
    for name, known in (("all", ["name", "age", "zip", "city"]), ("some", ["name", "age"]), ("one", ["name"])):
        attributes = {one: {"role": "quasi"} for one in known}
        recipe = {"attributes": attributes, "steps": [{"k_anonymize": {"k": 2}}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(recipe))
    return tmp_path


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("line", [NUMBERS, WORDS, HEADER_ONLY])
@pytest.mark.parametrize("recipe", ["all", "some", "one"])
def test_no_error_prints_values_of_the_first_line(folder: Path, line: str, recipe: str, end: str) -> None:
    (folder / "in.csv").write_text(line + end)
    commands = [
        ["anonymize", "in.csv", "-r", f"{recipe}.json", "-o", "out.csv"],
        ["verify", "in.csv", "--quasi", "age,zip", "--k", "2"],
        ["hierarchy", "in.csv", "zip"],
        ["hierarchy", "in.csv", "city"],
        ["verify", "in.csv", "--quasi", "name", "--sensitive", "illness", "--l", "2"],
    ]
    for command in commands:
        done = call(*command, cwd=folder)
        assert done.code == 2, (command, done)
        assert not any(secret in done.err for secret in SECRETS), done.err


def test_as_many_records_in_each_line_as_in_the_first(folder: Path) -> None:
    (folder / "in.csv").write_text(f"{NUMBERS}\nBob,45,22222,Eve,33\n")
    for recipe in ("all", "some"):
        done = call("anonymize", "in.csv", "-r", f"{recipe}.json", "-o", "out.csv", cwd=folder)
        assert done.code == 2
        assert not any(secret in done.err for secret in SECRETS), done.err


def test_names_of_a_header_are_still_printed(folder: Path) -> None:
    (folder / "in.csv").write_text("name,age,income,born\nAnn,31,10,1990\n")
    done = call("anonymize", "in.csv", "-r", "some.json", "-o", "out.csv", cwd=folder)
    assert "'income', 'born'" in done.err
    done = call("hierarchy", "in.csv", "incom", cwd=folder)
    assert "'income'" in done.err


def test_a_part_of_a_table_that_lost_its_line_end(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "a.csv").write_text("name,age,zip\nBob,45,22222\n")
    (folder / "parts" / "b.csv").write_text(NUMBERS)
    done = call("verify", "parts/*.csv", "--quasi", "age", "--k", "2", cwd=folder)
    assert done.code == 2
    assert not any(secret in done.err for secret in SECRETS), done.err


def test_a_table_without_rows_shows_what_was_asked_for() -> None:
    empty = Dataset.of({"age": [], "zip": []})
    assert names_known(empty, ["age", "zip", "name"])
    assert not names_known(empty, ["age"])
