"""Parameters that few recipes give: their model is loaded when somebody gives one, or asks for the JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["loaded_later"]


@dataclass(frozen=True)
class LoadedLater:
    """Stands for a model in the type of a parameter."""

    module: str
    name: str

    @property
    def model(self) -> type[BaseModel]:
        """The model itself."""
        found: type[BaseModel] = getattr(import_module(self.module), self.name)
        return found

    @property
    def model_fields(self) -> Mapping[str, Any]:
        """What may stand in it: complaints name the keys that there are."""
        return self.model.model_fields

    def validated(self, given: Any) -> BaseModel:
        """The model made of what was given; what is wrong with it is said at its place."""
        return self.model.model_validate(given)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> Any:
        self.model.model_rebuild()
        # The handler itself would write the model out at each place; its generator puts it among the definitions.
        return handler.generate_json_schema.generate_inner(self.model.__pydantic_core_schema__)


def loaded_later(module: str, *names: str) -> Iterator[Any]:
    """For each of these models of a module a type that accepts what the model accepts."""
    for name in names:
        yield Annotated[Any, LoadedLater(module, name)]
