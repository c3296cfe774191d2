"""What no promise covers is not passed over: for whom a secret is certain, and identifiers that are released as they came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from oboro.io import held_limit
from oboro.recipe.preparing.starter import init
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release

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
    monkeypatch.setattr(held_limit, "HELD_TOO", -1)
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


def test_addresses_are_told_however_many_share_them() -> None:
    table = {**ALIKE, "contact": ["ann@example.org"] * 4 + ["see 080-1234-5678"] * 2, "note": ["call Ann"] * 6}
    release = released(table, {"k_anonymize": {"k": 3}}, contact={"role": "other"}, note={"role": "other"})
    told = [one.values for one in release.looked() if one.id == "report.warning.looks_like_identifiers"]
    assert [(one["column"], one["kind"].id, one["records"]) for one in told] == [
        ("contact", "measure.identifier.email", 4),
        ("contact", "measure.identifier.phone", 2),
    ]


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
