"""What may leave the house: a report without anything that helps to undo the processing.

docs/report.md says of each part of a report what becomes of it and why; `public` does it. A test walks over the fields of
`Report`, so that a new one cannot slip through undecided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, floor

from oboro.attacks.rates import AddedRisk, Attack, Judgement, Rate
from oboro.measure.metrics import Measure
from oboro.report.distributions import OTHER, SPECIAL
from oboro.report.exposed_people import ExposedPeople
from oboro.report.facts import Checklist, ColumnFacts, Signature, TableFacts
from oboro.report.report import Report
from oboro.verifier.verdict import Verification

__all__ = ["public"]


def public(report: Report) -> Report:
    """The same report, each part as docs/report.md says."""
    return report.model_copy(
        update={
            "public": True,
            "table": _table(report.table),
            "verification": report.verification and _shown(report.verification),
            "risk_before": None,
            "exposed": None if report.exposed is None else _exposed(report.exposed),
            "last_look": None,
            "attacks": [_attack(one) for one in report.attacks],
            "linkage": [],
            "series": None,
            "special": None,
            "utility": [_rounded(one) for one in report.utility if one.column is None],
            "pairs": None,
            "columns": [_column(one) for one in report.columns if one.role != "dropped"],
            "steps": [
                {"name": step["name"], "plan": "", "facts": {}, "traits": step.get("traits")} for step in report.steps
            ],
            "recipe": "",
            "seeded": None,
            "files": {
                role: {name: said for name, said in facts.items() if name != "path"}
                for role, facts in report.files.items()
                if role == "output"
            },
            "versions": {name: one for name, one in report.versions.items() if name == "oboro"},
            "checklists": [shown for one in report.checklists if (shown := _checklist(one)).items],
            "stream": [],
            "warnings": [],
            "signature": _signature(report.signature),
        }
    )


def _shown(found: Verification) -> Verification:
    return replace(found, joint=tuple(one for one in found.joint if one.id != "model.pk_anonymity"))


def _checklist(one: Checklist) -> Checklist:
    return one.model_copy(update={"items": [item for item in one.items if item.public]})


def _signature(said: Signature) -> Signature:
    return said.model_copy(update={"made_by": "", "made_for": ""})


def _table(table: TableFacts) -> TableFacts:
    gone = {"rows_before": table.rows_after, "columns_before": table.columns_after, "dropped": [], "bytes_before": None}
    return table.model_copy(update={**gone, "added": [], "bytes_after": None})


def _exposed(found: ExposedPeople) -> ExposedPeople:
    """How many stand alone, but not by what. What was accepted is said with its reason, and without how many that concerns."""
    accepted = tuple(replace(one, people=None) for one in found.accepted)
    return replace(found, unprotected=(), accepted=accepted, single=(), pairs=(), secrets=(), rare=())


def _attack(one: Attack) -> Attack:
    """Without what it used, and in whole percents."""
    risk = None if one.risk is None else AddedRisk(**_percents(one.risk._asdict()))
    gone = replace(one, columns=(), secret=None, notes=(), control_is=None, limited_by=None)
    return replace(gone, found=_rate(one.found), control=_rate(one.control), told=Judgement(risk, one.better))


def _rate(rate: Rate) -> Rate:
    """Right in so many of a hundred guesses; one person more or less does not show."""
    if rate.share is None:
        return rate
    short = _percents({"share": rate.share, "low": rate.low, "high": rate.high})
    return Rate(round(short["share"] * rate.tried), rate.tried, (short["share"], short["low"], short["high"]))


def _percents(shares: Mapping[str, float]) -> dict[str, float]:
    """Whole percents, upwards but for the lower end of an interval: nothing looks safer than it is, nothing is called 0 % but 0."""
    return {
        name: (floor(100 * said) if name == "low" else ceil(100 * said - 1e-9)) / 100 for name, said in shares.items()
    }


def _rounded(measure: Measure) -> Measure:
    """Two significant digits. A note may name columns that were left out, and the bounds of a measure count the rows."""
    value, error = (None if one is None else float(f"{one:.2g}") for one in (measure.value, measure.error))
    short = replace(measure, value=value, error=error, notes=())
    return replace(short, low=0.0, high=None) if short.low > 1 else short


def _column(column: ColumnFacts) -> ColumnFacts:
    shown = column.distribution
    if shown is not None:
        # What only the original has (a missing value, a label that nobody has any more) leaves no trace.
        after = [bar for bar in shown.bars if bar.after is not None and (bar.after or bar.label not in SPECIAL)]
        bars = [bar.model_copy(update={"before": None}) for bar in after]
        hidden = any(bar.after is None or bar.label == OTHER for bar in shown.bars if bar.after != 0)
        shown = shown.model_copy(update={"bars": bars, "note": shown.note if hidden else None})
    gone = {"distinct_before": None, "missing_before": None, "bytes_before": None, "bytes_after": None}
    return column.model_copy(update={**gone, "distribution": shown})
