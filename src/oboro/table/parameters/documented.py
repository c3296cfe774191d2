"""Models whose attributes are described by their docstrings, when somebody asks."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["Documented", "Parameters"]


class Documented(BaseModel):
    """Data whose JSON Schema says of each attribute what its docstring says.

    pydantic can read docstrings too (`use_attribute_docstrings`), but it reads them from the source when a class is made: a quarter
    of the time to import the package. Here they are read when somebody asks for the schema. Validators are built when they are
    first used, for the same reason.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def model_json_schema(cls, *given: Any, **options: Any) -> dict[str, Any]:
        """The JSON Schema, with what the docstrings of attributes say."""
        from oboro.table.parameters.documented_schema import DocumentedSchema

        return super().model_json_schema(*given, **{"schema_generator": DocumentedSchema, **options})


class Parameters(Documented):
    """What a user may say, and nothing else; what is wrong with it is a `UsageError`."""

    model_config = ConfigDict(extra="forbid")

    def __init__(self, /, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            from oboro.errors import UsageError
            from oboro.text import Message
            from oboro.text.pydantic_words import complaints

            said = complaints(error, type(self), given=given)
            raise UsageError(Message("error_value.wrong", model=type(self).__name__, said=said)) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # within another model, its own errors say where
