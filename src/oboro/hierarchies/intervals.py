"""Hierarchy of intervals of numbers, by width or between given edges; edges and masks of a recipe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator, model_validator

from oboro._lazy import pc
from oboro.data.parameters import Parameters
from oboro.errors import HierarchyError
from oboro.hierarchies.hierarchy import Level, odd_one, span_share
from oboro.notations.kinds import Kind, because_unread, kind_of, numbers_of
from oboro.text import Message, Raw

if TYPE_CHECKING:
    from oboro.hierarchies.spec import Form

__all__ = ["Edges", "Mask", "edge_levels", "width_levels"]


# Edges and masks in a recipe ------------------------------------------------------------------------------------------
# Intervals between given edges, and characters masked in given steps, as a recipe has them.


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


# Levels of intervals --------------------------------------------------------------------------------------------------


Bounds = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

LOW, HIGH = -(1 << 62), 1 << 62  # the places of the open intervals at the ends
FURTHEST = 1 << 53  # from here on a float64 skips integers


def width_levels(
    name: str,
    values: pa.Array,
    widths: Sequence[float],
    origin: float = 0,
    bottom: float | None = None,
    top: float | None = None,
    form: Form | None = None,
) -> list[Level]:
    """One level per width, counted from `origin`; all below `bottom`, and all from `top` on, are one open interval.

    Given: each width is a multiple of the one before. Promises: each level is a function of the one below, since
    coarser intervals are counted in finer ones; a value lies between the bounds that its label shows. O(n log n).
    """
    numbers = _numbers(name, values)
    low, high = -np.inf if bottom is None else bottom, np.inf if top is None else top
    shown = [origin, *widths, *(end for end in (bottom, top) if end is not None)]
    whole = _is_whole(name, numbers, np.array(shown, dtype=np.float64), form)
    finest = _Grid(origin, widths[0], low, high)
    cells = finest.cells(name, numbers)
    levels = []
    for width in widths:
        grid = _Grid(origin, width, low, high)
        index = np.where(np.abs(cells) == HIGH, cells, cells // round(min(width / widths[0], FURTHEST)))
        levels.append(_span_level(index, grid.bounds, numbers, whole))
    return levels


class _Grid:
    """Equal intervals in decimal arithmetic: `floor(0.3 / 0.1)` is 2, but 0.3 lies in [0.3, 0.4)."""

    def __init__(self, origin: float, width: float, low: float, high: float) -> None:
        self.scale = _decimal_scale((origin, width))
        # Whole numbers in floats: exact up to 2**53, and no overflow beyond. A third is no decimal and stays as it is.
        exact = self.scale > 1
        self.origin = float(round(origin * self.scale) if exact else origin)
        self.width = float(round(width * self.scale) if exact else width)
        self.low, self.high = low, high

    def edge(self, cells: np.ndarray) -> np.ndarray:
        """Return the start of each interval."""
        return np.asarray((self.origin + cells * self.width) / self.scale)

    def cells(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """The number of each value's interval."""
        # Without a bottom or top code an infinite value has no interval, and is told so below.
        inside = (numbers >= self.low) & ((numbers < self.high) | (self.high == np.inf))
        inner = numbers[inside]
        guess = np.floor((inner * self.scale - self.origin) / self.width)
        if not (np.abs(guess) < FURTHEST).all():
            furthest = float(inner[np.abs(inner).argmax()])
            raise HierarchyError(
                Message("error_table.too_far", name=name, width=self.width / self.scale, furthest=Raw(furthest))
            )
        exact = guess.astype(np.int64)
        exact += self.edge(exact + 1) <= inner
        exact -= self.edge(exact) > inner
        cells = np.where(numbers < self.low, LOW, HIGH)
        cells[inside] = exact
        return cells

    def bounds(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the start and end of intervals, cut at the open ones."""
        ends = np.abs(cells) == HIGH
        inner = np.where(ends, 0, cells)
        starts = np.where(ends, self.high, np.maximum(self.edge(inner), self.low))
        stops = np.where(ends, self.low, np.minimum(self.edge(inner + 1), self.high))
        return np.where(cells == LOW, -np.inf, starts), np.where(cells == HIGH, np.inf, stops)


def edge_levels(
    name: str,
    values: pa.Array,
    edges: Sequence[Sequence[float]],
    *,
    right: bool = False,
    names: Sequence[Sequence[str]] | None = None,
    form: Form | None = None,
) -> list[Level]:
    """One level per list of ascending edges, open at both ends; `right`: an edge belongs to the interval below it.

    `names` are those of the intervals between the edges, or of all intervals; open ones keep theirs otherwise.

    Given: each level's edges are among those of the level before. Promises: it is a function of that level.
    """
    numbers = _numbers(name, values)
    whole = _is_whole(name, numbers, np.concatenate(edges), form)
    levels = []
    for place, level in enumerate(edges):
        marks = np.array([-np.inf, *level, np.inf], dtype=np.float64)
        if right and whole:  # up to 18 is from 19 on for the next
            marks += 1.0
        index = np.searchsorted(marks[1:-1], numbers, side="left" if right and not whole else "right")
        made = _span_level(index, _between(marks), numbers, whole, right=right and not whole)
        levels.append(made if names is None else _named(made, np.unique(index), names[place], len(level)))
    return levels


def _named(level: Level, cells: np.ndarray, names: Sequence[str], edges: int) -> Level:
    """The level with the names of its intervals; the open ones keep theirs where there are none for them."""
    own = dict(enumerate(names, start=1 if len(names) == edges - 1 else 0))
    shown = [own.get(cell, label) for cell, label in zip(cells.tolist(), level.labels.to_pylist(), strict=True)]
    return Level(pa.array(shown, pa.string()), level.table, level.share)


def _between(marks: np.ndarray) -> Bounds:
    return lambda cells: (marks[cells], marks[cells + 1])


def _span_level(index: np.ndarray, bounds: Bounds, numbers: np.ndarray, whole: bool, *, right: bool = False) -> Level:
    cells, table = np.unique(index, return_inverse=True)
    starts, ends = bounds(cells)
    share = span_share(starts, ends, numbers, counted=whole)
    labels = _labels_to(starts, ends) if right else _labels(starts, ends, whole)
    return Level(labels, table, share).compact()


def _labels_to(starts: np.ndarray, ends: np.ndarray) -> pa.Array:
    """Return the labels of spans of numbers with a fraction that include their end and not their start.

    >>> _labels_to(np.array([-np.inf, 0.5, 1.0]), np.array([0.5, 1.0, np.inf])).to_pylist()
    ['≤0.5', '(0.5, 1]', '>1']
    """
    join = pc.binary_join_element_wise
    first, last = _shown(starts, False), _shown(ends, False)
    closed = pc.if_else(pa.array(ends == np.inf), join(">", first, ""), join("(", first, ", ", last, "]", ""))
    return pc.if_else(pa.array(starts == -np.inf), join("≤", last, ""), closed)


def _labels(starts: np.ndarray, ends: np.ndarray, whole: bool) -> pa.Array:
    """Return the labels of spans.

    >>> _labels(np.array([-np.inf, -10, 20, 30]), np.array([-10, -5, 25, np.inf]), True).to_pylist()
    ['<-10', '-10 to -6', '20–24', '≥30']
    >>> _labels(np.array([0.5]), np.array([1.0]), False).to_pylist()
    ['[0.5, 1)']
    """
    join = pc.binary_join_element_wise
    first, last = _shown(starts, whole), _shown(ends - 1 if whole else ends, whole)
    if whole:
        # A dash before a negative number would read as its sign. Each label decides alone, whatever else there is.
        closed = join(first, pc.if_else(pa.array(starts >= 0), "–", " to "), last, "")
        closed = pc.if_else(pa.array(ends - starts == 1), first, closed)
    else:
        closed = join("[", first, ", ", last, ")", "")
    closed = pc.if_else(pa.array(ends == np.inf), join("≥", first, ""), closed)
    return pc.if_else(pa.array(starts == -np.inf), join("<", _shown(ends, whole), ""), closed)


def _shown(numbers: np.ndarray, whole: bool) -> pa.Array:
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    return pc.cast(pa.array(finite.astype(np.int64) if whole else finite), pa.string())


def _numbers(name: str, values: pa.Array) -> np.ndarray:
    """The values as numbers; an empty or all-missing column has none."""
    numeric = (Kind.INTEGER, Kind.NUMBER)
    if len(values) and kind_of(values) not in numeric:
        odd, because = odd_one(values, numeric), because_unread(values)
        raise HierarchyError(Message("error_table.needs_numbers", name=name, odd=Raw(odd), because=because))
    return numbers_of(values, name) if len(values) else np.empty(0)


def _decimal_scale(numbers: Sequence[float]) -> int:
    """The smallest power of ten that makes all of them whole, or 1 if no reasonable one does."""
    for scale in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000):
        if all(round(number * scale) / scale == number for number in numbers):
            return scale
    return 1


def _is_whole(name: str, numbers: np.ndarray, shown: np.ndarray, form: Form | None) -> bool:
    """Return whether labels are those of whole numbers: as `form` says, whatever the column holds; else as its values are."""
    if form == "whole" and not (_all_whole(numbers) and _all_whole(shown)):
        raise HierarchyError(Message("error_table.not_whole", name=name))
    return form != "any" and _all_whole(numbers) and _all_whole(shown)


def _all_whole(numbers: np.ndarray) -> bool:
    # By value and not by type: a column of integers with a missing one comes as floats from pandas.
    finite = numbers[np.isfinite(numbers)]
    return bool((finite == np.floor(finite)).all() and (np.abs(finite) < FURTHEST).all())
