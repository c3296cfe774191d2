"""Prepared page of `oboro --help`, read from a file: printed at once, since typer and rich take longer to load.

python -m oboro.cli.prepared_help     writes the pages again; a test reports when they are out of date
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import get_terminal_size

from oboro.cli.language import choose
from oboro.text import LANGUAGES

__all__ = ["made_help", "prepared_help"]


WIDTH = 80


def prepared_help(arguments: Sequence[str]) -> str | None:
    """The page, if it is asked for and there is room for it."""
    if not {"--help", "-h"} & set(arguments):
        return None
    words = " ".join(word for word in arguments if word not in ("--help", "-h"))
    if not re.fullmatch(r"(--lang[ =]\S+)?", words) or get_terminal_size((WIDTH, 24)).columns < WIDTH:
        return None
    return _file(choose(arguments)).read_text(encoding="utf-8")


def _file(lang: str) -> Path:
    return Path(__file__).with_name(f"oboro_help.{lang}.txt")


def made_help(lang: str) -> str:
    """The page as typer makes it."""
    from oboro.cli.all_commands import app

    os.environ.update(COLUMNS=str(WIDTH), NO_COLOR="1")
    page = StringIO()
    with redirect_stdout(page):
        app(["--help", "--lang", lang], standalone_mode=False, prog_name="oboro")
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


if __name__ == "__main__":
    for lang in LANGUAGES:
        _file(lang).write_text(made_help(lang), encoding="utf-8")
        print(_file(lang), file=sys.stderr)
