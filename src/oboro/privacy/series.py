"""The privacy model of sequential releases: the people who come, stay or leave between two of them are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from oboro.privacy.base import PrivacyModel, Scope
from oboro.text import Message

__all__ = ["SeriesAnonymity"]


class SeriesAnonymity(PrivacyModel):
    """At least k people came, stayed or left together since each earlier release."""

    key: ClassVar[str] = "series_anonymity"
    scope: ClassVar[Scope] = "release"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.series_anonymity": {}}
    limit: ClassVar[str] = "k"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"k": 2, "releases": 1},)
    in_recipe: ClassVar[bool] = False
    unsearched: ClassVar[str] = (
        "no choice of levels keeps it: records are withheld until they change among enough others"
    )
    unbounded: ClassVar[str] = "the attacks on several releases have a bound of their own, computed from all of them"

    k: int = Field(ge=1)
    """The least number of people who came, stayed or left together."""
    releases: int = Field(ge=1)
    """The number of earlier releases."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the changes between releases."""
        return Message("technique.demand.series", releases=self.releases)
