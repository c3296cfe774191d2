"""What whoever signs asks first: is it safe, why this solution, what was lost, what is left to state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report.page.blocks import Answer, Answers, Tone
from oboro.report.sections.attacks_section import beaten, too_few
from oboro.report.sections.exposure_section import standing_alone
from oboro.report.sections.overview.banner import banner, secrets_told
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.report.facts import Checklist
    from oboro.report.report import Report

__all__ = ["short_answers"]


def short_answers(report: Report) -> Answers:
    """Each with the section that says more; the public is told neither how nor what is still open."""
    asked: tuple[Callable[[Report], Answer], ...] = (_safe, _lost) if report.public else (_safe, _why, _lost, _open)
    return Answers([ask(report) for ask in asked])


# Is it safe to release? -----------------------------------------------------------------------------------------------


def _safe(report: Report) -> Answer:
    held = [one.model for one in report.verdicts if one.holds]
    said = [_judged(report)]
    if held:
        said.append(Message("report.safe.verified", models=list(dict.fromkeys(held))))
    said += [] if report.exposed is None else standing_alone(report.exposed, brief=True)
    said += secrets_told(report)
    said += [*_attacked(report), *_exposed(report)]
    return Answer("promises", Message("report.safe.question"), banner(report).tone, said)


def _judged(report: Report) -> Message:
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


# Why this solution? ---------------------------------------------------------------------------------------------------


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


# What was lost? -------------------------------------------------------------------------------------------------------


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


# What must I still state? ---------------------------------------------------------------------------------------------


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
