"""Intervals between given edges, and characters hidden in given steps: as they stand in a recipe."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from oboro.table.parameters import Parameters
from oboro.text import Message

__all__ = ["Edges", "Mask"]

Number = int | float


class Edges(Parameters):
    """Intervals between given edges, open at both ends."""

    edges: list[list[Number]] = Field(min_length=1, examples=[[[0, 18, 40, 65], [0, 40]]])
    """For each level its edges, ascending; a coarser level leaves some of the finer one's edges out."""
    closed: Literal["left", "right"] = "left"
    """Which end belongs to an interval: from 18 on (left), or up to 18 (right, as `cut` of R has it)."""
    labels: list[list[str]] | None = Field(default=None, examples=[[["young", "old"], ["all"]]])
    """For each level names of its intervals: of those between the edges, or with one more at both ends of the open ones too."""

    @field_validator("edges")
    @classmethod
    def _nested(cls, edges: list[list[Number]]) -> list[list[Number]]:
        for level in edges:
            if not level or any(low >= high for low, high in pairwise(level)) or not all(map(math.isfinite, level)):
                raise ValueError(Message("error_table.edges_ascending", level=str(level)))
        for finer, coarser in pairwise(edges):
            if extra := sorted(set(coarser) - set(finer)):
                raise ValueError(Message("error_table.edges_left_out", extra=extra, finer=str(finer)))
        return edges

    @model_validator(mode="after")
    def _named(self) -> Self:
        """As many names as intervals, all different."""
        if self.labels is None:
            return self
        if len(self.labels) != len(self.edges):
            raise ValueError(Message("error_table.edge_labels", levels=len(self.edges)))
        for edges, labels in zip(self.edges, self.labels, strict=True):
            if len(labels) not in (len(edges) - 1, len(edges) + 1) or len(set(labels)) < len(labels):
                raise ValueError(Message("error_table.edge_names", edges=str(edges), inner=len(edges) - 1))
        return self


class Mask(Parameters):
    """Characters hidden from one side."""

    side: Literal["right", "left"]
    """The side from which characters are hidden."""
    steps: list[int] | None = Field(default=None, min_length=1, examples=[[1, 2, 4]])
    """How many characters each level hides, ascending; without it one more on each level, up to the longest value."""
    char: str = Field(default="*", min_length=1, max_length=1)
    """The character that stands for a hidden one."""

    @field_validator("steps")
    @classmethod
    def _ascending(cls, steps: list[int] | None) -> list[int] | None:
        if steps is not None and (steps[0] < 1 or any(low >= high for low, high in pairwise(steps))):
            raise ValueError(Message("error_table.mask_steps", steps=str(steps)))
        return steps
