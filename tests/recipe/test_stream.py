"""A recipe as an anonymizer of records in Python: the same as `oboro stream` writes, whatever the mode."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.command_line import call

from oboro import Recipe
from oboro.errors import ColumnError, RecipeError, UsageError

RECIPE = """
attributes:
  name: {role: identifier}
  customer: {role: identifier}
  sex: {role: quasi}
  age: {role: quasi, hierarchy: {intervals: [10, 40]}}
  illness: {role: sensitive}
  shop: {role: other}
steps:
  - drop_columns: {attributes: [name]}
  - pseudonymize: {attribute: customer, key_env: KEY}
  - k_anonymize: {k: 3, l_diversity: {illness: 2}}
"""
MODES: dict[str, dict[str, Any]] = {
    "swap": {},
    "count": {"horizon": 50},
    "sequential": {},
    "window": {"window": 30, "categories": ["sex"], "order": "kept"},
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "0123456789abcdef-of-a-test")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    rng = random.Random(5)
    return [
        {
            "name": f"person {i}",
            "customer": i % 40,
            "sex": rng.choice("FM"),
            "age": rng.randint(20, 69),
            "illness": rng.choice(["flu", "cold", "gout"]),
            "shop": i,
        }
        for i in range(120)
    ]


def written(folder: Path, rows: list[dict[str, Any]], mode: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """What the command line writes."""
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "in.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        word
        for name, value in {"mode": mode, **options}.items()
        for word in (f"--{name}", ",".join(value) if isinstance(value, list) else str(value))
    ]
    places = ("--from", "in.ndjson", "--to", "out.ndjson", "--dead-letters", "dead.ndjson")
    done = call("stream", "--recipe", "recipe.yaml", *places, *words, cwd=folder)
    assert done.code == 0, done.err
    return [json.loads(line) for line in (folder / "out.ndjson").read_text().splitlines()]


def pushed(rows: list[dict[str, Any]], mode: Any, options: dict[str, Any]) -> list[dict[str, Any]]:
    with Recipe.parse(RECIPE).stream(mode=mode, **options) as anonymizer:
        return [one for row in rows for one in anonymizer.push(row)] + anonymizer.flush()


@pytest.mark.parametrize("mode", MODES)
def test_push_releases_what_the_command_line_writes(mode: str, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    expected = written(tmp_path, rows, mode, MODES[mode])
    assert pushed(rows, mode, MODES[mode]) == expected
    assert len(expected) == len(rows)
    assert set(expected[0]) == {"sex", "age", "illness", "customer", "shop"}
    assert [one["shop"] for one in expected] == [row["shop"] for row in rows]
    assert {one["customer"] for one in expected}.isdisjoint(range(40))


@pytest.mark.parametrize(("mode", "options"), [("paper", {"background": False}), ("fixed", {})])
def test_modes_that_make_a_function(mode: Any, options: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Here a thread of its own would decide when a function is ready, or more records come first than there are."""
    plain = Recipe.parse(RECIPE.replace(", l_diversity: {illness: 2}", ""))
    one_by_one = plain.stream(mode=mode, **options)
    released = [one for row in rows for one in one_by_one.push(row)]
    assert len(released) == len(rows)
    assert released == plain.stream(mode=mode, **options).push_many(rows)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("frame", [False, True])
def test_push_many_is_push_one_after_the_other(mode: Any, frame: bool, rows: list[dict[str, Any]]) -> None:
    anonymizer = Recipe.parse(RECIPE).stream(mode=mode, **MODES[mode])
    released = anonymizer.push_many(pd.DataFrame(rows) if frame else rows) + anonymizer.flush()
    assert released == pushed(rows, mode, MODES[mode])
    assert anonymizer.stats()["records"] == len(rows)
    assert list(released[0]) == list(anonymizer.fields)


