"""Text of recipes: strict YAML without duplicate keys, its errors in plain lines, and the JSON Schema."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, create_model

from oboro.data.parameters import MOST_NODES, DocumentedSchema, written_out
from oboro.errors import FileError, RecipeError
from oboro.system.files import settings_of
from oboro.techniques import TECHNIQUES
from oboro.text import Message
from oboro.text.language import os_reason
from oboro.text.printable import is_printable_yaml

__all__ = ["content_of", "json_schema", "text_of", "yaml_text"]


YAML_SAYS = {  # what is said most often; the rest stays as the reader of YAML says it
    "mapping values are not allowed here": Message("error_recipe.yaml.colon"),
    "could not find expected ':'": Message("error_recipe.yaml.no_colon"),
    "found character '\\t' that cannot start any token": Message("error_recipe.yaml.tab"),
    "found unexpected end of stream": Message("error_recipe.yaml.open_quote"),
    "expected <block end>, but found '<block mapping start>'": Message("error_recipe.yaml.indent"),
    "expected <block end>, but found '-'": Message("error_recipe.yaml.dash"),
    "expected ',' or '}', but got '<stream end>'": Message("error_recipe.yaml.open_brace"),
    "expected ',' or ']', but got '<stream end>'": Message("error_recipe.yaml.open_bracket"),
}


def text_of(path: Path, unreadable: str = "error_recipe.unreadable") -> str:
    """The text of a recipe's file, or of another; then `unreadable` is what is said where it cannot be read."""
    try:
        return settings_of(path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        other = Message("error_recipe.not_utf8" if isinstance(error, UnicodeDecodeError) else "error_os.name")
        why = os_reason(error) if isinstance(error, OSError) else other
        raise FileError(Message(unreadable, path=path, why=why)) from None


def content_of(text: str, name: str) -> dict[str, Any]:
    """Parse the text, not yet checked; `name` is for messages."""
    if not isinstance(text, str):
        raise RecipeError(Message("error_recipe.not_text", kind=type(text).__name__))
    try:
        content = yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        raise RecipeError(_yaml_complaint(error, name)) from None
    except RecursionError:
        raise RecipeError(Message("error_recipe.not_yaml", name=name, why=Message("error_recipe.yaml.deep"))) from None
    except ValueError:  # a day that no month has, a number of thousands of digits
        raise RecipeError(Message("error_recipe.not_yaml", name=name, why=Message("error_recipe.yaml.value"))) from None
    if not isinstance(content, dict):
        if content is None:
            raise RecipeError(Message("error_recipe.empty_recipe", name=name))
        raise RecipeError(Message("error_recipe.not_a_recipe", name=name, kind=type(content).__name__))
    return dict(zip(map(str, content), content.values(), strict=True))


class _Refused(yaml.YAMLError):
    """YAML that a recipe does not allow, and its position."""

    def __init__(self, problem: Message, mark: yaml.Mark | None = None) -> None:
        super().__init__()
        self.problem, self.problem_mark = problem, mark


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML in which naming the same key twice is an error: the second would silently win."""

    def get_single_node(self) -> yaml.Node | None:
        """All of the text, unless its aliases would make something huge of it."""
        node = super().get_single_node()
        if node is not None and written_out(node) > MOST_NODES:
            raise _Refused(Message("error_recipe.yaml.aliases", most=MOST_NODES))
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """One value; a tag such as `!!timestamp` or `!!float` before text that is none is refused where it stands."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            raise _Refused(Message("error_recipe.yaml.value"), node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise _Refused(Message("error_recipe.key_twice", key=key), key_node.start_mark)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _yaml_complaint(error: yaml.YAMLError, name: str) -> Message:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    why = YAML_SAYS.get(str(problem), problem) or Message("error_recipe.cannot_be_read")
    if mark is None:
        return Message("error_recipe.not_yaml", name=name, why=why)
    return Message("error_recipe.not_yaml_at", name=name, why=why, line=mark.line + 1, column=mark.column + 1)


MANY_ROWS = 5_000  # of hierarchies that stand in a recipe itself


def yaml_text(content: Mapping[str, Any], rows: int) -> str:
    """Write a recipe as YAML. With many rows by libyaml, if there is one: a fifth of the time, other folds in some long lines."""
    dumper = yaml.SafeDumper if rows < MANY_ROWS else getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = str(yaml.dump(content, Dumper=dumper, allow_unicode=True, sort_keys=False, width=120))
    return text if is_printable_yaml(text) else str(yaml.dump(content, Dumper=dumper, sort_keys=False, width=120))


# JSON Schema of recipes -----------------------------------------------------------------------------------------------
# For editors that check and complete YAML.


def _shape() -> dict[str, Any]:
    """`Recipe` with steps of any kind."""
    from oboro.recipe.recipe import Recipe  # which asks this module when somebody wants the schema

    fields = {
        name: (list[Any] if name == "steps" else one.annotation, one) for name, one in Recipe.model_fields.items()
    }
    shape: type[BaseModel] = create_model("Recipe", __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
    return shape.model_json_schema(schema_generator=DocumentedSchema)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recipe, with every step and its parameters."""
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
