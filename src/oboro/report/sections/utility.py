"""The sections on utility: information loss, and the statistics that are preserved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isinf
from typing import TYPE_CHECKING

import numpy as np

from oboro.measures.base import Measure
from oboro.measures.statistics import differences
from oboro.report import charts
from oboro.report.facts import PairFacts
from oboro.report.page import Block, Cell, Grid, Notes, Picture, Pictures, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.text import Message, number, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["ASSOCIATIONS", "LOSSES", "STATISTICS", "associations", "losses", "statistics"]


ASSOCIATIONS = Section("pairs", "association")
LOSSES = Section("loss", "utility.loss")
STATISTICS = Section("statistics", "utility.statistics")


# Associations ---------------------------------------------------------------------------------------------------------
# Strength of the associations between columns, before and after.


SHOWN = 10  # pairs
LEAST = 0.0005  # a smaller change is none


@ASSOCIATIONS.content
def associations(report: Report) -> ShownSection | None:
    """Build the section on the strength of associations between columns, before and after."""
    found = report.pairs
    if found is None:
        return None
    sides = (("before", found.before), ("after", found.after))
    pictures = [
        Picture(ASSOCIATIONS.said(f"{name}"), partial(charts.heat, found.columns, matrix)) for name, matrix in sides
    ]
    blocks: list[Block] = [Text(ASSOCIATIONS.said("lead"))]
    if found.sampled:
        blocks.append(Text(ASSOCIATIONS.said("sampled", rows=found.sampled, error=found.error)))
    blocks += [Pictures(pictures, legend=False), _changed(report, found)]
    return ASSOCIATIONS.shown(blocks)


def _changed(report: Report, found: PairFacts) -> Block:
    """The pairs that changed most; with numbers among them also how far their correlation moved."""
    pairs = [(i, j) for i in range(len(found.columns)) for j in range(i)]
    moved = differences(*(np.array(side) for side in (found.before, found.after, found.lost)))
    gaps = {(i, j): float(moved[i, j]) for i, j in pairs}
    most = [pair for pair in sorted(pairs, key=lambda pair: -gaps[pair])[:SHOWN] if gaps[pair] >= LEAST]
    if not most:
        return Text(ASSOCIATIONS.said("unchanged"))
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
    head = [ASSOCIATIONS.said(f"{name}") for name in told]
    head += [Message("measure.correlation_difference.title")] if linear else []
    return Grid(head, rows, frozenset(range(1, len(head))), caption=ASSOCIATIONS.said("most_changed"))


# Utility --------------------------------------------------------------------------------------------------------------


OF_STATISTICS = (
    "lost_values",
    "total_variation",
    "kolmogorov_smirnov",
    "wasserstein",
    "kl_histogram",
    "jensen_shannon",
    "kl_density_ratio",
    "association_difference",
    "correlation_difference",
    "propensity_mse",
)
OF_PAIRS = ("association_difference", "correlation_difference")  # their columns are pairs
LEARNED = ("learned_from_released", "learned_from_original")
MEASURE, VALUE, COLUMN = (Message(f"utility.{name}") for name in ("measure", "value", "column"))


@LOSSES.content
def losses(report: Report) -> ShownSection | None:
    """Build the section on information loss by generalization and suppression, overall and column by column."""
    mine = [one for one in report.utility if one.name not in (*OF_STATISTICS, *LEARNED)]
    blocks = [*_whole(mine), *_by_column(mine, LOSSES.said("by_column"))]
    return LOSSES.shown(blocks) if mine else None


@STATISTICS.content
def statistics(report: Report) -> ShownSection | None:
    """Build the section on the statistics that change for an analyst of the release."""
    mine = [one for one in report.utility if one.name in OF_STATISTICS]
    if not mine:
        return None
    lead, caption = STATISTICS.said("lead"), STATISTICS.said("by_column")
    blocks = [Text(lead), *_whole(mine), *_by_column(mine, caption), *_learned(report)]
    return STATISTICS.shown(blocks)


def _whole(measures: Sequence[Measure]) -> list[Block]:
    """What was measured over the table; what could not be, and why, in a line below."""
    mine = [one for one in measures if one.column is None]
    rows = [
        [Cell(one.title, hint=_explained(one)), Cell(_value(one), meter=_fullness(one))]
        for one in mine
        if one.value is not None
    ]
    lacking = [one for one in mine if one.value is None and one.notes]
    reasons = dict.fromkeys(one.notes for one in lacking)
    notes = [_unmeasured([one.title for one in lacking if one.notes == why], why) for why in reasons]
    return [Grid([MEASURE, VALUE], rows, frozenset({1})), *([Notes(notes)] if notes else [])]


def _unmeasured(titles: Sequence[Message], why: Sequence[Message]) -> Message:
    return Message("utility.not_measured", measures=titles, why=Message("text.remarks", said=why))


def _value(measure: Measure) -> str:
    if measure.error is None or measure.value is None:
        return number(measure.value)
    return f"{number(measure.value)} ± {number(float(f'{measure.error:.2g}')).removeprefix('< ')}"


def _explained(measure: Measure) -> list[Message]:
    """What it means, from where to where it goes, which way is better, what was assumed."""
    return [Message("text.sentence", said=said) for said in (measure.meaning, _range(measure), *measure.notes)]


def _fullness(measure: Measure) -> float | None:
    return measure.value if (measure.low, measure.high) == (0, 1) else None


def _range(measure: Measure) -> Message:
    low = "−∞" if isinf(measure.low) else number(measure.low)
    high = "∞" if measure.high is None else number(measure.high)
    return Message(f"utility.range.{measure.better}", low=low, high=high)


def _by_column(measures: Sequence[Measure], caption: Message) -> list[Block]:
    """One row per column, one column per measure; measures that were not yet explained are explained below."""
    mine = [one for one in measures if one.column is not None and one.name not in OF_PAIRS and one.value is not None]
    if not mine:
        return []
    names = list(dict.fromkeys(one.name for one in mine))
    found = {(one.column, one.name): Cell(number(one.value)) for one in mine}
    rows = [
        [Cell(column), *(found.get((column, name), Cell("")) for name in names)]
        for column in dict.fromkeys(one.column or "" for one in mine)
    ]
    told = {one.name for one in measures if one.column is None and one.value is not None}
    meanings = {one.name: one.meaning for one in mine if one.name not in told}
    notes = [Message("utility.means", measure=_title(name), meaning=said) for name, said in meanings.items()]
    head = [COLUMN, *map(_title, names)]
    grid = Grid(head, rows, frozenset(range(1, len(head))), caption=caption)
    return [grid, *([Notes(notes)] if notes else [])]


def _title(name: str) -> Message:
    """Of a measure, whatever its column."""
    return Message(f"measure.{name}.title")


def _learned(report: Report) -> list[Block]:
    """What a model learns about the target column, from the release and from the original."""
    mine = [one for one in report.utility if one.name in LEARNED]
    if not mine:
        return []
    rows = [[Cell(_title(one.name), hint=_explained(one)), Cell(_value(one))] for one in mine]
    caption = STATISTICS.said("learned", column=mine[0].column)
    return [Grid([MEASURE, VALUE], rows, frozenset({1}), caption=caption)]
