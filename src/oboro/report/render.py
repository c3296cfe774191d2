"""Rendering of a report as HTML: one page that loads nothing, or a small part of it for notebooks."""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from oboro._lazy import bring
from oboro.report.page import ShownSection
from oboro.report.sections.base import SECTIONS
from oboro.report.sections.overview import Banner, banner
from oboro.text import Message, say

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["render", "render_compact", "render_sections", "subtitle"]


def subtitle(report: Report) -> Message:
    """Return the size of the original and of the release; for a public report only of the release."""
    table = report.table
    if report.public:
        return Message("report.page.subtitle_public", rows=table.rows_after, columns=table.columns_after)
    return Message(
        "report.page.subtitle",
        rows_before=table.rows_before,
        rows_after=table.rows_after,
        columns_before=table.columns_before,
        columns_after=table.columns_after,
    )


# HTML -----------------------------------------------------------------------------------------------------------------


LONG_WORD = 24  # letters
WORDS = ("title", "table", "sections", "before", "after", "made_by", "no_advice")  # of the template itself


def render(report: Report) -> str:
    """The whole page."""
    return _page(report, SECTIONS.show(report), compact=False)


def render_compact(report: Report) -> str:
    """Render the verdict, the main figures and the guarantees for embedding in another page."""
    return _page(report, SECTIONS.show(report, brief=True), compact=True)


def _page(report: Report, shown: list[ShownSection], *, compact: bool) -> str:
    """All words are said here, in the reader's language."""
    lang = report.lang
    page = _template().render(
        report=report,
        banner=say(banner(report), lang),
        subtitle=say(subtitle(report), lang),
        sections=[say(one, lang) for one in shown],
        compact=compact,
        lang=lang,
        words={name: Message(f"report.page.{name}").say(lang) for name in WORDS},
        said=partial(say, lang=lang),
    )
    return str(page)


def render_sections(shown: list[ShownSection], head: Banner, line: Message, lang: str, title: Message) -> str:
    """A page of other sections than a report's."""
    words = {name: Message(f"report.page.{name}").say(lang) for name in WORDS} | {"title": title.say(lang)}
    page = _template().render(
        report=SimpleNamespace(versions={}),
        banner=say(head, lang),
        subtitle=line.say(lang),
        sections=[say(one, lang) for one in shown],
        compact=False,
        lang=lang,
        words=words,
        said=partial(say, lang=lang),
    )
    return str(page)


@cache
def _template() -> Any:
    """Everything that is put into the template is escaped there, once, except pictures: they come escaped."""
    jinja2 = bring("jinja2")
    source = files("oboro.report").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["long"] = _has_long_word
    return environment.from_string(source)


def _has_long_word(text: str) -> bool:
    """Whether a text may have to be broken inside a word to fit its column; Japanese breaks anywhere."""
    return max((len(word) for word in text.split() if word.isascii()), default=0) > LONG_WORD
