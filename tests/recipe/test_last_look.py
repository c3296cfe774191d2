"""The last look before writing: nobody is unique by released columns that no promise covers, unless the recipe accepts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command_line import call
from tests.naive import exposure as naive

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset, unread_columns
from oboro.disclosure.uncovered_columns import Acceptance, LookedAt, last_look
from oboro.errors import PromiseError, RecipeError, SingledOutError
from oboro.io import column_store

ROWS = 400
ATTRIBUTES = {
    "sex": {"role": "quasi"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
    "disease": {"role": "sensitive"},
    "diag": {"role": "other"},
    "death": {"role": "other"},
    "flag": {"role": "other"},
}
STEPS: list[Any] = [{"k_anonymize": {"k": 5, "suppress": 0.1}}]
ACCEPT = {"unique_on": ["diag", "death", "flag"], "because": "the dates were published before"}


def patients() -> pd.DataFrame:
    """Dates of which few are shared, a flag that half have, and a secret that everybody has for themselves."""
    draw = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "sex": draw.choice(["F", "M"], ROWS),
            "age": draw.integers(20, 60, ROWS),
            "disease": [f"case {i}" for i in range(ROWS)],
            "diag": draw.integers(0, 150, ROWS),
            "death": draw.integers(0, 150, ROWS),
            "flag": draw.integers(0, 2, ROWS),
        }
    )


def plan(accept: Any = None, steps: list[Any] | None = None, **roles: Any) -> oboro.Recipe:
    return oboro.Recipe(
        attributes={**ATTRIBUTES, **roles},
        steps=steps or STEPS,
        accept=accept or [],
    )


def sources(folder: Path) -> dict[str, Any]:
    """The same table as a frame, and as files of which untouched columns stay where they are."""
    table = patients()
    table.to_csv(folder / "patients.csv", index=False)
    table.to_parquet(folder / "patients.parquet", index=False)
    return {"frame": table, "csv": folder / "patients.csv", "parquet": folder / "patients.parquet"}


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_unique_other_columns_are_refused_with_columns_and_counts(kind: str, tmp_path: Path) -> None:
    table = patients()
    rows = table.to_dict("records")
    together = naive.unique(rows, ["diag", "death", "flag"])
    pair = naive.unique(rows, ["diag", "death"])
    with pytest.raises(SingledOutError) as refused:
        plan().run(sources(tmp_path)[kind])
    assert isinstance(refused.value, PromiseError)
    assert f"{together} of {ROWS} records" in str(refused.value)
    assert f"'diag' and 'death' {pair}" in str(refused.value)
    assert "case" not in str(refused.value)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_what_the_recipe_accepts_is_released_and_said(kind: str, tmp_path: Path) -> None:
    release = plan(ACCEPT).run(sources(tmp_path)[kind])
    (found,) = release.last_look.accepted
    assert found.people == naive.unique(patients().to_dict("records"), ["diag", "death", "flag"])
    assert "the dates were published before" in release.summary()
    assert "the dates were published before" in release.summary(lang="ja")


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_columns_that_are_too_large_to_hold_are_read_for_the_look(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_store, "HELD_TOO", -1)
    release = plan(ACCEPT).run(sources(tmp_path)[kind])
    (found,) = release.last_look.accepted
    assert found.people == naive.unique(patients().to_dict("records"), ["diag", "death", "flag"])
    assert ("flag" in unread_columns(release.original)) == (kind != "frame")


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_an_acceptance_covers_only_who_is_unique_by_its_columns(kind: str, tmp_path: Path) -> None:
    rows = patients().to_dict("records")
    left = naive.unique(rows, ["diag", "death", "flag"]) - naive.unique(rows, ["diag", "death"])
    assert left > 0
    with pytest.raises(SingledOutError, match=rf"{left} of {ROWS} records"):
        plan({**ACCEPT, "unique_on": ["diag", "death"]}).run(sources(tmp_path)[kind])


def test_the_accepted_stands_in_the_report() -> None:
    report = plan(ACCEPT).run(patients()).report
    assert any(one.id == "exposure.look.accepted" for one in report.warnings)
    assert "the dates were published before" in report.to_html()


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_nobody_unique_is_said_and_released(kind: str, tmp_path: Path) -> None:
    dropped = [{"drop_columns": {"attributes": ["diag", "death"]}}, *STEPS]
    release = plan(steps=dropped).run(sources(tmp_path)[kind])
    assert release.last_look.columns == ("flag",)
    assert release.last_look.unique == 0
    assert "Nobody is unique by the columns that no promise covers (flag)" in release.summary()


def test_rows_that_were_dropped_protect_nobody(tmp_path: Path) -> None:
    table = pd.DataFrame({"sex": ["F"] * 6 + ["M"] * 2, "code": [1, 1, 2, 2, 3, 3, 4, 4], "keep": [1] * 7 + [0]})
    table.to_csv(tmp_path / "t.csv", index=False)
    recipe = oboro.Recipe(
        attributes={"sex": {"role": "quasi"}, "code": {"role": "other"}, "keep": {"role": "other"}},
        steps=[{"drop_records": {"where": {"keep": {"equals": 0}}}}, {"drop_columns": {"attributes": ["sex"]}}],
    )
    for source in (table, tmp_path / "t.csv"):
        with pytest.raises(SingledOutError, match="1 of 7 records"):
            recipe.run(source)


@pytest.mark.parametrize("report", [[], ["--report", "report.html"]])
def test_the_command_line_ends_with_1_and_writes_nothing(report: list[str], tmp_path: Path) -> None:
    sources(tmp_path)
    (tmp_path / "recipe.yaml").write_text(plan().to_yaml())
    words = ["anonymize", "patients.csv", "--recipe", "recipe.yaml", "--output", "out.csv", *report]
    done = call(*words, cwd=tmp_path)
    assert done.code == 1
    assert "'diag'" in done.err
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "report.html").exists()


def test_promised_random_secret_and_pseudonymous_columns_are_not_counted(tmp_path: Path) -> None:
    table = patients().assign(number=range(ROWS), amount=np.random.default_rng(1).normal(size=ROWS))
    (tmp_path / "key").write_text("secret of sixteen letters or more")
    recipe = oboro.Recipe(
        attributes={**ATTRIBUTES, "number": {"role": "identifier"}, "amount": {"role": "other"}},
        steps=[
            {"drop_columns": {"attributes": ["diag", "death"]}},
            {"pseudonymize": {"attribute": "number", "method": "random"}},
            {"noise": {"attribute": "amount", "scale": 1.0}},
            *STEPS,
        ],
        seed=1,
    )
    look = recipe.run(table).last_look
    assert look.columns == ("flag",)
    assert look.pseudonyms == ("number",)


def test_a_quasi_identifier_that_no_promise_covers_is_looked_at() -> None:
    recipe = oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=[{"top_code": {"attribute": "age", "at": 90}}])
    with pytest.raises(SingledOutError, match="'age'"):
        recipe.run({"age": [31, 31, 58]})
    assert recipe.run({"age": [31, 31, 95, 96]}).last_look.unique == 0


def test_who_knows_the_quasi_identifiers_too_is_counted() -> None:
    table = pd.DataFrame({"sex": ["F", "F", "M", "M"], "flag": [0, 1, 0, 1]})
    recipe = oboro.Recipe(
        attributes={"sex": {"role": "quasi"}, "flag": {"role": "other"}}, steps=[{"k_anonymize": {"k": 2}}]
    )
    release = recipe.run(table)
    assert release.unique_by_all == 4
    told = "4 of 4 are unique to somebody who knows all of sex, flag. No single promise covers"
    assert told in release.summary(figures=True)
    assert told in release.report.summary()  # a report must not say less
    assert "covers (flag) alone" in release.report.summary()


@pytest.mark.parametrize(
    ("accept", "said"),
    [
        ({"unique_on": ["diag"], "because": "  "}, "because"),
        ({"unique_on": [], "because": "so"}, "unique_on"),
        ({"unique_on": ["nobody"], "because": "so"}, "'nobody'"),
        ({"unique_on": ["diag"]}, "because"),
    ],
)
def test_wrong_acceptances_are_refused(accept: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        plan(accept).run(patients())


def test_an_acceptance_that_is_not_needed_is_said() -> None:
    steps = [{"drop_columns": {"attributes": ["diag", "death"]}}, *STEPS]
    release = plan({"unique_on": ["flag"], "because": "so"}, steps=steps).run(patients())
    assert release.last_look.unneeded == (("flag",),)
    assert "the line is not needed" in release.summary()


def test_a_recipe_keeps_what_it_accepts() -> None:
    assert oboro.Recipe.parse(plan(ACCEPT).to_yaml()).accepted == plan([ACCEPT]).accepted


def test_a_man_with_many_rows_is_one_man() -> None:
    panel = pd.DataFrame({"man": np.repeat(range(6), 4), "sex": ["M"] * 24, "code": np.repeat([1, 1, 2, 2, 3, 4], 4)})
    content: dict[str, Any] = {
        "attributes": {"man": {"role": "identifier"}, "sex": {"role": "quasi"}, "code": {"role": "other"}},
        "steps": [{"drop_columns": {"attributes": ["man"]}}, {"k_anonymize": {"k": 2}}],
    }
    assert oboro.Recipe(**content).run(panel).last_look.unique == 0
    with pytest.raises(SingledOutError, match="2 of 6 people"):
        oboro.Recipe(**content, person="man").run(panel)
    accepted = oboro.Recipe(**content, person="man", accept={"unique_on": ["code"], "because": "so"}).run(panel)
    assert accepted.last_look.accepted[0].people == 2
    assert accepted.unique_by_all == 2


VALUES = {"a": st.integers(0, 3), "b": st.integers(0, 3), "who": st.sampled_from(["x", "y", "z", None])}


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.fixed_dictionaries(VALUES), max_size=10),
    people=st.booleans(),
    columns=st.sampled_from(["a", "ab"]),
)
def test_the_look_equals_plain_loops(rows: list[dict[str, Any]], people: bool, columns: str) -> None:
    data = Dataset.of({name: [row[name] for row in rows] for name in VALUES})
    person: Column | None = data["who"] if people else None
    name = "who" if people else None
    found = last_look(LookedAt(data, data.select, person=person), "ab", [Acceptance(tuple(columns), "so")])
    assert found.unique == naive.unique(rows, "ab", name)
    assert found.refused == len(_unique(rows, "ab", name) - _unique(rows, columns, name))


def _unique(rows: list[dict[str, Any]], columns: str, person: str | None) -> set[Any]:
    """People, or classes (by both columns) of rows that are nobody's."""
    found: set[Any] = set()
    for members in naive.classes(rows, list(columns)):
        held = naive.people(members, person)
        found |= held if len(held) == 1 else {(row["a"], row["b"]) for row in members} if not held else set()
    return found


