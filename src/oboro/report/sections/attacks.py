"""The section on attacks: the success rate of each, against its control."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from oboro.attacks.base import Attack, Rate
from oboro.report import charts
from oboro.report.page import Block, Cell, Grid, Notes, Picture, Pictures, ShownSection, Text, Tone
from oboro.report.sections.base import Section
from oboro.text import Message, count, number, percent

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["ATTACKED", "attacks", "beaten", "linking", "too_few", "too_few_said"]


ATTACKED = Section("attacks", "attack.section")


HEAD = [ATTACKED.said(f"{name}") for name in ("attack", "right", "control", "risk", "verdict")]


def beaten(report: Report) -> list[Attack]:
    """The attacks that do better than their control and than what the model that holds allows."""
    return [one for one in report.attacks if one.better and not one.allowed]


@ATTACKED.content
def attacks(report: Report) -> ShownSection | None:
    """Singling out, linkability, inference and record linkage, as they went."""
    if not report.attacks and not report.linkage:
        return None
    blocks = [*_against_controls(report), *_linkage(report)]
    return ATTACKED.shown(blocks)


def _against_controls(report: Report) -> list[Block]:
    if not report.attacks:
        return []
    grid = Grid(HEAD, [_row(one) for one in report.attacks], frozenset({1, 2, 3}))
    notes = _notes(report.attacks)
    return [Text(ATTACKED.said("lead")), *_drawn(report), grid, *([Notes(notes)] if notes else [])]


def linking(report: Report) -> list[Block]:
    """The attacks that link people to records, in short."""
    rows = [_row(one) for one in report.attacks if one.question == "linkability"]
    return [Grid(HEAD, rows, frozenset({1, 2, 3}))] if rows else []


def _drawn(report: Report) -> list[Block]:
    """The attacks that made enough guesses to say something, one below the other."""
    shown = [one for one in report.attacks if one.risk is not None]
    drawn = [
        {
            "place": place,
            "label": one.short,
            "side": side,
            "value": rate.share or 0.0,
            "low": rate.low,
            "high": rate.high,
        }
        for place, one in enumerate(shown)
        for side, rate in (("attack", one.found), ("control", one.control))
    ]
    if not drawn:
        return []
    wide, narrow = (partial(charts.intervals, drawn, width) for width in (2 * charts.WIDTH, charts.WIDTH))
    title, note = ATTACKED.said("picture"), ATTACKED.said("picture_note")
    return [Pictures([Picture(title, wide, note=note, narrow=narrow)], legend=False)]


def _notes(found: Sequence[Attack]) -> list[Message]:
    """Which control each attack had, what to know of how it was run, and what was allowed."""
    controls = dict.fromkeys(one.control_is for one in found if one.control_is is not None)
    said = [_control(found, control) for control in controls]
    said += [Message("text.sentence", said=note) for note in dict.fromkeys(note for one in found for note in one.notes)]
    return said + _limits(found)


def _limits(found: Sequence[Attack]) -> list[Message]:
    """What the model that holds allows, and which attacks were judged by it."""
    limits = dict.fromkeys((one.limit, one.limited_by) for one in found if one.limit is not None)
    return [
        ATTACKED.said(
            "limit_of" if by else "limit",
            attacks=[one.title for one in found if (one.limit, one.limited_by) == (limit, by)],
            limit=limit,
            model=by,
        )
        for limit, by in limits
    ]


def too_few(report: Report) -> list[Message]:
    """The attacks that were right although they made too few guesses to be judged by a rate, each with what it found."""
    return [] if report.public else [too_few_said(one) for one in report.attacks if one.few and one.found.right]


def too_few_said(one: Attack) -> Message:
    """Exact findings of an attack with few guesses."""
    rate = one.found
    figures = {"right": rate.right, "tried": rate.tried, "low": rate.low, "high": rate.high}
    return Message("attack.too_few", attack=one.title, **figures)


def _control(found: Sequence[Attack], control: Message) -> Message:
    """Which attacks were held against this control."""
    titles = [one.title for one in found if one.control_is == control]
    return ATTACKED.said("control_of", attacks=titles, control=control)


def _row(one: Attack) -> list[Cell]:
    risk = "–" if one.risk is None else percent(one.risk.value)
    between = "" if one.risk is None else f"{percent(one.risk.low)} – {percent(one.risk.high)}"
    tone, verdict = _judged(one)
    return [
        Cell(one.title, hint=Message("text.sentence", said=one.meaning)),
        _rate(one.found),
        _rate(one.control),
        Cell(risk, hint=between, meter=None if one.risk is None else one.risk.value),
        Cell(ATTACKED.said(f"{verdict}", right=one.found.right, tried=one.found.tried, limit=one.limit), tone),
    ]


def _judged(one: Attack) -> tuple[Tone, str]:
    """The tone of a verdict, and which one."""
    if not one.found.tried:
        return "quiet", "no_guess"
    if one.few:  # two of two people found are few guesses, but found
        return "warn" if one.found.right else "quiet", "few_guesses" if one.told is None else "few"
    if one.allowed:
        return "good", "allowed"
    return ("bad", "better") if one.better else ("good", "no_better")


def _rate(rate: Rate) -> Cell:
    if rate.share is None:
        return Cell("–")
    hints = [f"{percent(rate.low)} – {percent(rate.high)}", f"{count(rate.right)} / {count(rate.tried)}"]
    return Cell(percent(rate.share), hint=hints)


def _linkage(report: Report) -> list[Block]:
    """Attacks on a release without equivalence classes, where one could be run."""
    rows = [
        [
            Cell(one.title, hint=[Message("text.sentence", said=said) for said in (one.meaning, *one.notes)]),
            Cell(number(one.value)),
        ]
        for one in report.linkage
    ]
    head = [ATTACKED.said("attack"), ATTACKED.said("value")]
    return [Grid(head, rows, frozenset({1}), caption=ATTACKED.said("concealed"))] if rows else []
