from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.recipe.six_people import PEOPLE, RECIPE

import oboro
from oboro.errors import ColumnError, FileError, HierarchyError, PromiseError, RecipeError


def parse(text: str = RECIPE) -> oboro.Recipe:
    return oboro.Recipe.parse(text)


def test_a_recipe_runs_and_its_release_verifies() -> None:
    release = parse(RECIPE + "order: kept\n").run(PEOPLE)
    assert release.data == {"age": ["30–39"] * 3 + ["50–59"] * 3, "disease": PEOPLE["disease"]}
    assert release.verification.holds
    assert oboro.verify(release.data, quasi=["age"], k=3, sensitive="disease", l=2).holds


def test_a_release_shows_itself_in_a_notebook() -> None:
    sick = "<script>alert(1)</script>"
    text = RECIPE.replace("disease:", "'<script>':").replace("{disease: 2}", "{'<script>': 2}")
    table = {"name": PEOPLE["name"], "age": PEOPLE["age"], "<script>": [sick, None, sick, sick, "cold", "flu"]}
    release = parse(text).run(table)
    shown = release._repr_html_()
    assert "<script" not in shown
    for part in ("Every promise holds", "<th>&lt;script&gt;</th>", "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>"):
        assert part in shown
    assert shown.count("<td>30–39</td><td>") == 3
    assert shown.count("<tr>") == 1 + 5 + 1  # names, the first rows, more
    assert "<tr><td>30–39</td><td></td></tr>" in shown
    assert f">{escape(release.summary())}</pre>" in shown
    assert f">{escape(release.recipe.explain())}</pre>" in release.recipe._repr_html_()
    assert repr(release.report) == "Report(6 rows in, 6 out; every promise holds)"
    assert str(release.report) == release.report.summary()
    assert "\n" not in repr(release)


def test_a_notebook_does_not_read_what_stayed_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oboro.io.column_store.HELD_TOO", -1)  # as for a table larger than memory
    pd.DataFrame({**PEOPLE, "note": ["same"] * 6}).to_csv(tmp_path / "people.csv", index=False)
    release = parse(RECIPE.replace("steps:", "  note: {role: other}\nsteps:")).run(tmp_path / "people.csv")
    (tmp_path / "people.csv").unlink()
    assert "<td>30–39</td><td>flu</td><td>…</td>" in release._repr_html_()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_kind_of_frame_comes_back(make: Any) -> None:
    frame = make(PEOPLE)
    before = frame.copy() if isinstance(frame, pd.DataFrame) else frame
    release = parse().run(frame)
    assert type(release.data) is type(frame)
    equal = before.equals(frame)
    assert equal, "the input was changed"


def test_yaml_json_and_python_are_the_same_recipe(tmp_path: Path) -> None:
    recipe = parse()
    as_json = json.dumps(yaml.safe_load(RECIPE))
    assert oboro.Recipe.parse(as_json) == recipe
    assert oboro.Recipe.parse(recipe.to_yaml()) == recipe
    assert oboro.Recipe(**yaml.safe_load(RECIPE)) == recipe
    (tmp_path / "r.yaml").write_text(RECIPE)
    assert oboro.Recipe.load(tmp_path / "r.yaml").to_yaml() == recipe.to_yaml()


def test_explain_says_every_step_before_any_data_is_there() -> None:
    words = parse().explain()
    for expected in ("drop_columns", "k_anonymize", "name", "age", "3", "verified"):
        assert expected in words