@pytest.mark.parametrize(
    ("accept", "said"),
    [
        ({"unique_on": ["diag"]}, ["accept.because: Field required"]),
        (
            "diag",
            ["accept: Input should be keys with values; the keys are unique_on, series, rows_of, identifiers, because"],
        ),
        ([{"unique_on": ["diag"]}], ["accept.0.because: Field required"]),
    ],
)
def test_a_wrong_acceptance_is_told_once(accept: Any, said: list[str]) -> None:
    with pytest.raises(RecipeError) as error:
        oboro.Recipe(attributes=ATTRIBUTES, steps=STEPS, accept=accept)
    assert str(error.value).splitlines()[1:] == [f"  {one}" for one in said]


@pytest.mark.parametrize(
    "demand",
    [
        {},
        {"maximum_risk": 1.0},
        {"records_at_risk": {"risk": 0.2, "share": 1.0}},
        {"t_closeness": {"disease": 0.9}},
        {"l_diversity": {"disease": 1}},
    ],
)
def test_a_promise_that_asks_nothing_of_groups_covers_no_column(demand: dict[str, Any]) -> None:
    table = pd.DataFrame({"age": range(30), "disease": ["flu", "cold"] * 15})
    roles = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    recipe = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 1, **demand}}])
    with pytest.raises(SingledOutError, match="30 of 30 records are unique.*k = 1"):
        recipe.run(table)
    accepted = oboro.Recipe(**recipe.model_dump() | {"accept": [{"unique_on": ["age"], "because": "so"}]})
    assert accepted.run(table).last_look.accepted[0].people == 30


