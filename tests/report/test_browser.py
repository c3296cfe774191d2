"""The report in a real browser: nothing is loaded, nothing complains, nothing overlaps or runs off the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.report_cases import DRAWN, STREAM, demo

from oboro.report import Report

WIDTHS = {"desk": 1200, "tablet": 768, "phone": 375}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    report: Report = demo().model_copy(update={"stream": STREAM})
    folder = tmp_path_factory.mktemp("pages")
    made = {"owner": report, "public": report.to_public()}
    out = {}
    for name, one in made.items():
        for lang in ("en", "ja"):
            out[f"{name}-{lang}"] = folder / f"{name}-{lang}.html"
            one.to_html(out[f"{name}-{lang}"], lang=lang)
    return out


KINDS = [f"{version}-{lang}" for version in ("owner", "public") for lang in ("en", "ja")]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_complains(browser: Any, pages: dict[str, Path], kind: str) -> None:
    said, asked = [], []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[kind].as_uri())
    page.wait_for_load_state("networkidle")
    assert said == []
    assert asked == [pages[kind].as_uri()]
    assert page.evaluate("document.documentElement.lang") == kind.split("-")[1]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", list(WIDTHS.values()), ids=list(WIDTHS))
@pytest.mark.parametrize("kind", ["owner-en", "owner-ja"])
def test_nothing_runs_off_the_page(browser: Any, pages: dict[str, Path], kind: str, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(pages[kind].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """() => [...document.querySelectorAll('table, pre, figure, dl')]
             .filter(e => e.scrollWidth > e.parentElement.clientWidth + 1).map(e => e.innerText.slice(0, 60))"""
    )
    assert wide == []
    page.close()


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_not_empty_and_their_words_do_not_overlap(browser: Any, pages: dict[str, Path], kind: str) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(pages[kind].as_uri())
    found = page.evaluate(DRAWN)
    assert len(found) >= 5
    for picture in found:
        assert picture["marks"] > 0, picture["title"]
        assert picture["overlaps"] == [], picture["title"]
    page.close()


def test_it_prints(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(pages["owner-ja"].as_uri())
    page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 672, "height": 990})  # A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 672
    page.close()
