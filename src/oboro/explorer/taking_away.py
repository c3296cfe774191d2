"""What is taken away from a session: the recipe as YAML, as a command, as a script, as a notebook and as a job of a CI service.

All of them release the same bytes where the recipe has a seed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["TakenAway", "reading_options", "taken_away"]

SWITCHES = {"header": ("--header", "--no-header")}


class TakenAway(NamedTuple):
    """One recipe, written in several ways."""

    yaml: str
    command: str
    cells: tuple[str, ...]
    """The script, part by part."""
    output: str
    """The file that it writes."""

    @property
    def python(self) -> str:
        """A script that needs no other file than the data."""
        first, *others = self.cells
        return "\n".join([first, "", *others, ""])

    @property
    def notebook(self) -> str:
        """The script as a notebook of Jupyter."""
        content = {
            "cells": [_cell(number, part) for number, part in enumerate((*self.cells, "release"))],
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    @property
    def ci_job(self) -> str:
        """A job for GitHub's service that runs the command and hands over the release; data and recipe are in the repository."""
        steps = [
            "      - uses: actions/checkout@v5",
            "      - uses: actions/setup-python@v6",
            '        with: {python-version: "3.13"}',
            "      - run: python -m pip install oboro",
            f"      - run: {json.dumps(self.command, ensure_ascii=False)}",
            "      - uses: actions/upload-artifact@v4",
            f"        with: {{name: release, path: {json.dumps(self.output, ensure_ascii=False)}}}",
        ]
        head = ["name: anonymize", "on: [workflow_dispatch]", "permissions: {contents: read}", "jobs:", "  release:"]
        return "\n".join([*head, "    runs-on: ubuntu-latest", "    steps:", *steps, ""])


def taken_away(
    recipe: Recipe, data: str, recipe_path: str, output: str, reading: Mapping[str, Any] | None = None
) -> TakenAway:
    """The YAML, the command that runs it from a file, and a script that needs no other file than the data."""
    text = recipe.to_yaml()
    held = {name: value for name, value in (reading or {}).items() if value is not None}
    words = ["oboro", "anonymize", data, "--recipe", recipe_path, "--output", output, *reading_options(held)]
    how = f", reading={held!r}" if held else ""
    cells = (
        "import oboro",
        f"recipe = oboro.Recipe.parse({_literal(text)})",
        f"release = recipe.run({data!r}{how})",
        f"release.write({output!r})",
    )
    return TakenAway(text, shlex.join(words), cells, output)


def reading_options(reading: Mapping[str, Any]) -> list[str]:
    """How a file is read, as options of a command.

    >>> reading_options({"encoding": "cp932", "header": False, "header_row": 3})
    ['--encoding', 'cp932', '--no-header', '--header-row', '3']
    """
    words: list[str] = []
    for name, value in reading.items():
        if name in SWITCHES:
            words += [] if value else [SWITCHES[name][1]]
        elif value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _cell(number: int, source: str) -> dict[str, Any]:
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "id": f"cell{number}",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": lines,
    }


def _literal(text: str) -> str:
    """Text as Python writes it, line by line where that is the same text."""
    marks = '"""'
    readable = marks not in text and "\\" not in text and text.isprintable() is False and not text.endswith('"')
    if readable and all(line.isprintable() for line in text.split("\n")):
        return f"{marks}\\\n{text}{marks}"
    return repr(text)
