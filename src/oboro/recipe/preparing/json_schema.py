"""The JSON Schema of recipes, for editors that check and complete YAML."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from oboro.table.parameters.documented_schema import DocumentedSchema
from oboro.techniques import TECHNIQUES

__all__ = ["json_schema"]


def _shape() -> dict[str, Any]:
    """`Recipe` with steps of any kind."""
    from oboro.recipe.recipe import Recipe  # which asks this module when somebody wants the schema

    fields = {
        name: (list[Any] if name == "steps" else one.annotation, one) for name, one in Recipe.model_fields.items()
    }
    shape: type[BaseModel] = create_model("Recipe", __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
    return shape.model_json_schema(schema_generator=DocumentedSchema)


def json_schema() -> dict[str, Any]:
    """A recipe, with every step and its parameters."""
    definitions: dict[str, Any] = {}
    steps = [_step(name, definitions) for name in TECHNIQUES]
    names = {"type": "string", "enum": list(TECHNIQUES), "description": "a step without parameters"}
    schema = _shape()
    schema["properties"]["steps"]["items"] = {"anyOf": [*steps, names]}
    schema["$defs"] = {**schema.get("$defs", {}), **definitions}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "oboro recipe"}


def _step(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    parameters = TECHNIQUES[name].model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(parameters.pop("$defs", {}))
    summary = (TECHNIQUES[name].__doc__ or "").strip().splitlines()[0]
    parameters["description"] = summary
    return {
        "type": "object",
        "properties": {name: {"anyOf": [parameters, {"type": "null"}]}},
        "required": [name],
        "additionalProperties": False,
        "description": summary,
    }
