"""How the site is built: `make docs`. Pages are Markdown; the reference is written from the code while the site is built."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402
import translations  # noqa: E402

import oboro  # noqa: E402

project = "oboro 朧"
author = "The oboro founders"
copyright = "The oboro founders, Apache License 2.0"
version = release = oboro.__version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline", "dollarmath"]
myst_heading_anchors = 4
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = "oboro 朧"
html_static_path = ["site"]
html_css_files = ["oboro.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options: dict[str, Any] = {"source_edit_link": "", "top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
language = "en"


BESIDE = {"../SECURITY.md": "security.md", "../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md"}


def _as_on_the_site(app: Any, docname: str, source: list[str]) -> None:
    """Pages that stand beside `docs/` are pages of the site; a README lists the pages of its folder."""
    depth = "../" * docname.count("/")
    for there, here in BESIDE.items():
        source[0] = source[0].replace(f"({depth}{there}", f"({depth}{here}")
    if docname.startswith("ja/") and "lags" in translations.said(HERE / f"{docname}.md"):
        source[0] += "\n:::{note}\n英語版のほうが新しいページです。\n:::\n"
    if docname.endswith("/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def _included(source: list[str]) -> None:
    """A file from the root of the project names its neighbours from there."""
    source[0] = source[0].replace("(docs/", "(")
    for there, here in BESIDE.items():
        source[0] = source[0].replace(f"({there.removeprefix('../')}", f"({here}")


def _language_of_page(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Japanese pages say so, for screen readers and for fonts, and their navigation leads to the other Japanese pages."""
    japanese = pagename.startswith("ja/") or pagename.endswith("_ja")
    context["language"] = "ja" if japanese else "en"
    tree = context.get("furo_navigation_tree", "")
    if japanese and (at := tree.find(CAPTION, tree.find(">日本語<") - 100)) >= 0:
        home = f'<ul><li class="toctree-l1"><a class="reference internal" href="{context["pathto"]("index")}">English</a></li></ul>'
        context["furo_navigation_tree"] = tree[at:] + home


CAPTION = '<p class="caption"'
IN_JAPANESE = {  # what the theme says around a page
    'placeholder="Search" name="q" aria-label="Search"': 'placeholder="検索" name="q" aria-label="検索"',
    'title="Search"': 'title="検索"',
    'title="Index"': 'title="索引"',
    "<span>Next</span>": "<span>次へ</span>",
    "<span>Previous</span>": "<span>前へ</span>",
    '<div class="title">Home</div>': '<div class="title">トップ</div>',
    "<span>Back to top</span>": "<span>先頭へ</span>",
    "Skip to content": "本文へ移動",
    "On this page": "このページの内容",
    'aria-label="Toggle site navigation sidebar"': 'aria-label="ページ一覧の表示"',
    'aria-label="Toggle table of contents sidebar"': 'aria-label="目次の表示"',
    'aria-label="Toggle Light / Dark / Auto color theme"': 'aria-label="明るい・暗い・自動の配色"',
    'aria-label="Toggle navigation of 日本語"': 'aria-label="日本語のページの一覧"',
    'aria-label="All pages"': 'aria-label="ページ一覧"',
    'aria-label="This page"': 'aria-label="このページ"',
}


FOR_EVERYBODY = {  # what the theme leaves out for people who use a keyboard or a screen reader
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<th class="head"><p></p></th>': '<td class="head"></td>',  # a heading that says nothing is none
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}


def _for_everybody(app: Any, error: Exception | None) -> None:
    for page in Path(app.outdir).rglob("*.html") if error is None and app.builder.name == "html" else ():
        text = page.read_text(encoding="utf-8")
        japanese = IN_JAPANESE if ' lang="ja"' in text[:200] else {}
        for old, new in (*FOR_EVERYBODY.items(), *japanese.items()):
            text = text.replace(old, new)
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Write the reference before anything is read."""
    app.connect("builder-inited", lambda app: reference.write(HERE / "reference"))
    app.connect("source-read", _as_on_the_site)
    app.connect("include-read", lambda app, path, parent, source: _included(source))
    app.connect("html-page-context", _language_of_page, priority=900)  # after the theme
    app.connect("build-finished", _for_everybody)
