"""When the report was made, by whom, for whom and why, and a place to sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oboro.report.page.blocks import FactList, Section
from oboro.text import Message, Words

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["signature"]

PLACE = "\u3000" * 12
PARTS = ("made_on", "made_by", "made_for", "purpose")


def signature(report: Report) -> Section | None:
    """What is known of it; of a public report without people and partners."""
    if report.signature is None:
        return None
    said = report.signature.model_dump()
    facts: list[tuple[Words, Words]] = [
        (Message(f"report.signature.{part}"), said[part]) for part in PARTS if said[part]
    ]
    if not report.public:
        facts.append((Message("report.signature.sign"), PLACE))
    title = Message("report.signature.title")
    return Section("signature", title, [FactList(facts)], short=title)
