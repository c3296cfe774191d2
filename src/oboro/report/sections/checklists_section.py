"""One section for each checklist: its points, how each stands, and what the software knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oboro.report.facts import CheckItem, Checklist
from oboro.report.page.blocks import Block, Cell, Code, Grid, Section, Text, Tone
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["checklist_sections"]

TONES: dict[str, Tone] = {"evidence": "good", "open": "warn", "stated": "quiet", "none": "quiet"}
HEAD = [Message(f"checklist.section.{name}") for name in ("point", "state", "evidence")]


def checklist_sections(report: Report) -> list[Section]:
    """One section for each checklist that is shown."""
    return [_checklist(one, report.lang) for one in report.shown_checklists]


def _checklist(one: Checklist, lang: str) -> Section:
    rows = [_row(item) for item in one.items]
    blocks: list[Block] = [Text(one.about), Grid(HEAD, rows, prose=True)]
    if one.text:
        blocks += [Text(Message("checklist.section.text")), Code(one.text_ja)]
        blocks += [] if lang == "ja" else [Code(one.text)]
    return Section(one.key, one.heading, blocks, short=one.name)


def _row(item: CheckItem) -> list[Cell]:
    state = Cell(Message(f"checklist.state.{item.state}"), TONES[item.state])
    return [Cell(item.point), state, Cell(item.known)]
