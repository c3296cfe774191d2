"""A recipe that was taken over from another tool, with its hierarchy files and what could not be taken over."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oboro.recipe.loading import yaml_text
from oboro.recipe.recipe import Recipe
from oboro.system.atomic_file import atomic
from oboro.text import Message

__all__ = ["TakenOver", "file_of"]


@dataclass(frozen=True)
class TakenOver:
    """What another tool's files say, as a recipe with its hierarchy files, and what could not be taken over."""

    recipe: Recipe
    plain: dict[str, Any]
    hierarchies: dict[str, list[list[str]]] = field(repr=False)
    notes: tuple[Message, ...] = ()

    def to_yaml(self, lang: str = "en") -> str:
        """The recipe, with what could not be taken over as comments."""
        said = "".join(f"# {note.say(lang)}\n" for note in self.notes)
        return said + yaml_text(self.plain, 0)

    def write(self, folder: Path, lang: str = "en") -> Path:
        """Write `recipe.yaml` and its hierarchies into a folder; returns where the recipe is."""
        (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
        for name, rows in self.hierarchies.items():
            text = io.StringIO()
            csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
            _put(folder / "hierarchies" / file_of(name), text.getvalue())
        _put(folder / "recipe.yaml", self.to_yaml(lang))
        return folder / "recipe.yaml"


def _put(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode())


def file_of(name: str) -> str:
    """A file name for a column, whatever letters it has."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") + ".csv"
