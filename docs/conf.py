"""How the site is built: `make docs`. Pages are Markdown; the reference is written from the code while the site is built."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402

import oboro  # noqa: E402

project = "oboro 朧"
author = "The oboro founders"
copyright = "The oboro founders, Apache License 2.0"
version = release = oboro.__version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["_build", "README.md"]
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


def _language_of_page(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Pages below ja/ are in Japanese, for screen readers and for fonts."""
    context["language"] = "ja" if pagename.startswith("ja/") else "en"


def setup(app: Any) -> None:
    """Write the reference before anything is read."""
    app.connect("builder-inited", lambda app: reference.write(HERE / "reference"))
    app.connect("html-page-context", _language_of_page)
