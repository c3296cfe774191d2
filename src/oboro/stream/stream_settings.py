"""What every stream is told at the start. Parameters are data: checked once, written into every snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from oboro.errors import UsageError
from oboro.table.parameters import Parameters
from oboro.text import Message
from oboro.text.pydantic_words import complaint

__all__ = ["StreamSettings"]


class StreamSettings(Parameters):
    """Parameters of a stream; what is wrong with them is said in one sentence."""

    if TYPE_CHECKING:  # declared by each kind of stream, in the order that its fingerprint is made of
        attributes: list[str]
        l_diversity: dict[str, int]
        keep: list[str]
        drop: list[str]
        person: str | None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Checked parameters, or a `UsageError` that says what is wrong."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where, what = ".".join(map(str, first["loc"])), complaint(first)
            if not where:
                raise UsageError(what) from None
            raise UsageError(Message("error_value.at_with", where=where, what=what, got=first["input"])) from None

    @property
    def released(self) -> list[str]:
        """The fields of a released record, in order."""
        return [*self.attributes, *self.l_diversity, *self.keep]

    @property
    def fields(self) -> list[str]:
        """The fields of an incoming record."""
        return [*self.released, *self.drop, *([self.person] if self.person is not None else [])]

    def require_named_once(self) -> None:
        """Raise a `ValueError` where a field stands in two places."""
        if twice := sorted({name for name in self.fields if self.fields.count(name) > 1}):
            raise ValueError(Message("error_stream.field_once", twice=twice))
