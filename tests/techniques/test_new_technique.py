"""A technique that this package does not know: the one of CONTRIBUTING.md, from its text to the report."""

from __future__ import annotations

import html
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import oboro
from oboro.errors import UsageError
from oboro.techniques import TECHNIQUES, Technique, register
from oboro.techniques.checks import check, subjects

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
PEOPLE = {"name": ["Ann", "Abe", "Bob", "Ben", None, None], "age": [31, 32, 33, 34, 34, 33]}
PLAN = {"en": "Keep only the first 1 letter of 'name'", "ja": "name の先頭 1 文字だけを残します"}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The two examples as a module, registered as long as these tests run."""
    section = CONTRIBUTING.read_text(encoding="utf-8").partition("## Add a technique")[2]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    path = tmp_path_factory.mktemp("contributed") / "initials.py"
    path.write_text("\n".join(blocks), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("initials", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del TECHNIQUES["initials"]


@pytest.fixture(scope="module")
def recipe(shown: ModuleType) -> oboro.Recipe:
    roles = {"name": {"role": "other"}, "age": {"role": "quasi", "hierarchy": {"intervals": [5]}}}
    return oboro.Recipe(
        attributes=roles, steps=[{"initials": {"attribute": "name"}}, {"k_anonymize": {"k": 2}}], seed=1, order="kept"
    )


def test_it_runs_and_explains_itself(recipe: oboro.Recipe) -> None:
    release = recipe.run(PEOPLE)
    assert release.data["name"] == ["A", "A", "B", "B", None, None]
    for lang, plan in PLAN.items():
        assert plan in recipe.explain(lang)
        assert plan in release.explain(lang)
    assert recipe.parse(recipe.to_yaml()) == recipe


def test_the_common_checks_find_it(shown: ModuleType) -> None:
    mine = [technique for technique in subjects() if technique.step == "initials"]
    assert len(mine) == 2
    for technique in mine:
        check(technique)


def test_editors_know_it(shown: ModuleType) -> None:
    schema = oboro.Recipe.json_schema()
    steps = schema["properties"]["steps"]["items"]["anyOf"]
    (mine,) = (step for step in steps if "initials" in step.get("properties", {}))
    parameters = mine["properties"]["initials"]["anyOf"][0]
    assert parameters["properties"]["letters"]["description"] == "How many letters to keep."
    assert mine["description"].startswith("Keep only the first letters of a text")


@pytest.mark.parametrize(("lang", "iso"), [("en", "Generalization techniques"), ("ja", "一般化技術")])
def test_the_report_says_what_it_is_in_both_languages(recipe: oboro.Recipe, lang: str, iso: str) -> None:
    report = recipe.run(PEOPLE).report.for_laws("all")
    page = html.unescape(report.to_html(lang=lang))
    assert PLAN[lang] in page
    checklist = page[page.index("ISO/IEC 20889") :]
    assert iso in checklist
    public = html.unescape(report.to_public().to_html(lang=lang))
    assert iso in public
    assert PLAN[lang] not in public


def test_a_name_is_taken_once(shown: ModuleType) -> None:
    assert register(shown.Initials) is TECHNIQUES["initials"]
    with pytest.raises(UsageError, match="initials: there is a technique of this name"):
        register(type("Other", (Technique,), {"step": "initials"}))
