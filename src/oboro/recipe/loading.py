"""A recipe as text: YAML in which nothing may be said twice, and what is wrong with it in plain lines."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from oboro.errors import FileError, RecipeError

__all__ = ["complaints", "content_of", "text_of"]


def text_of(path: Path) -> str:
    """The text of a recipe's file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"{path}: cannot read the recipe: {reason}") from None


def content_of(text: str, name: str) -> dict[str, Any]:
    """What the text says, not yet checked; `name` is for messages."""
    try:
        content = yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        raise RecipeError(f"{name}: not valid YAML: {_yaml_complaint(error)}") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{name}: a recipe has `attributes:` and `steps:`, but this is {type(content).__name__}")
    return {str(key): value for key, value in content.items()}


def complaints(error: ValidationError, prefix: str = "") -> list[str]:
    """Pydantic's findings as lines: where, what is wrong, what came."""
    lines = []
    for found in error.errors(include_url=False):
        where = ".".join(str(part) for part in (prefix, *found["loc"]) if part != "")
        message = found["msg"].removeprefix("Value error, ")
        plain = isinstance(found["input"], str | int | float | bool | None.__class__)
        came = f" (got {found['input']!r})" if plain and found["type"] not in ("missing", "value_error") else ""
        lines.append(f"{where}: {message}{came}")
    return lines


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML in which naming the same key twice is an error: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} stands twice in the same place", key_node.start_mark
                )
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _yaml_complaint(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{getattr(error, 'problem', None) or 'it cannot be read'}{where}"
