"""The verdict on a release, in a few words and a colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oboro.report.facts import trait
from oboro.report.page.blocks import Tone
from oboro.report.sections.attacks_section import beaten
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["Banner", "attacks_run", "banner", "by_construction", "headline"]

MOSTLY = 0.5  # of the people an attack is right about, beyond its control: nobody should call that a remark


@dataclass(frozen=True)
class Banner:
    """The verdict: how it stands, in a few words, and one line more."""

    tone: Tone
    title: Message
    line: Message


def by_construction(report: Report) -> list[Mapping[str, Any]]:
    """The steps that guarantee something which nobody can see in the released table."""
    return [step for step in report.steps if trait(step, "by_construction")]


def headline(report: Report) -> Message:
    """The verdict in a few words."""
    if report.holds is not None:
        said = "holds" if report.holds else "broken"
    elif by_construction(report):
        said = "by_construction"
    else:
        said = "nothing_promised" if report.steps else "not_verified"
    return Message(f"report.verdict.{said}")


def banner(report: Report) -> Banner:
    """The verdict with its colour: what was tried and succeeded counts as much as what was promised."""
    tone, line = _judged(report)
    better = len(beaten(report))
    return Banner(tone, headline(report), Message(f"report.verdict.{line}", better=better, run=attacks_run(report)))


def _judged(report: Report) -> tuple[Tone, str]:
    better = beaten(report)
    if report.holds is False:
        return "bad", "do_not_release"
    if report.holds is None and any(one.risk is not None and one.risk.low > MOSTLY for one in better):
        return "bad", "attacks_succeed"
    if better:
        return "warn", "attacks_better"
    return ("good", "verified") if report.holds else ("quiet", "described")


def attacks_run(report: Report) -> int:
    """How many attacks made enough guesses to say something."""
    return sum(one.risk is not None for one in report.attacks)
