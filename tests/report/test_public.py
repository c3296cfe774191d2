"""The public report: nothing that helps to undo the processing; every part decided, with a reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oboro
from oboro.recipe.release import Release
from oboro.report.report import Report

SEED = 918273645
RARE = ("Kuru disease", "Zzyzx-9", "31415926")


@pytest.fixture(scope="module")
def release() -> Release:
    """People with rare values everywhere: an age of 116, a job and an illness that one person has, a huge income."""
    rng = np.random.default_rng(0)
    rows = 300
    table: dict[str, list[Any]] = {
        "name": [f"Person {i}" for i in range(rows)],
        "age": [int(a) for a in rng.integers(20, 70, rows - 1)] + [116],
        "job": [str(j) for j in rng.choice(["cook", "clerk", "nurse"], rows - 1)] + ["Zzyzx-9"],
        "illness": [str(j) for j in rng.choice(["flu", "cold"], rows - 1)] + ["Kuru disease"],
        "income": [int(v) for v in rng.integers(100, 200, rows - 1)] + [31415926],
    }
    return oboro.Recipe.parse(_recipe()).run(table)


def _recipe() -> str:
    return f"""
attributes:
  name: {{role: identifier}}
  age: {{role: quasi, hierarchy: {{intervals: [10, 50]}}}}
  job: {{role: quasi}}
  illness: {{role: sensitive}}
  income: {{role: other}}
steps:
  - drop_columns: {{attributes: [name]}}
  - top_code: {{attribute: income, at: 31415}}
  - k_anonymize: {{k: 5, suppress: 0.1}}
  - shuffle: {{}}
seed: {SEED}
accept: {{unique_on: [income], because: the register is public}}
"""


def everything(report: Report) -> str:
    pages = [report.to_html(), report.to_html(lang="ja")]
    return "\n".join([*pages, json.dumps(report.as_dict(), ensure_ascii=False), report.summary()])


def test_neither_the_seed_nor_rare_values_are_public(release: Release) -> None:
    public = everything(release.report.to_public())
    assert str(SEED) not in public
    assert "31415" not in public  # the threshold of the top coding
    for value in (*RARE, "Person 7"):
        assert value not in public, value
    assert not re.search(r"\b116\b", re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", public, flags=re.DOTALL))  # an age


def test_not_even_the_owner_reads_rare_values(release: Release) -> None:
    owner = everything(release.report)
    assert str(SEED) in owner  # the recipe
    for value in ("Kuru disease", "Zzyzx-9", "Person 7", "31415926"):
        assert value not in owner, value


def test_the_documentation_decides_on_every_part_of_a_report() -> None:
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
    decided = dict(re.findall(r"^\| `(\w+)` \| ([^|]+ \| [^|]+) \|$", page, flags=re.MULTILINE))
    assert set(Report.model_fields) - {"public"} <= set(decided)


def test_decisions_are_carried_out(release: Release) -> None:
    public = release.report.model_copy(
        update={"files": {"input": {"sha256": "aa"}, "output": {"sha256": "bb"}}, "stream": [{"seconds": 1}]}
    ).to_public()
    assert public.public
    assert public.files == {"output": {"sha256": "bb"}}
    assert (public.risk_before, public.special, public.pairs, public.recipe, public.seeded) == (
        None,
        None,
        None,
        "",
        None,
    )
    assert (public.stream, public.warnings, public.table.dropped) == ([], [], [])
    assert public.table.rows_before == public.table.rows_after
    assert all(not one.columns and not one.note and one.secret is None for one in public.attacks)
    assert all(one.distinct_before is None and one.missing_before is None for one in public.columns)
    bars = [bar for one in public.columns if one.distribution for bar in one.distribution.bars]
    assert bars
    assert all(bar.before is None for bar in bars)
    assert all(step["facts"] == {} and "changed" not in step for step in public.steps)
    assert all(one.column is None for one in public.utility)
    assert [one.key for one in public.checklists] == ["appi", "iso"]
    assert list(public.versions) in (["oboro"], [])


def test_the_page_of_the_public_says_what_it_is(release: Release) -> None:
    public = release.report.for_laws("all").to_public()
    page = public.to_html()
    assert "public version" in page
    assert "公開版" in public.to_html(lang="ja")
    assert "5-anonymity" in page
    assert "匿名加工情報の作成及び第三者提供に関する公表" in page


def test_figures_that_anybody_can_compute_stay(release: Release) -> None:
    owner, public = release.report, release.report.to_public()
    assert public.risk == owner.risk
    assert public.verification == owner.verification
    assert public.holds is True


def test_what_was_accepted_stands_in_both_versions(release: Release) -> None:
    """The columns and the reason; how many people that concerns is for the owner."""
    owner, public = release.report, release.report.to_public()
    assert owner.exposed is not None
    assert public.exposed is not None
    (said,), (told,) = owner.exposed.accepted, public.exposed.accepted
    assert said.people == owner.exposed.taken > 0
    assert (told.columns, told.because, told.people) == (("income",), "the register is public", None)
    for report in (owner, public):
        for lang in ("en", "ja"):
            page = report.to_html(lang=lang)
            assert re.search(r"income</td>\s*<td[^>]*>\s*the register is public", page), (report.public, lang)
    assert "People may be unique by income, which is accepted: the register is public." in public.summary()


def test_the_last_look_has_its_place(release: Release) -> None:
    assert release.report.last_look == release.last_look
    assert Report.model_validate(release.report.as_dict()).last_look == release.last_look
    assert "Looked at together: income. Unique by them: " in release.report.to_html()
    assert release.report.to_public().last_look is None
