"""JSON Schemas that say of each attribute what its docstring says: what stands below it in the source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
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
            try:
                source = textwrap.dedent(inspect.getsource(one))
            except (OSError, TypeError):
                continue
            found |= _below_attributes(ast.parse(source).body[0])
    return found


def _below_attributes(body: Any) -> Iterator[tuple[str, str]]:
    for pair in pairwise(body.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name, inspect.cleandoc(said)
