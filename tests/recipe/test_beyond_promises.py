"""What no promise covers is not passed over: for whom a secret is certain, and identifiers that are released as they came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from oboro.data.dataset import Dataset
from oboro.disclosure.accept import Accept
from oboro.errors import PromiseError, RecipeError
from oboro.io import column_store
from oboro.measures.exposure import near_secret
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release
from oboro.recipe.starter import init
from oboro.verifier.classes import Classes

COLUMNS: dict[str, Any] = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}}
ALIKE = {"age": ["30"] * 3 + ["40"] * 3, "disease": ["flu"] * 3 + ["flu", "cold", "cold"]}


def released(table: Mapping[str, Any], *steps: Any, person: str | None = None, **columns: Any) -> Release:
    return Recipe(attributes={**COLUMNS, **columns}, person=person, steps=list(steps), seed=1).run(table)


def said(release: Release, *, figures: bool = True) -> list[dict[str, Any]]:
    return [one.values for one in release.looked(figures=figures) if one.id.startswith("exposure.look.secret")]


def naive(rows: list[tuple[str, str]]) -> tuple[int, int]:
    """For how many records the value is certain, and at least 95 % likely."""
    groups: dict[str, list[str]] = defaultdict(list)
    for age, disease in rows:
        groups[age].append(disease)
    most = [(len(group), max(map(group.count, group))) for group in groups.values()]
    return sum(size for size, top in most if top == size), sum(size for size, top in most if top >= 0.95 * size)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), min_size=4, max_size=12))
def test_it_is_said_for_how_many_it_is_certain(rows: list[tuple[str, str]]) -> None:
    table = {"age": [age for age, _ in rows] * 2, "disease": [disease for _, disease in rows] * 2}
    release = released(table, {"k_anonymize": {"k": 2}})
    data: Any = release.data
    certain, nearly = naive(list(zip(data["age"], data["disease"], strict=True)))
    told = [(one["certain"], one["nearly_certain"]) for one in said(release)]
    assert told == ([(certain, nearly)] if nearly else [])


def test_a_promise_about_it_is_enough() -> None:
    assert said(released(ALIKE, {"k_anonymize": {"k": 3}}))[0]["certain"] == 3
    assert said(released(ALIKE, {"k_anonymize": {"k": 3, "l_diversity": {"disease": 2}}})) == []


def test_people_are_counted_where_rows_are_theirs() -> None:
    table = {"who": list("aabbcc"), "age": ["30"] * 6, "disease": ["flu", "cold"] * 3}
    release = released(
        table,
        {"k_anonymize": {"k": 3}},
        {"drop_columns": {"attributes": ["who"]}},
        person="who",
        who={"role": "identifier"},
    )
    assert [(one["certain"], one["people"]) for one in said(release)] == [(3, 3)]


def test_chance_leaves_nothing_certain() -> None:
    numbers = {"age": ["30"] * 6, "disease": [1.0] * 6}
    assert said(released(numbers, {"k_anonymize": {"k": 3}}))
    assert said(released(numbers, {"k_anonymize": {"k": 3}}, {"noise": {"attribute": "disease", "scale": 1}})) == []


def test_empty_text_and_a_missing_value_are_one_secret() -> None:
    table = {"age": ["30"] * 4, "disease": ["", None, "", None]}
    assert [one["certain"] for one in said(released(table, {"k_anonymize": {"k": 2}}))] == [4]


def test_a_table_without_records_tells_nothing() -> None:
    assert said(released({"age": [], "disease": []}, {"k_anonymize": {"k": 2}})) == []


def test_what_was_not_measured_is_said_too() -> None:
    (told,) = said(released(ALIKE, {"k_anonymize": {"k": 3}}), figures=False)
    assert told == {"columns": ["disease"]}


def test_a_secret_that_stays_in_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_store, "HELD_TOO", -1)
    lines = [f"{age},{disease}" for age, disease in zip(ALIKE["age"], ALIKE["disease"], strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["age,disease", *lines]) + "\n")
    release = Recipe(attributes=COLUMNS, steps=[{"k_anonymize": {"k": 3}}]).run(tmp_path / "t.csv")
    assert said(release)[0]["certain"] == 3
    assert "disease is certain for 3 of 6" in release.summary(figures=True)


def test_a_starter_asks_for_no_diversity_where_everybody_has_every_value() -> None:
    people = [f"patient{n}" for n in range(40)]
    table = {
        "patient_id": [one for one in people for _ in range(3)],
        "sex": [sex for n in range(40) for sex in ["FM"[n % 2]] * 3],
        "diagnosis": ["flu", "cold", "ulcer"] * 40,
    }
    text = str(init(table))
    assert "person: patient_id" in text
    assert "l_diversity" not in text
    assert "diagnosis" in Recipe.parse(text).run(table).summary(figures=True)


CONTACT = ["ann@example.org", "bob@example.org"] * 3


def with_contact(values: Any, name: str = "contact", role: str = "other", **more: Any) -> Release:
    columns: dict[str, Any] = {**COLUMNS, name: {"role": role}}
    table = pa.table({**ALIKE, name: pa.array(values)})
    return Recipe(attributes=columns, steps=[{"k_anonymize": {"k": 3, "quasi": ["age"]}}], **more).run(table)


@pytest.mark.parametrize("role", ["other", "sensitive", "quasi"])
def test_a_column_of_addresses_is_refused_however_many_share_them(role: str) -> None:
    with pytest.raises(PromiseError) as refused:
        with_contact(CONTACT, role=role)
    assert "'contact' holds e-mail addresses (6 of 6" in str(refused.value)
    assert "accept: {identifiers: [contact]" in str(refused.value)
    assert "電子メール" in refused.value.say("ja")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("contact", ["０９０−１２３４−５６７８", "０９０−８７６５−４３２１"] * 3),
        ("contact", ["+819012345678", "+33612345678"] * 3),
        ("contact", ["none"] * 2 + ["06 12 34 56 78", "0171 1234567"] * 2),
        ("phone", ["5551234567", "5557654321"] * 3),
        ("phone", [5551234567, 5557654321] * 3),
        ("contact", ["4111 1111 1111 1111", "5500 0000 0000 0004"] * 3),
        ("contact", ["DE89 3704 0044 0532 0130 00", "GB29 NWBK 6016 1331 9268 19"] * 3),
        ("contact", ["192.168.1.3", "192.168.1.4"] * 3),
        ("ip", ["10.1.2.3", "10.1.2.4"] * 3),
        ("phone", [5551234567.0, 5557654321.0, None] * 2),
        ("phone", [Decimal("5551234567.00"), Decimal("5557654321.00")] * 3),
        ("contact", [f"please write to {one} again" for one in CONTACT]),
        ("name", ["Ann", "Bob"] * 3),  # by what the column is called: a name has no form
        ("customerName", ["Ann", "Bob"] * 3),
        ("氏名", ["山田", "佐藤"] * 3),
    ],
)
def test_identifiers_are_seen_in_every_form(name: str, values: list[Any]) -> None:
    with pytest.raises(PromiseError, match="name people"):
        with_contact(values, name)


def test_names_that_k_records_share_are_released_as_quasi_identifiers() -> None:
    columns = {"name": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    table = {"name": ["Ann"] * 3 + ["Bob"] * 3, "disease": ALIKE["disease"]}
    assert Recipe(attributes=columns, steps=[{"k_anonymize": {"k": 3}}]).run(table).cautions == ()


def test_what_the_recipe_accepts_is_said() -> None:
    release = with_contact(CONTACT, accept={"identifiers": ["contact"], "because": "addresses of shops"})
    assert "e-mail addresses (6 of 6 records that were looked at), which the recipe accepts: addresses of shops" in (
        release.summary()
    )
    with pytest.raises(RecipeError, match="no column 'contcat'"):
        with_contact(CONTACT, accept={"identifiers": ["contcat"], "because": "a slip"})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("order", ["0001260504", "0001260505"]),
        ("isbn", ["0813066704", "0306406152"]),
        ("order", ["142-161-1213", "542-061-1299"]),
        ("ward", ["885-00-2002", "985-12-0000"]),
        ("version", ["9.8.8.30", "10.0.1.3"]),
        ("net", ["140.83.12.0", "140.83.0.0/16"]),
        ("contact", ["a***@example.org", "b***@example.org"]),
        ("contact", ["090-****-1234", "090-****-4321"]),
        ("article", ["AB48 1793 2427 0909", "AB49 1793 2427 0908"]),
        ("latitude", ["+41.90102", "+35.68123"]),
        ("seen", ["04.11.20 14.41", "05.11.20 15.42"]),
        ("phone_minutes", [12345678, 23456789]),
        ("phone_date", ["2020-01-02", "2020-01-03"]),
        ("phone", ["[5551234–5559999]", "[6551234–6559999]"]),
        ("zip", ["〒100-0001", "150-0002"]),
        ("name", ["A***", "B***"]),
        ("product_name", ["pen", "cup"]),
        ("name", ["1", "2"]),
    ],
)
def test_what_only_looks_like_identifiers_is_released(name: str, values: list[Any]) -> None:
    assert with_contact(values * 3, name).cautions == ()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["ann@example.org"] * 6, [("email", 6)]),  # one that everybody has is nobody's
        (["ann@example.org", "bob@example.org", "a", "b", "c", "d"] * 2, [("email", 4)]),
        (["20–29", "30–39", "1.5", "call Ann", "2020-01-02", "12:30:00"] * 2, []),
    ],
)
def test_some_addresses_are_told(values: list[str], told: list[tuple[str, int]]) -> None:
    table = {"age": ["30"] * len(values), "disease": ["flu"] * len(values), "note": values}
    release = released(table, {"k_anonymize": {"k": 2}}, note={"role": "other"})
    said = [one.values for one in release.looked() if one.id == "report.warning.looks_like_identifiers"]
    assert [(one["kind"].id.rpartition(".")[2], one["records"]) for one in said] == told


def test_pseudonyms_name_nobody() -> None:
    columns = {**COLUMNS, "contact": {"role": "identifier"}}
    steps: list[Any] = [{"pseudonymize": {"attribute": "contact", "method": "number", "prefix": "p@x.yz"}}]
    assert Recipe(attributes=columns, steps=steps).run({**ALIKE, "contact": CONTACT}).looked() is not None


def test_columns_that_stay_in_the_file_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_store, "HELD_TOO", -1)
    table = pa.table({**ALIKE, "contact": CONTACT, "to": [[{"by": "mail", "at": one}] for one in CONTACT]})
    pq.write_table(table, tmp_path / "t.parquet")
    pa_csv.write_csv(table.drop_columns("to"), tmp_path / "t.csv")
    accept = [{"identifiers": ["contact"], "because": "a test"}]
    recipe = Recipe(attributes=COLUMNS, unnamed="other", steps=[{"k_anonymize": {"k": 3}}])
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(PromiseError, match="'contact' holds e-mail"):
            recipe.run(tmp_path / name)
    assert recipe.model_copy(update={"accept": [Accept(**accept[0])]}).run(tmp_path / "t.csv").cautions
    with pytest.raises(PromiseError, match="'to' holds e-mail"):
        recipe.model_copy(update={"accept": [Accept(**accept[0])]}).run(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([b"x"] * 6),
        pa.array([None] * 6),
        pa.array([1.5] * 6),
        pa.array([True] * 6),
        pa.array([10**15] * 6, pa.timestamp("us")),
        pa.array([1] * 6, pa.decimal128(5, 2)),
    ],
    ids=lambda values: str(values.type),
)
def test_a_column_of_any_type_is_looked_at(values: pa.Array) -> None:
    table = pa.table({**ALIKE, "more": values})
    assert released(table, {"k_anonymize": {"k": 3}}, more={"role": "other"}).looked()


# Numbers that lie close together -----------------------------------------------------------------------------------------


def near(release: Release) -> list[tuple[str, int, int]]:
    told = [one.values for one in release.looked(figures=True) if one.id == "exposure.look.secret_near"]
    return [(one["sensitive"], one["near"], one["people"]) for one in told]


PAID = [30_000 + n for n in range(5)] + [20_000 * n for n in range(1, 6)]
DIVERSE = {"k_anonymize": {"k": 5, "l_diversity": {"disease": 5}}}


@pytest.mark.parametrize(
    ("paid", "told"),
    [
        (PAID, [("disease", 5, 10)]),
        ([*PAID[:4], None, *PAID[5:]], []),  # whose is missing is not known
        ([*PAID[:9], 10**9], [("disease", 5, 10)]),  # one who has far more makes nobody else alike
        ([30_000 + n for n in range(10)], []),  # everybody's is known so well without a group
        ([str(n) for n in range(10)], []),
    ],
)
def test_different_numbers_that_lie_close_together_are_told(paid: list[Any], told: list[Any]) -> None:
    release = released({"age": ["30"] * 5 + ["40"] * 5, "disease": paid}, DIVERSE)
    assert near(release) == told
    assert ("is nearly known of 5 of 10" in release.summary(figures=True)) == bool(told)
    assert ("is nearly known of 5 of 10" in release.report.summary()) == bool(told)


def test_people_are_counted_whose_numbers_lie_close_together() -> None:
    table = {"who": list("aabbccdd"), "age": ["30"] * 4 + ["40"] * 4, "disease": [30, 31, 32, 33, 0, 900, 2000, 5000]}
    drop = {"drop_columns": {"attributes": ["who"]}}
    release = released(table, {"k_anonymize": {"k": 2}}, drop, person="who", who={"role": "identifier"})
    assert near(release) == [("disease", 2, 4)]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.integers(0, 60))), min_size=2, max_size=12))
def test_near_numbers_against_plain_loops(rows: list[tuple[str, int | None]]) -> None:
    groups: dict[str, list[int | None]] = defaultdict(list)
    for group, value in rows:
        groups[group].append(value)
    known = [value for _, value in rows if value is not None]
    ends = np.percentile(known, [10, 90], method="inverted_cdf") if known else [0.0, 0.0]
    span = float(ends[1] - ends[0])
    whole = [held for held in groups.values() if None not in held and max(held) > min(held)]  # type: ignore[type-var]
    expected = sum(len(held) for held in whole if max(held) - min(held) <= span / 20)  # type: ignore[type-var, operator]
    table = Dataset.of({"group": [one for one, _ in rows], "paid": pa.array([one for _, one in rows], pa.int64())})
    found = near_secret(Classes.of(table, ["group"]), "paid")
    assert found is not None
    assert found.near == expected
