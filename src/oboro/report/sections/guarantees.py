"""The section on guarantees: each with the verdict of the verifier on the released table alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oboro.report.facts import trait
from oboro.report.page import Block, Cell, Grid, Notes, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.report.sections.overview import by_construction
from oboro.text import Message, Words, count, few, number

if TYPE_CHECKING:
    from oboro.report.report import Report
    from oboro.verifier.verdict import Verdict

__all__ = ["PROMISES", "promises"]


PROMISES = Section("promises", brief=True)


HEAD = ("verdict", "model", "required", "achieved", "groups", "broken_groups")


@PROMISES.content
def promises(report: Report) -> ShownSection:
    """Build the section on guarantees and their verdicts."""
    if report.holds is None:
        return PROMISES.shown([*_unverified(report), *_together(report)])
    grid = Grid([PROMISES.said(name) for name in HEAD], [_row(one) for one in report.verdicts], frozenset({2, 3, 4, 5}))
    blocks: list[Block] = [Text(_how_checked(report)), grid]
    said = [one.message() for one in report.verdicts if not one.holds]
    said += [] if report.verification is None else report.verification.unchecked
    blocks += [Notes(said)] if said else []
    return PROMISES.shown([*blocks, *_together(report)], "title_verified")


def _together(report: Report) -> list[Block]:
    """What holds over the columns of several promises, which none of them covers."""
    if not report.joint:
        return []
    grid = Grid([PROMISES.said(name) for name in HEAD], [_row(one) for one in report.joint], frozenset({2, 3, 4, 5}))
    return [
        Text(PROMISES.said("together", columns=report.joint[0].over)),
        grid,
        Notes([one.message() for one in report.apart]),
    ]


def _how_checked(report: Report) -> Message:
    over = (report.verification and report.verification.quasi) or report.quasi
    if any(one.over for one in report.verdicts):
        return PROMISES.said("checked_each")
    if report.least_candidates is None:
        return PROMISES.said("checked", over=over)
    return PROMISES.said("checked_stream" if report.stream else "checked_matching", over=over)


def _row(verdict: Verdict) -> list[Cell]:
    holds = verdict.holds
    broken: Words = count(verdict.broken_groups)
    if not holds:
        broken = PROMISES.said("broken_rows", groups=verdict.broken_groups, rows=verdict.broken_records)
    return [
        Cell(PROMISES.said("holds" if holds else "broken"), "good" if holds else "bad"),
        Cell(verdict.model, hint=verdict.note or few(verdict.over)),
        Cell(number(verdict.required)),
        Cell(number(verdict.achieved)),
        Cell(count(verdict.groups)),
        Cell(broken, "" if holds else "bad"),
    ]


def _unverified(report: Report) -> list[Block]:
    if not report.steps:
        return [Text(PROMISES.said("not_asked"))]
    made = by_construction(report)
    if not made:
        return [Text(PROMISES.said("none"))]
    rows = [[Cell(step["name"]), Cell(trait(step, "by_construction"), hint=_k(step))] for step in made]
    return [Text(PROMISES.said("by_construction")), Grid([PROMISES.said("step"), PROMISES.said("promise")], rows)]


def _k(step: Mapping[str, Any]) -> Words:
    """The public is not told parameters."""
    return PROMISES.said("k", k=step["facts"]["k"]) if "k" in step["facts"] else ""
