"""A promise that counts rows is not kept where the rows are one person's: the run says so before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import call

import oboro
from oboro.data.dataset import Dataset
from oboro.disclosure.counted_people import repeated_people
from oboro.errors import PromiseError, RecipeError

BIRTHS = [1950 + who % 4 for who in range(40)]


def visits(each: int = 6) -> dict[str, list[object]]:
    """Forty patients with some visits each; ten to a year of birth, so that rows are many where people are few."""
    who = [number // each for number in range(40 * each)]
    return {
        "patient": [f"P{one:02}" for one in who],
        "birth_year": [BIRTHS[one] for one in who],
        "sex": ["F" if one % 8 < 4 else "M" for one in who],
        "ward": ["rare" if one == 7 else "usual" for one in who],
    }


def recipe(**more: object) -> oboro.Recipe:
    return oboro.Recipe(
        attributes={
            "patient": {"role": "identifier"},
            "birth_year": {"role": "quasi"},
            "sex": {"role": "quasi"},
            "ward": {"role": "quasi"},
        },
        steps=[
            more.pop("step", {"pseudonymize": {"attribute": "patient", "method": "random"}}),
            {"k_anonymize": {"k": 3}},
        ],
        seed=1,
        **more,
    )


@pytest.mark.parametrize(
    "step",
    [{"drop_columns": {"attributes": ["patient"]}}, {"pseudonymize": {"attribute": "patient", "method": "random"}}],
)
def test_classes_of_one_person_are_refused(step: dict[str, object]) -> None:
    with pytest.raises(PromiseError, match="'patient' numbers people who have several.*Say `person: patient`"):
        recipe(step=step).run(visits())


def test_counted_in_people_it_is_released() -> None:
    release = recipe(person="patient").run(visits())
    table = {name: release.data[name] for name in ("birth_year", "sex", "ward")}
    people: dict[tuple[object, ...], set[object]] = {}
    for *quasi, who in zip(*table.values(), release.data["patient"], strict=True):
        people.setdefault(tuple(quasi), set()).add(who)
    assert min(map(len, people.values())) >= 3


def test_it_can_be_accepted_in_plain_words() -> None:
    release = recipe(accept={"rows_of": ["patient"], "because": "a patient is a bed here"}).run(visits())
    assert any("a patient is a bed here" in str(one) for one in release.cautions)
    with pytest.raises(RecipeError, match="give exactly one"):
        recipe(accept={"rows_of": ["patient"], "series": True, "because": "two things"})


def test_classes_that_hold_enough_people_anyway_say_nothing() -> None:
    table = visits()
    table["ward"] = ["usual"] * len(table["ward"])
    assert recipe().run(table).cautions == recipe(person="patient").run(table).cautions


@pytest.mark.parametrize("name", ["respondent_id", "visit_id", "id", "number"])
def test_an_identifier_of_every_row_says_that_a_row_is_a_person_only_if_it_is_called_so(name: str) -> None:
    table = visits()
    table[name] = list(range(240))
    plan = recipe().model_dump(mode="json")
    plan["attributes"][name] = {"role": "identifier"}
    plan["steps"].insert(0, {"drop_columns": {"attributes": [name]}})
    if name == "respondent_id":
        assert oboro.Recipe(**plan).run(table).verification.holds
    else:
        with pytest.raises(PromiseError, match="'patient' numbers people who have several"):
            oboro.Recipe(**plan).run(table)


def positions(name: str) -> dict[str, list[object]]:
    """Twelve travellers with many positions each, and nothing that stays with them: everybody is at a place of their own."""
    who = [number % 12 for number in range(3600)]
    return {name: [f"d{one}" for one in who], "place": [f"p{one // 2}" for one in who]}


@pytest.mark.parametrize(("name", "refused"), [("device_id", True), ("kennung", False), ("url", False)])
def test_a_number_of_people_needs_no_traits_to_be_believed(name: str, refused: bool) -> None:
    attributes = {name: {"role": "identifier"}, "place": {"role": "quasi"}}
    steps = [{"drop_columns": {"attributes": [name]}}, {"k_anonymize": {"k": 5}}]
    plan = oboro.Recipe(attributes=attributes, steps=steps)
    if refused:
        with pytest.raises(PromiseError, match=f"Say `person: {name}`"):
            plan.run(positions(name))
    else:
        assert any(f"k counts rows, but '{name}' repeats" in str(one) for one in plan.run(positions(name)).cautions)


@pytest.mark.parametrize("unnamed", ["drop", "error"])
def test_the_number_of_a_person_that_is_dropped_without_being_called_an_identifier(unnamed: str) -> None:
    named = {"place": {"role": "quasi"}, **({"device_id": {"role": "other"}} if unnamed == "error" else {})}
    steps = [{"k_anonymize": {"k": 5}}]
    if unnamed == "error":
        steps.insert(0, {"drop_columns": {"attributes": ["device_id"]}})
    with pytest.raises(PromiseError, match="Say `person: device_id`"):
        oboro.Recipe(attributes=named, steps=steps, unnamed=unnamed).run(positions("device_id"))


def test_a_typing_error_in_a_birth_does_not_hide_a_patient() -> None:
    table = visits()
    table["birth_year"][3], table["sex"][5] = 1890, "X"
    with pytest.raises(PromiseError, match="'patient' numbers people who have several"):
        recipe().run(table)


def test_values_that_repeat_without_a_sign_of_people_are_told() -> None:
    """A name that repeats may be two people's: nothing about them stays the same."""
    table = visits()
    table["sex"] = ["F" if number % 2 else "M" for number in range(240)]
    table["birth_year"] = [1950] * 240
    table["ward"] = ["rare" if 35 <= number < 42 else "usual" for number in range(240)]
    table["patient"] = [f"P{number // 7:02}" for number in range(240)]
    said = [str(one) for one in recipe().run(table).cautions]
    assert any("k counts rows, but 'patient' repeats" in one for one in said), said


