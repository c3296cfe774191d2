"""The section on re-identification risk, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report import charts
from oboro.report.distributions import Bar
from oboro.report.page import Block, Cell, Grid, Picture, Pictures, ShownSection, Text
from oboro.report.sections.attacks import linking
from oboro.report.sections.base import Section
from oboro.text import Message, count, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["RISK", "reidentification_risk"]


RISK = Section("risk")


@RISK.content
def reidentification_risk(report: Report) -> ShownSection | None:
    """By the sizes of classes; where those say nothing, by what does."""
    if report.risk is None:
        return None
    if report.least_candidates is not None:
        blocks = _candidates(report, report.least_candidates)
    elif report.risk_applies:
        blocks = _class_risks(report, report.risk)
    else:
        blocks = [Text(RISK.said("randomized", quasi=report.randomized)), *linking(report)]
    return RISK.shown(blocks)


def _candidates(report: Report, least: int) -> list[Block]:
    hint = RISK.said("matches_are" if report.stream else "candidates_are")
    row = [Cell(RISK.said("candidates"), hint=hint), Cell(count(least))]
    grid = Grid([RISK.said("risk"), RISK.said("value")], [row], frozenset({1}))
    return [Text(RISK.said("no_classes", quasi=report.quasi)), grid]


def _class_risks(report: Report, now: Mapping[str, Any]) -> list[Block]:
    before = report.risk_before
    rows = [
        [
            Cell(one.title, hint=Message("text.sentence", said=one.meaning)),
            *_was(before, one.name, percent),
            Cell(percent(one.value), meter=one.value),
        ]
        for one in report.risk_measures
    ]
    unique = Cell(RISK.said("unique_rows"), hint=RISK.said("unique_rows_are"))
    rows.append([unique, *_was(before, "uniques", count), Cell(count(now["uniques"]))])
    head = [RISK.said("risk"), *([RISK.said("before")] if before else []), RISK.said("after")]
    grid = Grid(head, rows, frozenset({1, 2}))
    return [Text(RISK.said("measured", quasi=report.quasi)), *_class_sizes(before, now), grid]


def _was(before: Mapping[str, Any] | None, name: str, show: Callable[[Any], str]) -> list[Cell]:
    return [] if before is None else [Cell(show(before[name]))]


def _class_sizes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[Block]:
    if not now["sizes"]:
        return []
    bars = _bars(before or {"sizes": []}, now)
    wide, narrow = (partial(charts.class_sizes, bars, width) for width in (2 * charts.WIDTH, charts.WIDTH))
    picture = Picture(RISK.said("class_sizes"), wide, note=RISK.said("class_sizes_note"), narrow=narrow)
    return [Pictures([picture], legend=before is not None)]


def _bars(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Bar]:
    """Both histograms over the same bins."""
    first, second = ({(one["low"], one["high"]): one["records"] for one in side["sizes"]} for side in (before, now))
    return [
        Bar(
            label=f"{low:,}" if low == high else f"{low:,}–{high:,}",
            before=first.get((low, high), 0),
            after=second.get((low, high), 0),
        )
        for low, high in sorted({*first, *second})
    ]
