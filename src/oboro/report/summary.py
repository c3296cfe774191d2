"""A report in a few lines, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oboro.disclosure.earlier_releases import series_findings
from oboro.measure.key_figures import LOSSES, Loss
from oboro.report.sections.attacks_section import beaten, too_few
from oboro.report.sections.exposure_section import secrets_said, standing_alone
from oboro.report.sections.overview.banner import headline
from oboro.text import Message
from oboro.text.chosen_levels_said import chosen_levels_said, rows_said
from oboro.text.chosen_levels_said import summary_words as _m
from oboro.text.lines import labelled

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["summary"]


def summary(report: Report) -> str:
    """The verdicts and the figures that matter most, in the report's language."""
    lang = report.lang
    verdicts = [f"  {one.mark} {one.message().say(lang)}" for one in (*report.verdicts, *report.joint)]
    verdicts += [f"  ? {one.say(lang)}" for one in (report.verification.unchecked if report.verification else ())]
    linked = [f"  {one.say(lang)}" for one in _linked(report)]
    told = (
        *_table(report),
        *_risk(report),
        *_exposed(report),
        *_cautions(report),
        *_attacks(report),
        *_series(report),
    )
    figures = [labelled(_m(label), said, lang) for label, said in told]
    losses = [labelled(_m("loss"), said, lang) for said in _loss(report)]
    return "\n".join([headline(report).say(lang), *verdicts, *figures, *linked, *losses])


def _table(report: Report) -> Iterator[tuple[str, Message]]:
    table = report.table
    steps = [(one["name"], one["rows_before"], one["rows_after"]) for one in report.steps if "rows_before" in one]
    yield "rows", rows_said(table.rows_before, table.rows_after, table.rows_suppressed, steps)
    columns = {"before": table.columns_before, "after": table.columns_after}
    yield "columns", _m("columns_dropped" if table.dropped else "columns_said", **columns, dropped=table.dropped)
    for step in report.steps:
        yield from chosen_levels_said(step["facts"])


def _risk(report: Report) -> Iterator[tuple[str, Message]]:
    before, after = report.risk_before, report.risk
    if before is None or after is None:
        return
    if report.least_candidates is not None:
        yield "risk", _m("candidates", least=report.least_candidates)
    elif report.risk_applies:
        figures = {"highest": "prosecutor_max", "mean": "prosecutor_mean", "uniques": "uniques"}
        was = {f"{name}_before": before[figure] for name, figure in figures.items()}
        yield "risk", _m("risk_said", **was, **{name: after[figure] for name, figure in figures.items()})


def _exposed(report: Report) -> Iterator[tuple[str, Message]]:
    if report.exposed is None:
        return
    for said in standing_alone(report.exposed):
        yield "exposed", said
    for said in secrets_said(report.exposed):
        yield "secrets", said


LOOKED = ("report.warning.looks_like_identifiers", "exposure.look.by_all", "exposure.look.secret_near")


def _cautions(report: Report) -> Iterator[tuple[str, Message]]:
    """What a run says without a report too, and what looks like an identifier; what was accepted is said of the exposed."""
    for said in report.warnings:
        if said.id in LOOKED:
            yield "look", said
        elif not said.id.startswith(("report.", "exposure.look.")):
            yield "caution", said


def _attacks(report: Report) -> Iterator[tuple[str, Message]]:
    run = len(report.attacks)
    better = [one.title for one in beaten(report)]
    if run and better:
        yield "attacks", _m("attacks_better", run=run, better=len(better), attacks=better)
    elif run:
        yield "attacks", _m("attacks_failed_judged" if too_few(report) else "attacks_failed", run=run)
    if few := too_few(report):
        yield "attacks", _m("few_guesses", attacks=few)


def _series(report: Report) -> Iterator[tuple[str, Message]]:
    for said in () if report.series is None else series_findings(report.series):
        yield "series", said


def _linked(report: Report) -> Iterator[Message]:
    for one in report.linkage:
        kind = "linked_noted" if one.notes else "linked"
        yield _m(kind, title=one.title, value=one.value, note=Message("text.remarks", said=one.notes))


def _loss(report: Report) -> Iterator[Message]:
    found = [_lost(report, name) for name in LOSSES]
    if said := [one.said() for one in found if one is not None]:
        yield _m("loss_said", measures=said)


def _lost(report: Report, name: str) -> Loss | None:
    """A loss over all columns, as the report has it, and of how many columns it knows."""
    whole = [one.value for one in report.utility if one.name == name and one.column is None]
    each = {one.column: one.value for one in report.utility if one.name == name and one.column is not None}
    unknown = tuple(column for column, value in each.items() if value is None)
    return None if not whole or whole[0] is None else Loss(name, whole[0], len(each) - len(unknown), unknown)
