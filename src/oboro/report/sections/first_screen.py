"""The first screen: the verdict, and what whoever signs asks first. Is it safe, why so, what was lost, what is left to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oboro.report.page.blocks import CHECKLISTS, Answer, Answers, Tone
from oboro.report.sections.attacks_section import beaten
from oboro.report.text.language import Both, translate
from oboro.text import count, number, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["Banner", "answers", "banner", "constructed", "headline"]

CONSTRUCTED = ("pk_anonymize", "synthesize")
MOSTLY = 0.5  # of the people an attack is right about, beyond its control: nobody should call that a remark


@dataclass(frozen=True)
class Banner:
    """The verdict: how it stands, in a few words, and one line more."""

    tone: Tone
    title: str
    line: str


def constructed(report: Report) -> list[Mapping[str, Any]]:
    """The steps that promise something which nobody can see in the released table."""
    return [step for step in report.steps if step["name"] in CONSTRUCTED]


def headline(report: Report) -> str:
    """The verdict in a few words."""
    if report.holds is not None:
        return "Every promise holds" if report.holds else "A promise is broken"
    if constructed(report):
        return "Promised by construction, which no table can prove"
    return "Nothing was promised, so nothing was verified" if report.steps else "No promise was verified here"


def banner(report: Report) -> Banner:
    """The verdict with its colour: what was tried and succeeded counts as much as what was promised."""
    said, better = headline(report), beaten(report)
    if report.holds is False:
        return Banner("bad", said, "This table must not be released as it is.")
    if report.holds is None and any(one.risk is not None and one.risk.low > MOSTLY for one in better):
        return Banner("bad", said, f"Attacks succeed against this table: {len(better)} of {_run(report)}.")
    if better:
        return Banner("warn", said, f"But attacks that do better than their control: {len(better)} of {_run(report)}.")
    if report.holds:
        return Banner("good", said, "Verified on the released table, after the last step.")
    return Banner("quiet", said, "The figures below describe the release; they promise nothing.")


def _run(report: Report) -> int:
    """How many attacks made enough guesses to say something."""
    return sum(one.risk is not None for one in report.attacks)


def answers(report: Report) -> Answers:
    """Short answers, each with the section that says more; the public is told neither how nor what is still open."""
    asked: tuple[Callable[[Report], Answer], ...] = (_safe, _lost) if report.public else (_safe, _why, _lost, _open)
    return Answers([ask(report) for ask in asked])


# Is it safe to release? -----------------------------------------------------------------------------------------------


def _safe(report: Report) -> Answer:
    verdicts = (report.verification or {}).get("verdicts", [])
    broken = [one["model"] for one in verdicts if not one["holds"]]
    held = [one["model"] for one in verdicts if one["holds"]]
    said: list[str] = []
    if report.holds is False:
        said.append(_models("Not as it is; broken: {}.", "このままでは不可。不成立:{}。", broken))
    elif beaten(report):
        said.append("Not as it is, by the attacks." if banner(report).tone == "bad" else "Look at the attacks first.")
    elif report.holds:
        said.append("Nothing that was verified or tried speaks against it.")
    else:
        said.append("That is yours to judge: nothing could be verified.")
    if held:
        said.append(_models("Verified: {}.", "検証済み:{}。", held))
    tone = banner(report).tone
    return Answer("promises", "Is it safe to release?", tone, [*said, *_attacked(report), *_exposed(report)])


def _models(english: str, japanese: str, models: list[str]) -> str:
    once = list(dict.fromkeys(models))
    names = "、".join(translate(one, "ja") for one in once)
    return Both(english.format(", ".join(once)), japanese.format(names))


def _attacked(report: Report) -> list[str]:
    """How the attacks went; of those that did better than their control the one that did best."""
    run, better = _run(report), beaten(report)
    if not run:
        return ["The table is too small for any attack to say something." if report.attacks else "No attack was run."]
    if not better:
        return [f"{run} attacks were run; none does better than its control."]
    worst = max(better, key=lambda one: (one.attack.share or 0) - (one.control.share or 0))
    rates = percent(worst.attack.share), percent(worst.control.share)
    return [
        Both(
            f"{len(better)} of {run} attacks do better than their control, most of all {worst.title}: right in {rates[0]} of "
            f"its guesses, the control in {rates[1]}.",
            f"{run} 件の攻撃のうち {len(better)} 件が対照群を上回り、最大は「{translate(worst.title, 'ja')}」です"
            f"(正解率 {rates[0]}、対照群 {rates[1]})。",
        )
    ]


def _exposed(report: Report) -> list[str]:
    if report.risk is None:
        return []
    if report.least_candidates is not None:
        least = count(report.least_candidates)
        if report.stream:
            return [f"Every record matches {least} records of the stream or more, its own among them."]
        return [f"Every record can be the record of {least} people or more."]
    if not report.risk_applies:
        return []
    highest = percent(report.risk["prosecutor_max"])
    before = report.risk_before
    was = f" (before: {percent(before['prosecutor_max'])})" if before else ""
    return [f"Who is known to be in the table is recognised with a probability of at most {highest}{was}."]


# Why this solution? ---------------------------------------------------------------------------------------------------


def _why(report: Report) -> Answer:
    searched = [step["facts"] for step in report.steps if {"levels", "lattice", "loss"} <= step["facts"].keys()]
    if report.stream:
        return Answer("stream", "Why this solution?", "quiet", [AS_THEY_COME])
    if not searched:
        said = "The recipe says what is done; nothing was searched for." if report.steps else UNKNOWN
        return Answer("steps" if report.steps else "iso", "Why this solution?", "quiet", [said])
    return Answer("solution", "Why this solution?", "quiet", [_chosen(facts) for facts in searched])


AS_THEY_COME = "A stream decides record by record, as they come; no solution was chosen for all of them."
UNKNOWN = "How the release was made is not known here."


def _chosen(facts: Mapping[str, Any]) -> str:
    loss, others = number(facts["loss"]["value"]), [one["loss"] for one in facts.get("runners_up", [])]
    of = count(facts["lattice"]["nodes"])
    following = f"; the next best loses {number(others[0])}" if others and others[0] is not None else ""
    among = (
        f"those of {of} combinations of levels that were looked at,"
        if facts.get("stopped")
        else f"{of} combinations of levels"
    )
    return f"Of {among} it keeps every promise at the least loss: {loss}{following}."


# What was lost? -------------------------------------------------------------------------------------------------------


def _lost(report: Report) -> Answer:
    table = report.table
    rows, columns = table.rows_before - table.rows_after, len(table.dropped)
    said = [f"Suppressed: {count(table.rows_suppressed)} of {count(table.rows_after)} rows."]
    said += [f"Rows not released: {count(rows)}."] if rows > 0 else []
    said += [f"Columns not released: {count(columns)}."] if columns else []
    measured = {one.name: one.value for one in report.utility if one.column is None and one.value is not None}
    if "ncp" in measured and not report.randomized:
        said.append(f"A value now stands for {percent(measured['ncp'])} of its column's range on average (NCP).")
    elif {"jensen_shannon", "association_difference"} <= measured.keys():
        columns_by, pairs_by = (percent(measured[name]) for name in ("jensen_shannon", "association_difference"))
        said.append(f"A column differs from the original by {columns_by} on average, a pair of columns by {pairs_by}.")
    return Answer("loss", "What was lost?", "quiet", [*said, *_learned(report)])


def _learned(report: Report) -> list[str]:
    found = {one.name: one for one in report.utility if one.name.startswith("learned_from")}
    if len(found) < 2 or any(one.value is None for one in found.values()):
        return []
    released, original = (number(found[f"learned_from_{name}"].value) for name in ("released", "original"))
    column = found["learned_from_released"].column
    return [f"A model of {column} scores {released} if learned from the release, {original} from the original."]


# What must I still state? ---------------------------------------------------------------------------------------------


def _open(report: Report) -> Answer:
    stated, look = (_points(report, state) for state in ("stated", "open"))
    said = [_listed("To be stated by you: {} ({}).", "記載が必要な項目:{} 件({})。", stated)] if stated else []
    said += [_listed("To be looked at: {} ({}).", "確認が必要な項目:{} 件({})。", look)] if look else []
    if report.warnings:
        said.append(f"Remarks to read before you sign: {len(report.warnings)}.")
    lists = [*look, *stated]
    key = lists[0][0] if lists else "evidence"
    tone: Tone = "warn" if look or report.warnings else "quiet"
    return Answer(key, "What must I still state?", tone, said or ["Nothing that this page knows of."])


def _points(report: Report, state: str) -> list[tuple[str, int]]:
    """How many points of which checklist are in this state."""
    counted = ((one.key, sum(item.state == state for item in one.items)) for one in report.checklists)
    return [(key, points) for key, points in counted if points]


def _listed(english: str, japanese: str, points: list[tuple[str, int]]) -> str:
    whole = sum(number for _, number in points)
    parts = [f"{CHECKLISTS[key]} {number}" for key, number in points]
    said = [f"{translate(CHECKLISTS[key], 'ja')} {number}" for key, number in points]
    return Both(english.format(whole, ", ".join(parts)), japanese.format(whole, "、".join(said)))
