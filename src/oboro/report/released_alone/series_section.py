"""The section about a series of releases: who is told by all of them together, exact counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oboro.disclosure.earlier_releases import series_findings
from oboro.report.page.blocks import Block, Cell, Grid, Notes, Section, Text
from oboro.text import Message, count

if TYPE_CHECKING:
    from oboro.attacks.series.series_attack import SeriesRisk
    from oboro.report.report import Report

__all__ = ["series_blocks", "series_section"]


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"series.{name}", **values)


def series_section(report: Report) -> Section | None:
    """What the release tells together with those before it."""
    return None if report.series is None else Section("series", _m("title"), series_blocks(report.series), _m("name"))


def series_blocks(found: SeriesRisk) -> list[Block]:
    """What was tried, what it found, and the figures."""
    lead = _m("lead", earlier=found.earlier, k=found.k)
    followed = list(dict.fromkeys(name for names in found.followed_by for name in names))
    told = [_m("followed", columns=followed) if followed else _m("not_followed")]
    return [Text(lead), Notes([*told, *series_findings(found)]), _figures(found)]


def _figures(found: SeriesRisk) -> Grid:
    secrets = list(found.l)
    head = [_m(f"head.{name}") for name in ("attack", "people", "below_k", "fewest")]
    for name in secrets:
        head += [_m("head.below_l", secret=name, l=found.l[name]), _m("head.certain", secret=name)]
    rows = []
    for name, number, one in found.attacks:
        row = [Cell(_m(f"attack.{name}", release=number)), Cell(count(one.people))]
        row += [Cell(count(one.below_k), "bad" if one.below_k else ""), Cell(count(one.fewest) if one.fewest else "–")]
        for secret in secrets:
            below, certain = one.below_l.get(secret, 0), one.certain.get(secret, 0)
            row += [Cell(count(below), "bad" if below else ""), Cell(count(certain), "bad" if certain else "")]
        rows.append(row)
    caption = _m("caption_known" if found.known else "caption_rows")
    return Grid(head, rows, frozenset(range(1, len(head))), caption=caption)
