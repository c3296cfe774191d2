"""The section about promises: what was promised, and what the verifier found on the released table alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oboro.report.facts import trait
from oboro.report.page import Block, Cell, Grid, Notes, Section, Text
from oboro.report.sections.overview import by_construction
from oboro.text import Message, Words, count, few, number

if TYPE_CHECKING:
    from oboro.report.report import Report
    from oboro.verifier.verdict import Verdict

__all__ = ["promises"]


HEAD = ("verdict", "model", "required", "achieved", "groups", "broken_groups")


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"section.promises.{name}", **values)


def promises(report: Report) -> Section:
    """What was promised, and whether it holds."""
    if report.holds is None:
        return Section("promises", _m("title"), [*_unverified(report), *_together(report)])
    grid = Grid([_m(name) for name in HEAD], [_row(one) for one in report.verdicts], frozenset({2, 3, 4, 5}))
    blocks: list[Block] = [Text(_how_checked(report)), grid]
    said = [one.message() for one in report.verdicts if not one.holds]
    said += [] if report.verification is None else report.verification.unchecked
    blocks += [Notes(said)] if said else []
    return Section("promises", _m("title_verified"), [*blocks, *_together(report)])


def _together(report: Report) -> list[Block]:
    """What holds over the columns of several promises, which none of them covers."""
    if not report.joint:
        return []
    grid = Grid([_m(name) for name in HEAD], [_row(one) for one in report.joint], frozenset({2, 3, 4, 5}))
    return [Text(_m("together", columns=report.joint[0].over)), grid, Notes([one.message() for one in report.apart])]


def _how_checked(report: Report) -> Message:
    over = (report.verification and report.verification.quasi) or report.quasi
    if any(one.over for one in report.verdicts):
        return _m("checked_each")
    if report.least_candidates is None:
        return _m("checked", over=over)
    return _m("checked_stream" if report.stream else "checked_matching", over=over)


def _row(verdict: Verdict) -> list[Cell]:
    holds = verdict.holds
    broken: Words = count(verdict.broken_groups)
    if not holds:
        broken = _m("broken_rows", groups=verdict.broken_groups, rows=verdict.broken_records)
    return [
        Cell(_m("holds" if holds else "broken"), "good" if holds else "bad"),
        Cell(verdict.model, hint=verdict.note or few(verdict.over)),
        Cell(number(verdict.required)),
        Cell(number(verdict.achieved)),
        Cell(count(verdict.groups)),
        Cell(broken, "" if holds else "bad"),
    ]


def _unverified(report: Report) -> list[Block]:
    if not report.steps:
        return [Text(_m("not_asked"))]
    made = by_construction(report)
    if not made:
        return [Text(_m("none"))]
    rows = [[Cell(step["name"]), Cell(trait(step, "by_construction"), hint=_k(step))] for step in made]
    return [Text(_m("by_construction")), Grid([_m("step"), _m("promise")], rows)]


def _k(step: Mapping[str, Any]) -> Words:
    """The public is not told parameters."""
    return _m("k", k=step["facts"]["k"]) if "k" in step["facts"] else ""
