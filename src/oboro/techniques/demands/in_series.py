"""A step that knows what was released before: it keeps its promise over the whole series."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil
from typing import Any, Self

from pydantic import Field, model_validator

from oboro.table.schema import Schema
from oboro.techniques.base import Outcome, Technique, Work
from oboro.techniques.demands.population_table import PopulationTable
from oboro.text import Message

__all__ = ["InSeries"]


class InSeries(Technique):
    """A step that can take earlier releases into account."""

    earlier: list[PopulationTable] = Field(default_factory=list)
    """Releases of the same people that are out already, oldest first: files, looked for beside the recipe; in Python also frames.
    Whoever comes, stays or leaves does so among k people then, with l secrets; who cannot is held back.
    """
    changing: list[str] = Field(default_factory=list)
    """Columns whose values change from release to release, so that nobody follows a row by them."""

    def files(self) -> tuple[str, ...]:
        """The earlier releases that were given as files."""
        return tuple(one for one in self.earlier if isinstance(one, str))

    def reads(self, names: Sequence[str]) -> Collection[str]:
        """With earlier releases every column is looked at: rows are followed by what they say."""
        return names if self.earlier else super().reads(names)

    @model_validator(mode="after")
    def _one_level_for_all(self) -> Self:
        if self.earlier and getattr(self, "recoding", "global") == "local":
            raise ValueError(Message("error_technique.local_earlier"))
        if self.earlier and getattr(self, "blind", False):
            raise ValueError(Message("error_technique.blind_earlier"))
        return self

    def run(self, work: Work) -> Outcome:
        """Do it; with earlier releases as often as rows must be held back."""
        if not self.earlier:
            return self.once(work)
        from oboro.techniques.demands.kept_in_series import keep_in_series  # most jobs need none of it

        return keep_in_series(self, work)

    def once(self, work: Work) -> Outcome:
        """Do it without regard to earlier releases."""
        raise NotImplementedError

    def in_series(self, schema: Schema) -> tuple[list[str], int, dict[str, int]]:
        """The columns that are generalized, k, and how many values of each secret are asked for."""
        step: Any = self
        asked = {name: ceil(getattr(one, "l", one)) for name, one in step.l_diversity.items()}
        return list(schema.chosen(step.quasi, self.step)), step.k, asked

    def series_told(self, schema: Schema) -> list[Message]:
        """What is demanded of a series, in words. Only where people are followed is it kept with all releases together."""
        apart = "_apart" if len(self.earlier) > 1 and schema.person is None else ""
        return [Message(f"technique.demand.series{apart}", releases=len(self.earlier))] if self.earlier else []
