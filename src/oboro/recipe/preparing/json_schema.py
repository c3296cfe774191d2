"""The JSON Schema of recipes, for editors that check and complete YAML."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from oboro.table.schema import Attribute
from oboro.techniques import TECHNIQUES

__all__ = ["json_schema"]


class _RecipeShape(BaseModel):
    """`Recipe` without its step objects, for the JSON Schema."""

    model_config = ConfigDict(extra="forbid")

    person: str | None = Field(
        None,
        min_length=1,
        description="the column that says whose a row is; every promise then counts people, not rows",
    )
    attributes: dict[str, Attribute] = Field(description="what each column of the table is")
    steps: list[Any] = Field(description="what is done to the table, in this order")
    seed: int | None = Field(None, ge=0, description="makes every random choice repeatable")
    unnamed: Literal["error", "drop", "other"] = Field("error", description="what happens to columns not named here")


def json_schema() -> dict[str, Any]:
    """A recipe, with every step and its parameters."""
    definitions: dict[str, Any] = {}
    steps = [_step(name, definitions) for name in TECHNIQUES]
    names = {"type": "string", "enum": list(TECHNIQUES), "description": "a step without parameters"}
    schema = _RecipeShape.model_json_schema()
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
