"""The sections about how a release was made: why these levels, and what each step did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report import charts
from oboro.report.chosen_levels import lost
from oboro.report.facts import trait
from oboro.report.page import Block, Cell, FactList, Grid, Notes, Picture, Pictures, Section, Text
from oboro.text import Message, Words, count, few, known, number

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["in_words", "solutions", "steps"]


SEARCHED = {"levels", "lattice", "loss"}  # facts of a step that looked for the best levels


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"section.solution.{name}", **values)


def _s(name: str, /, **values: Any) -> Message:
    return Message(f"section.steps.{name}", **values)


# Why this solution ----------------------------------------------------------------------------------------------------


def solutions(report: Report) -> Section | None:
    """Why these levels: the chosen node of the lattice and the ones that came next. Local recoding chooses no single node."""
    tried = [step["facts"] for step in report.steps if step["facts"].keys() >= SEARCHED]
    searched = [facts for facts in tried if facts.get("recoding") != "local"]
    blocks = [block for facts in searched for block in _solution(facts)]
    return Section("solution", _m("title"), blocks) if blocks else None


def _solution(facts: Mapping[str, Any]) -> list[Block]:
    chosen = {
        "levels": [one["level"] for one in facts["levels"].values()],
        "loss": facts["loss"]["value"],
        "suppressed": facts["suppressed"].get("people", facts["suppressed"]["records"]),
    }
    nodes = [chosen, *facts.get("runners_up", [])]
    return [*_searched(facts), *_lattice(nodes), _levels(facts, nodes)]


def _searched(facts: Mapping[str, Any]) -> list[Block]:
    lattice = facts["lattice"]
    ways = {name: lattice.get(name) for name in ("evaluated", "tagged", "skipped")}
    ways["minimal"] = len(facts.get("minimal") or ())
    told = [_m(name, nodes=nodes) for name, nodes in ways.items() if nodes]
    return [Text(_m("lead", nodes=lattice["nodes"])), Notes(told)]


def _lattice(nodes: Sequence[Mapping[str, Any]]) -> list[Block]:
    points = [
        {"height": sum(node["levels"]), "loss": node["loss"], "chosen": place == 0}
        for place, node in enumerate(nodes)
        if node["loss"] is not None
    ]
    if len(points) < 2:
        return []
    picture = Picture(_m("picture"), partial(charts.lattice, points), note=_m("picture_note"))
    return [Pictures([picture], legend=False)]


def _levels(facts: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Grid:
    """One column per solution: there are at most a handful of them, but there may be many quasi-identifiers."""
    loss = facts["loss"]["name"]
    rows = [
        [Cell(name), *(_level(node["levels"][place], top["of"]) for node in nodes)]
        for place, (name, top) in enumerate(facts["levels"].items())
    ]
    gone = _m("suppressed_people" if "people" in facts["suppressed"] else "suppressed_rows")
    rows.append([Cell(gone), *(Cell(count(node["suppressed"])) for node in nodes)])
    named = _m("loss") if loss == "loss" else _m("loss_named", name=lost(loss))
    rows.append([Cell(named), *(Cell(number(node["loss"])) for node in nodes)])
    ranks = [_m("rank", rank=rank) for rank in range(2, len(nodes) + 1)]
    return Grid([_m("level_of"), _m("chosen"), *ranks], rows)


def _level(level: int, top: int) -> Cell:
    return Cell(_m("level", level=level, top=top), meter=level / top if top else 0.0)


# What was done --------------------------------------------------------------------------------------------------------

SAID_ELSEWHERE = ("lattice", "loss", "minimal", "runners_up", "levels", "again")  # by `solutions`
NOT_TOLD = ("changed", "stopped")  # with the cells that the step changed, and before everything else


def steps(report: Report) -> Section | None:
    """What each step said it would do, and what it did."""
    if not report.steps:
        return None
    if report.public:
        rows = [[Cell(step["name"]), Cell(trait(step, "iso") or "–")] for step in report.steps]
        return Section("steps", _s("title_public"), [Grid([_s("step"), _s("iso")], rows)])
    blocks = [
        FactList(
            [*_changed(step), *_told(step["facts"]), (_s("time"), f"{step.get('seconds', 0.0):.2f} s")],
            title=f"{position}. {step['name']}",
            lead=step.get("plan", ""),
        )
        for position, step in enumerate(report.steps, 1)
    ]
    return Section("steps", _s("title"), blocks)


def _changed(step: Mapping[str, Any]) -> list[tuple[Words, Words]]:
    """Rows and cells that the step changed."""
    out: list[tuple[Words, Words]] = []
    if "rows_before" in step:
        out.append((_s("rows"), _s("in_out", before=step["rows_before"], after=step["rows_after"])))
    if step.get("changed") is not None:
        cells = sum(step["changed"].values())
        named = few([f"{name} {count(cells)}" for name, cells in step["changed"].items()], 400)
        out.append((_s("cells_changed"), _s("cells_by_column", cells=cells, columns=named) if named else count(cells)))
    return out


def _told(facts: Mapping[str, Any]) -> list[tuple[Words, Words]]:
    """What the step found, by the names of its facts; names that have no message are technical ones."""
    elsewhere = (*NOT_TOLD, *SAID_ELSEWHERE) if "lattice" in facts else NOT_TOLD
    shown = {key: value for key, value in facts.items() if key not in elsewhere}
    return [(_name(key), _fact(key, value)) for key, value in shown.items()]


def _name(key: str) -> Words:
    return Message(f"fact.{key}") if known(f"fact.{key}") else key.replace("_", " ")


def _fact(key: str, value: Any) -> Words:
    if key == "suppressed" and isinstance(value, Mapping) and "records" in value:
        for said in ("suppressed_people", "suppressed"):
            if f"limit{said.removeprefix('suppressed')}" in value:
                return _s(said, **value)
    return in_words(value)


def in_words(value: Any, most: int = 12) -> Words:
    """A fact in words, whatever its shape; names of columns stay as they are."""
    if isinstance(value, Mapping):
        parts = [_s("named", name=key, value=in_words(inner)) for key, inner in list(value.items())[:most]]
        return _listed("remarks", parts, len(value) - most)
    if isinstance(value, list):
        return _listed("list", [in_words(inner) for inner in value[:most]], len(value) - most)
    if isinstance(value, bool):
        return _s("yes" if value else "no")
    if isinstance(value, int):
        return count(value)
    if isinstance(value, Message):
        return value
    return number(value) if isinstance(value, float | None) else str(value)


def _listed(kind: str, parts: Sequence[Words], more: int) -> Message:
    if not parts:
        return _s("none")
    said = Message(f"text.{kind}", said=parts)
    return Message("text.sentences", said=[said, _s("more", more=more)]) if more > 0 else said