@pytest.mark.parametrize("mode", MODES)
def test_a_saved_stream_goes_on_as_if_there_had_been_no_break(
    mode: Any, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    recipe = Recipe.parse(RECIPE)
    first = recipe.stream(mode=mode, **MODES[mode])
    released = first.push_many(rows[:70])
    first.save(tmp_path / "state")
    again = recipe.stream(mode=mode, **MODES[mode], restore=tmp_path / "state")
    assert released + again.push_many(rows[70:]) + again.flush() == pushed(rows, mode, MODES[mode])


def test_a_state_belongs_to_its_settings(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    Recipe.parse(RECIPE).stream().save(tmp_path / "state")
    with pytest.raises(UsageError, match="other settings"):
        Recipe.parse(RECIPE).stream(mode="count", restore=tmp_path / "state")


def test_people_instead_of_records(rows: list[dict[str, Any]]) -> None:
    recipe = Recipe.parse(RECIPE.replace("  - pseudonymize: {attribute: customer, key_env: KEY}\n", ""))
    with pytest.raises(RecipeError, match="identifier 'customer' would be released"):
        recipe.stream()
    released = recipe.stream(person="customer").push_many(rows)
    assert "customer" not in released[0]


def test_what_a_stream_cannot_keep_is_said(rows: list[dict[str, Any]]) -> None:
    shuffled = Recipe.parse(RECIPE + "  - shuffle: {}\n")
    with pytest.raises(RecipeError, match="shuffle: a stream cannot do this: records come out in the order"):
        shuffled.stream()
    with pytest.raises(UsageError, match="at most 1 item after validation, not 2"):
        Recipe.parse(RECIPE.replace("{illness: 2}", "{illness: 2, shop: 2}")).stream()
    with pytest.raises(RecipeError, match="not compared with earlier releases"):
        Recipe.parse(f"earlier: [march.csv]\n{RECIPE}").stream()
    with pytest.raises(UsageError, match="window"):
        Recipe.parse(RECIPE).stream(mode="swap", window=30)


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_record_leaves_no_trace(mode: Any, rows: list[dict[str, Any]]) -> None:
    anonymizer = Recipe.parse(RECIPE).stream(mode=mode, **MODES[mode])
    for bad in ({"sex": "F"}, {**rows[0], "more": 1}, {**rows[0], "customer": ["a list"]}):
        with pytest.raises(ColumnError):
            anonymizer.push(bad)
        with pytest.raises(ColumnError):
            anonymizer.push_many([rows[0], bad])
    assert anonymizer.stats()["records"] == 0


BY_PERSON = """
person: customer
attributes: {customer: {role: identifier}, sex: {role: quasi}}
steps: [{k_anonymize: {k: 3}}]
"""
ONE_WOMAN = [{"customer": "Ann", "sex": "F"} for _ in range(9)]


@pytest.mark.parametrize("service", [[], ["--once"]], ids=["stream", "service"])
def test_the_person_of_the_recipe_is_the_stream_s_on_the_command_line_too(service: list[str], tmp_path: Path) -> None:
    """Records of one woman do not hide her, whoever runs the recipe."""
    assert {one["sex"] for one in Recipe.parse(BY_PERSON).stream().push_many(ONE_WOMAN)} == {"*"}
    (tmp_path / "recipe.yaml").write_text(BY_PERSON)
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(one) + "\n" for one in ONE_WOMAN))
    done = call(
        "stream", "--recipe", "recipe.yaml", "--from", "in.ndjson", "--to", "out.ndjson", *service, cwd=tmp_path
    )
    assert done.code == 0, done.err
    assert {json.loads(line)["sex"] for line in (tmp_path / "out.ndjson").read_text().splitlines()} == {"*"}
    (tmp_path / "bad.ndjson").write_text('{"sex": "*"}\n' * 2 + '{"sex": "F"}\n' * 7)
    checked = call("verify", "--stream", "in.ndjson", "bad.ndjson", "--recipe", "recipe.yaml", cwd=tmp_path)
    assert checked.code == 1, "the verifier counts people too"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            [],
            [
                "fits it and at least 2 earlier records",
                "at least 2 different values of 'illness'",
                "runs the method again",
            ],
        ),
        (["--mode", "count"], ["knows whose some of the releases are"]),
        (["--mode", "window"], ["groups of at least 3", "no better than by chance", "joins a group later"]),
        (["--mode", "window", "--order", "kept"], ["guesses whose it is (58.4 % right at k = 5, blind 19.9 %)"]),
        (["--once", "--from", "in.ndjson", "--to", "out.ndjson"], ["fits it and at least 2 earlier records"]),
    ],
)
def test_explain_says_what_a_stream_promises_and_what_it_does_not(
    options: list[str], said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    done = call("stream", "--recipe", "recipe.yaml", "--explain", *options, cwd=tmp_path)
    assert done.code == 0, done.err
    assert all(one in done.out for one in [*said, "promised nothing: 'customer' and 'shop'"]), done.out
    assert [one.name for one in tmp_path.iterdir()] == ["recipe.yaml"]


@pytest.mark.parametrize(
    ("options", "recipe", "told"),
    [
        ([], "", ["'patient_id' is called the number of a person", "released as it comes: 'email'"]),
        (["--person", "patient_id"], "", ["released as it comes: 'email'"]),
        ([], "accept: [{rows_of: [patient_id], because: one each}, {identifiers: [email], because: of shops}]\n", []),
    ],
)
def test_what_names_of_fields_give_away_is_said_at_the_start(
    tmp_path: Path, options: list[str], recipe: str, told: list[str]
) -> None:
    fields = "{patient_id: {role: identifier}, sex: {role: quasi}, email: {role: other}}"
    steps = "[{drop_columns: {attributes: [patient_id]}}, {k_anonymize: {k: 2}}]"
    (tmp_path / "recipe.yaml").write_text(f"attributes: {fields}\nsteps: {steps}\n{recipe}")
    (tmp_path / "in.ndjson").write_text('{"patient_id": 1, "sex": "F", "email": "x@example.org"}\n')
    places = ["--from", str(tmp_path / "in.ndjson"), "--to", str(tmp_path / "out.ndjson")]
    done = call("stream", "--recipe", str(tmp_path / "recipe.yaml"), *places, *options)
    assert (done.code, len(done.err.splitlines())) == (0, len(told))
    assert all(one in done.err for one in told)


def test_a_hierarchy_tells_a_window_what_is_no_number(tmp_path: Path) -> None:
    """Every record was refused; levels themselves are not used there, which is said."""
    (tmp_path / "age.csv").write_text("30;30-39\n31;30-39\n", encoding="utf-8")
    levels = {
        "town": {"tree": {"Kansai": ["Kyoto", "Nara"]}},
        "zip": {"japan": "postcode"},
        "age": {"csv": str(tmp_path / "age.csv")},
    }
    quasi = {name: {"role": "quasi", "hierarchy": spec} for name, spec in levels.items()}
    stream = Recipe(attributes=quasi, steps=[{"k_anonymize": {"k": 2}}]).stream(mode="window", window=4)
    rows = [
        {"town": town, "zip": "600-8001", "age": age} for town, age in (("Kyoto", 30), ("Kyoto", 31), ("Nara", 30)) * 2
    ]
    released = stream.push_many(rows) + stream.flush()
    assert {row["town"] for row in released} <= {"Kyoto", "Nara"}
    assert {row["zip"] for row in released} == {"600-8001"}
    assert all(30 <= row["age"] <= 31 for row in released)

    dated = Recipe(
        attributes={"since": {"role": "quasi", "hierarchy": {"dates": ["year"]}}}, steps=[{"k_anonymize": {"k": 2}}]
    )
    with pytest.raises(RecipeError, match="--categories since"):
        dated.stream(mode="window", window=4)
    assert dated.stream(mode="window", window=4, categories=["since"]) is not None
