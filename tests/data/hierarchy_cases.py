"""Columns and hierarchies that fit them, for every test of hierarchies."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.drawing import picks

from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec

Case = tuple[list[Any], dict[str, Any]]

UNITS = ["day", "month", "quarter", "year", "decade"]


def build(values: list[Any], folder: Path = Path("."), **form: Any) -> Hierarchy:
    return HierarchySpec(**form).build("x", Column.of(values), folder)


def released(values: list[Any], level: int, folder: Path = Path("."), **form: Any) -> list[Any]:
    column = Column.of(values)
    return list(HierarchySpec(**form).build("x", column, folder).generalize(column, level).decode().to_pylist())


def paths(values: list[Any], **form: Any) -> dict[Any, list[Any]]:
    """For each value its labels on the levels from 1 up."""
    hierarchy = build(values, **form)
    columns = [[level.labels[int(code)].as_py() for code in level.table] for level in hierarchy.levels]
    return {row[0]: list(row[1:]) for row in zip(*columns, strict=True)}


def write(folder: Path, text: str, encoding: str = "utf-8", name: str = "h.csv") -> str:
    (folder / name).write_bytes(text.encode(encoding))
    return name


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=1, max_size=6)
INTEGERS = st.integers(-200, 200)
FLOATS = st.floats(-50, 50).map(lambda number: round(number, 2))
DATES = st.dates(dt.date(1890, 1, 1), dt.date(2110, 12, 31))
TIMES = st.datetimes(dt.datetime(1890, 1, 1), dt.datetime(2110, 12, 31))


def few(values: st.SearchStrategy[Any], at_least: int = 0) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=at_least, max_size=12)


@st.composite
def width_forms(draw: st.DrawFn) -> dict[str, Any]:
    finest = draw(st.sampled_from([1, 2, 5, 7, 0.1, 0.25, 2.5]))
    widths = [finest]
    for factor in draw(picks(range(2, 6), max_size=2)):
        widths.append(float(Decimal(str(widths[-1])) * factor) if isinstance(finest, float) else widths[-1] * factor)
    ends = sorted(draw(st.lists(st.integers(-100, 100), min_size=2, max_size=2)))
    form = {"intervals": widths, "origin": draw(st.sampled_from([0, 3, 0.5])), "bottom": ends[0], "top": ends[1]}
    kept = draw(st.sets(st.sampled_from(["origin", "bottom", "top"])))
    return {key: value for key, value in form.items() if key == "intervals" or key in kept}


@st.composite
def edge_forms(draw: st.DrawFn) -> dict[str, Any]:
    levels = [sorted(draw(st.sets(st.integers(-100, 100), min_size=1, max_size=6)))]
    while len(levels[-1]) > 1 and draw(st.booleans()):
        levels.append(sorted(draw(st.sets(st.sampled_from(levels[-1]), min_size=1))))
    return {"intervals": {"edges": levels}}


@st.composite
def date_forms(draw: st.DrawFn) -> dict[str, Any]:
    chosen = draw(st.sets(st.sampled_from(["day", "month", "quarter", "year", "decade"]), min_size=1))
    return {"dates": [unit for unit in ("day", "month", "quarter", "year", "decade") if unit in chosen]}


@st.composite
def mask_forms(draw: st.DrawFn) -> dict[str, Any]:
    side = draw(st.sampled_from(["right", "left"]))
    if draw(st.booleans()):
        return {"mask": side}
    steps = sorted(draw(st.sets(st.integers(1, 8), min_size=1, max_size=3)))
    return {"mask": {"side": side, "steps": steps, "char": draw(st.sampled_from("*x■"))}}


@st.composite
def row_forms(draw: st.DrawFn, values: list[str]) -> dict[str, Any]:
    """Rows over the values and more, each level a random function of the one below."""
    leaves = sorted({"a", *values, *draw(st.lists(WORDS, max_size=5))})
    rows = [[leaf] for leaf in leaves]
    for _ in range(draw(st.integers(1, 3))):
        below = sorted({row[-1] for row in rows})
        above = {label: draw(st.sampled_from("ABC*")) for label in below}
        for row in rows:
            row.append(above[row[-1]])
    return {"rows": rows}


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    """A column and a hierarchy that fits it."""
    kind = draw(st.sampled_from(["number", "edges", "date", "time", "mask", "rows", "none"]))
    source: dict[str, Any] = {
        "number": st.one_of(few(INTEGERS), few(FLOATS)),
        "edges": few(INTEGERS),
        "date": few(DATES),
        "time": few(TIMES),
    }
    values: list[Any] = draw(source.get(kind, few(WORDS)))
    forms: dict[str, Any] = {"number": width_forms(), "edges": edge_forms(), "mask": mask_forms()}
    forms |= {"date": date_forms(), "time": date_forms(), "none": st.just({}), "rows": row_forms(values)}
    form = draw(forms[kind])
    if kind in ("number", "edges", "date", "time") and draw(st.booleans()):
        form["star"] = draw(st.booleans())
    outsiders = [None] if kind in ("number", "edges", "date", "time") else [None, "*"]
    return values + draw(picks(outsiders, max_size=2)), form
