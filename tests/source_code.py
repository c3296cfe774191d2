"""What the project's own files say, for tests that read them: each file is parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "SOURCE", "nodes", "tree"]

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "oboro"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))
