"""The site: it builds without a warning, names everything that is public, and its Japanese pages are in step."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer.main

import oboro
from oboro.cli.all_commands import app
from oboro.techniques import TECHNIQUES

DOCS = Path(__file__).parent.parent / "docs"
pytest.importorskip("sphinx", reason="the site is not built here: install oboro[docs]")


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built as `make docs` builds it: a warning (of a link that leads nowhere, too) is an error."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_public_name_has_its_place(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in oboro.__all__ if f'id="py-{name.lower().replace("_", "-")}"' not in page] == []


def test_every_step_and_every_option_has_its_place(site: Path) -> None:
    steps = (site / "reference" / "steps.html").read_text(encoding="utf-8")
    assert [step for step in TECHNIQUES if f"<h2>{step}<" not in steps] == []
    for name in ("commands", "commands_ja"):
        page = re.sub(r"<[^>]+>", "", (site / "reference" / f"{name}.html").read_text(encoding="utf-8"))
        group = typer.main.get_command(app)
        options = [one for command in group.commands.values() for param in command.params for one in param.opts]  # type: ignore[attr-defined]
        assert [one for one in options if one.startswith("--") and one not in page] == []


def test_the_manual_page_has_the_options_that_there_are() -> None:
    manual = module("manual")
    assert manual.page() == manual.PAGE.read_text(encoding="utf-8"), "docs/oboro.1 is out of date: run `make manual`"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = re.findall(
            r'(?:src|href)="(https?:[^"]+\.(?:js|css|png|svg|woff2?))"', page.read_text(encoding="utf-8")
        )
        assert found == [], page


def test_every_link_and_every_anchor_leads_somewhere(site: Path) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    places = {page: {unescape(one) for one in re.findall(r'\bid="([^"]+)"', text)} for page, text in texts.items()}
    for page, text in texts.items():
        for link in {*re.findall(r'\b(?:href|src)="([^"]+)"', text)}:
            parts = urlsplit(unescape(link))
            if parts.scheme:
                continue  # of others, which may not be asked here
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert there.exists(), (page.name, link)
            if parts.fragment and there in places:
                assert unquote(parts.fragment) in places[there], (page.name, link)


@pytest.mark.parametrize("page", sorted((DOCS / "ja").rglob("*.md")), ids=lambda page: page.name)
def test_a_japanese_page_is_in_step_or_says_that_it_lags(page: Path) -> None:
    pages = module("translations")
    if page in pages.translations():
        assert pages.in_step(page) or "lags" in pages.said(page), (
            f"{pages.translations()[page].name} has changed: change {page.name} too and run"
            f" `python docs/translations.py {page.stem}`, or say `lags: true` in its front matter"
        )


@pytest.mark.parametrize("name", ["ja/index", "ja/how-to", "reference/commands_ja"])
def test_the_navigation_of_a_japanese_page_is_japanese(site: Path, name: str) -> None:
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    assert 'lang="ja"' in page[:200]
    tree = page.split('<div class="sidebar-tree">')[1].split("</aside>")[0]
    assert "はじめかた" in tree
    words = [word for word in re.findall(r">([^<>]+)<", tree) if word.strip()]
    assert [word for word in words if word.isascii()] == ["English"]
    for said in ("Search", "On this page", "Next", "Previous", "Skip to content", "Back to top", "Toggle"):
        assert f">{said}<" not in page
        assert f'="{said}' not in page


EVERY_READER = (
    "index", "start/install", "start/first-release", "tutorials/hospital-visits", "explanation/k-anonymity",
    "reference/figures", "guarantees/risk", "glossary", "ja/index", "ja/how-to",
)  # fmt: skip


def test_everybody_can_use_the_pages(site: Path, browser: Any) -> None:
    """Ten pages of every kind: axe finds nothing, and nothing is wider than a phone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for name in EVERY_READER:
        page.goto((site / f"{name}.html").as_uri())
        found = axe.run(page).response["violations"]
        assert [(name, one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    page.close()


def test_every_translation_of_a_tutorial_is_there(site: Path) -> None:
    tutorials = {page.name for page in (DOCS / "tutorials").glob("*.md")} - {"index.md"}
    assert tutorials <= {page.name for page in (DOCS / "ja").glob("*.md")}
