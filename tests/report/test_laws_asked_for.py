"""A page has the checklists of the laws that were asked for, or those of its language, and a place to sign."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import oboro.report.checklists
from oboro.errors import OboroError
from oboro.recipe.recipe import Recipe
from oboro.report.checklists.base import LAWS


def test_checklists_are_those_of_the_laws_asked_for_and_a_report_is_signed() -> None:
    table = {"age": [31, 32, 33, 34] * 3, "disease": ["flu", "cold", "flu", "ache"] * 3}
    recipe = Recipe.parse(
        "attributes: {age: {role: quasi, hierarchy: {intervals: [10]}}, disease: {role: sensitive}}\n"
        "steps: [{k_anonymize: {k: 3}}]"
    )
    report = recipe.run(table).report
    assert [one.key for one in report.for_laws(["gdpr", "appi_public"]).checklists] == ["wp216", "appi_public"]
    assert [one.key for one in report.for_laws(["appi_pseudonym"]).checklists[0].items] == ["31-1", "31-2", "31-3"]
    with pytest.raises(OboroError, match="there is no checklist of 'moon'"):
        report.for_laws(["moon"])
    signed = report.signed(made_by="山田", made_for="大学", purpose="研究", made_on="2026-11-16")
    assert signed.as_dict()["signature"] == {
        "made_on": "2026-11-16",
        "made_by": "山田",
        "made_for": "大学",
        "purpose": "研究",
    }
    owner, public = signed.to_html(lang="ja"), signed.to_public().to_html(lang="ja")
    assert all(text in owner for text in ("作成日", "2026-11-16", "山田", "大学", "研究", "署名欄"))
    assert not any(text in public for text in ("山田", "大学", "署名欄"))
    assert "研究" in public


def test_a_page_shows_the_laws_of_its_language_and_a_place_to_sign() -> None:
    report = (
        Recipe.parse("attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]").run({"age": [1, 1]}).report
    )
    shown = {lang: [one.key for one in report.in_language(lang).shown_checklists] for lang in ("en", "ja")}
    assert shown == {"en": ["wp216", "hipaa"], "ja": ["appi"]}
    assert [one.key for one in report.checklists] == ["appi", "hipaa", "wp216", "iso"]
    assert [one.key for one in report.for_laws("all").in_language("ja").shown_checklists] == list(LAWS)
    japanese, public = report.to_html(lang="ja"), report.to_public().to_html(lang="ja")
    assert "個人情報" in japanese
    assert not any(name in japanese for name in ("HIPAA", "WP216", "ISO/IEC 20889"))
    today = report.as_dict()["signature"]["made_on"]
    assert date.fromisoformat(today) <= date.today()
    assert today in japanese
    assert japanese.count("_" * 24) == 4  # who, for whom, why, and the place to sign
    assert today in public
    assert "_" * 24 not in public


def test_the_order_of_laws_names_every_file_with_a_law() -> None:
    folder = Path(oboro.report.checklists.__file__).parent
    files = {path.stem for path in folder.glob("*.py") if "\nLAW = " in path.read_text()}
    assert set(LAWS.order) == files
    assert len(LAWS.order) == len(files)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_help_of_the_option_names_every_law(lang: str) -> None:
    with (files("oboro.text") / lang / "help.toml").open("rb") as file:
        said = tomllib.load(file)
    texts = [one["law"] for one in walk(said) if "law" in one]
    asked = [law.names[0] if law.names else key for key, law in LAWS.items()]
    assert texts
    for text in texts:
        places = [re.search(rf"\b{name}\b", text, re.A) for name in [*asked, "all"]]
        assert all(places), text


def walk(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield table
    for one in table.values():
        if isinstance(one, dict):
            yield from walk(one)
