"""The sections on evidence: checklists, warnings, ways of counting, recipe and signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from oboro.report.facts import CheckItem, Checklist
from oboro.report.page import Block, Cell, Code, FactList, Grid, Notes, ShownSection, Text, Tone
from oboro.report.sections.base import Section
from oboro.report.sections.method import in_words
from oboro.text import Message, Words, count

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = [
    "CHECKLISTS",
    "COUNTING",
    "EVIDENCE",
    "RECIPE",
    "SIGNATURE",
    "WARNINGS",
    "checklist_sections",
    "counting",
    "evidence",
    "recipe",
    "signature",
    "warnings",
]


WARNINGS = Section("warnings")
CHECKLISTS = Section("checklists", "checklist.section")
COUNTING = Section("counting")
EVIDENCE = Section("evidence")
RECIPE = Section("recipe")
SIGNATURE = Section("signature", "report.signature")


# Checklists -----------------------------------------------------------------------------------------------------------
# One section for each checklist: its items, their status, and the evidence.


TONES: dict[str, Tone] = {"evidence": "good", "open": "warn", "stated": "quiet", "none": "quiet"}
HEAD = [CHECKLISTS.said(name) for name in ("point", "state", "evidence")]


@CHECKLISTS.content
def checklist_sections(report: Report) -> list[ShownSection]:
    """One section for each checklist that is shown."""
    return [_checklist(one, report.lang) for one in report.shown_checklists]


def _checklist(one: Checklist, lang: str) -> ShownSection:
    rows = [_row(item) for item in one.items]
    blocks: list[Block] = [Text(one.about), Grid(HEAD, rows, prose=True)]
    if one.text:
        blocks += [Text(CHECKLISTS.said("text")), Code(one.text_ja)]
        blocks += [] if lang == "ja" else [Code(one.text)]
    return ShownSection(one.key, one.heading, blocks, short=one.name)


def _row(item: CheckItem) -> list[Cell]:
    state = Cell(Message(f"checklist.state.{item.state}"), TONES[item.state])
    return [Cell(item.point), state, Cell(item.known)]


# Evidence -------------------------------------------------------------------------------------------------------------


FILE = ("path", "bytes", "sha256")
TO_FILL_IN = "_" * 24
COUNTED = ("missing", "suppression", "dropped", "loss")


@WARNINGS.content
def warnings(report: Report) -> ShownSection | None:
    """Build the section of warnings for the reader who signs."""
    if not report.warnings:
        return None
    return WARNINGS.shown([Notes(report.warnings)])


@COUNTING.content
def counting(report: Report) -> ShownSection:
    """Build the section on the counting of missing and suppressed values, and on what is left out."""
    notes = [COUNTING.said(name) for name in COUNTED]
    if not report.public:
        notes.append(COUNTING.said("small", smallest=report.smallest_cell))
    return COUNTING.shown([Notes(notes)])


@EVIDENCE.content
def evidence(report: Report) -> ShownSection:
    """Files, versions, seed and memory: what is needed to make the release again."""
    facts = _public_facts(report) if report.public else _facts(report)
    said = [(EVIDENCE.said(name), value) for name, value in facts.items()]
    return EVIDENCE.shown([FactList(said), *_files(report)])


def _facts(report: Report) -> dict[str, Words]:
    table = report.table
    return {
        "rows": EVIDENCE.said("in_out", before=table.rows_before, after=table.rows_after),
        "columns": EVIDENCE.said("in_out", before=table.columns_before, after=table.columns_after),
        "dropped": ", ".join(table.dropped) or "–",
        "passed": ", ".join(table.passed) or "–",
        "quasi": ", ".join(report.quasi) or "–",
        "sensitive": ", ".join(report.sensitive) or "–",
        "models": _models(report),
        "seed": _seed(report),
        "memory": EVIDENCE.said("memory_of", original=table.bytes_before or 0, release=table.bytes_after or 0),
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
        return EVIDENCE.said("seed_secret") if number is None else EVIDENCE.said("seed_is", seed=str(number))
    return EVIDENCE.said("seed_unknown" if report.seeded is None else "seed_none")


def _files(report: Report) -> list[Block]:
    return [
        FactList(
            [(EVIDENCE.said(name), in_words(file[name])) for name in FILE if name in file], title=file.get("role", role)
        )
        for role, file in report.files.items()
    ]


@RECIPE.content
def recipe(report: Report) -> ShownSection | None:
    """The recipe itself."""
    if not report.recipe.strip():
        return None
    return RECIPE.shown([Code(report.recipe)])


@SIGNATURE.content
def signature(report: Report) -> ShownSection:
    """When it was made, by whom, for whom and why, and a place to sign: lines to fill in where nobody said so.

    A public report names no people and partners, and is not signed.
    """
    said = {**report.signature.model_dump(), "sign": ""}
    facts: list[tuple[Words, Words]] = [
        (SIGNATURE.said(part), said[part] or TO_FILL_IN)
        for part in ("made_on", "made_by", "made_for", "purpose", "sign")
        if said[part] or not report.public
    ]
    return SIGNATURE.shown([FactList(facts)], name="title")
