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
    """Pages below ja/ are in Japanese, for screen readers and for fonts."""
    context["language"] = "ja" if pagename.startswith("ja/") else "en"


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
        for old, new in FOR_EVERYBODY.items():
            text = text.replace(old, new)
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Write the reference before anything is read."""
    app.connect("builder-inited", lambda app: reference.write(HERE / "reference"))
    app.connect("source-read", _as_on_the_site)
    app.connect("include-read", lambda app, path, parent, source: _included(source))
    app.connect("html-page-context", _language_of_page)
    app.connect("build-finished", _for_everybody)
