"""The sections of a report: facts in, words and tables out.

Each function makes one section, or None where there is nothing to say. A new section is one more entry in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
)
from oboro.evaluate.report.distributions import MISSING, OTHER, SPECIAL, SUPPRESSED, Bar, Distribution
from oboro.evaluate.report.findings import alone, attacks, checklist_sections, pairs, stream, warnings
from oboro.evaluate.report.language import Data
from oboro.evaluate.report.losses import losses, statistics
from oboro.evaluate.report.provenance import counting, evidence, recipe, solutions, steps

if TYPE_CHECKING:
    from oboro.evaluate.report.facts import ColumnFacts
    from oboro.evaluate.report.report import Report

__all__ = ["SECTIONS", "glance", "headline", "promises", "sections", "subtitle"]

MOST_PICTURES = 24  # each takes 0.03 s and 10 kB; quasi-identifiers and sensitive columns come first
ROLES = ("quasi", "sensitive", "other", "dropped")


def sections(report: Report) -> list[Section]:
    """Everything there is to say, in order."""
    made = [section for make in SECTIONS if (section := make(report)) is not None]
    last = [section for make in RECORD if (section := make(report)) is not None]
    return [*made, *checklist_sections(report), *last]


def subtitle(report: Report) -> str:
    """How much came in and went out; of a public report what went out."""
    table = report.table
    if report.public:
        return f"{count(table.rows_after)} rows and {table.columns_after} columns released; the version for the public"
    rows = f"{count(table.rows_before)} rows in, {count(table.rows_after)} out"
    return f"{rows}; {table.columns_before} columns in, {table.columns_after} out"


def headline(report: Report) -> str:
    """The verdict in a few words."""
    if report.holds is None:
        return "Nothing was promised, so nothing was verified"
    return "Every promise holds" if report.holds else "A promise is broken"


def glance(report: Report) -> Section:
    """The figures that matter most."""
    table, now, before = report.table, report.risk, report.risk_before
    share = percent(table.rows_suppressed / table.rows_after) if table.rows_after else "–"
    hidden = report.public
    cards = [
        Card("rows released", count(table.rows_after), "" if hidden else f"of {count(table.rows_before)}"),
        Card("rows suppressed", count(table.rows_suppressed), f"{share} of the release"),
        Card("columns released", count(table.columns_after), "" if hidden else f"of {count(table.columns_before)}"),
    ]
    if now is not None and not report.risk_applies:
        cards.append(Card("least candidates", count(report.least_candidates), "people whom any record can be"))
    elif now is not None:
        figures = (
            ("unique rows", "uniques", count),
            ("highest risk", "prosecutor_max", percent),
            ("mean risk", "prosecutor_mean", percent),
        )
        cards += [
            Card(label, show(now[name]), f"{show(before[name])} before" if before else "")
            for label, name, show in figures
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
    blocks: list[Block] = [Text((VERIFIED if report.risk_applies else MATCHED).format(over=over)), grid]
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
MATCHED = (
    "Checked after the last step, by matching released records and people over {over} in all possible ways. "
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
    if now is None:
        return None
    if not report.risk_applies:
        row = [Cell("least candidates", hint=CANDIDATES), Cell(count(report.least_candidates))]
        blocks: list[Block] = [
            Text(CONCEALED.format(quasi=", ".join(report.quasi))),
            Grid(["risk", "value"], [row], frozenset({1})),
        ]
        return Section("risk", "Risk of being recognised", blocks)
    rows = [
        [
            Cell(one["title"], hint=one["meaning"]),
            *_was(before, one["name"], percent),
            Cell(percent(one["value"]), meter=one["value"]),
        ]
        for one in report.risk_measures
    ]
    rows.append([Cell("unique rows", hint=UNIQUE), *_was(before, "uniques", count), Cell(count(now["uniques"]))])
    bars = _class_bars(before or {"sizes": []}, now)
    wide, narrow = (charts.class_sizes(bars, width) for width in (2 * charts.WIDTH, charts.WIDTH))
    picture = Picture("How many rows look alike", wide, note=CLASSES, narrow=narrow)
    head = ["risk", "before", "after"] if before else ["risk", "after"]
    lead = Text(RISK.format(quasi=", ".join(report.quasi)))
    return Section("risk", "Risk of being recognised", [lead, Pictures([picture]), Grid(head, rows, frozenset({1, 2}))])


def _was(before: Mapping[str, Any] | None, name: str, show: Callable[[Any], str]) -> list[Cell]:
    return [] if before is None else [Cell(show(before[name]))]


UNIQUE = "rows that look like no other row"
CANDIDATES = "people that the most exposed record can still be, by all ways to match people and records"
CONCEALED = (
    "This release is not made of classes of records that look alike over {quasi}: a record may look like no other and still "
    "be anybody's of many. Prosecutor, journalist and marketer risk and uniqueness count such classes and do not apply; "
    "they are not shown. What applies is how many people every record can be."
)
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


# Columns --------------------------------------------------------------------------------------------------------------


def columns(report: Report) -> Section:
    """Every column: drawn where there is something to see, and counted."""
    ordered = sorted(report.columns, key=lambda one: ROLES.index(one.role))
    drawn = [(one, one.distribution) for one in ordered if one.distribution is not None and one.distribution.drawable]
    blocks: list[Block] = []
    if drawn:
        blocks = [Text((COLUMNS_PUBLIC if report.public else COLUMNS).format(smallest=report.smallest_cell))]
        if len(drawn) > MOST_PICTURES:
            blocks.append(Text(f"The first {MOST_PICTURES} of {len(drawn)} are drawn."))
        blocks += [Pictures([_picture(*pair, report.public) for pair in drawn[:MOST_PICTURES]])]
    return Section("columns", "Columns before and after", [*blocks, _column_table(ordered)])


COLUMNS_PUBLIC = (
    "Shares of rows under the labels that are released; * is what was suppressed. "
    "No label is shown that fewer than {smallest} rows hold."
)
COLUMNS = (
    "Shares of rows, before and after, under the labels that are released; * is what was suppressed. "
    "No label is shown that fewer than {smallest} rows hold."
)


def _picture(column: ColumnFacts, distribution: Distribution, public: bool) -> Picture:
    notes = (
        [] if distribution.compared or public else ["The original has no such values, so only the release is drawn."]
    )
    if distribution.shape == "sequence":
        beside = [_beside(bar) for bar in distribution.bars if bar.label in SPECIAL]
        notes += ["Not drawn:", *beside] if beside else []
    notes += [distribution.note] if distribution.note else []
    return Picture(Data(column.name), charts.distribution(distribution), tag=column.role, note=notes)


def _beside(bar: Bar) -> str:
    name = {MISSING: "missing", SUPPRESSED: "suppressed", OTHER: "rare"}[bar.label]
    before = f"{count(bar.before)} before, " if bar.before is not None else ""
    return f"{name} {before}{count(bar.after)} after."


def _column_table(facts: Sequence[ColumnFacts]) -> Grid:
    rows = [
        [
            Cell(Data(one.name), hint=one.kind),
            Cell(one.role, "quiet" if one.role in ("dropped", "other") else ""),
            Cell(_change(one.distinct_before, one.distinct_after)),
            Cell(_change(one.missing_before, one.missing_after)),
            Cell(count(one.suppressed_after)),
            Cell(
                Data(" → ".join(dict.fromkeys(size(b) for b in (one.bytes_before, one.bytes_after) if b is not None)))
            ),
        ]
        for one in facts
    ]
    head = ["column", "role", "different values", "missing", "suppressed", "memory"]
    return Grid(head, rows, frozenset({2, 3, 4, 5}))


def _change(before: int | None, after: int | None) -> str:
    if after is None or before is None:
        return count(before if after is None else after)
    return count(after) if before == after else f"{count(before)} → {count(after)}"


SECTIONS = (
    glance,
    promises,
    warnings,
    risks,
    attacks,
    alone,
    losses,
    statistics,
    pairs,
    columns,
    solutions,
    stream,
    steps,
)
RECORD = (counting, evidence, recipe)