@pytest.mark.parametrize(
    "demand", [{"maximum_risk": 0.5}, {"l_diversity": {"disease": 2}}, {"alpha": {"disease": 0.5}}]
)
def test_other_demands_than_k_cover_columns_too(demand: dict[str, Any]) -> None:
    table = pd.DataFrame({"age": [n // 2 for n in range(30)], "disease": ["flu", "cold"] * 15})
    roles = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    release = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 1, **demand}}]).run(table)
    assert release.last_look.columns == ()


@pytest.mark.parametrize(
    "moved",
    [
        {"shuffle": {"attributes": ["job", "disease"]}},
        {"swap": {"attributes": ["job", "disease"], "method": "random", "together": True}},
        {"swap": {"attribute": "job", "method": "random", "fraction": 0.1}},
        {"swap": {"attribute": "job", "method": "random", "within": ["pair"]}},
    ],
)
def test_what_moves_together_or_hardly_at_all_is_looked_at(moved: dict[str, Any]) -> None:
    people = range(40)
    table = pd.DataFrame(
        {
            "sex": ["F", "M"] * 20,
            "job": [f"job {n}" for n in people],
            "pair": [f"pair {max(n, 4)}" for n in people],
            "disease": [f"case {n}" for n in people],
        }
    )
    roles = {"sex": "quasi", "job": "other", "pair": "identifier", "disease": "sensitive"}
    recipe = {
        "attributes": {name: {"role": role} for name, role in roles.items()},
        "steps": [moved, {"drop_columns": {"attributes": ["pair"]}}, {"k_anonymize": {"k": 5}}],
    }
    with pytest.raises(SingledOutError, match="'job' 40"):
        oboro.Recipe(**recipe).run(table)
    alone = {"shuffle": {"attributes": ["job"]}}  # then nobody knows whose a job is
    assert oboro.Recipe(**recipe | {"steps": [moved, alone, *recipe["steps"][1:]]}).run(table).last_look.columns == ()


@pytest.mark.parametrize("name", ["birthdate", "住所", "postcode", "lon"])
def test_what_others_know_is_no_secret_for_being_called_sensitive(name: str) -> None:
    table = {"sex": ["F", "M"] * 20, name: [f"{n}?" for n in range(40)]}
    roles = {"sex": {"role": "quasi"}, name: {"role": "sensitive"}}
    recipe = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 5}}])
    with pytest.raises(SingledOutError, match=f"40 of 40 records are unique.*Called sensitive, '{name}'"):
        recipe.run(table)
    asked = [{"k_anonymize": {"k": 5, "l_diversity": {name: 2}}}]  # a secret that somebody thought of
    assert oboro.Recipe(attributes=roles, steps=asked).run(table).last_look.columns == ()
    shared = table | {name: [f"{n % 8}?" for n in range(40)]}
    assert recipe.run(shared).last_look.columns == ()
