"""The range of the values that may be released."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from oboro.table.parameters import Parameters
from oboro.table.spelling.named_values import Value
from oboro.text import Message

__all__ = ["Bounds"]


class Bounds(Parameters):
    """The range of possible values: no age below 0, no date in the future."""

    min: Value | None = None
    """The least value that may be released."""
    max: Value | None = None
    """The largest value that may be released."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError(Message("error_technique.min_or_max"))
        return self
