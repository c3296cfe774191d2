"""Secrets and people that differ only in how they are written: they are counted, said, and folded where a recipe asks for it."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command_line import call

import oboro
from oboro.data.column import Column
from oboro.data.folding import FOLDS, folded, near_duplicates
from oboro.errors import ColumnError, PromiseError, RecipeError, UsageError

ALL = ["space", "case", "unicode", "number"]
E_ACUTE = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
PAIRS = {
    "space": ("flu", "flu "),
    "inner space": ("yellow fever", "yellow  fever"),
    "wide space": ("流行 感冒", "流行　感冒"),
    "case": ("flu", "FLU"),
    "sharp s": ("Straße", "STRASSE"),
    "composed": E_ACUTE,
    "zero width": ("flu", "fl\u200bu"),
    "full width": ("HIV", "ＨＩＶ"),
    "half width": ("インフル", "ｲﾝﾌﾙ"),
    "decimals": ("300", "300.0"),
    "zeros": ("1.5", "01.50"),
    "signs and commas": ("1000", "+1,000"),
    "wide digits": ("10", "１０."),
}


@pytest.mark.parametrize("case", PAIRS)
def test_one_secret_written_in_two_ways_is_said_and_folded(case: str) -> None:
    table = {"age": [1, 1], "disease": list(PAIRS[case])}
    asked: dict[str, Any] = {"quasi": "age", "sensitive": "disease", "l": 2}
    found = oboro.verify(table, **asked)
    assert found.holds  # two different texts
    assert [(one.id, one.values["values"]) for one in found.warnings] == [("verdict.near_secrets", 1)]
    assert PAIRS[case][1] not in str(found)
    strict = oboro.verify(table, **asked, fold=ALL)
    assert not strict.holds
    assert not strict.warnings
    assert not oboro.verify(table, quasi="age", k=2, person="disease", fold=ALL).holds
    assert oboro.verify(table, quasi="age", k=2, person="disease").warnings[0].id == "verdict.near_people"


def test_what_is_different_stays_different() -> None:
    table = {"age": [1, 1], "disease": ["flu", "cold"]}
    found = oboro.verify(table, quasi="age", sensitive="disease", l=2, fold=ALL)
    assert found.holds
    assert not found.warnings
    with pytest.raises(UsageError, match="fold: must be some of"):
        oboro.verify(table, quasi="age", k=1, fold=["spaces"])


def _recipe(fold: list[str], step: str = "k_anonymize", **demand: Any) -> oboro.Recipe:
    return oboro.Recipe(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
            "disease": {"role": "sensitive", "fold": fold},
        },
        steps=[{step: {"k": 2, **demand}}],
    )


PEOPLE = {"age": [21, 22, 31, 32], "disease": ["flu", "Flu ", "cold", "flu"]}


@pytest.mark.parametrize("step", ["k_anonymize", "local_recode"])
def test_a_recipe_that_folds_protects_by_meaning(step: str) -> None:
    """The two in their twenties have one disease: folded, they must stand with the others."""
    asked = {"l_diversity": {"disease": 2}}
    plain = _recipe([], step, **asked).run(PEOPLE)
    assert [one.id for one in plain.verification.warnings] == ["verdict.near_secrets"]
    assert "differs from another only in spaces" in plain.summary()
    assert "disease is certain for 2 of 4 if values that are written nearly alike" in plain.summary(figures=True)
    assert "differs from another only in spaces" in plain.report.summary()
    assert "disease is certain for 2 records of 4" in plain.report.summary()  # whatever the promise counts
    assert any(
        isinstance(one, oboro.text.Message) and one.id == "verdict.near_secrets" for one in plain.report.warnings
    )
    release = _recipe(["space", "case"], step, **asked).run(PEOPLE)
    assert not release.verification.warnings
    classes = list(release.data["age"])
    for one in set(classes):
        secrets = {d.strip().lower() for a, d in zip(classes, release.data["disease"], strict=True) if a == one}
        assert len(secrets) >= 2
    assert "differ only in space and case" in _recipe(["space", "case"], step, **asked).explain()
    assert sorted(release.data["disease"]) == sorted(PEOPLE["disease"])  # released as it is


def test_every_demand_counts_folded_values() -> None:
    for demand in ({"alpha": {"disease": 0.75}}, {"t_closeness": {"disease": 0.26}}):
        assert len(set(_recipe(["space", "case"], **demand).run(PEOPLE).data["age"])) == (1 if "alpha" in demand else 2)
    with pytest.raises(PromiseError):
        _recipe(["space", "case"], l_diversity={"disease": 3}).run(PEOPLE)


@pytest.mark.parametrize("value", ["flu", "FLU", " Flu", "ｆlu"])
def test_a_value_that_a_demand_names_is_folded_too(value: str) -> None:
    """Two of the young have it, in two spellings: the class must be joined, whichever spelling the recipe has."""
    folds = ["space", "case", "unicode"]
    alpha = {"disease": {"alpha": 0.75, "value": value, "absent": "allowed"}}
    release = _recipe(folds, alpha=alpha).run(PEOPLE)
    assert len(set(release.data["age"])) == 1
    assert "no record has" not in str(release.verification)
    young = {"age": [20] * 3, "disease": ["flu", "Flu ", "cold"]}
    asked: dict[str, Any] = {"quasi": "age", "k": 2, "sensitive": "disease", "alpha": 0.5, "value": value}
    assert not oboro.verify(young, **asked, fold=folds).holds
    if value != "flu":
        with pytest.raises(ColumnError, match="no record has"):
            oboro.verify(young, **asked)


def test_people_are_folded_too() -> None:
    people = {"name": ["Ann", "ann", "Bob", "Cid"], "age": [21, 22, 31, 32]}
    for fold, classes in (([], 2), (["case"], 1)):
        recipe = oboro.Recipe(
            person="name",
            attributes={
                "name": {"role": "identifier", "fold": fold},
                "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
            },
            steps=[{"drop_columns": {"attributes": ["name"]}}, {"k_anonymize": {"k": 2}}],
        )
        release = recipe.run(people)
        assert len(set(release.data["age"])) == classes
        assert [one.id for one in release.verification.warnings] == ([] if fold else ["verdict.near_people"])


def test_a_stream_says_that_it_does_not_fold() -> None:
    with pytest.raises(RecipeError, match="a stream counts"):
        _recipe(["case"], l_diversity={"disease": 2}).stream()


def test_the_command_line_folds(tmp_path: Path) -> None:
    pd.DataFrame({"age": [1, 1], "disease": ["flu", "Flu"]}).to_csv(tmp_path / "t.csv", index=False)
    words = ["verify", "t.csv", "--quasi", "age", "--sensitive", "disease", "--l", "2"]
    said = call(*words, cwd=tmp_path)
    assert said.code == 0
    assert "! 1 value of 'disease' differs from another" in said.out
    assert call(*words, "--fold", "space,case", cwd=tmp_path).code == 1


# The naive twin -------------------------------------------------------------------------------------------------------

LETTERS = st.sampled_from(
    ["a", "A", " ", "　", "é", "e\u0301", "ß", "ss", "\u200b", "１", "1", "Ａ", "\u00a0", "0", ".", "+", "-", ",000"]
)
TEXTS = st.lists(st.one_of(st.none(), st.lists(LETTERS, max_size=3).map("".join)), min_size=1, max_size=8)
INVISIBLE = dict.fromkeys([0x200B])


def _key(text: str, folds: set[str]) -> str:
    if "unicode" in folds:
        text = unicodedata.normalize("NFKC", text).translate(INVISIBLE)
    if "case" in folds:
        text = text.casefold()
    text = re.sub(r"\s+", " ", text).strip() if "space" in folds else text
    number = re.fullmatch(r"[+-]?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\.[0-9]*)?", text)
    return f"{Decimal(text.replace(',', '')).normalize():f}" if number and "number" in folds else text


@given(TEXTS, st.sets(st.sampled_from(FOLDS), min_size=1))
def test_folding_against_the_naive_twin(texts: list[str | None], folds: set[Any]) -> None:
    out = folded(Column.encode(pa.array(texts, pa.string())), folds).decode().to_pylist()
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            same = one == other if one is None or other is None else _key(one, folds) == _key(other, folds)
            assert (out[i] == out[j]) == same, (one, other)
    column = Column.encode(pa.array(texts, pa.string()))
    keys = {None if text is None else _key(text, set(FOLDS)) for text in texts}
    assert near_duplicates(column) == len(set(texts)) - len(keys)
