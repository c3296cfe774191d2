"""The report on a release for the officer who signs it: release, guarantees, verdicts, and information loss.

A `Report` holds plain facts (counts, parameters, verdicts; never a record), ready for JSON. From them come a page of
HTML that opens without a network, a few lines for the terminal, and a small view for notebooks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from oboro.attacks.base import AddedRisk, Attack, Judgement, Rate
from oboro.attacks.few_attributes import UniqueByFew
from oboro.attacks.series import SeriesRisk
from oboro.data.parameters import at_the_door
from oboro.disclosure.earlier_releases import series_findings
from oboro.disclosure.uncovered_columns import LastLook
from oboro.errors import UsageError
from oboro.measures.base import Measure
from oboro.measures.risk import LOSSES, Loss
from oboro.privacy.identity import PkAnonymity
from oboro.report.checklists.base import LAWS
from oboro.report.chosen_levels import chosen_levels_said, rows_said
from oboro.report.chosen_levels import summary_words as _m
from oboro.report.distributions import OTHER, SPECIAL
from oboro.report.facts import (
    AttackFacts,
    Checklist,
    ColumnFacts,
    ExposedPeople,
    Facts,
    Loose,
    MeasureFacts,
    PairFacts,
    Signature,
    TableFacts,
    VerificationFacts,
)
from oboro.report.sections.attacks import beaten, too_few
from oboro.report.sections.exposure import secrets_said, standing_alone
from oboro.report.sections.overview import headline
from oboro.system.files import atomic, check_free
from oboro.text import LANGUAGES, Message
from oboro.text.message import labelled
from oboro.text.raw import values_shown
from oboro.verifier.risk import Uniqueness
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["Report", "public", "summary"]


class Report(Facts):
    """Everything there is to say about one release, as data."""

    lang: Literal["en", "ja"] = "en"
    """The language in which it shows itself; the facts stay English."""
    public: bool = False
    """Whether everything that helps to undo the processing was left out."""
    holds: bool | None
    """Whether every promise holds; None if nothing was promised."""
    table: TableFacts
    quasi: list[str]
    sensitive: list[str]
    verification: VerificationFacts | None
    """What the verifier found on the released table."""
    risk: dict[str, Any] | None
    """None where there is no quasi-identifier."""
    risk_before: dict[str, Any] | None
    risk_measures: list[MeasureFacts]
    """The figures of `risk`, each saying what it means."""
    risk_applies: bool = True
    """Whether `risk`, which counts classes of records that look alike, says how exposed people are: not where k-concealment
    or stream k-anonymity was promised, whose records need not look like any other (`least_candidates` does there), and
    not where nothing was verified and values were `randomized` (the attacks do there)."""
    least_candidates: int | None = None
    """Of a concealed release or a stream: how many people the most exposed record can be."""
    randomized: list[str]
    """Quasi-identifiers whose values were drawn, disturbed or moved to other records by chance."""
    exposed: ExposedPeople | None = None
    """Who stands alone, and for whom a secret is certain: exact counts."""
    last_look: LastLook | None = None
    """What a run looked at before it wrote anything; None where the release was made elsewhere."""
    attacks: list[AttackFacts]
    """Attacks that were run against the release."""
    linkage: list[MeasureFacts]
    """Attacks on a release without groups (k-concealment), each saying what it means."""
    series: SeriesRisk | None = None
    """What the release tells together with those before it; None where none was named."""
    uniqueness: Uniqueness | None
    """Who is unique in the population, estimated."""
    special: UniqueByFew | None
    """Records that one or two attributes make unique; None for a table too large to search."""
    utility: list[MeasureFacts]
    pairs: PairFacts | None
    columns: list[ColumnFacts]
    steps: list[Loose]
    recipe: str
    seeded: bool | None
    """Whether random choices can be repeated; None without a recipe."""
    files: dict[str, Loose]
    versions: dict[str, str]
    smallest_cell: int = Field(ge=1)
    """Labels held by fewer rows are not shown on their own."""
    checklists: list[Checklist]
    laws: list[str] | None = None
    """The laws that were asked for; None: a page shows the checklists that go with its language."""
    stream: list[dict[str, Any]]
    """The metrics of a stream, one after the other."""
    warnings: list[Message]
    """Everything that a reader should know before signing."""
    signature: Signature = Field(default_factory=Signature)
    """When it was made, by whom, for whom and why; empty where nobody said so."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the verifier says of each promised model; none where nothing was verified."""
        return () if self.verification is None else self.verification.verdicts

    @property
    def joint(self) -> tuple[Verdict, ...]:
        """What comes of promises over different columns, over all of these together; none where one promise covers them."""
        return () if self.verification is None else self.verification.joint

    @property
    def apart(self) -> tuple[Verdict, ...]:
        """Those of `joint` that do not hold."""
        return tuple(one for one in self.joint if not one.holds)

    @property
    def singled_out(self) -> int:
        """How many are unique by released columns that no promise covers and nobody accepted."""
        return 0 if self.exposed is None else self.exposed.refused

    @property
    def refused(self) -> bool:
        """Whether it must not be released as it is: a promise that was named does not hold, somebody is singled out, or a series
        of releases narrows somebody below k or l.

        The exit code of `oboro evaluate` is 1 then.
        """
        return self.holds is False or self.singled_out > 0 or (self.series is not None and self.series.refused > 0)

    @property
    def shown_checklists(self) -> list[Checklist]:
        """Those that a page shows: of the laws that were asked for, or of those that go with its language."""
        return self.checklists if self.laws is not None else LAWS.unasked(self.checklists, self.lang)

    def to_public(self) -> Report:
        """The report without anything that helps to undo the processing; `docs/report.md` says why, item by item."""

        return public(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        with values_shown(False):  # a report goes to more people than the terminal that made it
            return self.model_dump(mode="json")

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of `as_dict`, for programs that read it."""
        schema = cls.model_json_schema(mode="serialization")
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "oboro report"}

    def in_language(self, lang: str) -> Report:
        """The same report, speaking English (`en`) or Japanese (`ja`) wherever it shows itself."""
        if lang not in LANGUAGES:
            raise UsageError(Message("error_text.language", known=list(LANGUAGES), lang=lang))
        return self.model_copy(update={"lang": lang})

    def for_laws(self, laws: str | Sequence[str]) -> Report:
        """The same report with the checklists of these laws only; `oboro.report.checklists.base.LAWS` names them.

        `all` are all of them.
        """
        wanted = [laws] if isinstance(laws, str) else list(laws)
        return self.model_copy(update={"checklists": LAWS.asked(self.checklists, wanted), "laws": wanted})

    def signed(self, *, made_by: str = "", made_for: str = "", purpose: str = "", made_on: str | None = None) -> Report:
        """The same report with who made it, for whom, why, and another date than today's if one is given."""
        day = made_on or self.signature.made_on
        said = Signature(made_on=day, made_by=made_by, made_for=made_for, purpose=purpose)
        return self.model_copy(update={"signature": said})

    @at_the_door
    def to_html(self, path: str | Path | None = None, *, lang: str | None = None, force: bool = False) -> str:
        """The report as one self-contained page, in its own language or another; written to `path` if one is given.

        The owner's report holds the recipe: nobody else may read the file. The public one is a file like any other.
        Only with `force` it replaces a file that is there.
        """
        from oboro.report.render import render

        if path is not None:
            check_free(path, force)
        with values_shown(False):
            html = render(self if lang is None else self.in_language(lang))
        if path is not None:
            with atomic(path, private=not self.public) as file:
                file.write(html.encode())
        return html

    def summary(self) -> str:
        """A few lines for the terminal."""

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        promised = {True: "every promise holds", False: "a promise is broken", None: "nothing was promised"}[self.holds]
        return f"Report({self.table.rows_before} rows in, {self.table.rows_after} out; {promised})"

    def _repr_html_(self) -> str:
        from oboro.report.render import render_compact

        return render_compact(self)


# Public report --------------------------------------------------------------------------------------------------------
# A report without anything that helps to reverse the processing.
#
# docs/report.md documents for each part of a report what `public` does with it and why. A test walks over the fields of
# `Report`, so that a new one cannot be left undecided.


def public(report: Report) -> Report:
    """The same report, each part as docs/report.md says."""
    return report.model_copy(
        update={
            "public": True,
            "table": _public_table(report.table),
            "verification": report.verification and _shown(report.verification),
            "risk_before": None,
            "exposed": None if report.exposed is None else _public_exposure(report.exposed),
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
    return replace(found, joint=tuple(one for one in found.joint if one.id not in PkAnonymity.words))


def _checklist(one: Checklist) -> Checklist:
    return one.model_copy(update={"items": [item for item in one.items if item.public]})


def _signature(said: Signature) -> Signature:
    return said.model_copy(update={"made_by": "", "made_for": ""})


def _public_table(table: TableFacts) -> TableFacts:
    gone = {"rows_before": table.rows_after, "columns_before": table.columns_after, "dropped": [], "bytes_before": None}
    return table.model_copy(update={**gone, "added": [], "bytes_after": None})


def _public_exposure(found: ExposedPeople) -> ExposedPeople:
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


# Summary --------------------------------------------------------------------------------------------------------------
# A report in a few lines, for the terminal.


def summary(report: Report) -> str:
    """The verdicts and the figures that matter most, in the report's language."""
    lang = report.lang
    verdicts = [f"  {one.mark} {one.message().say(lang)}" for one in (*report.verdicts, *report.joint)]
    verdicts += [f"  ? {one.say(lang)}" for one in (report.verification.unchecked if report.verification else ())]
    linked = [f"  {one.say(lang)}" for one in _linked(report)]
    told = (
        *_table_lines(report),
        *_risk(report),
        *_exposure_lines(report),
        *_cautions(report),
        *_attacks(report),
        *_series(report),
    )
    figures = [labelled(_m(label), said, lang) for label, said in told]
    losses = [labelled(_m("loss"), said, lang) for said in _loss(report)]
    return "\n".join([headline(report).say(lang), *verdicts, *figures, *linked, *losses])


def _table_lines(report: Report) -> Iterator[tuple[str, Message]]:
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


def _exposure_lines(report: Report) -> Iterator[tuple[str, Message]]:
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
