"""The section about unique people: how many are unique in the population, and which few attributes make records unique."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oboro.attacks.few_attributes import UniqueByFew
from oboro.report.page.blocks import Block, Cell, Grid, Section, Text
from oboro.text import Message, count, number, percent
from oboro.verifier.models.uniqueness_estimates import Uniqueness

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["uniqueness"]


def uniqueness(report: Report) -> Section | None:
    """Who is unique in the population, and which few attributes make records unique."""
    if report.uniqueness is None and report.special is None:
        return None
    blocks = [*_population(report.uniqueness), *_special(report.special)]
    return Section("alone", Message("uniqueness.title"), blocks)


def _population(found: Uniqueness | None) -> list[Block]:
    """Estimates where the table is a part of the population; where it is the whole there is nothing to estimate."""
    if found is None:
        return []
    if found.fraction >= 1:
        return [Text(Message("uniqueness.whole_population", uniques=found.sample_uniques))]
    rows = [
        _estimate("release", Cell(count(found.sample_uniques))),
        _estimate("zayatz", Cell(number(found.zayatz))),
        _estimate("pitman", Cell(number(found.pitman))),
        _estimate("chosen", Cell(number(found.decision), hint=Message(f"uniqueness.by.{found.decided_by}"))),
        _estimate("match", Cell(percent(found.intrusion))),
    ]
    lead = Message("uniqueness.sample", fraction=found.fraction, population=found.population)
    head = [Message("uniqueness.people"), Message("uniqueness.estimate")]
    return [Text(lead), Grid(head, rows, frozenset({1}))]


def _estimate(name: str, value: Cell) -> list[Cell]:
    said = Message("text.sentence", said=Message(f"uniqueness.{name}.meaning"))
    return [Cell(Message(f"uniqueness.{name}.title"), hint=said), value]


def _special(found: UniqueByFew | None) -> list[Block]:
    if found is None:
        return []
    rows = [
        [Cell(Message(f"uniqueness.by_few.{name}")), Cell(count(found.before[size])), Cell(count(found.sizes[size]))]
        for name, size in (("one", "1"), ("two", "2"))
    ]
    rows += [[Cell(name), Cell(""), Cell(count(held))] for name, held in found.sets.items()]
    head = [Message(f"uniqueness.by_few.{name}") for name in ("head", "before", "after")]
    grid = Grid(head, rows, frozenset({1, 2}), caption=Message("uniqueness.by_few.caption"))
    drawn = max(found.drawn, found.drawn_before)
    return [grid, Text(Message("uniqueness.by_few.drawn", drawn=drawn, error=found.error))] if drawn else [grid]
