"""The report in a real browser: nothing is loaded, nothing complains, nothing overlaps or runs off the page."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.report.report_cases import DRAWN, STREAM, demo

from oboro.report.report import Report

WIDTHS = (1200, 768, 375)  # a desk, a tablet, a phone
TOO_WIDE = """() => [...document.querySelectorAll('table, pre, figure, dl')]
  .filter(e => e.scrollWidth > e.parentElement.clientWidth + 1).map(e => e.innerText.slice(0, 60))"""


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
def test_nothing_is_loaded_complains_overlaps_or_runs_off(browser: Any, pages: dict[str, Path], kind: str) -> None:
    """All of it on one page that is opened once: to open one takes far longer than to look at it."""
    said, asked = [], []
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[kind].as_uri())
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.lang") == kind.split("-")[1]
    found = page.evaluate(DRAWN)
    assert len(found) >= 5
    for picture in found:
        assert picture["marks"] > 0, picture["title"]
        assert picture["overlaps"] == [], picture["title"]
    for scheme, width in product(("light", "dark"), WIDTHS):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(TOO_WIDE) == []
    assert said == []
    assert asked == [pages[kind].as_uri()]
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
