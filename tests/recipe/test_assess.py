"""A released file alone: every count equals plain loops, and no value of a lone person is shown."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command_line import call
from tests.naive import exposure as naive

import oboro
from oboro.errors import OboroError

VALUES = {
    "a": st.sampled_from(["x", "y", None]),
    "b": st.integers(0, 3),
    "s": st.sampled_from("pq"),
    "who": st.sampled_from("123"),
}


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=10), person=st.sampled_from([None, "who"]))
def test_every_count_equals_plain_loops(rows: list[dict[str, Any]], person: str | None) -> None:
    table = {name: [row[name] for row in rows] for name in VALUES if person or name != "who"}
    found = oboro.assess(table, quasi="a", sensitive="s", person=person)
    assert found.k == min(len(naive.people(one, person)) for one in naive.classes(rows, ["a"]))
    assert found.together.unique == naive.unique(rows, ["a", "b"], person)
    for one in (*found.columns, *found.pairs):
        assert one.unique == naive.unique(rows, one.columns, person)
        assert one.smallest == min(len(naive.people(held, person)) for held in naive.classes(rows, one.columns))
    assert {one.columns for one in found.pairs} == set(combinations("ab", 2))
    (secret,) = found.secrets
    assert secret.certain == naive.certain(rows, ["a"], "s", 1, person)


def released(folder: Path) -> Path:
    lines = ["age,sex,disease", *["30-39,F,flu"] * 5, *["30-39,M,cold"] * 4, "30-39,M,flu", "97,F,Kuru"]
    (folder / "released.csv").write_text("\n".join(lines) + "\n")
    return folder / "released.csv"


def test_the_command_line_needs_no_original(tmp_path: Path) -> None:
    done = call("assess", released(tmp_path), "--quasi", "age,sex", "--sensitive", "disease")
    assert done.code == 0
    assert "k = 1" in done.out
    assert "1 of 11 by age, sex" in done.out
    assert "disease: certain for 6 of 11" in done.out  # five women with flu, and the one of 97


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_page_and_text_show_no_value_of_a_lone_person(lang: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["--quasi", "age,sex", "--sensitive", "disease", "--report", page, "--lang", lang]
    done = call("assess", released(tmp_path), *words)
    assert done.code == 0
    assert page.read_text().startswith("<!doctype html>")
    for shown in (done.out, page.read_text().partition("</style>")[2]):
        assert "Kuru" not in shown
        assert "97" not in shown


def test_json_and_guessed_roles(tmp_path: Path) -> None:
    found = json.loads(call("assess", released(tmp_path), "--json").out)
    assert found["guessed"]
    assert "age" in found["quasi"]
    assert found["verification"]["verdicts"][0]["achieved"] == found["k"]


def test_who_has_several_rows_is_asked_for(tmp_path: Path) -> None:
    lines = ["patient,year,sex", *(f"P{i // 3},{2020 + i % 3},{'FM'[i // 3 % 2]}" for i in range(60))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    asked = call("assess", tmp_path / "visits.csv", "--quasi", "sex")
    assert "--person patient" in asked.out
    assert "--person" not in call("assess", tmp_path / "visits.csv", "--quasi", "sex", "--person", "patient").out
    found = json.loads(call("assess", tmp_path / "visits.csv", "--quasi", "sex", "--json").out)
    assert [one["id"] for one in found["asked"]] == ["role.people.ask"]


def test_wrong_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(OboroError, match="'none'"):
        oboro.assess({"a": [1]}, quasi="none")
    with pytest.raises(OboroError, match="two roles"):
        oboro.assess({"a": [1], "b": [1]}, quasi=["a", "b"], sensitive="a")
