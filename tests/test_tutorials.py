"""The pages that take a newcomer by the hand are walked from top to bottom: files, commands and Python, in one folder each.

A `yaml` block whose first line is a comment with a file's name is that file. A line of `bash` that fails says so (`# exit 1`).
A `text` block shows what the commands before it said, or lines of it.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.command_line import Done, call

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```(python|bash|yaml|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ORIGINAL = re.compile(r"\A---\ntranslation_of: (\S+)\n")


def acts(page: Path) -> list[tuple[str, str]]:
    """What is to be done on a page."""
    return [one for one in BLOCK.findall(page.read_text(encoding="utf-8")) if one[0] != "text"]


def is_walked_elsewhere(page: Path) -> bool:
    """Whether a translation asks for exactly what its original asks for."""
    found = ORIGINAL.match(page.read_text(encoding="utf-8"))
    return found is not None and acts(page) == acts(DOCS / found[1])


ALL = sorted(page for room in ("start", "tutorials", "ja") for page in (DOCS / room).rglob("*.md"))
PAGES = [page for page in ALL if not is_walked_elsewhere(page)]


class Walk:
    """One page on its way."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {}
        self.said = ""

    def do(self, language: str, block: str) -> None:
        getattr(self, f"_{language}")(block)

    def _python(self, block: str) -> None:
        exec(compile(block, str(self.page.name), "exec"), self.names)

    def _yaml(self, block: str) -> None:
        named = re.match(r"# ([\w.-]+\.yaml)\n", block)
        if named:
            (self.folder / named[1]).write_text(block, encoding="utf-8")

    def _bash(self, block: str) -> None:
        self.said = ""
        for line in block.splitlines():
            command, _, wanted = line.partition("  # exit ")
            program, *words = shlex.split(command)
            words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
            done = _in_process(words, self.folder) if words[0] == "stream" else call(*words, cwd=self.folder)
            assert (program, done.code) == ("oboro", int(wanted or 0)), f"{line}: {done.err}"
            self.said += done.out + done.err
            if target:
                (self.folder / target).write_text(done.out, encoding="utf-8")

    def _text(self, block: str) -> None:
        for line in block.splitlines():
            assert line.strip() in self.said, f"{self.page.name}: {line!r} was not said: {self.said}"


def _in_process(words: list[str], folder: Path) -> Done:
    """A stream takes files and signals of a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "oboro", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return Done(ran.returncode, ran.stdout, ran.stderr)


def walked(page: Path, folder: Path) -> Walk:
    """A page from top to bottom."""
    walk = Walk(page, folder)
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        walk.do(language, block)
    return walk


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_page_can_be_walked(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk = walked(page, tmp_path)
    if page.parent.name == "tutorials" and page.stem != "index":
        shown = _drawing()
        assert f"({shown.PLACE.relative_to(DOCS).as_posix()}/{page.stem}.svg)" in page.read_text().replace("(../", "(")
        for name, drawn in shown.pictures(page.stem, walk.names).items():
            kept = (shown.PLACE / name).read_text(encoding="utf-8")
            assert drawn == kept, f"{name} shows something else: run `python docs/tutorial_pictures.py`"


def _drawing() -> ModuleType:
    """The module that draws what the tutorials show."""
    spec = importlib.util.spec_from_file_location("tutorial_pictures", DOCS / "tutorial_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
