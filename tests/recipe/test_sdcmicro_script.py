"""A recipe from a script for sdcMicro."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import oboro
from oboro.cli.all_commands import app
from oboro.data.frames import Frame
from oboro.errors import FileError
from oboro.recipe.importers.sdcmicro import from_sdcmicro, r_calls

SCRIPT = """
library(sdcMicro)   # not run
sdc <- createSdcObj(dat = people, keyVars = c('age', "town"), numVars = 'income', sensibleVar = "ill", hhId = "house")
sdc <- globalRecode(sdc, column = "age", breaks = c(0, 18, 65, 120), labels = c("child", "adult", "old"))
sdc <- groupAndRename(sdc, var = "town", before = c("a", "b"), after = "a_b")
sdc <- topBotCoding(sdc, value = 9000, replacement = 9000, kind = "top", column = "income")
sdc <- microaggregation(sdc, aggr = 2, method = "mdav", variables = "income")
sdc <- localSuppression(sdc, k = 2, importance = c(1, 2))
sdc <- pram(sdc, variables = "town")
print(sdc, "risk")
"""
PEOPLE = {
    "house": [1, 2, 3, 4, 5, 6],
    "age": [5, 18, 19, 65, 66, 70],
    "town": list("abcabc"),
    "income": [0, 100, 200, 300, 9000, 12000],
    "ill": list("xyxyxy"),
}


def taken(folder: Path, script: str = SCRIPT):
    (folder / "script.R").write_text(script)
    return from_sdcmicro(folder / "script.R", Frame.read(PEOPLE).data)


def test_roles_recodings_and_steps_in_their_order(tmp_path: Path) -> None:
    found = taken(tmp_path)
    assert {name: one["role"] for name, one in found.plain["attributes"].items()} == {
        "house": "identifier",
        "age": "quasi",
        "town": "quasi",
        "income": "other",
        "ill": "sensitive",
    }
    assert found.plain["steps"] == [
        {"drop_columns": {"attributes": ["house"]}},
        {"generalize": {"levels": {"age": 1, "town": 1}}},
        {"top_code": {"attribute": "income", "at": 9000}},
        {"microaggregate": {"attributes": ["income"], "k": 2, "method": "mdav"}},
        {"suppress_cells": {"k": 2, "importance": {"age": 2, "town": 1}}},
    ]
    assert [note.id for note in found.notes] == ["recipe.sdcmicro.call", "recipe.sdcmicro.household"]


def test_the_recipe_releases_what_the_script_means(tmp_path: Path) -> None:
    """`cut` of R: an interval holds its upper end, so that 18 is a child and 65 an adult."""
    place = taken(tmp_path).write(tmp_path / "study")
    written = yaml.safe_load(place.read_text()) | {
        "accept": {"unique_on": ["income", "age", "town"], "because": "test"}
    }
    place.write_text(yaml.safe_dump({**written, "steps": written["steps"][:2], "order": "kept"}))
    released = oboro.Recipe.load(place).run(PEOPLE).data
    assert list(released["age"]) == ["child", "child", "adult", "adult", "old", "old"]
    assert list(released["town"]) == ["a_b", "a_b", "c", "a_b", "a_b", "c"]
    place.write_text(yaml.safe_dump(written))
    release = oboro.Recipe.load(place).run(PEOPLE)
    assert release.verification.holds
    assert oboro.verify(release.data, quasi=["age", "town"], k=2).holds


def test_several_recodings_of_one_column_are_levels(tmp_path: Path) -> None:
    twice = 'createSdcObj(d, keyVars="town")\ngroupAndRename(x, var="town", before=c("a","b"), after="ab")\n'
    found = taken(tmp_path, twice + 'groupAndRename(x, var="town", before=c("ab","c"), after="all")')
    assert found.hierarchies["town"] == [["a", "ab", "all"], ["b", "ab", "all"], ["c", "c", "all"]]
    assert found.plain["steps"] == [{"generalize": {"levels": {"town": 2}}}]


def test_direct_identifiers_are_left_out(tmp_path: Path) -> None:
    found = taken(tmp_path, 'createSdcObj(d, keyVars="age")\nremoveDirectID(x, var=c("house", "income"))')
    assert found.plain["attributes"]["house"]["role"] == found.plain["attributes"]["income"]["role"] == "identifier"
    assert found.plain["steps"] == [{"drop_columns": {"attributes": ["house", "income"]}}]


@pytest.mark.parametrize("call", ["recordSwap", "addGhostVars", "createNewID", "microaggrGower"])
def test_no_change_of_the_table_is_left_out_in_silence(call: str, tmp_path: Path) -> None:
    assert call in taken(tmp_path, f'createSdcObj(d, keyVars="age")\n{call}(x)').to_yaml()


def test_what_cannot_be_taken_over_is_said(tmp_path: Path) -> None:
    odd = 'createSdcObj(d, keyVars=c("age", "planet"))\nglobalRecode(x, column="age", breaks=5)\n'
    found = taken(tmp_path, odd + 'globalRecode(x, column="age", breaks=c(0, 9, 99), labels=c("a"))')
    said = found.to_yaml()
    assert "'planet'" in said
    assert "globalRecode" in said
    assert "labels" in said
    assert "引き継げません" in found.to_yaml("ja")
    for text in ("x <- 1", 'createSdcObj("unfinished'):
        if "(" in text:
            assert taken(tmp_path, text).plain["steps"] == []
        else:
            with pytest.raises(FileError, match="createSdcObj"):
                taken(tmp_path, text)
    with pytest.raises(FileError, match="cannot read the script: No such file"):
        from_sdcmicro(tmp_path / "none.R", Frame.read(PEOPLE).data)


@pytest.mark.parametrize(
    "text", ["f(", ")", "f(,)", "f(c(", "'", "f(x = )", "f(-)", "f(1:)", "f(a = b = c)", "c(c(1))"]
)
def test_any_text_is_read_without_a_traceback(text: str) -> None:
    r_calls(text)


def test_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "script.R").write_text(SCRIPT)
    rows = "\n".join(",".join(map(str, row)) for row in zip(*PEOPLE.values(), strict=True))
    (tmp_path / "people.csv").write_text(",".join(PEOPLE) + "\n" + rows + "\n")
    options = ["--sdcmicro", str(tmp_path / "script.R"), "--into", str(tmp_path / "study")]
    found = CliRunner().invoke(app, ["init", str(tmp_path / "people.csv"), *options])
    assert found.exit_code == 0
    assert oboro.Recipe.load(tmp_path / "study" / "recipe.yaml").steps
    assert "# Not taken over: pram" in found.stdout
