"""Errors may end in a log that more people read than the table: there no value of the data is shown, only its kind and place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from tests.command_line import Done, call

import oboro
from oboro.errors import OboroError
from oboro.text import Message, Raw
from oboro.text.raw import values_shown

CANARY = "Zaphodbeeblebrox"
PEOPLE = f"name,age,zip,disease\n{CANARY},31,1000001,flu\nBob,45,1000002,{CANARY}\nCid,{CANARY},{CANARY},flu\n"
HEADERLESS = f"{CANARY},{CANARY}f,{CANARY}d\nBob,m,flu\nCid,m,cold\n"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OBORO_SHOW_VALUES", raising=False)


def _anonymize(folder: Path, recipe: dict[str, Any], table: str = PEOPLE, *more: str) -> Done:
    (folder / "people.csv").write_text(table)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    return call("anonymize", "people.csv", "--recipe", "recipe.yaml", "--output", "out.csv", *more, cwd=folder)


def _recipe(*steps: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    named: dict[str, Any] = {
        "name": {"role": "other"},
        "age": {"role": "quasi"},
        "zip": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    }
    return {"attributes": named | attributes, "steps": list(steps) or [{"k_anonymize": {"k": 2}}]}


def _quasi(**hierarchy: Any) -> dict[str, Any]:
    return {"role": "quasi", "hierarchy": hierarchy}


RECIPES: dict[str, dict[str, Any]] = {
    "intervals need numbers": _recipe(age=_quasi(intervals=[10])),
    "dates need dates": _recipe(age=_quasi(dates=["month"])),
    "edges": _recipe(age=_quasi(intervals={"edges": [[0, 40]]})),
    "a list lacks the value": _recipe(age=_quasi(rows=[["31", "x"], ["45", "x"]])),
    "a tree lacks the value": _recipe(age=_quasi(tree={"x": [31, 45]})),
    "postcodes": _recipe(zip=_quasi(japan="postcode")),
    "ages": _recipe(age=_quasi(japan="age")),
    "addresses": _recipe(zip=_quasi(japan="address")),
    "icd10": _recipe(zip=_quasi(icd10="chapters")),
    "eras": _recipe(age=_quasi(japan="era")),
    "top_code": _recipe({"top_code": {"attribute": "age", "at": 90}}),
    "bottom_code": _recipe({"bottom_code": {"attribute": "age", "at": 9}}),
    "noise": _recipe({"noise": {"attribute": "age", "scale": 1}}),
    "round": _recipe({"round": {"attribute": "age", "base": 5}}),
    "microaggregate": _recipe({"microaggregate": {"attributes": ["age"], "k": 2}}),
    "a condition": _recipe({"drop_records": {"where": {"age": {"above": 40}}}}),
    "outliers": _recipe({"drop_records": {"outliers": {"method": "iqr", "attributes": ["age"]}}}),
    "a domain": _recipe({"pk_anonymize": {"k": 1.5, "attributes": ["age"], "domain": {"age": [31, 45]}}}),
    "univariate": _recipe({"partition_univariate": {"attribute": "age", "k": 2}}),
    "no such column": {"attributes": {"nobody": {"role": "quasi"}}, "steps": []},
    "no column named": {"attributes": {}, "steps": []},
}


@pytest.mark.parametrize("case", RECIPES)
def test_errors_of_recipes_do_not_show_values(tmp_path: Path, case: str) -> None:
    done = _anonymize(tmp_path, RECIPES[case])
    assert done.code == 2, done.err
    assert CANARY not in done.err + done.out
    assert "internal error" not in done.err


@pytest.mark.parametrize("case", ["intervals need numbers", "top_code", "a list lacks the value", "postcodes"])
def test_the_row_is_said_and_the_value_on_request(tmp_path: Path, case: str) -> None:
    assert "row 3" in _anonymize(tmp_path, RECIPES[case]).err
    asked = _anonymize(tmp_path, RECIPES[case], PEOPLE, "--show-values")
    assert CANARY in asked.err
    assert asked.code == 2


def test_a_file_without_a_header_does_not_show_its_first_person(tmp_path: Path) -> None:
    recipe = {"attributes": {"name": {"role": "quasi"}, "sex": {"role": "quasi"}}, "steps": [{"k_anonymize": {"k": 2}}]}
    assert CANARY not in _anonymize(tmp_path, recipe, HEADERLESS).err
    for words in (
        ["verify", "people.csv", "--quasi", "name", "--k", "2"],
        ["assess", "people.csv", "--quasi", "name"],
        ["hierarchy", "people.csv", "name"],
        ["evaluate", "people.csv", "people.csv", "--quasi", "name"],
    ):
        done = call(*words, cwd=tmp_path)
        assert done.code == 2, words
        assert CANARY not in done.err, words


def test_a_typing_error_in_a_name_still_lists_the_columns(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    assert "'disease'" in call("verify", "people.csv", "--quasi", "agee", "--k", "2", cwd=tmp_path).err


def _refused(folder: Path, source: str, *more: str) -> list[str]:
    """The reasons why lines were refused, which go to stderr where there is no file for them."""
    places = ["--from", source, "--to", "out", "--dead-letters", "dead.ndjson"]
    done = call("stream", "--recipe", "recipe.yaml", *places, *more, cwd=folder)
    assert CANARY not in done.err
    return [json.loads(line)["reason"] for line in (folder / "dead.ndjson").read_text().splitlines()]


@pytest.mark.parametrize("mode", ["swap", "window"])
def test_a_stream_without_a_header_does_not_show_its_first_person(tmp_path: Path, mode: str) -> None:
    recipe = {"attributes": {"name": {"role": "quasi"}, "sex": {"role": "quasi"}}, "steps": [{"k_anonymize": {"k": 2}}]}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    (tmp_path / "people.csv").write_text(HEADERLESS)
    reasons = _refused(tmp_path, "people.csv", "--format", "csv", "--mode", mode)
    assert len(reasons) == 2
    assert all("not known" in one and CANARY not in one for one in reasons)


@pytest.mark.parametrize(
    "line", [f'{{"age": "{CANARY}"}}', f'{{"age": ["{CANARY}"]}}', f"{CANARY}", f'{{"{CANARY}": 1}}', f'"{CANARY}"']
)
def test_refused_records_of_a_stream_do_not_show_values(tmp_path: Path, line: str) -> None:
    recipe = {"attributes": {"age": _quasi(intervals=[10])}, "steps": [{"k_anonymize": {"k": 2}}]}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    (tmp_path / "in.ndjson").write_text(f"{line}\n")
    (reason,) = _refused(tmp_path, "in.ndjson")
    assert CANARY not in reason


FILES: dict[str, tuple[str, str]] = {
    "two columns of one name": ("t.csv", f"{CANARY},{CANARY}\n1,2\n"),
    "ragged": ("t.csv", f"age,sex\n{CANARY},F,3\n"),
    "text after a quote": ("t.csv", f'age,sex\n"{CANARY}"x,F\n'),
    "an open quote": ("t.csv", f'age,sex\n"{CANARY},F\n'),
    "no object": ("t.ndjson", f'"{CANARY}"\n'),
    "broken JSON": ("t.ndjson", f'{{"age": {CANARY}}}\n'),
    "a nested value": ("t.ndjson", f'{{"age": ["{CANARY}"]}}\n'),
    "a number and text": ("t.ndjson", '{"age": 7123}\n{"age": "7123"}\n'),
    "no such column": ("t.ndjson", f'{{"{CANARY}": 1}}\n'),
}


@pytest.mark.parametrize("case", FILES)
def test_errors_of_files_do_not_show_values(tmp_path: Path, case: str) -> None:
    name, text = FILES[case]
    (tmp_path / name).write_text(text)
    done = call("verify", name, "--quasi", "age", "--k", "2", cwd=tmp_path)
    assert done.code == 2
    assert CANARY not in done.err
    assert "7123" not in done.err


@pytest.mark.parametrize("words", [["verify", "t.csv", "--quasi", "age", "--k", "2"], ["assess", "t.csv"]])
def test_bytes_that_are_no_text_are_not_shown(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "t.csv").write_bytes(b"age,note\n31,\xff" + CANARY.encode() + b"\n")
    (tmp_path / "recipe.yaml").write_text("attributes: {age: {role: other}}\nunnamed: other\nsteps: []\n")
    for tried in (words, ["anonymize", "t.csv", "--recipe", "recipe.yaml", "--output", "o.csv"]):
        done = call(*tried, "--encoding", "utf-8", cwd=tmp_path)
        assert done.code == 2
        assert CANARY not in done.err


CALLS: dict[str, Callable[[], Any]] = {
    "mixed": lambda: oboro.verify(pd.DataFrame({"age": [1, {CANARY}]}), quasi="age", k=1),
    "order": lambda: oboro.verify(
        {"age": [1], "s": [CANARY]}, quasi="age", sensitive="s", t=0.5, distance="ordered", order=["flu"]
    ),
    "population": lambda: oboro.verify({"age": [1]}, quasi="age", k_map=1, population={CANARY: [1]}),
    "top code": lambda: oboro.TopCode(attribute="age", at=1).apply({"age": [CANARY]}),
    "evidence": lambda: oboro.pk_evidence(
        {"a": [CANARY]}, {"a": [CANARY]}, rho=0.5, attributes="a", domains={"a": ["x"]}
    ),
}


@pytest.mark.parametrize("case", [name for name in CALLS if name != "evidence" or hasattr(oboro, "pk_evidence")])
def test_exceptions_show_values_only_when_asked(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OboroError) as caught:
        CALLS[case]()
    error = caught.value
    for said in (str(error), repr(error), error.say("ja"), str(error.args)):
        assert CANARY not in said
    assert error.__suppress_context__ or error.__context__ is None  # a log prints the whole chain
    if case not in ("mixed",):  # which names kinds, never values
        assert CANARY in error.show()
        assert CANARY in error.show("ja")
        monkeypatch.setenv("OBORO_SHOW_VALUES", "1")
        assert CANARY in str(error)


def test_a_value_in_a_message() -> None:
    said = Message("error_table.not_numeric", name="age", culprit=Raw("Ann", row=17), because="")
    assert "a text of 3 characters (row 17)" in str(said)
    assert "Ann" not in str(said.as_dict())
    assert "'Ann'" in said.show()
    with values_shown():
        assert "'Ann'" in str(said)
        with values_shown(False):
            assert "Ann" not in str(said)
    kinds = [Raw(value).kind for value in ("Ann", "31", 31.5, "2024-01-31", None, pa.scalar(1).as_py())]
    assert kinds == ["text", "number", "figure", "date", "missing", "number"]
