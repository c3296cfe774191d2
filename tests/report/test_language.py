"""The Japanese report: complete, and the same figures as in English."""

from __future__ import annotations

import re

import pytest
from tests.report.building import build, english_left
from tests.report.report_cases import STREAM, Page, demo, make, tables

from oboro.data.dataset import Dataset
from oboro.errors import UsageError
from oboro.report.report import Report
from oboro.verifier.table import verify


def reports() -> dict[str, Report]:
    original, released, _ = tables()
    broken = make(verify(released, quasi=["age", "sex"], k=7))
    return {
        "made": make(),
        "public": make().to_public(),
        "recipe": demo(),
        "broken": broken,
        "nothing promised": build(original, released, quasi=["age", "sex"], fraction=0.1, warnings=[]),
        "no roles": build(original, released, quasi=[]),
        "unpaired": make(paired=False),
        "stream": make(stream=STREAM, files={"input": {"path": "a.csv", "bytes": 3, "sha256": "0f"}}),
    }


@pytest.fixture(scope="module")
def all_reports() -> dict[str, Report]:
    return reports()


def test_the_japanese_page_has_no_english_left(all_reports: dict[str, Report]) -> None:
    """Outside of the recipe, the English notice, and names of columns, values, steps and parameters."""
    left = {name: english_left(report.for_laws("all")) for name, report in all_reports.items()}
    assert left == {name: set() for name in all_reports}


def test_the_figures_are_the_same_in_both_languages(all_reports: dict[str, Report]) -> None:
    def figures(page: str) -> list[str]:
        cells = re.findall(r'<td class="number[^"]*"[^>]*>(.*?)</td>', page, flags=re.DOTALL)
        return [re.sub(r"<small>.*?</small>|<[^>]+>", "", cell).strip() for cell in cells]

    report = all_reports["made"]
    english, japanese = (figures(report.to_html(lang=lang)) for lang in ("en", "ja"))
    numbers = [(a, b) for a, b in zip(english, japanese, strict=True) if re.fullmatch(r"[\d.,% <]+", a)]
    assert len(numbers) > 50
    assert all(a == b for a, b in numbers)


def test_columns_that_are_called_like_our_words_keep_their_names() -> None:
    table = Dataset.of({"risk": ["a", "b"] * 20, "mean": ["c"] * 40})
    page = Page(build(table, table, quasi=["risk"], attempts=0, statistics=False).to_html(lang="ja")).text
    assert "risk を知る攻撃者" in page
    assert "リスク を知る攻撃者" not in page


def test_the_page_says_its_language(all_reports: dict[str, Report]) -> None:
    assert '<html lang="ja">' in all_reports["made"].to_html(lang="ja")
    with pytest.raises(UsageError, match="lang"):
        all_reports["made"].to_html(lang="fr")
