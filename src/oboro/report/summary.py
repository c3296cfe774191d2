"""A report in a few lines, for the terminal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from oboro.report.sections.attacks_section import beaten
from oboro.report.sections.first_screen import headline
from oboro.report.text.language import translate
from oboro.text import Message, count, number, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["summary"]

LABELS = {"en": 9, "ja": 10}  # letters; Japanese ones count twice
SHOWN = ("ncp", "generalization_intensity", "suppressed_cells")


def summary(report: Report) -> str:
    """The verdicts and the figures that matter most, in the report's language."""
    say = partial(translate, lang=report.lang)
    verdicts = (report.verification or {}).get("verdicts", [])
    notes = (say(Message("text.remarks", said=list(one.notes))) for one in report.linkage)
    linked = [f"{say(one.title)}: {number(one.value)}" for one in report.linkage]
    return "\n".join(
        [
            say(headline(report)),
            *(f"  {'✓' if one['holds'] else '✗'} {say(one['sentence'])}" for one in verdicts),
            *(_line(label, say(text), report.lang) for label, text in _table(report)),
            *(_line("Risk", text, report.lang) for text in _risk(report)),
            *(_line("Attacks", text, report.lang) for text in _attacks(report)),
            *(f"  {one}. {note}".rstrip(" .") for one, note in zip(linked, notes, strict=True)),
            *(_line("Loss", text, report.lang) for text in _loss(report)),
        ]
    )


def _line(label: str, text: str, lang: str) -> str:
    said = translate(label, lang)
    width = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in said)
    return f"{said}{' ' * max(1, LABELS[lang] - width)}{text}"


def _table(report: Report) -> list[tuple[str, str]]:
    table = report.table
    rows = f"{count(table.rows_before)} in, {count(table.rows_after)} out, {count(table.rows_suppressed)} suppressed"
    columns = f"{table.columns_before} in, {table.columns_after} out"
    columns += f" (dropped: {', '.join(table.dropped)})" if table.dropped else ""
    return [("Rows", rows), ("Columns", columns)]


def _risk(report: Report) -> list[str]:
    before, after = report.risk_before, report.risk
    if before is None or after is None:
        return []
    say = partial(translate, lang=report.lang)
    if report.least_candidates is not None:
        return [f"{say('least candidates')} {count(report.least_candidates)}"]
    if not report.risk_applies:
        return []
    pairs = [
        f"{say(words)} {percent(before[name])} → {percent(after[name])}"
        for words, name in (("highest", "prosecutor_max"), ("mean", "prosecutor_mean"))
    ]
    return [f"{', '.join(pairs)}; {say('unique rows')} {count(before['uniques'])} → {count(after['uniques'])}"]


def _attacks(report: Report) -> list[str]:
    tried = [one for one in report.attacks if one.risk is not None]
    say = partial(translate, lang=report.lang)
    better = [say(one.title) for one in beaten(report)]
    if not tried:
        return []
    if not better:
        return [say(f"{len(tried)} run, none better than its control")]
    return [f"{say(f'{len(tried)} run, {len(better)} better than control')}: {', '.join(better)}"]


def _loss(report: Report) -> list[str]:
    say = partial(translate, lang=report.lang)
    found = {one.name: one for one in report.utility if one.column is None and one.value is not None}
    words = [f"{say(found[name].title)} {percent(found[name].value)}" for name in SHOWN if name in found]
    return [f"{', '.join(words)} ({say('0 % is the original')})"] if words else []
