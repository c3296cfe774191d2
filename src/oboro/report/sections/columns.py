"""The section on columns: charts and counts of their values before and after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from oboro.report import charts
from oboro.report.distributions import MISSING, OTHER, SPECIAL, SUPPRESSED, Bar, Distribution
from oboro.report.page import Block, Cell, Grid, Picture, Pictures, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.text import Message, count

if TYPE_CHECKING:
    from oboro.report.facts import ColumnFacts
    from oboro.report.report import Report

__all__ = ["COLUMNS", "MOST_PICTURES", "released_columns"]


COLUMNS = Section("columns")


MOST_PICTURES = 24  # each takes 0.03 s and 10 kB; quasi-identifiers and sensitive columns come first
ROLES = ("quasi", "sensitive", "other", "dropped")
HEAD = ("column", "role", "distinct", "missing", "suppressed")
BESIDE = {MISSING: "missing", SUPPRESSED: "suppressed", OTHER: "rare"}


@COLUMNS.content
def released_columns(report: Report) -> ShownSection:
    """Every column before and after; of a public report after."""
    ordered = sorted(report.columns, key=lambda one: ROLES.index(one.role))
    return COLUMNS.shown([*_pictures(report, ordered), _table(ordered)], "title_public" if report.public else "title")


def _pictures(report: Report, columns: Sequence[ColumnFacts]) -> list[Block]:
    drawn = [(one, one.distribution) for one in columns if one.distribution is not None and one.distribution.drawable]
    if not drawn:
        return []
    lead = COLUMNS.said("lead_public" if report.public else "lead", smallest=report.smallest_cell)
    blocks: list[Block] = [Text(lead)]
    if len(drawn) > MOST_PICTURES:
        blocks.append(Text(COLUMNS.said("first_drawn", drawn=MOST_PICTURES, all=len(drawn))))
    pictures = [_picture(*pair, report.public) for pair in drawn[:MOST_PICTURES]]
    return [*blocks, Pictures(pictures, legend=not report.public)]


def _picture(column: ColumnFacts, distribution: Distribution, public: bool) -> Picture:
    notes = [] if distribution.compared or public else [COLUMNS.said("only_release")]
    if distribution.shape == "sequence":
        beside = [_beside(bar) for bar in distribution.bars if bar.label in SPECIAL]
        notes += [COLUMNS.said("not_drawn"), *beside] if beside else []
    notes += [distribution.note] if distribution.note else []
    return Picture(column.name, partial(charts.distribution, distribution), tag=_role(column), note=notes)


def _beside(bar: Bar) -> Message:
    """What has no place in a sequence, in words."""
    if bar.before is None:
        return COLUMNS.said(f"beside.after.{BESIDE[bar.label]}", after=bar.after)
    return COLUMNS.said(f"beside.both.{BESIDE[bar.label]}", before=bar.before, after=bar.after)


def _role(column: ColumnFacts) -> Message:
    return COLUMNS.said(f"roles.{column.role}")


def _table(facts: Sequence[ColumnFacts]) -> Grid:
    rows = [
        [
            Cell(one.name, hint=COLUMNS.said(f"kinds.{one.kind}") if one.kind else ""),
            Cell(_role(one)),
            Cell(_change(one.distinct_before, one.distinct_after)),
            Cell(_change(one.missing_before, one.missing_after)),
            Cell(count(one.suppressed_after)),
        ]
        for one in facts
    ]
    return Grid([COLUMNS.said(name) for name in HEAD], rows, frozenset({2, 3, 4}))


def _change(before: int | None, after: int | None) -> str:
    if after is None or before is None:
        return count(before if after is None else after)
    return count(after) if before == after else f"{count(before)} → {count(after)}"
