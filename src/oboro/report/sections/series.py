"""The section on sequential releases: exact counts of the people exposed by all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oboro.attacks.series import SeriesRisk
from oboro.disclosure.earlier_releases import series_findings
from oboro.report.page import Block, Cell, Grid, Notes, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.text import count

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["SERIES", "series_blocks", "series_section"]


SERIES = Section("series", "series")


@SERIES.content
def series_section(report: Report) -> ShownSection | None:
    """Show the risk of the release together with those before it."""
    return None if report.series is None else SERIES.shown(series_blocks(report.series), name="name")


def series_blocks(found: SeriesRisk) -> list[Block]:
    """What was tried, what it found, and the figures."""
    lead = SERIES.said("lead", earlier=found.earlier, k=found.k)
    followed = list(dict.fromkeys(name for names in found.followed_by for name in names))
    told = [SERIES.said("followed", columns=followed) if followed else SERIES.said("not_followed")]
    return [Text(lead), Notes([*told, *series_findings(found)]), _figures(found)]


def _figures(found: SeriesRisk) -> Grid:
    secrets = list(found.l)
    head = [SERIES.said(f"head.{name}") for name in ("attack", "people", "below_k", "fewest")]
    for name in secrets:
        head += [
            SERIES.said("head.below_l", secret=name, l=found.l[name]),
            SERIES.said("head.certain", secret=name),
        ]
    rows = []
    for name, number, one in found.attacks:
        row = [Cell(SERIES.said(f"attack.{name}", release=number)), Cell(count(one.people))]
        row += [Cell(count(one.below_k), "bad" if one.below_k else ""), Cell(count(one.fewest) if one.fewest else "–")]
        for secret in secrets:
            below, certain = one.below_l.get(secret, 0), one.certain.get(secret, 0)
            row += [Cell(count(below), "bad" if below else ""), Cell(count(certain), "bad" if certain else "")]
        rows.append(row)
    caption = SERIES.said("caption_known" if found.known else "caption_rows")
    return Grid(head, rows, frozenset(range(1, len(head))), caption=caption)
