"""The pages of what is promised: one table leads to all of them, and every test and figure that they name is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "guarantees").glob("*.md"))
TABLE = (ROOT / "docs" / "guarantees" / "README.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_table() -> None:
    linked = set(re.findall(r"\]\(([a-z-]+\.md)[#)]", TABLE))
    assert linked == {page.name for page in PAGES} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:tests|benchmarks)/[\w/.-]+\.(?:py|json)", text))
    lacking = [name for name in named if not (ROOT / name).is_file()]
    assert not lacking
    for link in re.findall(r"\]\(([^)#]+\.md)", text):
        assert (page.parent / link).is_file(), link


def test_every_row_says_what_is_not_promised() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("|") and "---" not in line]
    assert len(rows) > 15
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 5, row
        assert all(cells), row


def test_measured_rates_are_those_of_the_benchmark() -> None:
    """A figure in the table is one that was measured, and every promise of 1/k holds within its interval."""
    measured = json.loads((ROOT / "benchmarks" / "results" / "attack_rates.json").read_text())
    shares = {f"{100 * one['share']:.1f} %" for one in measured["rows"]}
    told = re.findall(r"([0-9.]+ %)[^|¹]*?\[¹\]", TABLE)
    assert told
    assert set(told) <= shares | {f"{100 * (one['high'] - one['low']) / 2:.1f} %" for one in measured["rows"]} | {
        "20 %"
    }
    for one in measured["rows"]:
        if one["attack"] in ("record_linkage", "medoid", "rerun") and "identity" not in one["method"]:
            assert one["low"] <= measured["blind"], one
