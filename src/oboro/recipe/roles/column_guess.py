"""One column's guess: its role, why, and the figures that stand beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.measure.column_contributions import Contribution
from oboro.measure.exposure.separation import Exposure
from oboro.table.dataset import Column
from oboro.table.hierarchy import HierarchySpec
from oboro.table.schema import Attribute, Role
from oboro.table.spelling.date_notation import unclear_dates
from oboro.table.spelling.folding import FOLDS, near_duplicates
from oboro.table.spelling.marked_numbers import is_unclear_amount
from oboro.table.spelling.stray_values import stray_values
from oboro.table.value_counts import clean
from oboro.table.values import Kind, kind_of, numbers_of
from oboro.text import Message

__all__ = ["ColumnGuess"]


@dataclass(frozen=True)
class ColumnGuess:
    """What a column probably is to the people in the table, why, and how far it tells them apart."""

    name: str
    role: Role
    reasons: tuple[Message, ...]
    kind: Kind
    missing: int
    """Records without a value."""
    exposure: Exposure
    """Distinct values, separation, and whom the column singles out alone; people where it is known who they are."""
    contribution: Contribution | None = None
    """What it does with one and two others; None where nothing was counted."""
    meant: int | None = None
    """How many values there are by their meaning, where some are written in several ways: `39歳` and `３９歳`."""
    hierarchy: HierarchySpec | None = None
    """How its values become coarser, where it is a quasi-identifier and has levels between the value and `*`."""

    @staticmethod
    def of(name: str, column: Column, exposure: Exposure, role: Role, *reasons: Message) -> ColumnGuess:
        """A first guess."""
        missing = int(column.counts[column.missing]) if column.missing >= 0 else 0
        if (unclear := unclear_dates(column)) is not None:
            reasons += (Message(f"role.unclear.{unclear[0]}", **unclear[1]),)
        elif column.kind is Kind.TEXT and is_unclear_amount(column.values):
            reasons += (Message("role.unclear.amount"),)
        elif (strays := stray_values(column)) is not None:
            said = {"rows": strays.rows, "row": strays.first, "kind": strays.kind.value}
            reasons += (Message("role.unclear.strays", **said),)
        elif column.kind is Kind.TEXT and (near := near_duplicates(column)):
            spelled = "role.folded" if role is Role.SENSITIVE else "role.unclear.spelling"
            reasons += (Message(spelled, values=near),)
        return ColumnGuess(name, role, reasons, column.kind, missing, exposure, meant=_meant(column))

    def become(self, role: Role, *reasons: Message) -> ColumnGuess:
        """Another role, and why; what spoke for it before stays."""
        return replace(self, role=role, reasons=(*self.reasons, *reasons))

    @property
    def attribute(self) -> Attribute:
        """What a recipe says of the column."""
        spelled = self.role is Role.SENSITIVE and any(one.id == "role.folded" for one in self.reasons)
        return Attribute(role=self.role, hierarchy=self.hierarchy, fold=FOLDS if spelled else ())

    @property
    def figures(self) -> Message:
        """How many values it has, and whom it singles out, in one line."""
        exposed = self.exposure
        alone = Message("role.figures.alone", people=exposed.unique) if exposed.unique else None
        more = self.contribution
        one = Message("role.figures.with_one", people=more.with_one) if more and more.with_one else None
        two = Message("role.figures.with_two", people=more.with_two) if more and more.with_two else None
        gaps = Message("role.figures.missing", rows=self.missing) if self.missing else None
        values = Message("role.figures.values", distinct=exposed.distinct, kind=self.kind.value)
        meant = Message("role.figures.meant", values=self.meant) if self.meant else None
        apart = Message("role.figures.separation", share=exposed.separation)
        said = [part for part in (values, meant, gaps, apart, alone, one, two) if part is not None]
        return Message("role.figures.all", said=said)

    @property
    def comment(self) -> Message:
        """The figures and the reasons, as they stand beside the column in a starter recipe."""
        return Message("role.comment", figures=self.figures, reasons=list(self.reasons))

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        exposed, more = self.exposure, self.contribution
        figures: Mapping[str, Any] = {
            "distinct": exposed.distinct,
            "meant": self.meant,
            "missing": self.missing,
            "distinction": exposed.distinction,
            "separation": exposed.separation,
            "unique_alone": exposed.unique,
            "unique_with_one": more and more.with_one,
            "unique_with_two": more and more.with_two,
            "contribution": more and more.share,
        }
        return {
            "column": self.name,
            "role": self.role.value,
            "kind": self.kind.value,
            "reasons": [one.as_dict() for one in self.reasons],
            "figures": dict(figures),
            "hierarchy": self.hierarchy and self.hierarchy.model_dump(mode="json", exclude_defaults=True),
        }


def _meant(column: Column) -> int | None:
    """How many different numbers or days the texts of a column name; None where each is written in one way."""
    values = clean(column).values.drop_null()
    if not pa.types.is_string(values.type) or not kind_of(values).numeric:
        return None
    meant = np.unique(numbers_of(values)).size
    return int(meant) if meant < len(values) else None
