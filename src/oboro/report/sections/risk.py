"""The section about risk: how likely it is that somebody is re-identified, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report import charts
from oboro.report.distributions import Bar
from oboro.report.page import Block, Cell, Grid, Picture, Pictures, Section, Text
from oboro.report.sections.attacks import linking
from oboro.text import Message, count, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["reidentification_risk"]


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"section.risk.{name}", **values)


def reidentification_risk(report: Report) -> Section | None:
    """By the sizes of classes; where those say nothing, by what does."""
    if report.risk is None:
        return None
    if report.least_candidates is not None:
        blocks = _candidates(report, report.least_candidates)
    elif report.risk_applies:
        blocks = _class_risks(report, report.risk)
    else:
        blocks = [Text(_m("randomized", quasi=report.randomized)), *linking(report)]
    return Section("risk", _m("title"), blocks)


def _candidates(report: Report, least: int) -> list[Block]:
    hint = _m("matches_are" if report.stream else "candidates_are")
    row = [Cell(_m("candidates"), hint=hint), Cell(count(least))]
    grid = Grid([_m("risk"), _m("value")], [row], frozenset({1}))
    return [Text(_m("no_classes", quasi=report.quasi)), grid]


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
    unique = Cell(_m("unique_rows"), hint=_m("unique_rows_are"))
    rows.append([unique, *_was(before, "uniques", count), Cell(count(now["uniques"]))])
    head = [_m("risk"), *([_m("before")] if before else []), _m("after")]
    grid = Grid(head, rows, frozenset({1, 2}))
    return [Text(_m("measured", quasi=report.quasi)), *_class_sizes(before, now), grid]


def _was(before: Mapping[str, Any] | None, name: str, show: Callable[[Any], str]) -> list[Cell]:
    return [] if before is None else [Cell(show(before[name]))]


def _class_sizes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[Block]:
    if not now["sizes"]:
        return []
    bars = _bars(before or {"sizes": []}, now)
    wide, narrow = (partial(charts.class_sizes, bars, width) for width in (2 * charts.WIDTH, charts.WIDTH))
    picture = Picture(_m("class_sizes"), wide, note=_m("class_sizes_note"), narrow=narrow)
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
