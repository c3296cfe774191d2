"""The sections about how a release was made: why these levels, step by step, and what is needed to make it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from oboro.report.checklists.checklists import ISO_NAMES
from oboro.report.page import charts
from oboro.report.page.blocks import Block, Cell, Code, FactList, Grid, Notes, Picture, Pictures, Section, Text, words
from oboro.report.text.japanese import JAPANESE
from oboro.report.text.language import Both, Data, translate
from oboro.text import count, few, number, size

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["counting", "evidence", "recipe", "solutions", "steps"]


def solutions(report: Report) -> Section | None:
    """Why these levels: the chosen node of the lattice and the ones that came next."""
    searched = [step["facts"] for step in report.steps if {"levels", "lattice", "loss"} <= step["facts"].keys()]
    blocks = [block for facts in searched for block in _solution(facts)]
    return Section("solution", "Why this solution", blocks) if blocks else None


def _solution(facts: Mapping[str, Any]) -> list[Block]:
    """One column per solution: there are at most a handful of them, but there may be many quasi-identifiers."""
    levels, loss = facts["levels"], facts["loss"]
    chosen = {
        "levels": [one["level"] for one in levels.values()],
        "loss": loss["value"],
        "suppressed": facts["suppressed"]["records"],
    }
    nodes = [chosen, *facts.get("runners_up", [])]
    rows = [
        _level_row(name, top["of"], [node["levels"][i] for node in nodes])
        for i, (name, top) in enumerate(levels.items())
    ]
    rows.append([Cell("suppressed rows"), *(Cell(count(node["suppressed"])) for node in nodes)])
    name = "loss" if loss["name"] == "loss" else f"loss ({words(loss['name'])})"
    rows.append([Cell(name), *(Cell(number(node["loss"])) for node in nodes)])
    head = ["level of", "✓ chosen", *(f"no. {rank}" for rank in range(2, len(nodes) + 1))]
    points = [
        {"height": sum(node["levels"]), "loss": node["loss"], "chosen": place == 0}
        for place, node in enumerate(nodes)
        if node["loss"] is not None
    ]
    picture = Picture("The chosen combination and its runners-up", charts.lattice(points), note=LATTICE)
    shown: list[Block] = [Pictures([picture], legend=False)] if len(points) > 1 else []
    return [*_searched(facts), *shown, Grid(head, rows)]


LATTICE = "Filled: the chosen one; open: the next best. To the right more was generalized, upwards more was lost."


def _level_row(name: str, top: int, levels: Sequence[int]) -> list[Cell]:
    return [Cell(Data(name)), *(Cell(f"{level} of {top}", meter=level / top if top else 0.0) for level in levels)]


def _searched(facts: Mapping[str, Any]) -> list[Block]:
    lattice = facts["lattice"]
    ways = (("evaluated", "Tried"), ("tagged", "Followed from those"), ("skipped", "Could not be better"))
    told = [f"{said}: {count(lattice[key])}." for key, said in ways if lattice.get(key)]
    minimal = facts.get("minimal")
    if minimal:
        told.append(f"Minimal, so that in those no column could be finer: {count(len(minimal))}.")
    return [Text(SEARCHED.format(nodes=count(lattice["nodes"]))), Notes(told)]


SEARCHED = (
    "Each column can be released on several levels; 0 is the value itself. There are {nodes} combinations of levels. "
    "Of those that keep every promise within the allowed suppression the one with the least loss was chosen; "
    "the next best that were tried stand beside it."
)


def steps(report: Report) -> Section | None:
    """What each step said it would do, and what it did."""
    if report.public:
        rows = [
            [Cell(Data(step["name"])), Cell(Both(*ISO_NAMES.get(step["name"], ("–", "–"))))] for step in report.steps
        ]
        return Section("steps", "What was done", [Grid(["step", "ISO/IEC 20889"], rows)]) if rows else None
    blocks = [
        FactList(
            [*_changed(step), *_told(step["facts"]), ("time", f"{step.get('seconds', 0.0):.2f} s")],
            title=Data(f"{position}. {step['name']}"),
            lead=Both(step.get("plan", ""), ISO_NAMES.get(step["name"], ("", ""))[1]),
        )
        for position, step in enumerate(report.steps, 1)
    ]
    return Section("steps", "What was done, step by step", blocks) if blocks else None


def _changed(step: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rows and cells that the step changed."""
    out = []
    if "rows_before" in step:
        out.append(("rows", f"{count(step['rows_before'])} in, {count(step['rows_after'])} out"))
    if step.get("changed") is not None:
        cells = sum(step["changed"].values())
        named = few([f"{name} {count(cells)}" for name, cells in step["changed"].items()], 400)
        out.append(("cells changed", Data(f"{count(cells)}" + (f" ({named})" if named else ""))))
    return out


SEARCHED_FACTS = ("lattice", "loss", "minimal", "runners_up", "levels", "again")  # told by `solutions`
TOLD = ("changed", "stopped")  # with the cells that the step changed, and before everything else


