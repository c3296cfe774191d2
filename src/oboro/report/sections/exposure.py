"""The section on exposed people: exact counts of unique people on all released records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oboro.attacks.few_attributes import UniqueByFew
from oboro.measures.exposure import CertainSecrets, RareValues, UniqueBy
from oboro.report.page import Block, Cell, Grid, Notes, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.text import Message, count, number, percent
from oboro.verifier.risk import Uniqueness

if TYPE_CHECKING:
    from oboro.report.facts import AcceptedColumns, ExposedPeople
    from oboro.report.report import Report

__all__ = [
    "EXPOSED",
    "LOOK",
    "UNIQUENESS",
    "exposure_section",
    "last_look_section",
    "secrets_said",
    "standing_alone",
    "uniqueness",
]


EXPOSED = Section("exposed", "exposed")
LOOK = Section("look", "exposed.look")
UNIQUENESS = Section("alone", "uniqueness")


SHOWN = 10  # columns, and pairs


@EXPOSED.content
def exposure_section(report: Report) -> ShownSection | None:
    """Build the section on unique people by columns, disclosed sensitive values, and rare values."""
    found = report.exposed
    if found is None or not found.people:
        return None
    blocks: list[Block] = [Text(EXPOSED.said("lead")), Notes([*standing_alone(found), *_known_together(found)])]
    blocks += _unique(found)
    blocks += _secrets(found.secrets)
    blocks += _rare(found.rare)
    return EXPOSED.shown(blocks)


def standing_alone(found: ExposedPeople, *, brief: bool = False) -> list[Message]:
    """Messages on unique people, by quasi-identifiers and by uncovered columns; in `brief` only if there are some."""
    said = []
    if found.k is not None:
        alone = {"who": found.told(found.by_quasi or 0), "number": found.by_quasi, "all": found.people}
        said += (
            [EXPOSED.said("by_quasi", **alone)] if found.by_quasi else [] if brief else [EXPOSED.said("k", k=found.k)]
        )
    if found.refused:
        who = {"who": found.told(found.refused), "number": found.refused, "all": found.people}
        told = [by(one) for one in (*found.single, *found.pairs)[:3]]
        kind = "singled_out_by" if told else "singled_out"
        said.append(EXPOSED.said(kind, **who, columns=list(found.unprotected), worst=told))
    elif found.unprotected and not found.together and not brief:
        said.append(EXPOSED.said("nobody", columns=list(found.unprotected)))
    return said + [_accepted(found, one) for one in found.accepted]


def _accepted(found: ExposedPeople, one: AcceptedColumns) -> Message:
    told = {"columns": list(one.columns), "because": one.because or "–"}
    if one.people is None:
        return EXPOSED.said("may_be_unique", **told)
    return EXPOSED.said("accepted", who=found.told(one.people), number=one.people, **told)


@LOOK.content
def last_look_section(report: Report) -> ShownSection | None:
    """Build the section on the release check: columns checked and left out, and acceptances with their reasons."""
    look, found = report.last_look, report.exposed
    accepted = () if found is None else found.accepted
    if look is None:
        return LOOK.shown(_accepted_grid(accepted), "accepted_title") if accepted else None
    said = [LOOK.said("nobody" if not look.unique else "somebody", columns=look.columns, unique=look.unique)]
    notes = [said[0] if look.columns else LOOK.said("nothing")]
    notes += [LOOK.said("pseudonyms", columns=look.pseudonyms)] if look.pseudonyms else []
    notes += [LOOK.said("unneeded", columns=columns) for columns in look.unneeded]
    return LOOK.shown([Text(LOOK.said("lead")), Notes(notes), *_accepted_grid(accepted)])


def _accepted_grid(accepted: Sequence[AcceptedColumns]) -> list[Block]:
    """The columns and the reason; how many are unique by them is for the owner."""
    counted = all(one.people is not None for one in accepted)
    head = [LOOK.said("columns"), LOOK.said("because"), *([EXPOSED.said("unique")] if counted else [])]
    rows = [
        [Cell(", ".join(one.columns)), Cell(one.because or "–"), *([Cell(count(one.people or 0))] if counted else [])]
        for one in accepted
    ]
    return [Grid(head, rows, frozenset({2}) if counted else frozenset(), caption=LOOK.said("caption"))] if rows else []


def _known_together(found: ExposedPeople) -> list[Message]:
    """Who is unique for somebody who knows the quasi-identifiers and the other columns: no promise speaks of it."""
    if found.k is None or not found.with_quasi or not found.unprotected:
        return []
    return [
        EXPOSED.said(
            "with_quasi", who=found.told(found.with_quasi), number=found.with_quasi, columns=list(found.unprotected)
        )
    ]


def by(one: UniqueBy) -> Message:
    """Columns, and how many are unique by them."""
    return EXPOSED.said("by", columns=" + ".join(one.columns), people=one.people)


def secrets_said(found: ExposedPeople) -> list[Message]:
    """Of each secret, for how many it is certain."""
    return [
        EXPOSED.said(
            "certain" if one.certain else "not_certain",
            secret=one.sensitive,
            who=found.told(one.certain),
            number=one.certain,
            all=one.people,
            nearly=one.nearly_certain,
            largest=one.largest,
            everywhere=one.everywhere,
        )
        for one in found.secrets
    ]


def _unique(found: ExposedPeople) -> list[Block]:
    rows = [
        [Cell(" + ".join(one.columns)), Cell(count(one.people)), Cell(percent(one.people / found.people))]
        for part in (found.single, found.pairs)
        for one in part[:SHOWN]
    ]
    if not rows:
        return []
    if len(found.unprotected) > 2:
        whole = [Cell(EXPOSED.said("all_columns", number=len(found.unprotected))), Cell(count(found.together))]
        rows.append([*whole, Cell(percent(found.together / found.people))])
    head = [EXPOSED.said("columns"), EXPOSED.said("unique"), EXPOSED.said("share")]
    return [Grid(head, rows, frozenset({1, 2}), caption=EXPOSED.said("unique_caption"))]


def _secrets(secrets: Sequence[CertainSecrets]) -> list[Block]:
    rows = [
        [
            Cell(one.sensitive),
            Cell(count(one.certain), "bad" if one.certain and one.everywhere < 1 else ""),
            Cell(count(one.nearly_certain)),
            Cell(percent(one.largest)),
            Cell(percent(one.everywhere)),
        ]
        for one in secrets
    ]
    head = [EXPOSED.said(f"secret.{name}") for name in ("column", "certain", "nearly", "largest", "everywhere")]
    return [Grid(head, rows, frozenset({1, 2, 3, 4}), caption=EXPOSED.said("secret.caption"))] if rows else []


def _rare(rare: Sequence[RareValues]) -> list[Block]:
    rows = [
        [Cell(one.column), Cell(count(one.values)), Cell(count(one.records)), Cell(count(one.fewest))] for one in rare
    ]
    head = [EXPOSED.said(f"rare.{name}") for name in ("column", "values", "records", "fewest")]
    return [Grid(head, rows, frozenset({1, 2, 3}), caption=EXPOSED.said("rare.caption", k=rare[0].k))] if rows else []


# Uniqueness -----------------------------------------------------------------------------------------------------------
# Unique people of the population, and the few attributes that make records unique.


@UNIQUENESS.content
def uniqueness(report: Report) -> ShownSection | None:
    """Build the section on people unique in the population, and the few attributes that make records unique."""
    if report.uniqueness is None and report.special is None:
        return None
    blocks = [*_population(report.uniqueness), *_special(report.special)]
    return UNIQUENESS.shown(blocks)


def _population(found: Uniqueness | None) -> list[Block]:
    """Estimates where the table is a part of the population; where it is the whole there is nothing to estimate."""
    if found is None:
        return []
    if found.fraction >= 1:
        return [Text(UNIQUENESS.said("whole_population", uniques=found.sample_uniques))]
    rows = [
        _estimate("release", Cell(count(found.sample_uniques))),
        _estimate("zayatz", Cell(number(found.zayatz))),
        _estimate("pitman", Cell(number(found.pitman))),
        _estimate("chosen", Cell(number(found.decision), hint=UNIQUENESS.said(f"by.{found.decided_by}"))),
        _estimate("match", Cell(percent(found.intrusion))),
    ]
    lead = UNIQUENESS.said("sample", fraction=found.fraction, population=found.population)
    head = [UNIQUENESS.said("people"), UNIQUENESS.said("estimate")]
    return [Text(lead), Grid(head, rows, frozenset({1}))]


def _estimate(name: str, value: Cell) -> list[Cell]:
    said = Message("text.sentence", said=UNIQUENESS.said(f"{name}.meaning"))
    return [Cell(UNIQUENESS.said(f"{name}.title"), hint=said), value]


def _special(found: UniqueByFew | None) -> list[Block]:
    if found is None:
        return []
    rows = [
        [Cell(UNIQUENESS.said(f"by_few.{name}")), Cell(count(found.before[size])), Cell(count(found.sizes[size]))]
        for name, size in (("one", "1"), ("two", "2"))
    ]
    rows += [[Cell(name), Cell(""), Cell(count(held))] for name, held in found.sets.items()]
    head = [UNIQUENESS.said(f"by_few.{name}") for name in ("head", "before", "after")]
    grid = Grid(head, rows, frozenset({1, 2}), caption=UNIQUENESS.said("by_few.caption"))
    drawn = max(found.drawn, found.drawn_before)
    return [grid, Text(UNIQUENESS.said("by_few.drawn", drawn=drawn, error=found.error))] if drawn else [grid]
