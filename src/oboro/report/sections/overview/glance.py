"""The first section: short answers, and the figures that matter most."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report.page.blocks import Card, Cards, Section
from oboro.report.sections.overview.short_answers import short_answers
from oboro.text import Message, Words, count, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["glance"]


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"section.glance.{name}", **values)


def glance(report: Report) -> Section:
    """Short answers, and the figures that matter most."""
    table = report.table
    share = table.rows_suppressed / table.rows_after if table.rows_after else None
    cards = [
        _released(report, "rows_released", table.rows_after, table.rows_before),
        Card(_m("rows_suppressed"), count(table.rows_suppressed), _m("of_release", share=share)),
        _released(report, "columns_released", table.columns_after, table.columns_before),
        *_risk_cards(report),
    ]
    return Section("glance", _m("title"), [short_answers(report), Cards(cards)])


def _released(report: Report, label: str, released: int, whole: int) -> Card:
    note: Words = "" if report.public else _m("of", whole=whole)
    return Card(_m(label), count(released), note)


def _risk_cards(report: Report) -> list[Card]:
    """What says how exposed people are, in a release of this kind."""
    if report.risk is None:
        return []
    if report.least_candidates is not None:
        note = _m("matches_are" if report.stream else "candidates_are")
        return [Card(_m("candidates"), count(report.least_candidates), note)]
    if not report.risk_applies:
        found = [one for one in report.attacks if one.name == "record_linkage" and one.found.tried]
        return [Card(_m("linked"), percent(one.found.share), _m("by_chance", share=one.control.share)) for one in found]
    card = partial(_class_card, report)
    return [
        card("unique_rows", "uniques", count),
        card("highest_risk", "prosecutor_max", percent),
        card("mean_risk", "prosecutor_mean", percent),
    ]


def _class_card(report: Report, label: str, figure: str, show: Callable[[Any], str]) -> Card:
    now, before = report.risk or {}, report.risk_before
    note: Words = _m("before", value=show(before[figure])) if before else ""
    return Card(_m(label), show(now[figure]), note)
