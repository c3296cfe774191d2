"""The sections of a report: facts in, words and tables out.

Each function makes one section, or None where there is nothing to say. A new section is one more entry in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oboro.evaluate.report import charts
from oboro.evaluate.report.blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Grid,
    Notes,
    Picture,
    Pictures,
    Section,
    Text,
    count,
    number,
    percent,
    size,
    words,
)
from oboro.evaluate.report.distributions import MISSING, OTHER, SPECIAL, SUPPRESSED, Bar, Distribution
from oboro.evaluate.report.provenance import counting, evidence, recipe, solutions, steps

if TYPE_CHECKING:
    from oboro.evaluate.report.report import ColumnFacts, Report

__all__ = ["SECTIONS", "glance", "headline", "promises", "sections"]

MOST_PICTURES = 24  # each takes 0.03 s and 10 kB; quasi-identifiers and sensitive columns come first
ROLES = ("quasi", "sensitive", "other", "dropped")


def sections(report: Report) -> list[Section]:
    """Everything there is to say, in order."""
    return [section for make in SECTIONS if (section := make(report)) is not None]


def headline(report: Report) -> str:
    """The verdict in a few words."""
    if report.holds is None:
        return "Nothing was promised, so nothing was verified"
    return "Every promise holds" if report.holds else "A promise is broken"


def glance(report: Report) -> Section:
    """The figures that matter most."""
    table, now, before = report.table, report.risk, report.risk_before
    share = percent(table.rows_suppressed / table.rows_after) if table.rows_after else "–"
    cards = [
        Card("rows released", count(table.rows_after), f"of {count(table.rows_before)}"),
        Card("rows suppressed", count(table.rows_suppressed), f"{share} of the release"),
        Card("columns released", count(table.columns_after), f"of {count(table.columns_before)}"),
    ]
    if now is not None and before is not None:
        cards += [
            Card("unique rows", count(now["uniques"]), f"{count(before['uniques'])} before"),
            Card("highest risk", percent(now["prosecutor_max"]), f"{percent(before['prosecutor_max'])} before"),
            Card("mean risk", percent(now["prosecutor_mean"]), f"{percent(before['prosecutor_mean'])} before"),
        ]
    return Section("glance", "At a glance", [Cards(cards)])


# Promises -------------------------------------------------------------------------------------------------------------


def promises(report: Report) -> Section:
    """What was promised, and what the verifier found on the released table alone."""
    if report.holds is None or report.verification is None:
        return Section("promises", "What was promised", [Text(NO_PROMISE)])
    verdicts = report.verification["verdicts"]
    over = ", ".join(report.verification.get("quasi") or report.quasi)
    head = ["verdict", "model", "required", "achieved", "groups", "groups that break it"]
    grid = Grid(head, [_verdict_row(one) for one in verdicts], frozenset({2, 3, 4, 5}))
    remarks = [one["sentence"] for one in verdicts if one["note"] or not one["holds"]]
    blocks: list[Block] = [Text(VERIFIED.format(over=over)), grid]
    if remarks:
        blocks.append(Notes(remarks))
    return Section("promises", "What was promised, and whether it holds", blocks)


NO_PROMISE = (
    "No step promises a privacy model, so there was nothing to verify. "
    "The risk below is measured on the release all the same."
)
VERIFIED = (
    "Checked on the released table alone, after the last step, by regrouping its rows over {over}. "
    "How the release was made played no part in it."
)


def _verdict_row(verdict: Mapping[str, Any]) -> list[Cell]:
    holds = verdict["holds"]
    broken = count(verdict["broken_groups"])
    return [
        Cell("✓ holds" if holds else "✗ broken", "good" if holds else "bad"),
        Cell(verdict["model"], hint=verdict["note"]),
        Cell(number(verdict["required"])),
        Cell(number(verdict["achieved"])),
        Cell(count(verdict["groups"])),
        Cell(broken if holds else f"{broken} ({count(verdict['broken_records'])} rows)", "" if holds else "bad"),
    ]


# Risk -----------------------------------------------------------------------------------------------------------------


def risks(report: Report) -> Section | None:
    """How likely it is that somebody is recognised, before and after."""
    before, now = report.risk_before, report.risk
    if before is None or now is None:
        return None
    rows = [
        [
            Cell(one["title"], hint=one["meaning"]),
            Cell(percent(before[one["name"]])),
            Cell(percent(one["value"]), meter=one["value"]),
        ]
        for one in report.risk_measures
    ]
    rows.append([Cell("unique rows", hint=UNIQUE), Cell(count(before["uniques"])), Cell(count(now["uniques"]))])
    wide, narrow = (charts.class_sizes(_class_bars(before, now), width) for width in (2 * charts.WIDTH, charts.WIDTH))
    picture = Picture("How many rows look alike", wide, note=CLASSES, narrow=narrow)
    grid = Grid(["risk", "before", "after"], rows, frozenset({1, 2}))
    lead = Text(RISK.format(quasi=", ".join(report.quasi)))
    return Section("risk", "Risk of being recognised", [lead, Pictures([picture]), grid])


UNIQUE = "rows that look like no other row"
CLASSES = (
    "Rows by the size of the class they stand in: all rows that agree on every quasi-identifier. "
    "Who stands at the far left can be singled out."
)
RISK = (
    "Measured over {quasi}, for an attacker who knows these of a person. A prosecutor knows that the person is in the "
    "table, a journalist does not, a marketer wants to recognise as many people as possible. Lower is better."
)


def _class_bars(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Bar]:
    """Both histograms over the same bins."""
    first, second = ({(one["low"], one["high"]): one["records"] for one in side["sizes"]} for side in (before, now))
    return [
        Bar(
            label=f"{low:,}" if low == high else f"{low:,}–{high:,}",
            before=first.get((low, high), 0),
            after=second.get((low, high), 0),
        )
        for low, high in sorted({*first, *second})
    ]


# Loss -----------------------------------------------------------------------------------------------------------------


def losses(report: Report) -> Section | None:
    """What the release lost, measure by measure, then column by column."""
    if not report.utility:
        return None
    rows = [
        [Cell(one["title"], hint=_explained(one)), Cell(number(one["value"]), meter=_fullness(one))]
        for one in report.utility
        if one["column"] is None
    ]
    grid = Grid(["measure", "value"], rows, frozenset({1}))
    return Section("loss", "What the release lost", [grid, *_by_column(report)])


def _explained(measure: Mapping[str, Any]) -> str:
    """What it means, from where to where it goes, which way is better, what was assumed."""
    parts = [measure["meaning"], _range(measure), measure["note"]]
    return ". ".join(part[0].upper() + part[1:] for part in parts if part) + "."


def _fullness(measure: Mapping[str, Any]) -> float | None:
    bounded = measure["value"] is not None and measure["low"] == 0 and measure["high"] == 1
    return float(measure["value"]) if bounded else None


def _range(measure: Mapping[str, Any]) -> str:
    high = "∞" if measure["high"] is None else number(measure["high"])
    better = "" if measure["better"] == "neither" else f", {measure['better']} is better"
    return f"{number(measure['low'])} to {high}{better}"


def _by_column(report: Report) -> list[Block]:
    """One row per column, one column per measure; measures that were not yet explained are explained below."""
    mine = [one for one in report.utility if one["column"] is not None]
    if not mine:
        return []
    names = list(dict.fromkeys(one["name"] for one in mine))
    found = {(one["column"], one["name"]): Cell(number(one["value"])) for one in mine}
    rows = [
        [Cell(column), *(found.get((column, name), Cell("")) for name in names)]
        for column in dict.fromkeys(one["column"] for one in mine)
    ]
    told = {one["name"] for one in report.utility if one["column"] is None}
    meanings = {one["name"]: one["meaning"] for one in mine if one["name"] not in told}
    notes = [f"{words(name)}: {meaning}." for name, meaning in meanings.items()]
    head = ["column", *map(words, names)]
    grid = Grid(head, rows, frozenset(range(1, len(head))), caption="Column by column; 0 means that nothing was lost.")
    return [grid, *([Notes(notes)] if notes else [])]


# Columns --------------------------------------------------------------------------------------------------------------


def columns(report: Report) -> Section:
    """Every column: drawn where there is something to see, and counted."""
    ordered = sorted(report.columns, key=lambda one: ROLES.index(one.role))
    drawn = [(one, one.distribution) for one in ordered if one.distribution is not None and one.distribution.drawable]
    blocks: list[Block] = []
    if drawn:
        lead = COLUMNS.format(smallest=report.smallest_cell)
        more = f" The first {MOST_PICTURES} of {len(drawn)} are drawn." if len(drawn) > MOST_PICTURES else ""
        blocks = [Text(lead + more), Pictures([_picture(*pair) for pair in drawn[:MOST_PICTURES]])]
    return Section("columns", "Columns before and after", [*blocks, _column_table(ordered)])


COLUMNS = (
    "Shares of rows, before and after, under the labels that are released; * is what was suppressed. "
    "No label is shown that fewer than {smallest} rows hold."
)


def _picture(column: ColumnFacts, distribution: Distribution) -> Picture:
    notes = [] if distribution.compared else ["The original has no such values, so only the release is drawn."]
    if distribution.shape == "sequence":
        beside = [_beside(bar) for bar in distribution.bars if bar.label in SPECIAL]
        notes += [f"Not drawn: {'; '.join(beside)}."] if beside else []
    notes += [distribution.note] if distribution.note else []
    return Picture(column.name, charts.distribution(distribution), tag=column.role, note=" ".join(notes))


def _beside(bar: Bar) -> str:
    name = {MISSING: "missing", SUPPRESSED: "suppressed", OTHER: "rare"}[bar.label]
    before = f"{count(bar.before)} before, " if bar.before is not None else ""
    return f"{name} {before}{count(bar.after)} after"


def _column_table(facts: Sequence[ColumnFacts]) -> Grid:
    rows = [
        [
            Cell(one.name, hint=one.kind),
            Cell(one.role, "quiet" if one.role in ("dropped", "other") else ""),
            Cell(_change(one.distinct_before, one.distinct_after)),
            Cell(_change(one.missing_before, one.missing_after)),
            Cell(count(one.suppressed_after)),
            Cell(" → ".join(dict.fromkeys(size(b) for b in (one.bytes_before, one.bytes_after) if b is not None))),
        ]
        for one in facts
    ]
    head = ["column", "role", "different values", "missing", "suppressed", "memory"]
    return Grid(head, rows, frozenset({2, 3, 4, 5}))


def _change(before: int | None, after: int | None) -> str:
    if after is None or before is None:
        return count(before if after is None else after)
    return count(after) if before == after else f"{count(before)} → {count(after)}"


SECTIONS = (glance, promises, risks, losses, columns, solutions, steps, counting, evidence, recipe)
