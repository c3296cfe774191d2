"""The sections about what was found: attacks, people who stand out, pairs of columns, warnings, streams, checklists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oboro.attacks.few_attributes import UniqueByFew
from oboro.report.facts import AttackFacts, CheckItem, Checklist, PairFacts, RateFacts, UniquenessFacts
from oboro.report.page import charts
from oboro.report.page.blocks import Block, Cell, Code, Grid, Notes, Picture, Pictures, Section, Text, Tone
from oboro.report.text.language import Both, Data, translate
from oboro.text import count, number, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["alone", "attacks", "beaten", "checklist_sections", "linking", "pairs", "stream", "title", "warnings"]


def warnings(report: Report) -> Section | None:
    """What a reader should know before signing."""
    return Section("warnings", "Before you sign", [Notes(report.warnings)]) if report.warnings else None


# Attacks --------------------------------------------------------------------------------------------------------------

TITLES = {
    "singling_out_univariate_quasi": "singling out by one quasi-identifier",
    "singling_out_multivariate_quasi": "singling out by all quasi-identifiers",
    "singling_out_tails_quasi": "singling out by all quasi-identifiers, numbers by their side",
    "singling_out_univariate_any": "singling out by one column of any role",
    "singling_out_multivariate_any": "singling out by three columns of any role",
    "singling_out_tails_any": "singling out by three columns of any role, numbers by their side",
    "linkability": "linking two halves",
    "record_linkage": "linking by distance",
    "inference": "inferring a secret",
    "plain_hashes": "looking up digests without a secret",
    "row_order": "counting rows",
}
SHORT = {
    "singling_out_univariate_quasi": "one quasi-id",
    "singling_out_multivariate_quasi": "all quasi-ids",
    "singling_out_tails_quasi": "… numbers by side",
    "singling_out_univariate_any": "one column",
    "singling_out_multivariate_any": "three columns",
    "singling_out_tails_any": "… by side",
    "linkability": "two halves",
    "record_linkage": "nearest record",
    "inference": "inference",
    "plain_hashes": "plain digests",
    "row_order": "row order",
}
ATTACKS = (
    "Each attack guessed many times against the release and was judged by the original table. The control says how often "
    "the same guesses are right about people whose record cannot have helped; what an attack does beyond it is the risk "
    "of being in the release. Intervals are Wilson's, at 95 %; the risk is (attack − control) / (1 − control), both taken at "
    "the middle of their intervals. Lower is better."
)
NO_CONTROL = "k-anonymity allows linking by distance with a probability of up to 1/k; its control is a guess by chance."


def beaten(report: Report) -> list[AttackFacts]:
    """The attacks that do better than their control and than what was promised allows."""
    return [one for one in report.attacks if one.better_than_control and not one.allowed]


def attacks(report: Report) -> Section | None:
    """Singling out, linkability, inference and record linkage, as they went."""
    if not report.attacks:
        return Section("attacks", "Attacks that were run", _linkage(report)) if report.linkage else None
    rows = [_attack_row(one) for one in report.attacks]
    blocks: list[Block] = [Text(ATTACKS), *_drawn(report), Grid(ATTACK_HEAD, rows, frozenset({1, 2, 3}))]
    said = list(dict.fromkeys(one.control_is for one in report.attacks if one.control_is))
    notes: list[str] = [_control(report.attacks, is_) for is_ in said]
    notes += list(dict.fromkeys(one.note for one in report.attacks if one.note))
    notes += [NO_CONTROL] if any(one.allowed for one in report.attacks) else []
    blocks += [Notes(notes)] if notes else []
    return Section("attacks", "Attacks that were run", [*blocks, *_linkage(report)])


ATTACK_HEAD = ("attack", "right", "control", "risk", "verdict")


def _drawn(report: Report) -> list[Block]:
    """The attacks that made enough guesses to say something, one below the other."""
    shown = [one for one in report.attacks if one.risk is not None]
    labels = [_short(one) for one in shown]
    lines = [label + NO_WIDTH * labels[:place].count(label) for place, label in enumerate(labels)]  # one line for each
    drawn = [
        {"label": line, "side": side, "value": rate.share or 0.0, "low": rate.low, "high": rate.high}
        for line, one in zip(lines, shown, strict=True)
        for side, rate in (("attack", one.attack), ("control", one.control))
    ]
    if not drawn:
        return []
    wide, narrow = (charts.intervals(drawn, width) for width in (2 * charts.WIDTH, charts.WIDTH))
    return [Pictures([Picture("How often each attack was right", wide, note=DRAWN, narrow=narrow)], legend=False)]


NO_WIDTH = "\u200b"


def linking(report: Report) -> list[Block]:
    """The attacks that link people to records, in short."""
    rows = [_attack_row(one) for one in report.attacks if one.question == "linkability"]
    return [Grid(ATTACK_HEAD, rows, frozenset({1, 2, 3}))] if rows else []


def _linkage(report: Report) -> list[Block]:
    """Attacks on a release without groups, where one could be run."""
    rows = [
        [
            Cell(one["title"], hint=[part for part in (f"{one['meaning']}.", one["note"]) if part]),
            Cell(number(one["value"])),
        ]
        for one in report.linkage
    ]
    return [Grid(["attack", "value"], rows, frozenset({1}), caption=CONCEALED)] if rows else []


CONCEALED = "Attacks of somebody who knows everybody's quasi-identifiers, on a release without groups."


DRAWN = "Dark: the attack; light: its control; lines: 95 % intervals."


def _control(facts: Sequence[AttackFacts], control: str) -> Both:
    """Which attacks were held against this control."""
    titles = [title(one) for one in facts if one.control_is == control]
    japanese = "、".join(translate(one, "ja") for one in titles)
    return Both(f"Control of {', '.join(titles)}: {control}.", f"{japanese}の対照群:{translate(control, 'ja')}。")


def title(one: AttackFacts) -> str:
    """The name of an attack for people."""
    if one.secret:
        return f"inferring {one.secret}"
    return TITLES["inference" if one.name.startswith("inference") else one.name]


def _short(one: AttackFacts) -> str:
    if one.secret:
        return f"→ {one.secret}"
    return SHORT.get(one.name, one.name)


def _attack_row(one: AttackFacts) -> list[Cell]:
    risk = "–" if one.risk is None else percent(one.risk.value)
    between = "" if one.risk is None else f"{percent(one.risk.low)} – {percent(one.risk.high)}"
    tone, verdict = _judged(one)
    return [
        Cell(title(one), hint=one.meaning),
        _rate(one.attack),
        _rate(one.control),
        Cell(risk, hint=Data(between), meter=None if one.risk is None else one.risk.value),
        Cell(verdict, tone),
    ]


def _judged(one: AttackFacts) -> tuple[Tone, str]:
    if not one.attack.tried:
        return "quiet", "no guess possible"
    if one.risk is None and not one.better_than_control:  # two of two people found are few guesses, but found
        return "quiet", "too few guesses"
    if one.allowed:
        return "good", "within 1/k"
    return ("bad", "better than control") if one.better_than_control else ("good", "no better")


def _rate(rate: RateFacts) -> Cell:
    if rate.share is None:
        return Cell("–")
    hints = [f"{percent(rate.low)} – {percent(rate.high)}", f"{count(rate.right)} / {count(rate.tried)}"]
    return Cell(percent(rate.share), hint=[Data(hint) for hint in hints])


# Population -----------------------------------------------------------------------------------------------------------


def alone(report: Report) -> Section | None:
    """Who is unique in the population, and which few attributes make records unique."""
    if report.uniqueness is None and report.special is None:
        return None
    return Section("alone", "Who stands alone", [*_population(report.uniqueness), *_special(report.special)])


def _population(found: UniquenessFacts | None) -> list[Block]:
    """Estimates where the table is a part of the population; where it is the whole there is nothing to estimate."""
    if found is None:
        return []
    if found.fraction >= 1:
        return [Text(WHOLE.format(uniques=count(found.sample_uniques)))]
    rows = [
        [Cell("unique in the release", hint=UNIQUE), Cell(count(found.sample_uniques))],
        [Cell("unique in the population (Zayatz)", hint=ZAYATZ), Cell(number(found.zayatz))],
        [Cell("unique in the population (Pitman)", hint=PITMAN), Cell(number(found.pitman))],
        [Cell("taken, by Dankar's rule", hint=DANKAR), Cell(number(found.decision), hint=found.decided_by)],
        [Cell("a unique match is right", hint=INTRUSION), Cell(percent(found.intrusion))],
    ]
    lead = POPULATION.format(fraction=percent(found.fraction), population=count(found.population))
    return [Text(lead), Grid(["people", "estimate"], rows, frozenset({1}))]


def _special(found: UniqueByFew | None) -> list[Block]:
    if found is None:
        return []
    rows = [
        [Cell(SPECIAL[size]), Cell(count(found.before[size])), Cell(count(found.sizes[size]))] for size in ("1", "2")
    ]
    rows += [[Cell(Data(name)), Cell(""), Cell(count(held))] for name, held in found.sets.items()]
    grid = Grid(["records made unique by", "before", "after"], rows, frozenset({1, 2}), caption=SETS)
    drawn = max(found.drawn, found.drawn_before)
    return [grid, Text(ESTIMATED.format(drawn=count(drawn), error=percent(found.error)))] if drawn else [grid]


ESTIMATED = (
    "Estimated from {drawn} records drawn at random, each held against all others; right to {error} of the records."
)
WHOLE = (
    "The table is taken as the whole population: who is unique in it is unique. Unique rows in the release: {uniques}. If it is "
    "a sample of a population, evaluate it with its sampling fraction: uniqueness is then estimated."
)
UNIQUE = "rows that look like no other row"
POPULATION = (
    "The table is taken as {fraction} of a population of {population} people (say otherwise with a sampling fraction). "
    "Who is unique in the table need not be unique among all people."
)
ZAYATZ = "from the sizes of the classes by Bayes' rule (Zayatz 1991)"
PITMAN = "from the Ewens–Pitman law fitted to the sizes of the classes (Hoshino 2001)"
DANKAR = "Pitman for samples of at most a tenth, Zayatz above (Dankar et al. 2012)"
INTRUSION = "the probability that a unique match with somebody of the population is right (Skinner & Elliot 2002)"
SPECIAL = {"1": "one attribute alone", "2": "two attributes together"}
SETS = (
    "Special uniques: records that one or two quasi-identifiers already make unique; below, the sets that do so most."
)


# Pairs ----------------------------------------------------------------------------------------------------------------


def pairs(report: Report) -> Section | None:
    """How strongly columns go together, before and after."""
    found = report.pairs
    if found is None:
        return None
    sides = (("before", found.before), ("after", found.after))
    pictures = [Picture(name, charts.heat(found.columns, matrix)) for name, matrix in sides]
    blocks: list[Block] = [Text(PAIRS)]
    if found.sampled:
        said = f"Measured on a random {count(found.sampled)} rows of each table; right to ± {number(found.error)}."
        blocks.append(Text(said))
    return Section("pairs", "Columns together", [*blocks, Pictures(pictures, legend=False), _changed(report, found)])


def _changed(report: Report, found: PairFacts) -> Block:
    """The pairs that changed most; with numbers among them also how far their correlation moved."""
    pairs = [(i, j) for i in range(len(found.columns)) for j in range(i)]
    gaps = {(i, j): abs(found.before[i][j] - found.after[i][j]) for i, j in pairs}
    most = [pair for pair in sorted(pairs, key=lambda pair: -gaps[pair])[:10] if gaps[pair] >= 0.0005]
    if not most:
        return Text("No pair changed by 0.001 or more.")
    names = {(i, j): f"{found.columns[j]} × {found.columns[i]}" for i, j in most}
    measured = [one for one in report.utility if one["name"] == "correlation_difference"]
    linear = {one["column"]: one["value"] for one in measured if one["column"] in names.values()}
    rows = [
        [
            Cell(Data(names[i, j])),
            *(Cell(f"{value:.3f}") for value in (found.before[i][j], found.after[i][j], gaps[i, j])),
            *([Cell(number(linear[names[i, j]]) if names[i, j] in linear else "")] if linear else []),
        ]
        for i, j in most
    ]
    head = ["pair", "before", "after", "difference", *(["correlation difference"] if linear else [])]
    return Grid(head, rows, frozenset({1, 2, 3, 4}), caption="The pairs that changed most.")


PAIRS = (
    "Cramér's V of every pair of columns: 0 independent, 1 one follows from the other. Suppressed cells are left out. "
    "Nearer to before is better."
)


# Streams --------------------------------------------------------------------------------------------------------------

TIMELINES = {
    "records_per_second": "records per second, since the start",
    "latency_p99": "latency in ms, 99 of 100 records",
    "suppressed_cells": "suppressed cells, so far",
    "loss": "loss of a record, on average",
}
AT_THE_END = {
    "records": "records that came in",
    "released": "records that went out",
    "withheld": "records withheld",
    "held": "records still held",
    "suppressed_records": "fully suppressed records",
    "suppressed_cells": "suppressed cells, so far",
    "generalized_cells": "generalized cells",
    "groups": "groups",
    "loss": "loss of a record, on average",
    "dead_letters": "dead letters: lines that are no records",
    "in_doubt": "records in doubt after a crash",
    "seconds": "seconds",
    "records_per_second": "records per second, since the start",
    "latency_p50": "latency in ms, half of the records",
    "latency_p99": "latency in ms, 99 of 100 records",
}
STREAM = (
    "What the run itself counted. Latency is the time from the arrival of a record to its release; in a window it includes "
    "the wait for others."
)
ONE_MOMENT = (
    "The metrics are of one moment only, so there is no timeline: a run of more than half a second prints several."
)


def stream(report: Report) -> Section | None:
    """How a stream went over time."""
    if not report.stream:
        return None
    moments = [{**one, **_latency(one)} for one in report.stream]
    drawn = [name for name in TIMELINES if len(moments) > 1 and all({name, "seconds"} <= one.keys() for one in moments)]
    pictures = [
        Picture(TIMELINES[name], charts.timeline([{"seconds": one["seconds"], "value": one[name]} for one in moments]))
        for name in drawn
    ]
    shown: Block = Pictures(pictures, legend=False) if pictures else Text(ONE_MOMENT)
    last = moments[-1]
    rows = [[Cell(said), Cell(number(last[name]))] for name, said in AT_THE_END.items() if last.get(name) is not None]
    table = Grid(["at the end", "value"], rows, frozenset({1}))
    return Section("stream", "The stream over time", [Text(STREAM), shown, table])


def _latency(moment: Mapping[str, Any]) -> dict[str, float]:
    return {f"latency_{name}": value for name, value in moment.get("latency_ms", {}).items()}


# Checklists -----------------------------------------------------------------------------------------------------------

STATES: dict[str, tuple[Tone, str]] = {
    "evidence": ("good", "✓ evidence"),
    "open": ("warn", "! look here"),
    "stated": ("quiet", "to be stated"),
    "none": ("quiet", "does not apply"),
}


def checklist_sections(report: Report) -> list[Section]:
    """One section for each checklist."""
    return [_checklist(one) for one in report.checklists]


def _checklist(one: Checklist) -> Section:
    rows = [_check_row(item) for item in one.items]
    blocks: list[Block] = [Text(Both(one.lead, one.lead_ja)), Grid(["point", "state", "evidence"], rows, prose=True)]
    if one.text:
        blocks += [Text("A text to edit, in Japanese and in English:"), Code(one.text_ja), Code(one.text)]
    return Section(one.key, Both(one.title, one.title_ja), blocks)


def _check_row(item: CheckItem) -> list[Cell]:
    tone, state = STATES[item.state]
    return [Cell(Both(item.title, item.title_ja)), Cell(state, tone), Cell(Both(item.evidence, item.evidence_ja))]