def _told(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the step found, by the names of its facts; names that we do not speak of elsewhere are technical ones."""
    elsewhere = (*TOLD, *SEARCHED_FACTS) if "lattice" in facts else TOLD
    shown = {words(key): value for key, value in facts.items() if key not in elsewhere}
    return [(key if key in JAPANESE else Data(key), _fact(key, value)) for key, value in shown.items()]


def _fact(key: str, value: Any) -> str:
    if key == "suppressed" and isinstance(value, Mapping) and {"records", "of", "limit"} <= value.keys():
        return f"{count(value['records'])} of {count(value['of'])} rows, {count(value['limit'])} allowed"
    return Data(_said(value))


def _said(value: Any, most: int = 12) -> str:
    """A fact in words, whatever its shape; names of columns stay as they are."""
    if isinstance(value, Mapping):
        parts = [f"{key} {_said(inner)}" for key, inner in list(value.items())[:most]]
        return "; ".join(parts) + _more(value, most) if parts else "none"
    if isinstance(value, list):
        return ", ".join(_said(inner) for inner in value[:most]) + _more(value, most) if value else "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return count(value)
    return number(value) if isinstance(value, float) else str(value)


def _more(values: Sequence[Any] | Mapping[str, Any], most: int) -> str:
    return f" and {len(values) - most} more" if len(values) > most else ""


def counting(report: Report) -> Section:
    """How missing and suppressed values are counted, and what is left out."""
    notes = [line.format(smallest=report.smallest_cell) for line in COUNTING]
    return Section("counting", "How things are counted", [Notes(notes if not report.public else notes[:-1])])


COUNTING = (
    "A missing value is a value like any other: in grouping rows, in verifying, in measuring risk and in counting "
    "sensitive values.",
    "Suppression writes * into every quasi-identifier of a row. Suppressed rows stay in the release, form one class of "
    "their own, and are held to the same promises as all others.",
    "Rows that a step drops are in no figure about the release; they count only as rows that came in and did not go "
    "out.",
    "A * counts as the loss of the whole value. Measures of loss speak of the quasi-identifiers; distances between "
    "distributions speak of every column that both tables have.",
    "Labels that fewer than {smallest} rows hold are counted together or not at all. This page holds no record of "
    "either table, but it holds the recipe: keep it with those who may know how the release was made.",
)


def evidence(report: Report) -> Section:
    """Files, versions, seed and memory: what is needed to make the release again."""
    table = report.table
    if report.public:
        return _public_evidence(report)
    facts = [
        ("rows", f"{count(table.rows_before)} in, {count(table.rows_after)} out"),
        ("columns", f"{table.columns_before} in, {table.columns_after} out"),
        ("dropped columns", Data(", ".join(table.dropped) or "–")),
        ("columns not looked at", Data(", ".join(table.passed) or "–")),
        ("quasi-identifiers", Data(", ".join(report.quasi) or "–")),
        ("sensitive columns", Data(", ".join(report.sensitive) or "–")),
        ("privacy models verified", _models(report)),
        ("seed", _seed(report)),
        ("memory", f"{size(table.bytes_before or 0)} for the original, {size(table.bytes_after or 0)} for the release"),
        ("versions", Data(", ".join(f"{name} {version}" for name, version in report.versions.items()))),
    ]
    return Section("evidence", "Evidence", [FactList(facts), *_files(report)])


def _public_evidence(report: Report) -> Section:
    table = report.table
    facts = [
        ("rows", count(table.rows_after)),
        ("columns", count(table.columns_after)),
        ("quasi-identifiers", Data(", ".join(report.quasi) or "–")),
        ("privacy models verified", _models(report)),
        ("versions", Data(", ".join(f"{name} {version}" for name, version in report.versions.items()))),
    ]
    return Section("evidence", "Evidence", [FactList(facts), *_files(report)])


def _models(report: Report) -> str:
    verdicts = (report.verification or {}).get("verdicts", [])
    names = [one["model"] for one in verdicts]
    return Both(", ".join(names) or "–", "、".join(translate(name, "ja") for name in names) or "–")


def _files(report: Report) -> list[Block]:
    return [
        FactList([(words(key), Data(_said(value))) for key, value in file.items()], title=role)
        for role, file in report.files.items()
    ]


def _seed(report: Report) -> str:
    """The seed where the recipe has one. A drawn one is not kept: with it whoever reads this could undo noise and pseudonyms."""
    if not report.seeded:
        return "not known" if report.seeded is None else "none; the random choices cannot be repeated"
    number = yaml.safe_load(report.recipe)["seed"]
    return Both(
        f"{number}; whoever has it can repeat the random choices",
        f"{number}(これを知る者は乱数による選択を再現できます)",
    )


def recipe(report: Report) -> Section | None:
    """The recipe itself."""
    return Section("recipe", "The recipe", [Code(report.recipe)]) if report.recipe.strip() else None
