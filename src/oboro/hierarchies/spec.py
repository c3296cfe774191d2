"""Hierarchy specification: the part of a recipe after `hierarchy:`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import ConfigDict, Discriminator, Field, SkipValidation, Tag, field_validator, model_validator

from oboro._lazy import loaded_later
from oboro.data.column import Column
from oboro.data.parameters import Parameters
from oboro.hierarchies import tables
from oboro.hierarchies.dates import UNITS, date_levels
from oboro.hierarchies.hierarchy import Hierarchy, Level, outside
from oboro.text import Message

__all__ = ["HierarchySpec", "form_alone"]


if TYPE_CHECKING:
    from oboro.hierarchies.intervals import Edges, Mask
    from oboro.hierarchies.ranked import NeighbourGroups, ValuePriority
else:
    Edges, Mask = loaded_later("oboro.hierarchies.intervals", "Edges", "Mask")
    NeighbourGroups, ValuePriority = loaded_later("oboro.hierarchies.ranked", "NeighbourGroups", "ValuePriority")

Number = int | float
FORMS = {
    "csv": "csv: ages.csv",
    "rows": "rows: [[value, level1, …], …]",
    "intervals": "intervals: [5, 10, 20]",
    "dates": "dates: [day, month, year]",
    "mask": "mask: right",
    "tree": "tree: {Europe: [France, Germany]}",
    "neighbours": "neighbours: {groups: [3, 2]}",
    "priority": "priority: {levels: 3}",
    "japan": "japan: address",
    "icd10": "icd10: chapters",
}
OPTIONS = {
    "origin": ("intervals",),
    "bottom": ("intervals",),
    "top": ("intervals",),
    "star": ("intervals", "dates"),
    "numbers": ("intervals",),
    "date_order": ("dates",),
}


def _say_one_form(schema: dict[str, Any]) -> None:
    schema["oneOf"] = [{"maxProperties": 0}, *({"required": [form]} for form in FORMS)]


Form = Literal["whole", "any"]


def _interval_form(given: Any) -> str:
    return "widths" if isinstance(given, Sequence) else "edges"


def _mask_form(given: Any) -> str:
    return "side" if isinstance(given, str) else "mask"


# Tagged, so that a mistake in one form is not reported as a mistake in the other one too.
Widths = Annotated[list[Number], Tag("widths")]
EdgesForm = Annotated[Edges, Tag("edges")]
Side = Annotated[Literal["right", "left"], Tag("side")]
MaskForm = Annotated[Mask, Tag("mask")]


class HierarchySpec(Parameters):
    """How values become coarser: one of csv, rows, intervals, dates, mask, tree, neighbours, priority, japan, icd10; empty: the
    value or `*`."""

    model_config = ConfigDict(json_schema_extra=_say_one_form)

    csv: str | None = None
    """A file in ARX's format, `value;level1;level2;…` without a header, relative to the recipe."""
    rows: list[SkipValidation[list[Any]]] | None = None
    """The same as such a file, written here: `[[value, level1, level2], …]`."""
    intervals: Annotated[Widths | EdgesForm, Discriminator(_interval_form)] | None = Field(
        default=None, examples=[[5, 10, 20]]
    )
    """Widths of intervals, each a multiple of the one before; or `edges`, a list of edges for each level."""
    origin: Number = 0
    """With intervals: a number at which intervals start."""
    bottom: Number | None = None
    """With intervals: everything below it is one interval, `<bottom`."""
    top: Number | None = None
    """With intervals: everything from it on is one interval, `≥top`."""
    numbers: Form | None = None
    """With intervals: labels of whole numbers (`20–29`) or of any (`[20, 30)`); by default as the column's values are."""
    dates: list[Literal["day", "month", "quarter", "year", "decade"]] | None = Field(default=None, min_length=1)
    """Units of time, from fine to coarse; a column of dates has days as its values."""
    date_order: Literal["day_first", "month_first"] | None = None
    """With dates: what stands first in `1/5/1990`; needed in streams, and where no date of the column tells it."""
    mask: Annotated[Side | MaskForm, Discriminator(_mask_form)] | None = None
    """Hide characters from one side, one more on each level; or side, steps and char."""
    tree: dict[Any, Any] | list[Any] | str | None = None
    """Labels over values, `{Europe: [France, Germany]}`, nested at will; or a YAML file, relative to the recipe."""
    neighbours: NeighbourGroups | None = None
    """Values in their order, neighbours together: `groups: [3, 2]` puts three values together, then two of these groups."""
    priority: ValuePriority | None = None
    """The least important values become `*` first, on several levels."""
    japan: Literal["address", "postcode", "age", "era"] | None = None
    """Levels for Japanese addresses, postcodes, ages and dates: municipality, prefecture, region; and the like."""
    icd10: Literal["chapters"] | None = None
    """Codes of diseases: category, block, chapter."""
    star: bool = True
    """With intervals and dates: whether everything becomes `*` on the last level."""

    @model_validator(mode="before")
    @classmethod
    def _one_form(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return (
                given if isinstance(given, HierarchySpec) else _refuse(Message("error_table.no_hierarchy", given=given))
            )
        if not given.keys() <= FORMS.keys() | OPTIONS.keys():
            unknown = [key for key in given if key not in FORMS and key not in OPTIONS]
            _refuse(Message("error_table.unknown_hierarchy", unknown=unknown))
        forms = [form for form in FORMS if given.get(form) is not None]
        if len(forms) > 1:
            _refuse(Message("error_table.many_forms", count=len(forms), forms=forms))
        for option, homes in OPTIONS.items():
            if option in given and not set(forms) & set(homes):
                raise ValueError(Message("error_table.option_home", option=option, homes=list(homes)))
        return given

    @field_validator("rows")
    @classmethod
    def _rows_of_cells(cls, rows: list[Any] | None) -> list[Any] | None:
        odd = next((row for row in rows or () if not isinstance(row, list | tuple)), None)
        if odd is not None:
            raise ValueError(Message("error_table.rows", odd=odd))
        return rows

    @field_validator("intervals", mode="before")
    @classmethod
    def _widths(cls, given: Any) -> Any:
        if isinstance(given, Mapping | Parameters | None):
            return given
        if not isinstance(given, Sequence) or not given or not all(_is_width(width) for width in given):
            raise ValueError(Message("error_table.widths", given=given))
        for finer, coarser in pairwise(given):
            if coarser <= finer or (Fraction(str(coarser)) / Fraction(str(finer))).denominator != 1:
                raise ValueError(Message("error_table.width_multiple", coarser=coarser, finer=finer))
        return given

    @field_validator("dates")
    @classmethod
    def _fine_to_coarse(cls, units: list[str] | None) -> list[str] | None:
        if units is not None and units != sorted(set(units), key=list(UNITS).index):
            raise ValueError(Message("error_table.date_units", known=list(UNITS), units=units))
        return units

    @field_validator("mask", mode="before")
    @classmethod
    def _side(cls, given: Any) -> Any:
        if not isinstance(given, Mapping | Parameters | None) and given not in ("right", "left"):
            raise ValueError(Message("error_table.mask", given=given))
        return given

    @field_validator("tree", mode="before")
    @classmethod
    def _nested(cls, given: Any) -> Any:
        if not isinstance(given, Mapping | list | str | None):
            raise ValueError(Message("error_table.tree", given=given))
        return given

    @model_validator(mode="after")
    def _ends(self) -> HierarchySpec:
        if isinstance(self.intervals, Parameters) and {"origin", "bottom", "top"} & self.model_fields_set:
            raise ValueError(Message("error_table.edges_open"))
        finite = all(map(math.isfinite, (self.origin, self.bottom or 0.0, self.top or 0.0)))
        if not finite or (self.bottom is not None and self.top is not None and self.bottom > self.top):
            raise ValueError(Message("error_table.ends", bottom=self.bottom, top=self.top))
        return self

    def build(self, name: str, column: Column, folder: Path = Path(".")) -> Hierarchy:
        """The hierarchy of one column; `folder` is where relative paths start.

        Raises `HierarchyError` (or `FileError`) if the hierarchy does not fit the column, or itself.
        """
        whole = self.whole(name, folder)
        if whole is not None:
            return whole.bind(column)
        known = ~outside(column)
        values = column.values.filter(pa.array(known))
        with column.placing():
            ruled = Hierarchy(name, (Level.ground(values), *self._ruled(name, values, column)))
        return ruled if known.all() else ruled.placed(column.values, np.where(known, np.cumsum(known) - 1, -1))

    def whole(self, name: str, folder: Path = Path(".")) -> Hierarchy | None:
        """The hierarchy over all values that are listed somewhere, whatever a column holds; None where a rule makes it."""
        if self.csv is not None:
            return tables.from_csv(name, folder / self.csv)
        if self.rows is not None:
            return tables.from_rows(name, self.rows)
        return None if self.tree is None else tables.from_tree(name, self.tree, folder)

    def _ruled(self, name: str, values: pa.Array, column: Column) -> list[Level]:
        """The levels over values that a rule gives."""
        levels: list[Level] = []
        if isinstance(self.intervals, Parameters):
            from oboro.hierarchies.intervals import edge_levels

            given = self.intervals
            closed = given.closed == "right"
            levels = edge_levels(name, values, given.edges, right=closed, names=given.labels, form=self.numbers)
        elif self.intervals is not None:
            from oboro.hierarchies.intervals import width_levels

            levels = width_levels(name, values, self.intervals, self.origin, self.bottom, self.top, self.numbers)
        elif self.dates is not None:
            levels = date_levels(name, values, self.dates, self.date_order)
        elif self.mask is not None:
            from oboro.hierarchies.masks import mask_levels

            mask = self._full_mask()
            levels = mask_levels(name, values, mask.side, mask.steps, mask.char)
        elif self.neighbours is not None:
            from oboro.hierarchies.ranked import neighbour_levels

            levels = neighbour_levels(name, values, self.neighbours)
        elif self.priority is not None:
            from oboro.hierarchies.ranked import priority_levels

            levels = priority_levels(name, column, values, self.priority)
        elif self.japan is not None or self.icd10 is not None:
            from oboro.hierarchies.ready import ready_levels

            levels = ready_levels("japan" if self.icd10 is None else "icd10", self.icd10 or self.japan or "")(
                name, values
            )
        return [*levels, Level.star(len(values))] if self.star else levels

    def _full_mask(self) -> Mask:
        from oboro.hierarchies.intervals import Mask

        return self.mask if isinstance(self.mask, Mask) else Mask(side=self.mask or "right")

    @property
    def of_the_table(self) -> bool:
        """True if levels depend on the values that a column holds: on their order, their frequency or the longest of them.

        And on whether one of them has a time of day: the day of a date is its value, that of a moment a level.
        """
        days = self.dates is not None and "day" in self.dates
        return days or any(one is not None for one in (self.mask, self.neighbours, self.priority))

    @property
    def of_any_number(self) -> HierarchySpec:
        """The same, with labels that do not depend on whether some value of the column has a fraction."""
        undecided = self.intervals is not None and self.numbers is None
        return self.model_copy(update={"numbers": "any"}) if undecided else self

    def explain(self, lang: str = "en") -> str:
        """The hierarchy in words.

        >>> HierarchySpec(intervals=[5, 10], top=80).explain()
        'intervals of 5, then 10; from 80 on as one; then *'
        """
        return self.plan().say(lang)

    def plan(self) -> Message:
        """The levels, from the value upwards."""
        levels = self._levels_told()
        return Message("hierarchy.star_last", levels=levels) if self.star and (self.intervals or self.dates) else levels

    def _levels_told(self) -> Message:
        if self.csv is not None:
            return Message("hierarchy.csv", path=self.csv)
        if self.rows is not None:
            return Message("hierarchy.rows", rows=len(self.rows))
        if isinstance(self.tree, str):
            return Message("hierarchy.tree_file", path=self.tree)
        if self.tree is not None:
            return Message("hierarchy.tree")
        if self.dates is not None:
            units = Message("hierarchy.dates", units=[Message(f"hierarchy.unit.{unit}") for unit in self.dates])
            return Message(f"hierarchy.{self.date_order}", units=units) if self.date_order else units
        if self.neighbours is not None:
            return Message("hierarchy.neighbours", groups=[str(size) for size in self.neighbours.groups])
        if self.priority is not None:
            return Message("hierarchy.priority", levels=self.priority.levels)
        if self.japan is not None or self.icd10 is not None:
            return Message(f"hierarchy.ready.{self.japan or 'icd10'}")
        if isinstance(self.intervals, Parameters):
            return Message("hierarchy.edges", edges=[str(edges) for edges in self.intervals.edges])
        if self.intervals is not None:
            return self._intervals_told(self.intervals)
        return self._mask_told() if self.mask is not None else Message("hierarchy.value")

    def _intervals_told(self, widths: list[Number]) -> Message:
        parts = [Message("hierarchy.widths", widths=[str(width) for width in widths])]
        parts += [Message("hierarchy.origin", origin=self.origin)] if self.origin else []
        parts += [Message("hierarchy.bottom", bottom=self.bottom)] if self.bottom is not None else []
        parts += [Message("hierarchy.top", top=self.top)] if self.top is not None else []
        return Message("hierarchy.parts", said=parts)

    def _mask_told(self) -> Message:
        mask = self._full_mask()
        if not mask.steps:
            return Message("hierarchy.mask_each", side=mask.side)
        return Message("hierarchy.mask_steps", steps=[str(step) for step in mask.steps], side=mask.side)


def _is_width(width: object) -> bool:
    return isinstance(width, int | float) and not isinstance(width, bool) and math.isfinite(width) and width > 0


def _refuse(what: Message) -> None:
    raise ValueError(Message("error_table.write_one_form", what=what, forms=[f"{{{form}}}" for form in FORMS.values()]))


# Labels of single values ----------------------------------------------------------------------------------------------
# Labels that do not depend on the other values of the column, for streams, whose values come one after the other.
#
# Whether `12` is in `10–19` or in `[10, 20)` depends on the whole column: on whether other values have a fraction. So
# does whether `1.234` is a thousand, and the width of a mask. Only values of one form have the same labels together as
# each alone.


EXACT = 1 << 53  # whole numbers below it are the same as floats
WHOLE = re.compile("-?(0|[1-9][0-9]{0,14})")
READY = {
    "postcode": re.compile("[0-9]{3}-?[0-9]{4}"),
    "age": re.compile("(0|[1-9][0-9]?)歳?"),
    "era": re.compile("(昭和|平成)[1-9][0-9]?年(1[0-2]|[1-9])月(1[0-9]|2[0-8]|[1-9])日"),
}
DAY = re.compile("[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}|[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}")


def form_alone(spec: HierarchySpec, listed: Collection[str | None] | None, value: Any) -> Hashable:
    """Equal for values that may be looked up together; where nobody knows the form, each has its own. `listed`: all values that a
    hierarchy names, if it does.

    >>> intervals = HierarchySpec(intervals=[10])
    >>> [form_alone(intervals, None, value)[1] for value in (12, 12.5, "12", "39歳")]
    ['whole', 'fraction', 'whole', '39歳']
    """
    text = value if isinstance(value, str) else str(value) if type(value) is int else None
    if listed is not None:
        form: Hashable = "listed" if text in listed else value
    elif spec.mask is not None:
        form = value if text is None else len(text)
    elif spec.japan is not None or spec.icd10 is not None:
        form = _ready_form(spec.icd10 or spec.japan or "", text) or value
    else:
        form = _number_or_day(value) or value
        form = (form, len(text)) if spec.dates is not None and form == "whole" and text is not None else form
    return type(value), form


def _number_or_day(value: Any) -> str:
    """Return whether a value is a whole number, one with a fraction, or a day in a notation that can be read in one way."""
    if type(value) is int:
        return "whole" if abs(value) < EXACT else ""
    if isinstance(value, float):
        return "" if not abs(value) < EXACT else "whole" if value.is_integer() else "fraction"
    if isinstance(value, str):
        return "whole" if WHOLE.fullmatch(value) else "day" if DAY.fullmatch(value) else ""
    return "day" if type(value) is date else ""


def _ready_form(kind: str, text: str | None) -> str:
    """Return whether a value has levels that nothing beside it can change: no other value is a label of its, nor it of another."""
    if text is None:
        return ""
    if kind in READY:
        return kind if READY[kind].fullmatch(text) else ""
    if kind == "address":
        from oboro.hierarchies.japan import lies_within_a_municipality

        return kind if lies_within_a_municipality(text) else ""
    return ""
