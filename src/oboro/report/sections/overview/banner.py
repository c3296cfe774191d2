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

__all__ = ["Banner", "banner", "by_construction", "headline", "secrets_told"]

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
    """The verdict in a few words. That all is well is not said while somebody stands alone."""
    found = report.exposed
    if found is not None and found.refused and report.holds is not False:
        said = "singled_out_though" if report.holds else "singled_out"
        return Message(f"report.verdict.{said}", who=found.told(found.refused), number=found.refused)
    if report.series is not None and report.series.refused and report.holds is not False:
        return Message("series.headline", people=report.series.exposed)
    if found is not None and report.holds is None and (found.k or 0) > 1 and not report.steps:
        return Message("report.verdict.found_k", k=found.k)
    if report.table.rows_before and not report.table.rows_after and report.holds is not False:
        said = "empty"
    elif report.apart and report.holds is not False:
        said = "holds_apart"
    elif report.holds is not None:
        unchecked = report.verification is not None and report.verification.unchecked
        said = ("holds_checked" if unchecked else "holds") if report.holds else "broken"
    elif by_construction(report):
        said = "by_construction"
    else:
        said = "nothing_promised" if report.steps else "not_verified"
    return Message(f"report.verdict.{said}")


def banner(report: Report) -> Banner:
    """The verdict with its colour: what was tried and succeeded counts as much as what was promised."""
    tone, lines = _judged(report)
    return Banner(tone, headline(report), lines[0] if len(lines) == 1 else Message("text.sentences", said=lines))


def _judged(report: Report) -> tuple[Tone, list[Message]]:
    better = beaten(report)
    attacked = {"better": len(better), "run": len(report.attacks)}
    if report.holds is False:
        return "bad", [Message("report.verdict.do_not_release")]
    if report.table.rows_before and not report.table.rows_after:
        return "warn", [Message("report.verdict.nothing_to_use")]
    if report.singled_out:
        return "bad", [Message("report.verdict.protect"), *secrets_told(report)]
    if report.series is not None and report.series.refused:
        return "bad", [Message("series.do_not_release", people=report.series.exposed), *secrets_told(report)]
    if report.holds is None and any(one.risk is not None and one.risk.low > MOSTLY for one in better):
        return "bad", [Message("report.verdict.attacks_succeed", **attacked), *secrets_told(report)]
    against = [one.message() for one in report.apart]
    against += [Message("report.verdict.attacks_better", **attacked)] if better else []
    against += [*secrets_told(report), *_accepted(report)]
    against += [] if report.verification is None else report.verification.unchecked
    if against:
        return "warn", against
    told = "verified" if report.holds else "described"
    return "good" if report.holds else "quiet", [Message(f"report.verdict.{told}")]


def secrets_told(report: Report) -> list[Message]:
    """The secrets that follow from a class."""
    found = report.exposed
    return [
        Message("report.verdict.certain", secret=one.sensitive, who=found.told(one.certain))
        for one in (found.certain if found else ())
        if found
    ]


def _accepted(report: Report) -> list[Message]:
    found = report.exposed
    if found is None or not found.taken:
        return []
    return [Message("report.verdict.accepted", who=found.told(found.taken), number=found.taken)]