def test_from_a_file_too_and_in_japanese(tmp_path: Path) -> None:
    table = visits()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    step = {"drop_columns": {"attributes": ["patient"]}}
    (tmp_path / "recipe.yaml").write_text(recipe(step=step).to_yaml())
    done = call(
        "anonymize", "visits.csv", "--recipe", "recipe.yaml", "--output", "out.csv", "--lang", "ja", cwd=tmp_path
    )
    assert done.code == 1
    assert "複数の行を持つ人の番号です" in done.err
    assert not (tmp_path / "out.csv").exists()


def test_an_identifier_that_stays_in_a_large_file_is_not_read_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oboro.io.column_store.SMALL", 0)
    table = visits()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    release = recipe(step={"drop_columns": {"attributes": ["patient"]}}).run(tmp_path / "visits.csv")
    assert [one.id for one in release.cautions if one.id.startswith("exposure.rows")] == ["exposure.rows.unread"]


def test_names_repeat_where_a_number_says_that_each_row_is_a_person() -> None:
    people = {"name": [f"N{i % 300}" for i in range(600)], "sex": ["FM"[i % 2] for i in range(600)]}
    assert repeated_people(Dataset.of(people)) is not None
    assert repeated_people(Dataset.of(people | {"customer_id": [f"C{i}" for i in range(600)]})) is None


def test_a_range_is_nobodys_number() -> None:
    group = [i // 6 for i in range(120)]
    rows = {"sex": ["FM"[i % 2] for i in group]}
    assert repeated_people(Dataset.of(rows | {"code": [f"03-{1000 + i}" for i in group]})) is not None
    assert repeated_people(Dataset.of(rows | {"code": [f"{i},50-{i + 9},75" for i in group]})) is None
    assert repeated_people(Dataset.of(rows | {"code": [f"{i}万円～{i + 9}万円" for i in group]})) is None


@pytest.mark.parametrize("role", ["other", "quasi"])
def test_the_number_of_a_person_that_is_released_does_not_hide_that_rows_are_theirs(role: str) -> None:
    table = visits()
    table["patient_id"] = table.pop("patient")
    roles = {"patient_id": {"role": role}, **{name: {"role": "quasi"} for name in ("birth_year", "sex", "ward")}}
    plan = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 3}}])
    with pytest.raises(PromiseError, match="'patient_id' numbers people who have several"):
        plan.run(table)


def test_a_released_column_whose_values_keep_one_birth_may_be_people_and_the_headline_says_so() -> None:
    table = visits()
    table["mrn_hash"] = table.pop("patient")
    roles = {"mrn_hash": {"role": "other"}, **{name: {"role": "quasi"} for name in ("birth_year", "sex", "ward")}}
    told = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 3}}]).run(table).summary()
    assert told.startswith("Every promise holds if each row is another person")
    assert "say `person: mrn_hash`" in told


@pytest.mark.parametrize(("values", "person"), [("dev-{}", "device"), ("{:04x}", "device"), ("{}", "device")])
def test_codes_of_devices_are_people(values: str, person: str) -> None:
    table = {"device": [values.format(7 * (row // 9)) for row in range(270)], "x": list(range(270))}
    assert oboro.init(table).recipe.person == person


def test_kinds_of_devices_are_not() -> None:
    kinds = ["iPhone 12", "Pixel 4", "Galaxy S9", "Xperia 5", "Moto G7", "Nokia 3", "Mate 20", "Redmi 8", "Zenfone 6"]
    table = {"device": kinds * 30, "x": list(range(270))}
    assert oboro.init(table).recipe.person is None


def test_households_are_not_called_people() -> None:
    rows = {"household": [f"H{i // 3}" for i in range(90)], "town": [f"T{i // 3 % 2}" for i in range(90)]}
    found = repeated_people(Dataset.of(rows))
    assert found is not None
    assert all("people" not in str(reason) and "person" not in str(reason) for reason in found.reasons)
    starter = oboro.init(rows)
    assert "k counts households" in starter.to_yaml()
    assert "every promise counts households" in starter.recipe.explain()
    assert "report.warning.in_households" in [one.id for one in starter.recipe.run(rows).report.warnings]