def test_release_explains_what_was_done() -> None:
    assert "k_anonymize" in parse().run(PEOPLE).explain()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("k_anonymize", "k_anonymise"), "did you mean 'k_anonymize'"),
        (("k: 3", "k: 0"), r"k_anonymize\.k.*0"),
        (("k: 3", "kk: 3"), "kk"),
        (("role: identifier", "role: secret"), r"attributes\.name\.role"),
        (("seed: 1", "sead: 1"), "sead"),
        (("  - drop_columns", "    drop_columns"), "YAML|steps"),
        (("intervals: [10, 20]", "interval: [10, 20]"), "interval"),
    ],
)
def test_a_wrong_recipe_says_where_and_what(change: tuple[str, str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(RECIPE.replace(*change))


def test_a_key_that_stands_twice_is_an_error() -> None:
    with pytest.raises(RecipeError, match=r"'age' stands twice.*line"):
        parse(RECIPE.replace("  disease:", "  age: {role: other}\n  disease:"))


def test_a_recipe_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nowhere\.yaml"):
        oboro.Recipe.load(tmp_path / "nowhere.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="UTF-8"):
        oboro.Recipe.load(tmp_path / "binary.yaml")
    with pytest.raises(RecipeError, match="attributes"):
        parse("just words")


def test_columns_that_are_not_named() -> None:
    more = {**PEOPLE, "shoe": [1, 2, 3, 4, 5, 6]}
    with pytest.raises(ColumnError, match="'shoe'.*unnamed"):
        parse().run(more)
    assert "shoe" not in parse(RECIPE + "unnamed: drop\n").run(more).data
    meant = "accept: {unique_on: [shoe], because: made up}\n"
    assert sorted(parse(RECIPE + "unnamed: other\n" + meant).run(more).data["shoe"]) == more["shoe"]


def test_columns_that_are_not_there() -> None:
    with pytest.raises(ColumnError, match="'age'.*'name'"):
        parse().run({"name": ["x"], "disease": ["y"]})


def test_an_identifier_is_never_released_by_accident() -> None:
    with pytest.raises(RecipeError, match="identifier 'name' would be released"):
        parse(RECIPE.replace("  - drop_columns: {attributes: [name]}\n", "")).run(PEOPLE)


def test_a_value_that_the_hierarchy_lacks_stops_before_any_step() -> None:
    text = RECIPE.replace("{intervals: [10, 20]}", "{rows: [['31', '*'], ['38', '*']]}")
    with pytest.raises(HierarchyError, match="35"):
        parse(text).run(PEOPLE)


def test_an_earlier_step_may_mend_what_the_hierarchy_lacks() -> None:
    rows = [[str(age), "*"] for age in (31, 35, 38, 40)]
    text = RECIPE.replace("{intervals: [10, 20]}", f"{{rows: {rows}}}").replace(
        "  - k_anonymize", "  - top_code: {attribute: age, at: 40}\n  - k_anonymize"
    )
    assert parse(text).run(PEOPLE).data["age"] == ["*"] * 6


def test_a_later_step_that_breaks_a_promise_is_an_error() -> None:
    text = RECIPE.replace("seed: 1", "  - sample: {count: 4}\nseed: 1")
    with pytest.raises(PromiseError, match=r"k_anonymize.*'sample'"):
        parse(text).run(PEOPLE)


def test_a_promise_out_of_reach_is_an_error() -> None:
    with pytest.raises(PromiseError):
        parse(RECIPE.replace("k: 3", "k: 7")).run(PEOPLE)


def test_the_schema_accepts_the_recipe_and_refuses_a_wrong_one() -> None:
    schema = oboro.Recipe.json_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    validator.validate(yaml.safe_load(RECIPE))
    assert list(validator.iter_errors(yaml.safe_load(RECIPE.replace("k: 3", "kk: 3"))))
    assert list(validator.iter_errors(yaml.safe_load(RECIPE.replace("drop_columns", "drop_colums"))))


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    text = RECIPE.replace("seed: 1", "  - shuffle: {}\nseed: SEED")
    big = {name: values * 20 for name, values in PEOPLE.items()}
    runs = [oboro.Recipe.parse(text.replace("SEED", seed)).run(big).data for seed in ("1", "1", "2", "null", "null")]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[3] != runs[4]


def test_a_file_comes_back_as_an_arrow_table_and_can_be_written(tmp_path: Path) -> None:
    pd.DataFrame(PEOPLE).to_csv(tmp_path / "people.csv", index=False)
    release = parse().run(tmp_path / "people.csv")
    assert isinstance(release.data, pa.Table)
    release.write(tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["age"].tolist() == ["30–39"] * 3 + ["50–59"] * 3


def test_promises_over_different_columns_say_over_which() -> None:
    table = pd.DataFrame({"age": [30, 30, 40, 40], "income": [1, 1, 3, 3]})
    roles = {"age": {"role": "quasi"}, "income": {"role": "other"}}
    both = [{"microaggregate": {"attribute": "income", "k": 2, "method": "fixed"}}, {"k_anonymize": {"k": 2}}]
    one, other = (oboro.Recipe(attributes=roles, steps=steps).run(table) for steps in (both, both[1:]))
    assert [verdict.over for verdict in one.verification.verdicts] == [("income",), ("age",)]
    assert [verdict.over for verdict in other.verification.verdicts] == [()]
    page = one.report.to_html()
    assert "each promise over the columns that are named below it" in page
    assert "Verified: 2-anonymity." in page
    assert "それぞれの約束" in one.report.to_html(lang="ja")


def test_local_recoding_can_be_reported_too() -> None:
    table = pd.DataFrame({"age": [30, 30, 41, 42], "income": [1, 1, 1, 1]})
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}, "income": {"role": "other"}}
    one, other = (
        oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 2, "recoding": how}}]).run(table).report.to_html()
        for how in ("local", "global")
    )
    assert 'id="solution"' in other
    assert 'id="solution"' not in one, "no node of the lattice is the one that was chosen"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            {"noise": {"attribute": "age", "scale": 1, "bounds": [0, 100]}},
            "noise.bounds: Input should be keys with values; the keys are min, max",
        ),
        (
            {"noise": {"attribute": "age", "scale": 1, "bounds": {"age": {"mn": 5}}}},
            "noise.bounds.age: there is no 'mn'; did you mean 'min'?",
        ),
        (
            {"k_anonymize": {"k": 3, "alpha": {"sick": {"alpha": 3}}}},
            "k_anonymize.alpha.sick.alpha: Input should be less than or equal to 1.0 (got 3)",
        ),
        ({"k_anonymize": {"k": 3, "alpha": 2}}, "k_anonymize.alpha: Input should be less than or equal to 1.0 (got 2)"),
        (
            {"microaggregate": {"k": 3, "attribute": "age", "aggregate": "men"}},
            "microaggregate.aggregate: Input should be 'mean', 'median' or 'mode' (got 'men')",
        ),
    ],
)
def test_a_value_of_several_kinds_is_told_once_and_in_the_recipe_s_words(step: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError) as error:
        oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=[step])
    assert str(error.value).splitlines()[1:] == [f"  steps.0: {said}"]
