"""What is taken away from a session: the recipe as YAML, as a command and as a Python script. All three release the same bytes."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["TakenAway", "taken_away"]


@dataclass(frozen=True)
class TakenAway:
    """One recipe, written in three ways."""

    yaml: str
    command: str
    python: str


def taken_away(recipe: Recipe, data: str, recipe_path: str, output: str) -> TakenAway:
    """The YAML, the command that runs it from a file, and a script that needs no other file than the data."""
    text = recipe.to_yaml()
    words = ["oboro", "anonymize", data, "--recipe", recipe_path, "--output", output]
    python = "\n".join(
        [
            "import oboro",
            "",
            f"recipe = oboro.Recipe.parse({_literal(text)})",
            f"release = recipe.run({data!r})",
            f"release.write({output!r})",
            "",
        ]
    )
    return TakenAway(text, shlex.join(words), python)


def _literal(text: str) -> str:
    """Text as Python writes it, line by line where that is the same text."""
    marks = '"""'
    readable = marks not in text and "\\" not in text and text.isprintable() is False and not text.endswith('"')
    if readable and all(line.isprintable() for line in text.split("\n")):
        return f"{marks}\\\n{text}{marks}"
    return repr(text)
