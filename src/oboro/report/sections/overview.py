"""The overview of a report: banner, short answers for the reader who signs, and key figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.attacks.base import ATTACKS
from oboro.report.facts import trait
from oboro.report.page import Answer, Answers, Card, Cards, ShownSection, Tone
from oboro.report.sections.attacks import beaten, too_few
from oboro.report.sections.base import Section
from oboro.report.sections.exposure import standing_alone
from oboro.text import Message, Words, count, percent

if TYPE_CHECKING:
    from oboro.report.facts import Checklist
    from oboro.report.report import Report

__all__ = ["GLANCE", "Banner", "banner", "by_construction", "glance", "headline", "secrets_told", "short_answers"]


GLANCE = Section("glance", brief=True)


# Banner ---------------------------------------------------------------------------------------------------------------
# The verdict on a release, in a few words and a colour.


MOSTLY = 0.5  # of the people an attack is right about, beyond its control: nobody should call that a remark


@dataclass(frozen=True)
class Banner:
    """The verdict: its status, in a few words, and one line more."""

    tone: Tone
    title: Message
    line: Message


def by_construction(report: Report) -> list[Mapping[str, Any]]:
    """The steps that guarantee something which nobody can see in the released table."""
    return [step for step in report.steps if trait(step, "by_construction")]


def headline(report: Report) -> Message:
    """Return the verdict in a few words; never a clean one while a person is unique."""
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
    tone, lines = _banner_verdict(report)
    return Banner(tone, headline(report), lines[0] if len(lines) == 1 else Message("text.sentences", said=lines))


def _banner_verdict(report: Report) -> tuple[Tone, list[Message]]:
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


# Short answers --------------------------------------------------------------------------------------------------------


def short_answers(report: Report) -> Answers:
    """Each with the section that says more; the public is told neither how nor what is still open."""
    asked: tuple[Callable[[Report], Answer], ...] = (_safe, _lost) if report.public else (_safe, _why, _lost, _open)
    return Answers([ask(report) for ask in asked])


# Safety of the release ------------------------------------------------------------------------------------------------


def _safe(report: Report) -> Answer:
    held = [one.model for one in report.verdicts if one.holds]
    said = [_verdict_answer(report)]
    if held:
        said.append(Message("report.safe.verified", models=list(dict.fromkeys(held))))
    said += [] if report.exposed is None else standing_alone(report.exposed, brief=True)
    said += secrets_told(report)
    said += [*_attacked(report), *_exposed(report)]
    return Answer("promises", Message("report.safe.question"), banner(report).tone, said)


def _verdict_answer(report: Report) -> Message:
    if report.holds is False:
        broken = [one.model for one in report.verdicts if not one.holds]
        return Message("report.safe.broken", models=list(dict.fromkeys(broken)))
    if report.singled_out:
        return Message("report.safe.singled_out")
    if report.apart:
        return Message("report.safe.apart")
    if beaten(report):
        return Message("report.safe.attacked" if banner(report).tone == "bad" else "report.safe.look_at_attacks")
    if report.exposed is not None and report.exposed.certain:
        return Message("report.safe.look_at_secrets")
    return Message("report.safe.nothing_against" if report.holds else "report.safe.judge_yourself")


def _attacked(report: Report) -> list[Message]:
    """How the attacks went; of those that did better than their control the one that did best."""
    run, better, few = len(report.attacks), beaten(report), too_few(report)
    if not run:
        return [Message("report.safe.no_attack")]
    rare = [Message("report.safe.few_guesses", attacks=few)] if few else []
    if not better:
        return [Message("report.safe.attacks_failed_judged" if few else "report.safe.attacks_failed", run=run), *rare]
    worst = max(better, key=lambda one: (one.found.share or 0) - (one.control.share or 0))
    rates = {"right": worst.found.share, "control": worst.control.share}
    return [Message("report.safe.attacks_better", better=len(better), run=run, attack=worst.title, **rates), *rare]


def _exposed(report: Report) -> list[Message]:
    if report.risk is None:
        return []
    if report.least_candidates is not None:
        kind = "stream_matches" if report.stream else "candidates"
        return [Message(f"report.safe.{kind}", least=report.least_candidates)]
    if not report.risk_applies:
        return []
    highest, before = report.risk["prosecutor_max"], report.risk_before
    if before is None:
        return [Message("report.safe.highest_risk", risk=highest)]
    return [Message("report.safe.highest_risk_before", risk=highest, before=before["prosecutor_max"])]


# Reason for the solution ----------------------------------------------------------------------------------------------


def _why(report: Report) -> Answer:
    answer = partial(Answer, question=Message("report.why.question"), tone="quiet")
    if report.stream:
        return answer("stream", said=[Message("report.why.stream")])
    searched = [step["facts"] for step in report.steps if {"levels", "lattice", "loss"} <= step["facts"].keys()]
    if searched:
        return answer("solution", said=[_chosen(facts) for facts in searched])
    if report.steps:
        return answer("steps", said=[Message("report.why.recipe")])
    return answer("iso", said=[Message("report.why.unknown")])


def _chosen(facts: Mapping[str, Any]) -> Message:
    loss = facts["loss"]
    if loss.get("given") or facts.get("recoding") == "local":
        return Message(f"report.why.{'given' if loss.get('given') else 'by_class'}", loss=loss["value"])
    sure = loss.get("exact", not facts.get("stopped"))
    alone, compared = ("optimum", "optimum_next") if sure else ("best_found", "best_found_next")
    told = {"nodes": facts["lattice"]["nodes"], "loss": loss["value"]}
    others = [one["loss"] for one in facts.get("runners_up", [])]
    if others and others[0] is not None:
        return Message(f"report.why.{compared}", **told, next=others[0])
    return Message(f"report.why.{alone}", **told)


# Information loss -----------------------------------------------------------------------------------------------------


def _lost(report: Report) -> Answer:
    table = report.table
    rows, columns = table.rows_before - table.rows_after, len(table.dropped)
    said = [Message("report.lost.suppressed", suppressed=table.rows_suppressed, rows=table.rows_after)]
    said += [Message("report.lost.rows", rows=rows)] if rows > 0 else []
    said += [Message("report.lost.columns", columns=columns)] if columns else []
    said += [*_differs(report), *_learned(report)]
    return Answer("loss", Message("report.lost.question"), "quiet", said)


def _differs(report: Report) -> list[Message]:
    """How far values, or where they are random their frequencies, lie from the original."""
    whole = [one for one in report.utility if one.column is None and one.value is not None]
    measured = {one.name: one.value for one in whole}
    if "ncp" in measured and not report.randomized:
        return [Message("report.lost.ncp", ncp=measured["ncp"])]
    if {"jensen_shannon", "association_difference"} <= measured.keys():
        columns, pairs = measured["jensen_shannon"], measured["association_difference"]
        return [Message("report.lost.differs", columns=columns, pairs=pairs)]
    return []


def _learned(report: Report) -> list[Message]:
    found = {one.name: one for one in report.utility if one.name.startswith("learned_from")}
    if len(found) < 2 or any(one.value is None for one in found.values()):
        return []
    released, original = (found[f"learned_from_{name}"] for name in ("released", "original"))
    scores = {"released": released.value, "original": original.value}
    return [Message("report.lost.learned", column=released.column, **scores)]


# Open statements ------------------------------------------------------------------------------------------------------


def _open(report: Report) -> Answer:
    stated, look = (_points(report, state) for state in ("stated", "open"))
    said = [_listed(kind, points) for kind, points in (("stated", stated), ("look", look)) if points]
    if report.warnings:
        said.append(Message("report.open.warnings", warnings=len(report.warnings)))
    key = next((one.key for one, _ in (*look, *stated)), "evidence")
    tone: Tone = "warn" if look or report.warnings else "quiet"
    return Answer(key, Message("report.open.question"), tone, said or [Message("report.open.nothing")])


def _points(report: Report, state: str) -> list[tuple[Checklist, int]]:
    """How many points of which checklist are in this state."""
    counted = ((one, sum(item.state == state for item in one.items)) for one in report.shown_checklists)
    return [(one, points) for one, points in counted if points]


def _listed(kind: str, points: Sequence[tuple[Checklist, int]]) -> Message:
    lists = [Message("report.open.list", list=one.name, points=number) for one, number in points]
    return Message(f"report.open.{kind}", points=sum(number for _, number in points), lists=lists)


# First section --------------------------------------------------------------------------------------------------------
# Short answers, and the most important figures.


@GLANCE.content
def glance(report: Report) -> ShownSection:
    """Short answers, and the figures that matter most."""
    table = report.table
    share = table.rows_suppressed / table.rows_after if table.rows_after else None
    cards = [
        _released(report, "rows_released", table.rows_after, table.rows_before),
        Card(GLANCE.said("rows_suppressed"), count(table.rows_suppressed), GLANCE.said("of_release", share=share)),
        _released(report, "columns_released", table.columns_after, table.columns_before),
        *_risk_cards(report),
    ]
    return GLANCE.shown([short_answers(report), Cards(cards)])


def _released(report: Report, label: str, released: int, whole: int) -> Card:
    note: Words = "" if report.public else GLANCE.said("of", whole=whole)
    return Card(GLANCE.said(label), count(released), note)


def _risk_cards(report: Report) -> list[Card]:
    """What says how exposed people are, in a release of this kind."""
    if report.risk is None:
        return []
    if report.least_candidates is not None:
        note = GLANCE.said("matches_are" if report.stream else "candidates_are")
        return [Card(GLANCE.said("candidates"), count(report.least_candidates), note)]
    if not report.risk_applies:
        found = [one for one in report.attacks if ATTACKS.kind(one).figure and one.found.tried]
        return [
            Card(GLANCE.said("linked"), percent(one.found.share), GLANCE.said("by_chance", share=one.control.share))
            for one in found
        ]
    card = partial(_class_card, report)
    return [
        card("unique_rows", "uniques", count),
        card("highest_risk", "prosecutor_max", percent),
        card("mean_risk", "prosecutor_mean", percent),
    ]


def _class_card(report: Report, label: str, figure: str, show: Callable[[Any], str]) -> Card:
    now, before = report.risk or {}, report.risk_before
    note: Words = GLANCE.said("before", value=show(before[figure])) if before else ""
    return Card(GLANCE.said(label), show(now[figure]), note)
