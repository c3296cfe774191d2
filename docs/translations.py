"""Which Japanese pages are in step with their English ones.

A page below `ja/` says in its front matter whose translation it is (`translation_of`) and of which version (`digest`). Whoever changes an English page
changes its translation too and runs `python docs/translations.py`, or says `lags: true` there: then the page tells its readers.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

HERE = Path(__file__).parent
HEAD = re.compile(r"\A---\n(.*?)^---\n", re.MULTILINE | re.DOTALL)


def said(page: Path) -> dict[str, str]:
    """The front matter of a page."""
    found = HEAD.match(page.read_text(encoding="utf-8"))
    return dict(line.split(": ", 1) for line in found[1].splitlines()) if found else {}


def digest(page: Path) -> str:
    """A short name for what a page says now."""
    return hashlib.sha256(page.read_bytes()).hexdigest()[:12]


def translations() -> dict[Path, Path]:
    """Every translation, and the page that it follows."""
    pages = sorted((HERE / "ja").rglob("*.md"))
    return {page: HERE / said(page)["translation_of"] for page in pages if "translation_of" in said(page)}


def in_step(page: Path) -> bool:
    """Whether a page follows what its original says now."""
    return said(page).get("digest") == digest(translations()[page])


def main() -> None:
    """Note that all translations are in step, but for those that say that they lag."""
    for page, original in translations().items():
        if "lags" not in said(page):
            rest = HEAD.sub("", page.read_text(encoding="utf-8"))
            head = f"---\ntranslation_of: {original.relative_to(HERE).as_posix()}\ndigest: {digest(original)}\n---\n"
            page.write_text(head + rest, encoding="utf-8")


if __name__ == "__main__":
    main()
