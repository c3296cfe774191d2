"""The section about columns together: how strongly they are associated, before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from oboro.measure.statistics.associations import differences
from oboro.report.facts import PairFacts
from oboro.report.page import charts
from oboro.report.page.blocks import Block, Cell, Grid, Picture, Pictures, Section, Text
from oboro.text import Message, number, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["associations"]

SHOWN = 10  # pairs
LEAST = 0.0005  # a smaller change is none


def associations(report: Report) -> Section | None:
    """How strongly columns are associated, before and after."""
    found = report.pairs
    if found is None:
        return None
    sides = (("before", found.before), ("after", found.after))
    pictures = [
        Picture(Message(f"association.{name}"), partial(charts.heat, found.columns, matrix)) for name, matrix in sides
    ]
    blocks: list[Block] = [Text(Message("association.lead"))]
    if found.sampled:
        blocks.append(Text(Message("association.sampled", rows=found.sampled, error=found.error)))
    blocks += [Pictures(pictures, legend=False), _changed(report, found)]
    return Section("pairs", Message("association.title"), blocks)


def _changed(report: Report, found: PairFacts) -> Block:
    """The pairs that changed most; with numbers among them also how far their correlation moved."""
    pairs = [(i, j) for i in range(len(found.columns)) for j in range(i)]
    moved = differences(*(np.array(side) for side in (found.before, found.after, found.lost)))
    gaps = {(i, j): float(moved[i, j]) for i, j in pairs}
    most = [pair for pair in sorted(pairs, key=lambda pair: -gaps[pair])[:SHOWN] if gaps[pair] >= LEAST]
    if not most:
        return Text(Message("association.unchanged"))
    names = {(i, j): f"{found.columns[j]} × {found.columns[i]}" for i, j in most}
    measured = [one for one in report.utility if one.name == "correlation_difference"]
    linear = {one.column: one.value for one in measured if one.column in names.values()}
    some_lost = any(found.lost[i][j] for i, j in most)
    rows = [
        [
            Cell(names[i, j]),
            *(Cell(f"{value:.3f}") for value in (found.before[i][j], found.after[i][j])),
            *([Cell(percent(found.lost[i][j]))] if some_lost else []),
            Cell(f"{gaps[i, j]:.3f}"),
            *([Cell(number(linear[names[i, j]]) if names[i, j] in linear else "")] if linear else []),
        ]
        for i, j in most
    ]
    told = ("pair", "before", "after", *(("lost",) if some_lost else ()), "difference")
    head = [Message(f"association.{name}") for name in told]
    head += [Message("measure.correlation_difference.title")] if linear else []
    return Grid(head, rows, frozenset(range(1, len(head))), caption=Message("association.most_changed"))
