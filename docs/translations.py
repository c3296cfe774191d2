"""Which Japanese pages are in step with their English ones.

A page below `ja/` says in its front matter whose translation it is (`translation_of`) and of which version (`digest`). Whoever
changes an English page changes its translation too and runs `python docs/translations.py start survey`, with the names of the
translated pages; or says `lags: true` there: then the page tells its readers. Without names it lists the pages that lag.
"""

from __future__ import annotations

import hashlib
import re
import sys
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


def note(page: Path) -> None:
    """Say in a page that it follows what its original says now."""
    original = translations()[page]
    rest = HEAD.sub("", page.read_text(encoding="utf-8"))
    head = f"---\ntranslation_of: {original.relative_to(HERE).as_posix()}\ndigest: {digest(original)}\n---\n"
    page.write_text(head + rest, encoding="utf-8")


def main(names: list[str]) -> None:
    """Note that the named pages are in step; without names, list those that are not."""
    pages = {page.stem: page for page in translations()}
    for name in names:
        note(pages[Path(name).stem])
    for page in pages.values():
        if not in_step(page):
            print(f"{page.relative_to(HERE)} lags behind {translations()[page].relative_to(HERE)}")


if __name__ == "__main__":
    main(sys.argv[1:])
