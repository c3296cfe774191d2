"""JSON Schemas that say of each attribute what its docstring says: what stands below it in the source."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

__all__ = ["DocumentedSchema"]


class DocumentedSchema(GenerateJsonSchema):
    """Describes the attributes of models and dataclasses."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a model."""
        return _described(schema["cls"], super().model_schema(schema))

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a dataclass."""
        return _described(schema["cls"], super().dataclass_schema(schema))


def _described(cls: type, made: dict[str, Any]) -> dict[str, Any]:
    fields = getattr(cls, "model_fields", {})
    for name, said in _docstrings(cls).items():
        place = getattr(fields.get(name), "alias", None) or name
        if place in made.get("properties", {}):
            made["properties"][place].setdefault("description", said)
    return made


def _docstrings(cls: type) -> dict[str, str]:
    """What stands below each attribute, in the class or one above it; nothing of a class without source."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        if is_dataclass(one) or (issubclass(one, BaseModel) and one is not BaseModel):
            found |= _below_attributes(_definition(one))
    return found


def _definition(cls: type) -> ast.ClassDef | None:
    """The class in its source, which its module names, or else its methods (of a module that was loaded by hand)."""
    files = [getattr(sys.modules.get(cls.__module__), "__file__", None)]
    files += [one.__code__.co_filename for one in vars(cls).values() if inspect.isfunction(one)]
    for file in filter(None, files):
        for node in ast.walk(_parsed(file)):
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                return node
    return None


@cache
def _parsed(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


def _below_attributes(definition: ast.ClassDef | None) -> Iterator[tuple[str, str]]:
    for pair in pairwise(definition.body if definition else ()):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name, inspect.cleandoc(said)
