"""The sections of a report: facts in, words and tables out.

Each function makes one section, or None where there is nothing to say. A new section is one more entry in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oboro.report.distributions import MISSING, OTHER, SPECIAL, SUPPRESSED, Bar, Distribution
from oboro.report.page import charts
from oboro.report.page.blocks import Block, Card, Cards, Cell, Grid, Notes, Picture, Pictures, Section, Text
from oboro.report.sections.associations_section import associations
from oboro.report.sections.attacks_section import attacks, linking
from oboro.report.sections.checklists_section import checklist_sections
from oboro.report.sections.findings import stream, warnings
from oboro.report.sections.first_screen import answers, constructed
from oboro.report.sections.provenance import counting, evidence, recipe, solutions, steps
from oboro.report.sections.uniqueness_section import uniqueness
from oboro.report.sections.utility_section import losses, statistics
from oboro.report.text.language import Data
from oboro.text import count, few, number, percent

if TYPE_CHECKING:
    from oboro.report.facts import ColumnFacts
    from oboro.report.report import Report

__all__ = ["SECTIONS", "glance", "promises", "sections", "subtitle"]

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


def glance(report: Report) -> Section:
    """Short answers, and the figures that matter most."""
    table = report.table
    share = percent(table.rows_suppressed / table.rows_after) if table.rows_after else "–"
    hidden = report.public
    cards = [
        Card("rows released", count(table.rows_after), "" if hidden else f"of {count(table.rows_before)}"),
        Card("rows suppressed", count(table.rows_suppressed), f"{share} of the release"),
        Card("columns released", count(table.columns_after), "" if hidden else f"of {count(table.columns_before)}"),
        *_risk_cards(report),
    ]
    return Section("glance", "At a glance", [answers(report), Cards(cards)])


def _risk_cards(report: Report) -> list[Card]:
    """What says how exposed people are, in a release of this kind."""
    now, before = report.risk, report.risk_before
    if now is None:
        return []
    if report.least_candidates is not None:
        whom = "records that any one matches" if report.stream else "people whom any record can be"
        return [Card("least candidates", count(report.least_candidates), whom)]
    if not report.risk_applies:
        found = [one for one in report.attacks if one.kind == "record_linkage" and one.attack.tried]
        return [
            Card("linked by distance", percent(one.attack.share), f"{percent(one.control.share)} by chance")
            for one in found
        ]
    figures: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
        ("unique rows", "uniques", count),
        ("highest risk", "prosecutor_max", percent),
        ("mean risk", "prosecutor_mean", percent),
    )
    return [
        Card(label, show(now[name]), f"{show(before[name])} before" if before else "") for label, name, show in figures
    ]


# Promises -------------------------------------------------------------------------------------------------------------


def promises(report: Report) -> Section:
    """What was promised, and what the verifier found on the released table alone."""
    if report.holds is None or report.verification is None:
        return Section("promises", "What was promised", _unverified(report))
    verdicts = report.verification["verdicts"]
    over = few(report.verification.get("quasi") or report.quasi)
    lead = VERIFIED if report.least_candidates is None else STREAMED if report.stream else MATCHED
    if any(one.get("over") for one in verdicts):
        lead = VERIFIED_EACH
    head = ["verdict", "model", "required", "achieved", "groups", "groups that break it"]
    grid = Grid(head, [_verdict_row(one) for one in verdicts], frozenset({2, 3, 4, 5}))
    blocks: list[Block] = [Text(lead.format(over=over)), grid]
    if broken := [one["sentence"] for one in verdicts if not one["holds"]]:
        blocks.append(Notes(broken))
    return Section("promises", "What was promised, and whether it holds", blocks)


def _unverified(report: Report) -> list[Block]:
    if not report.steps:
        return [Text(NOT_ASKED)]
    made = constructed(report)
    if not made:
        return [Text(NO_PROMISE)]
    rows = [[Cell(Data(step["name"])), Cell(BY_CONSTRUCTION[step["name"]], hint=_k(step))] for step in made]
    return [Text(CONSTRUCTION), Grid(["step", "promise"], rows)]


def _k(step: Mapping[str, Any]) -> str:
    """The public is not told parameters."""
    return f"k = {number(step['facts']['k'])}" if "k" in step["facts"] else ""


NO_PROMISE = (
    "No step promises a privacy model, so there was nothing to verify. "
    "The risk below is measured on the release all the same."
)
NOT_ASKED = (
    "This report only measures; no promise was verified on the release here. The command oboro verify does that."
)
CONSTRUCTION = (
    "What is promised lies in the way in which values were drawn. Another table could have come out of it, so the released "
    "one can neither prove nor break it; the attacks below say what somebody can do with it."
)
BY_CONSTRUCTION = {
    "pk_anonymize": "nobody links a record to a person with more than 1/k certainty (Pk-anonymity)",
    "synthesize": "every drawn value comes from an interval that k records or more lie in",
}
VERIFIED = (
    "Checked on the released table alone, after the last step, by regrouping its rows over {over}. "
    "How the release was made played no part in it."
)
VERIFIED_EACH = (
    "Checked on the released table, after the last step, each promise over the columns that stand below it. "
    "How the release was made played no part in it."
)
MATCHED = (
    "Checked after the last step, by matching released records and people over {over} in all possible ways. "
    "How the release was made played no part in it."
)
STREAMED = (
    "Checked on the whole stream, by counting for every released record the earlier records that it matches over {over}. "
    "How it was decided played no part in it."
)


def _verdict_row(verdict: Mapping[str, Any]) -> list[Cell]:
    holds = verdict["holds"]
    broken = count(verdict["broken_groups"])
    return [
        Cell("✓ holds" if holds else "✗ broken", "good" if holds else "bad"),
        Cell(verdict["model"], hint=verdict["note"] or Data(few(verdict.get("over") or []))),
        Cell(number(verdict["required"])),
        Cell(number(verdict["achieved"])),
        Cell(count(verdict["groups"])),
        Cell(broken if holds else f"{broken} ({count(verdict['broken_records'])} rows)", "" if holds else "bad"),
    ]


# Risk -----------------------------------------------------------------------------------------------------------------


def risks(report: Report) -> Section | None:
    """How likely it is that somebody is recognised, before and after."""
    if report.risk is None:
        return None
    if report.least_candidates is not None:
        row = [
            Cell("least candidates", hint=MATCHING if report.stream else CANDIDATES),
            Cell(count(report.least_candidates)),
        ]
        blocks: list[Block] = [
            Text(CONCEALED.format(quasi=few(report.quasi))),
            Grid(["risk", "value"], [row], frozenset({1})),
        ]
    elif not report.risk_applies:
        blocks = [Text(RANDOMIZED.format(quasi=few(report.randomized))), *linking(report)]
    else:
        blocks = _class_risks(report, report.risk)
    return Section("risk", "Risk of being recognised", blocks)


def _class_risks(report: Report, now: Mapping[str, Any]) -> list[Block]:
    before = report.risk_before
    rows = [
        [
            Cell(one.title, hint=one.meaning),
            *_was(before, one.name, percent),
            Cell(percent(one.value), meter=one.value),
        ]
        for one in report.risk_measures
    ]
    rows.append([Cell("unique rows", hint=UNIQUE), *_was(before, "uniques", count), Cell(count(now["uniques"]))])
    bars = _class_bars(before or {"sizes": []}, now)
    wide, narrow = (charts.class_sizes(bars, width) for width in (2 * charts.WIDTH, charts.WIDTH))
    picture = Picture("How many rows look alike", wide, note=CLASSES, narrow=narrow)
    head = ["risk", "before", "after"] if before else ["risk", "after"]
    drawn: list[Block] = [Pictures([picture], legend=before is not None)] if now["sizes"] else []
    return [Text(RISK.format(quasi=few(report.quasi))), *drawn, Grid(head, rows, frozenset({1, 2}))]


def _was(before: Mapping[str, Any] | None, name: str, show: Callable[[Any], str]) -> list[Cell]:
    return [] if before is None else [Cell(show(before[name]))]


UNIQUE = "rows that look like no other row"
MATCHING = "records of the stream, its own among them, that the most exposed record matches"
CANDIDATES = "people that the most exposed record can still be, by all ways to match people and records"
CONCEALED = (
    "This release is not made of classes of records that look alike over {quasi}: a record may look like no other and still "
    "be anybody's of many. Prosecutor, journalist and marketer risk and uniqueness count such classes and do not apply; "
    "they are not shown. What applies is how many people every record can be."
)
RANDOMIZED = (
    "The values of {quasi} were drawn, disturbed or moved by chance: a row that looks like no other need not be of the person "
    "with these values. Prosecutor, journalist and marketer risk and uniqueness count rows that look alike; they do not "
    "apply and are not shown. What applies is how often somebody who knows the true values links a person to the right "
    "record, and the other attacks below."
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
        pictures = [_picture(*pair, report.public) for pair in drawn[:MOST_PICTURES]]
        blocks.append(Pictures(pictures, legend=not report.public))
    title = "The released columns" if report.public else "Columns before and after"
    return Section("columns", title, [*blocks, _column_table(ordered)])


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
            Cell(one.role),
            Cell(_change(one.distinct_before, one.distinct_after)),
            Cell(_change(one.missing_before, one.missing_after)),
            Cell(count(one.suppressed_after)),
        ]
        for one in facts
    ]
    head = ["column", "role", "different values", "missing", "suppressed"]
    return Grid(head, rows, frozenset({2, 3, 4}))


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
    uniqueness,
    solutions,
    losses,
    statistics,
    associations,
    columns,
    stream,
    steps,
)
RECORD = (counting, evidence, recipe)
