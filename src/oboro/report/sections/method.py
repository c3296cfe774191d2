"""The sections on the method: the chosen transformation, and the steps of the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report import charts
from oboro.report.chosen_levels import lost
from oboro.report.facts import trait
from oboro.report.page import Block, Cell, FactList, Grid, Notes, Picture, Pictures, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.text import Message, Words, count, few, known, number

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["SOLUTION", "STEPS", "in_words", "solutions", "steps"]


SOLUTION = Section("solution")
STEPS = Section("steps")


SEARCHED = {"levels", "lattice", "loss"}  # facts of a step that looked for the best levels


# Chosen transformation ------------------------------------------------------------------------------------------------


@SOLUTION.content
def solutions(report: Report) -> ShownSection | None:
    """Why these levels: the chosen node of the lattice and the ones that came next. Local recoding chooses no single node."""
    tried = [step["facts"] for step in report.steps if step["facts"].keys() >= SEARCHED]
    searched = [facts for facts in tried if facts.get("recoding") != "local"]
    blocks = [block for facts in searched for block in _solution(facts)]
    return SOLUTION.shown(blocks) if blocks else None


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
    told = [SOLUTION.said(name, nodes=nodes) for name, nodes in ways.items() if nodes]
    return [Text(SOLUTION.said("lead", nodes=lattice["nodes"])), Notes(told)]


def _lattice(nodes: Sequence[Mapping[str, Any]]) -> list[Block]:
    points = [
        {"height": sum(node["levels"]), "loss": node["loss"], "chosen": place == 0}
        for place, node in enumerate(nodes)
        if node["loss"] is not None
    ]
    if len(points) < 2:
        return []
    picture = Picture(SOLUTION.said("picture"), partial(charts.lattice, points), note=SOLUTION.said("picture_note"))
    return [Pictures([picture], legend=False)]


def _levels(facts: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Grid:
    """One column per solution: there are at most a handful of them, but there may be many quasi-identifiers."""
    loss = facts["loss"]["name"]
    rows = [
        [Cell(name), *(_level(node["levels"][place], top["of"]) for node in nodes)]
        for place, (name, top) in enumerate(facts["levels"].items())
    ]
    gone = SOLUTION.said("suppressed_people" if "people" in facts["suppressed"] else "suppressed_rows")
    rows.append([Cell(gone), *(Cell(count(node["suppressed"])) for node in nodes)])
    named = SOLUTION.said("loss") if loss == "loss" else SOLUTION.said("loss_named", name=lost(loss))
    rows.append([Cell(named), *(Cell(number(node["loss"])) for node in nodes)])
    ranks = [SOLUTION.said("rank", rank=rank) for rank in range(2, len(nodes) + 1)]
    return Grid([SOLUTION.said("level_of"), SOLUTION.said("chosen"), *ranks], rows)


def _level(level: int, top: int) -> Cell:
    return Cell(SOLUTION.said("level", level=level, top=top), meter=level / top if top else 0.0)


# Steps of the release -------------------------------------------------------------------------------------------------

SAID_ELSEWHERE = ("lattice", "loss", "minimal", "runners_up", "levels", "again")  # by `solutions`
NOT_TOLD = ("changed", "stopped")  # with the cells that the step changed, and before everything else


@STEPS.content
def steps(report: Report) -> ShownSection | None:
    """Build the section on the plan and the result of each step."""
    if not report.steps:
        return None
    if report.public:
        rows = [[Cell(step["name"]), Cell(trait(step, "iso") or "–")] for step in report.steps]
        return STEPS.shown([Grid([STEPS.said("step"), STEPS.said("iso")], rows)], "title_public")
    blocks = [
        FactList(
            [*_changed(step), *_told(step["facts"]), (STEPS.said("time"), f"{step.get('seconds', 0.0):.2f} s")],
            title=f"{position}. {step['name']}",
            lead=step.get("plan", ""),
        )
        for position, step in enumerate(report.steps, 1)
    ]
    return STEPS.shown(blocks)


def _changed(step: Mapping[str, Any]) -> list[tuple[Words, Words]]:
    """Rows and cells that the step changed."""
    out: list[tuple[Words, Words]] = []
    if "rows_before" in step:
        out.append((STEPS.said("rows"), STEPS.said("in_out", before=step["rows_before"], after=step["rows_after"])))
    if step.get("changed") is not None:
        cells = sum(step["changed"].values())
        named = few([f"{name} {count(cells)}" for name, cells in step["changed"].items()], 400)
        out.append(
            (
                STEPS.said("cells_changed"),
                STEPS.said("cells_by_column", cells=cells, columns=named) if named else count(cells),
            )
        )
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
                return STEPS.said(said, **value)
    return in_words(value)


def in_words(value: Any, most: int = 12) -> Words:
    """A fact in words, whatever its shape; names of columns stay as they are."""
    if isinstance(value, Mapping):
        parts = [STEPS.said("named", name=key, value=in_words(inner)) for key, inner in list(value.items())[:most]]
        return _listed("remarks", parts, len(value) - most)
    if isinstance(value, list):
        return _listed("list", [in_words(inner) for inner in value[:most]], len(value) - most)
    if isinstance(value, bool):
        return STEPS.said("yes" if value else "no")
    if isinstance(value, int):
        return count(value)
    if isinstance(value, Message):
        return value
    return number(value) if isinstance(value, float | None) else str(value)


def _listed(kind: str, parts: Sequence[Words], more: int) -> Message:
    if not parts:
        return STEPS.said("none")
    said = Message(f"text.{kind}", said=parts)
    return Message("text.sentences", said=[said, STEPS.said("more", more=more)]) if more > 0 else said
