"""A recipe that says whose a row is: every class of the release holds k people, whatever becomes of the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import oboro
from oboro.errors import InputError, OboroError, PromiseError, RecipeError, UsageError
from oboro.io import column_store
from oboro.io.column_store import UntouchedCsvColumns
from oboro.verifier.verdict import Verification

QUASI = {
    "school": {"role": "quasi", "hierarchy": {"intervals": [2, 4]}},
    "year": {"role": "quasi", "hierarchy": {"intervals": [2, 4]}},
}
DROP = {"drop_columns": {"attributes": ["man"]}}


def _recipe(*steps, attributes=None, **more):
    """Rows keep their order, so that a test knows whose they are."""
    more = {"order": "kept", **more}
    return oboro.Recipe(person="man", attributes={**QUASI, **(attributes or {})}, steps=list(steps), **more)


def _panel(men=545):
    """Men with eight yearly records each; how long somebody went to school does not change."""
    rng = np.random.default_rng(0)
    man = np.repeat(np.arange(men), 8)
    return {
        "man": man.tolist(),
        "school": rng.integers(3, 17, men)[man].tolist(),
        "year": np.tile(np.arange(1980, 1988), men).tolist(),
    }


def _people(release, owners):
    """The people of each class of a release, by plain loops."""
    classes = {}
    for row, key in enumerate(zip(release["school"], release["year"], strict=True)):
        classes.setdefault(key, set()).add(owners[row])
    return classes.values()


@pytest.mark.parametrize(
    "step",
    [
        {"k_anonymize": {"k": 5}},
        {"k_anonymize": {"k": 40, "suppress": 0.1}},
        {"k_anonymize": {"k": 40, "suppress": 0.2, "suppress_people": True}},
        {"k_anonymize": {"k": 5, "recoding": "local"}},
        {"local_recode": {"k": 5}},
        {"local_recode": {"k": 5, "method": "top_down"}},
    ],
)
def test_every_class_of_a_panel_holds_k_men(step):
    panel = _panel()
    release = _recipe(DROP, step).run(panel)
    assert "man" not in release.data
    assert min(map(len, _people(release.data, panel["man"]))) >= next(iter(step.values()))["k"]
    assert all(verdict.people for verdict in release.verification.verdicts)


def test_rows_alone_would_release_classes_of_one_man():
    """Without years, eight records of a man look alike: 8-anonymous in rows, and everybody is alone."""
    man = np.repeat(np.arange(20), 8)
    panel = {"man": man.tolist(), "school": man.tolist(), "year": [1980] * 160}
    plain = {"man": {"role": "identifier"}, **QUASI}
    rows = oboro.Recipe(attributes=plain, steps=[DROP, {"k_anonymize": {"k": 8}}], order="kept").run(panel)
    assert set(map(len, _people(rows.data, panel["man"]))) == {1}
    people = _recipe(DROP, {"k_anonymize": {"k": 8}}).run(panel)
    assert min(map(len, _people(people.data, panel["man"]))) >= 8


def test_whole_people_go_with_all_their_records():
    panel = _panel()
    release = _recipe(DROP, {"k_anonymize": {"k": 50, "suppress": 0.2, "suppress_people": True}}).run(panel)
    gone = {man for man, school in zip(panel["man"], release.data["school"], strict=True) if school == "*"}
    stay = {man for man, school in zip(panel["man"], release.data["school"], strict=True) if school != "*"}
    assert gone
    assert not gone & stay
    facts = release.steps[1].facts["suppressed"]
    assert facts["people"] == len(gone) <= facts["limit_people"] == int(0.2 * 545)
    assert (facts["records"], facts["of"], facts["of_people"]) == (8 * len(gone), 4360, 545)
    assert f"{len(gone)} of 545 people, 109 allowed; {8 * len(gone):,} of 4,360 rows" in release.report.to_html()


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(3, 9), st.integers(1980, 1983)), min_size=1, max_size=25),
    st.sampled_from(["global", "local", "mondrian", "relaxed_mondrian", "top_down", "whole"]),
    st.integers(1, 4),
)
def test_whatever_is_released_holds_k_people(rows, how, k):
    """Steps that drop and reorder rows come before and after: the release is counted by loops over its original rows."""
    panel = dict(zip(("man", "school", "year"), map(list, zip(*rows, strict=True)), strict=True))
    step = {"local_recode": {"k": k, "method": how}}
    if how in ("global", "local"):
        step = {"k_anonymize": {"k": k, "suppress": 0.3, "recoding": how}}
    if how == "whole":
        step = {"k_anonymize": {"k": k, "suppress": 0.5, "suppress_people": True}}
    try:
        release = _recipe({"sample": {"fraction": 0.9}}, DROP, step, "shuffle", seed=1, order=None).run(panel)
    except PromiseError:
        return
    owners = [panel["man"][row] for row in release.frame.data.origin_rows]
    assert all(len(people) >= k for people in _people(release.data, owners))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(3, 9), st.sampled_from("xyz")), min_size=6, max_size=40),
    st.sampled_from(["mondrian", "relaxed_mondrian", "top_down"]),
    st.sampled_from([{"l_diversity": {"ill": 2}}, {"t_closeness": {"ill": 0.4}}]),
)
def test_local_groups_keep_what_is_demanded_of_secrets_of_people(rows, how, demand):
    """Counted by loops: two illnesses at least in a class, none that everybody there has; shares of pairs of person and illness."""
    visits = dict(zip(("man", "school", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    attributes = {"school": QUASI["school"], "ill": {"role": "sensitive"}}
    step = {"local_recode": {"k": 2, "method": how, **demand}}
    recipe = oboro.Recipe(person="man", attributes=attributes, steps=[DROP, step], order="kept")
    try:
        release = recipe.run(visits)
    except PromiseError:
        return
    everybody = set(zip(visits["man"], visits["ill"], strict=True))
    for label in set(release.data["school"]):
        pairs = {pair for pair, own in zip(rows_of(visits), release.data["school"], strict=True) if own == label}
        people = {man for man, _ in pairs}
        assert len(people) >= 2
        if "l_diversity" in demand:
            held = [sum(ill == one for _, ill in pairs) for one in {ill for _, ill in pairs}]
            assert len(held) >= 2
            assert max(held) < len(people)
        else:
            apart = [
                abs(
                    sum(ill == one for _, ill in pairs) / len(pairs)
                    - sum(ill == one for _, ill in everybody) / len(everybody)
                )
                for one in "xyz"
            ]
            assert sum(apart) / 2 <= 0.4 + 1e-9


def rows_of(visits):
    return zip(visits["man"], visits["ill"], strict=True)


def test_a_later_step_that_takes_people_away_breaks_the_promise():
    panel = _panel(30)
    with pytest.raises(PromiseError, match="counted in people"):
        _recipe(DROP, {"k_anonymize": {"k": 30}}, {"sample": {"fraction": 0.1}}, seed=1).run(panel)


def test_the_person_is_an_identifier_whether_named_or_not():
    with pytest.raises(OboroError, match="identifier 'man' would be released"):
        _recipe({"k_anonymize": {"k": 5}}).run(_panel(20))
    with pytest.raises(RecipeError, match="has the role quasi"):
        _recipe(DROP, attributes={"man": {"role": "quasi"}})
    named = _recipe(DROP, {"k_anonymize": {"k": 5}}, attributes={"man": {"role": "identifier"}})
    assert named.run(_panel(30)).verification.holds


def test_a_missing_person_is_refused_with_the_number_of_rows():
    panel = _panel(20)
    panel["man"][3] = panel["man"][7] = None
    with pytest.raises(InputError, match="2 of 160 rows have no value in 'man'"):
        _recipe(DROP, {"k_anonymize": {"k": 5}}).run(panel)


@pytest.mark.parametrize(
    "step",
    [
        {"microaggregate": {"attributes": ["school"], "k": 3}},
        {"k_conceal": {"k": 3}},
        {"pk_anonymize": {"k": 3}},
        {"partition_univariate": {"attributes": ["school"], "k": 3}},
        {"synthesize": {"attributes": ["school"], "k": 3}},
        {"local_recode": {"k": 3, "method": "bic"}},
        {"k_anonymize": {"k": 3, "average_risk": 0.2}},
    ],
)
def test_what_cannot_count_people_says_so_before_any_work(step):
    with pytest.raises(UsageError, match="cannot count people by 'man'"):
        _recipe(DROP, step).run(_panel(20))


def test_whole_people_need_to_be_known():
    with pytest.raises(UsageError, match="person:"):
        oboro.KAnonymize(k=2, suppress=0.5, suppress_people=True).apply(
            {"q": [1, 2]}, attributes={"q": {"role": "quasi"}}
        )


def test_one_technique_alone_counts_people_too():
    visits = {"who": [1, 1, 2, 3], "sex": ["F", "F", "M", "M"]}
    roles = {"sex": {"role": "quasi"}}
    assert oboro.KAnonymize(k=2).apply(visits, attributes=roles)["sex"] == ["F", "F", "M", "M"]
    assert oboro.KAnonymize(k=2).apply(visits, attributes=roles, person="who")["sex"] == ["*"] * 4


def test_the_recipe_says_it_in_words_in_yaml_and_in_its_schema():
    recipe = _recipe(DROP, {"k_anonymize": {"k": 5}})
    assert yaml.safe_load(recipe.to_yaml())["person"] == "man"
    assert oboro.Recipe.parse(recipe.to_yaml()) == recipe
    assert "every promise counts people" in recipe.explain()
    assert "人数" in recipe.explain("ja")
    assert "person" in oboro.Recipe.json_schema()["properties"]


def test_a_released_pseudonym_is_warned_of_with_the_number_of_people_it_singles_out():
    """Two schools a man, one a year: classes of four men, and every man has another pair of schools."""
    pairs = [(first, second) for first in range(4) for second in range(4)]
    panel = {
        "man": [man for man in range(16) for _ in range(2)],
        "school": [school for pair in pairs for school in pair],
        "year": [1980, 1981] * 16,
    }
    number = {"pseudonymize": {"attribute": "man", "method": "number"}}
    release = _recipe(number, {"k_anonymize": {"k": 4}}).run(panel)
    assert min(map(len, _people(release.data, panel["man"]))) == 4
    (warning,) = [one for one in release.cautions if one.id == "exposure.linked.pseudonym"]
    assert (warning.values["unique"], warning.values["people"]) == (16, 16)
    assert "16 of 16 are unique" in release.summary()
    dropped = _recipe(DROP, {"k_anonymize": {"k": 4}}).run(panel)
    assert not any(one.id.startswith("exposure.linked") for one in dropped.cautions)
    assert oboro.verify(release.data, quasi=["school", "year"], k=4, person="man").holds


def test_an_evaluation_counts_people():
    """Eight records of a man look alike: no record is unique, and every man is."""
    man = np.repeat(np.arange(20), 8).tolist()
    before = {"man": man, "school": man, "year": [1980] * 160}
    after = {"school": man, "year": [1980] * 160}
    rows = oboro.evaluate(before, after, quasi=["school", "year"], identifier="man", attempts=0)
    assert rows.risk["uniques"] == 0
    people = oboro.evaluate(before, after, quasi=["school", "year"], person="man", attempts=0)
    assert (people.risk["uniques"], people.risk["records"]) == (20, 20)
    assert any("count people (by 'man'), not rows" in str(one) for one in people.warnings)
    with pytest.raises(UsageError, match="no column 'man'"):
        oboro.evaluate(before, after, quasi=["school"], person="man", attempts=0, unpaired=True)


def test_the_report_of_a_recipe_counts_people():
    """All 60 men are one class, in which each counts once."""
    panel = {**_panel(60), "year": [1980] * 480}
    report = _recipe(DROP, {"k_anonymize": {"k": 60}}).run(panel).report
    assert report.risk["records"] == 60
    assert report.risk["prosecutor_max"] == 1 / 60


@pytest.mark.parametrize("nobody", [None, "", float("nan")])
def test_a_row_of_nobody_is_refused_however_that_is_written(nobody: Any) -> None:
    """A frame has empty text where CSV has an empty cell: it is no second person."""
    recipe = oboro.Recipe(
        person="who",
        attributes={"who": {"role": "identifier"}, "age": {"role": "quasi"}},
        steps=[{"k_anonymize": {"k": 2}}, {"drop_columns": {"attributes": ["who"]}}],
    )
    people = [nobody, 1.0] if isinstance(nobody, float) else [nobody, "a"]
    with pytest.raises(InputError, match="1 of 2 rows has no value"):
        recipe.run({"who": people, "age": [20, 20]})


@pytest.mark.parametrize("step", ["k_anonymize", "local_recode"])
def test_empty_and_missing_secrets_are_one_to_the_search_too(step: str) -> None:
    """Levels are found that keep the promise, instead of some that the verifier refuses."""
    recipe = oboro.Recipe(
        attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "ill": {"role": "sensitive"}},
        steps=[{step: {"k": 2, "l_diversity": {"ill": 2}}}],
    )
    release = recipe.run({"age": [20, 20, 21, 21], "ill": ["", None, "a", "b"]})
    assert len(set(release.data["age"])) == 1


def test_households_are_called_households() -> None:
    table = {"household_id": [1, 1, 2, 3], "age": [31, 32, 33, 34]}
    recipe = oboro.Recipe(
        person="household_id",
        attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}},
        steps=[{"drop_columns": {"attributes": ["household_id"]}}, {"k_anonymize": {"k": 3}}],
    )
    release = recipe.run(table)
    assert "3-anonymity, counted in households," in release.summary()
    assert "世帯数で数えた" in release.summary(lang="ja")
    assert release.report.exposed.told(1).say("en") == "1 household"
    assert Verification.read(release.verification.as_dict()) == release.verification


@pytest.mark.parametrize("person", ["patient", None])
@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_whatever_joins_the_rows_of_a_person_is_told(kind: str, person: str | None, tmp_path: Path) -> None:
    """Everybody shares the class of each row with four others; only two people have their two classes."""
    pairs = [(year, other) for year in range(5) for other in range(year)] * 2
    rows = [(f"p{n}", f"card {n}", f"{n}?", year) for n, pair in enumerate(pairs) for year in pair]
    rows += [("p90", "card 90", "90?", 1), ("p91", "card 91", "91?", 2), ("p91", "card 91", "91?", 2)]
    table = pd.DataFrame(rows, columns=["patient", "card", "remark", "year"])
    table.to_csv(tmp_path / "t.csv", index=False)
    roles = {"patient": "identifier", "card": "identifier", "remark": "sensitive", "year": "quasi"}
    recipe = oboro.Recipe(
        attributes={name: {"role": role} for name, role in roles.items()},
        steps=[
            {"drop_columns": {"attributes": ["patient"]}},
            {"pseudonymize": {"attribute": "card", "method": "random"}},
            {"k_anonymize": {"k": 5}},
        ],
        person=person,
    )
    release = recipe.run(table if kind == "frame" else tmp_path / "t.csv")
    linked = {one.id: one.values for one in release.cautions if one.id.startswith("exposure.linked")}
    expected = ["exposure.linked.pseudonym", *(["exposure.linked.secret"] if person else [])]
    assert list(linked) == expected
    assert {(one["people"], one["unique"]) for one in linked.values()} == {(22, 2)}
    assert "2 of 22 are unique" in release.summary()


@pytest.mark.parametrize("held", ["frame", "csv", "large csv"])
def test_codes_that_nobody_called_anything_join_rows_too(
    held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(year, other) for year in range(5) for other in range(year)] * 2 + [(1, 1)]
    rows = [(f"{n * 7919:016x}{n:016x}"[8:24] + "ab", year) for n, pair in enumerate(pairs) for year in pair]
    table = pd.DataFrame(rows, columns=["ck", "year"])
    table.to_csv(tmp_path / "t.csv", index=False)
    if held == "large csv":
        monkeypatch.setattr(column_store, "HELD_TOO", -1)
        monkeypatch.setattr(UntouchedCsvColumns, "small", False)
    recipe = oboro.Recipe(
        attributes={"ck": {"role": "other"}, "year": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 5}}]
    )
    release = recipe.run(table if held == "frame" else tmp_path / "t.csv")
    (told,) = [one for one in release.cautions if one.id.startswith("exposure.linked")]
    assert told.values["column"] == "ck"
    assert told.id.endswith("unread" if held == "large csv" else "pseudonym")
    assert held == "large csv" or (told.values["people"], told.values["unique"]) == (21, 1)
    assert oboro.init(table).columns["ck"].role.value == "identifier"


def test_a_code_tells_nothing_of_what_its_person_keeps() -> None:
    codes = [f"{n * 7919:08x}ab{n:08x}" for n in range(40) for _ in range(4)]
    table = {"ck": codes, "age": [20 + n % 20 for n in range(40) for _ in range(4)]}
    roles = {"ck": {"role": "other"}, "age": {"role": "quasi", "hierarchy": {"intervals": [10]}}}
    release = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 20}}]).run(table)
    assert not any(one.id.startswith("exposure.known") for one in release.cautions)
