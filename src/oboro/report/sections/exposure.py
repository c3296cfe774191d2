"""The section about who stands alone: exact counts on all released records, and the sentences that other places repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oboro.attacks.few_attributes import UniqueByFew
from oboro.measures.exposure import CertainSecrets, RareValues, UniqueBy
from oboro.report.page import Block, Cell, Grid, Notes, Section, Text
from oboro.text import Message, count, number, percent
from oboro.verifier.risk import Uniqueness

if TYPE_CHECKING:
    from oboro.report.facts import AcceptedColumns, ExposedPeople
    from oboro.report.report import Report

__all__ = ["exposure_section", "last_look_section", "secrets_said", "standing_alone", "uniqueness"]


SHOWN = 10  # columns, and pairs


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"exposed.{name}", **values)


def exposure_section(report: Report) -> Section | None:
    """Who is unique by which released columns, for whom a secret is certain, and which values few hold."""
    found = report.exposed
    if found is None or not found.people:
        return None
    blocks: list[Block] = [Text(_m("lead")), Notes([*standing_alone(found), *_known_together(found)])]
    blocks += _unique(found)
    blocks += _secrets(found.secrets)
    blocks += _rare(found.rare)
    return Section("exposed", _m("title"), blocks)


def standing_alone(found: ExposedPeople, *, brief: bool = False) -> list[Message]:
    """How many are unique: by the quasi-identifiers, and by columns that no promise covers; in `brief` only where some are."""
    said = []
    if found.k is not None:
        alone = {"who": found.told(found.by_quasi or 0), "number": found.by_quasi, "all": found.people}
        said += [_m("by_quasi", **alone)] if found.by_quasi else [] if brief else [_m("k", k=found.k)]
    if found.refused:
        who = {"who": found.told(found.refused), "number": found.refused, "all": found.people}
        told = [by(one) for one in (*found.single, *found.pairs)[:3]]
        kind = "singled_out_by" if told else "singled_out"
        said.append(_m(kind, **who, columns=list(found.unprotected), worst=told))
    elif found.unprotected and not found.together and not brief:
        said.append(_m("nobody", columns=list(found.unprotected)))
    return said + [_accepted(found, one) for one in found.accepted]


def _accepted(found: ExposedPeople, one: AcceptedColumns) -> Message:
    told = {"columns": list(one.columns), "because": one.because or "–"}
    if one.people is None:
        return _m("may_be_unique", **told)
    return _m("accepted", who=found.told(one.people), number=one.people, **told)


def last_look_section(report: Report) -> Section | None:
    """What the last look before writing looked at, what it left out, and what was accepted, with the reason."""
    look, found = report.last_look, report.exposed
    accepted = () if found is None else found.accepted
    if look is None:
        return Section("look", _m("look.accepted_title"), _accepted_grid(accepted)) if accepted else None
    said = [_m("look.nobody" if not look.unique else "look.somebody", columns=look.columns, unique=look.unique)]
    notes = [said[0] if look.columns else _m("look.nothing")]
    notes += [_m("look.pseudonyms", columns=look.pseudonyms)] if look.pseudonyms else []
    notes += [_m("look.unneeded", columns=columns) for columns in look.unneeded]
    return Section("look", _m("look.title"), [Text(_m("look.lead")), Notes(notes), *_accepted_grid(accepted)])


def _accepted_grid(accepted: Sequence[AcceptedColumns]) -> list[Block]:
    """The columns and the reason; how many are unique by them is for the owner."""
    counted = all(one.people is not None for one in accepted)
    head = [_m("look.columns"), _m("look.because"), *([_m("unique")] if counted else [])]
    rows = [
        [Cell(", ".join(one.columns)), Cell(one.because or "–"), *([Cell(count(one.people or 0))] if counted else [])]
        for one in accepted
    ]
    return [Grid(head, rows, frozenset({2}) if counted else frozenset(), caption=_m("look.caption"))] if rows else []


def _known_together(found: ExposedPeople) -> list[Message]:
    """Who is unique for somebody who knows the quasi-identifiers and the other columns: no promise speaks of it."""
    if found.k is None or not found.with_quasi or not found.unprotected:
        return []
    return [
        _m("with_quasi", who=found.told(found.with_quasi), number=found.with_quasi, columns=list(found.unprotected))
    ]


def by(one: UniqueBy) -> Message:
    """Columns, and how many are unique by them."""
    return _m("by", columns=" + ".join(one.columns), people=one.people)


def secrets_said(found: ExposedPeople) -> list[Message]:
    """Of each secret, for how many it is certain."""
    return [
        _m(
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
        whole = [Cell(_m("all_columns", number=len(found.unprotected))), Cell(count(found.together))]
        rows.append([*whole, Cell(percent(found.together / found.people))])
    head = [_m("columns"), _m("unique"), _m("share")]
    return [Grid(head, rows, frozenset({1, 2}), caption=_m("unique_caption"))]


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
    head = [_m(f"secret.{name}") for name in ("column", "certain", "nearly", "largest", "everywhere")]
    return [Grid(head, rows, frozenset({1, 2, 3, 4}), caption=_m("secret.caption"))] if rows else []


def _rare(rare: Sequence[RareValues]) -> list[Block]:
    rows = [
        [Cell(one.column), Cell(count(one.values)), Cell(count(one.records)), Cell(count(one.fewest))] for one in rare
    ]
    head = [_m(f"rare.{name}") for name in ("column", "values", "records", "fewest")]
    return [Grid(head, rows, frozenset({1, 2, 3}), caption=_m("rare.caption", k=rare[0].k))] if rows else []


# Uniqueness section ---------------------------------------------------------------------------------------------------
# The section about unique people: how many are unique in the population, and which few attributes make records unique.


def uniqueness(report: Report) -> Section | None:
    """Who is unique in the population, and which few attributes make records unique."""
    if report.uniqueness is None and report.special is None:
        return None
    blocks = [*_population(report.uniqueness), *_special(report.special)]
    return Section("alone", Message("uniqueness.title"), blocks)


def _population(found: Uniqueness | None) -> list[Block]:
    """Estimates where the table is a part of the population; where it is the whole there is nothing to estimate."""
    if found is None:
        return []
    if found.fraction >= 1:
        return [Text(Message("uniqueness.whole_population", uniques=found.sample_uniques))]
    rows = [
        _estimate("release", Cell(count(found.sample_uniques))),
        _estimate("zayatz", Cell(number(found.zayatz))),
        _estimate("pitman", Cell(number(found.pitman))),
        _estimate("chosen", Cell(number(found.decision), hint=Message(f"uniqueness.by.{found.decided_by}"))),
        _estimate("match", Cell(percent(found.intrusion))),
    ]
    lead = Message("uniqueness.sample", fraction=found.fraction, population=found.population)
    head = [Message("uniqueness.people"), Message("uniqueness.estimate")]
    return [Text(lead), Grid(head, rows, frozenset({1}))]


def _estimate(name: str, value: Cell) -> list[Cell]:
    said = Message("text.sentence", said=Message(f"uniqueness.{name}.meaning"))
    return [Cell(Message(f"uniqueness.{name}.title"), hint=said), value]


def _special(found: UniqueByFew | None) -> list[Block]:
    if found is None:
        return []
    rows = [
        [Cell(Message(f"uniqueness.by_few.{name}")), Cell(count(found.before[size])), Cell(count(found.sizes[size]))]
        for name, size in (("one", "1"), ("two", "2"))
    ]
    rows += [[Cell(name), Cell(""), Cell(count(held))] for name, held in found.sets.items()]
    head = [Message(f"uniqueness.by_few.{name}") for name in ("head", "before", "after")]
    grid = Grid(head, rows, frozenset({1, 2}), caption=Message("uniqueness.by_few.caption"))
    drawn = max(found.drawn, found.drawn_before)
    return [grid, Text(Message("uniqueness.by_few.drawn", drawn=drawn, error=found.error))] if drawn else [grid]
