"""The figures that the papers print, read from `published.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["published"]

FILE = Path(__file__).with_name("published.toml")


@cache
def published(paper: str) -> dict[Any, Any]:
    """One paper's figures; keys that are whole numbers are numbers."""
    tables: dict[Any, Any] = _numbered(tomllib.loads(FILE.read_text(encoding="utf-8"))[paper])
    return tables


def _numbered(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {int(key) if key.isdecimal() else key: _numbered(one) for key, one in value.items()}
