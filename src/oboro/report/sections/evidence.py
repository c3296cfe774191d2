"""The sections for the record: warnings, how things are counted, the evidence, and the recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from oboro.report.facts import CheckItem, Checklist
from oboro.report.page import Block, Cell, Code, FactList, Grid, Notes, Section, Text, Tone
from oboro.report.sections.method import in_words
from oboro.text import Message, Words, count

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["checklist_sections", "counting", "evidence", "recipe", "signature", "warnings"]


# Checklists section ---------------------------------------------------------------------------------------------------
# One section for each checklist: its points, how each stands, and what the software knows.


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


# Evidence section -----------------------------------------------------------------------------------------------------


FILE = ("path", "bytes", "sha256")
TO_FILL_IN = "_" * 24
COUNTED = ("missing", "suppression", "dropped", "loss")


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"section.evidence.{name}", **values)


def warnings(report: Report) -> Section | None:
    """What a reader should know before signing."""
    if not report.warnings:
        return None
    return Section("warnings", Message("section.warnings.title"), [Notes(report.warnings)])


def counting(report: Report) -> Section:
    """How missing and suppressed values are counted, and what is left out."""
    notes = [Message(f"section.counting.{name}") for name in COUNTED]
    if not report.public:
        notes.append(Message("section.counting.small", smallest=report.smallest_cell))
    return Section("counting", Message("section.counting.title"), [Notes(notes)])


def evidence(report: Report) -> Section:
    """Files, versions, seed and memory: what is needed to make the release again."""
    facts = _public_facts(report) if report.public else _facts(report)
    said = [(_m(name), value) for name, value in facts.items()]
    return Section("evidence", _m("title"), [FactList(said), *_files(report)])


def _facts(report: Report) -> dict[str, Words]:
    table = report.table
    return {
        "rows": _m("in_out", before=table.rows_before, after=table.rows_after),
        "columns": _m("in_out", before=table.columns_before, after=table.columns_after),
        "dropped": ", ".join(table.dropped) or "–",
        "passed": ", ".join(table.passed) or "–",
        "quasi": ", ".join(report.quasi) or "–",
        "sensitive": ", ".join(report.sensitive) or "–",
        "models": _models(report),
        "seed": _seed(report),
        "memory": _m("memory_of", original=table.bytes_before or 0, release=table.bytes_after or 0),
        "versions": _versions(report),
    }


def _public_facts(report: Report) -> dict[str, Words]:
    return {
        "rows": count(report.table.rows_after),
        "columns": count(report.table.columns_after),
        "quasi": ", ".join(report.quasi) or "–",
        "models": _models(report),
        "versions": _versions(report),
    }


def _models(report: Report) -> Words:
    return Message("text.list", said=[one.model for one in report.verdicts]) if report.verdicts else "–"


def _versions(report: Report) -> str:
    return ", ".join(f"{name} {version}" for name, version in report.versions.items())


def _seed(report: Report) -> Message:
    """The seed where the recipe has one. A drawn one is not kept: with it whoever reads this could undo noise and pseudonyms."""
    if report.seeded:
        number = yaml.safe_load(report.recipe).get("seed")
        return _m("seed_secret") if number is None else _m("seed_is", seed=str(number))
    return _m("seed_unknown" if report.seeded is None else "seed_none")


def _files(report: Report) -> list[Block]:
    return [
        FactList([(_m(name), in_words(file[name])) for name in FILE if name in file], title=file.get("role", role))
        for role, file in report.files.items()
    ]


def recipe(report: Report) -> Section | None:
    """The recipe itself."""
    if not report.recipe.strip():
        return None
    return Section("recipe", Message("section.recipe.title"), [Code(report.recipe)])


def signature(report: Report) -> Section:
    """When it was made, by whom, for whom and why, and a place to sign: lines to fill in where nobody said so.

    A public report names no people and partners, and is not signed.
    """
    said = {**report.signature.model_dump(), "sign": ""}
    facts: list[tuple[Words, Words]] = [
        (Message(f"report.signature.{part}"), said[part] or TO_FILL_IN)
        for part in ("made_on", "made_by", "made_for", "purpose", "sign")
        if said[part] or not report.public
    ]
    title = Message("report.signature.title")
    return Section("signature", title, [FactList(facts)], short=title)
