"""What limits the levels of a column: as it stands in a recipe."""

from __future__ import annotations

from pydantic import Field

from oboro.table.parameters import Parameters
from oboro.table.spelling.named_values import Value

__all__ = ["LevelLimits"]


class LevelLimits(Parameters):
    """What limits the levels of one column."""

    least: int = Field(default=0, ge=0)
    """The finest level that may be chosen."""
    greatest: int | None = Field(default=None, ge=0)
    """The coarsest level that may be chosen; without it: the hierarchy's last."""
    forbidden: list[Value] = Field(default_factory=list)
    """Values and labels that must not stand in the release."""
    required: list[Value] = Field(default_factory=list)
    """Values that must stay as they are wherever a record is not suppressed."""
