"""The Hierarchy screen: levels of a column with the rows under each label, and the updated answer."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import UsageError
from oboro.explorer.table import histogram
from oboro.hierarchies import tables
from oboro.hierarchies.hierarchy import outside, text_array
from oboro.hierarchies.propose import Unit, propose
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import Kind
from oboro.notations.ordered_dates import read_years
from oboro.notations.partial_dates import read_plain_dates
from oboro.recipe.starter import previews
from oboro.text import Message
from oboro.web.screens.promise import SEARCHING, answered
from oboro.web.screens.state import shown_state
from oboro.web.server import Ask, Desk, Offer, State

__all__ = ["offer_hierarchy", "set_hierarchy", "show_hierarchy"]


FILES = ("csv", "tree")  # hierarchies that may stand in a file
MOST_VALUES = 400  # of a column whose tree is shown
EXAMPLES = 6
MOST_EDGES = 12
OF_KIND = {
    Kind.INTEGER: ["intervals", "edges", "mask", "japan_age", "tree"],
    Kind.NUMBER: ["intervals", "edges", "mask", "tree"],
    Kind.DATE: ["dates", "mask", "japan_era", "tree"],
    Kind.DATETIME: ["dates", "mask", "tree"],
}
OF_TEXT = ["mask", "tree", "japan_address", "japan_postcode", "icd10"]

SIMPLE: dict[str, dict[str, str]] = {
    "plain": {},
    "japan_address": {"japan": "address"},
    "japan_postcode": {"japan": "postcode"},
    "japan_age": {"japan": "age"},
    "japan_era": {"japan": "era"},
    "icd10": {"icd10": "chapters"},
}
"""Kinds that need nothing more to be said."""
LISTS = ("rows", "tree", "csv", "neighbours", "priority")  # shown as a tree, however they are written


def show_hierarchy(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """A column's hierarchy: how it is made, its levels with the rows of their labels, its values."""
    state, name = desk.state(given.get("version")), str(given["column"])
    session = state.session
    column, tree, spec = session.column(name), session.hierarchy(name), _spec(state, name)
    rows = tree.to_rows() if len(column.values) <= MOST_VALUES else None
    values = [] if rows is None else zip(column.texts, column.counts.tolist(), strict=True)
    proposed = propose(name, column) or HierarchySpec()
    known = column.values.filter(pa.array(~outside(column)))
    unclear = column.kind is Kind.TEXT and read_years(known) is not None
    dated = unclear or read_plain_dates(known) is not None
    return {
        "version": state.number,
        "column": name,
        "spec": _written(spec),
        "proposed": _written(proposed),
        "plan": ask.say(_without_folders(spec).plan()),
        "levels": [asdict(one) for one in previews(tree, column, EXAMPLES)],
        "histogram": None if (found := histogram(column)) is None else asdict(found),
        "edges": None if found is None else _round_edges(found.low, found.high, found.whole),
        "rows": rows,
        "counts": {text: count for text, count in values if text is not None},
        "distinct": len(column.values),
        "longest": pc.max(pc.utf8_length(text_array(column.values))).as_py() or 1,
        "kind": _kind(spec),
        "simple": SIMPLE,
        "order": (spec.date_order or "") if unclear else None,
        "units": [(unit, ask.say(Message(f"hierarchy.unit.{unit}"))) for unit in get_args(Unit)],
        "kinds": [
            (kind, ask.say(Message(f"hierarchy.kind.{kind}")))
            for kind in ("plain", *["dates"] * dated, *OF_KIND.get(column.kind, OF_TEXT))
            if kind != "tree" or rows is not None or _kind(spec) == "tree"
        ],
    }


def _round_edges(low: float, high: float, whole: bool) -> list[list[float]]:
    """Edges to begin with, at most twelve round numbers, and on the next level those at every second step."""
    least = (high - low or 1) / MOST_EDGES
    ten = 10.0 ** math.floor(math.log10(least))
    wide = next(one * ten for one in (1, 2, 5, 10) if one * ten >= least)
    wide = max(wide, 1.0) if whole else wide
    places = list(range(math.floor(low / wide) + 1, math.ceil(high / wide))) or [math.ceil(low / wide)]
    coarse = [place for place in places if place % 2 == 0]
    levels = [places, coarse] if 0 < len(coarse) < len(places) else [places]
    return [[float(f"{place * wide:.12g}") for place in some] for some in levels]


def _kind(spec: HierarchySpec) -> str:
    """Which editor a hierarchy is shown in."""
    written = spec.model_dump(mode="json", exclude_defaults=True)
    simple = [kind for kind, held in SIMPLE.items() if held and held.items() <= written.items()]
    if isinstance(spec.intervals, list | tuple):
        return "intervals"
    named = {"edges": spec.intervals, "dates": spec.dates, "mask": spec.mask}
    listed = any(getattr(spec, form) for form in LISTS)
    return next((kind for kind, held in named.items() if held), simple[0] if simple else "tree" if listed else "plain")


def _spec(state: State, name: str) -> HierarchySpec:
    held = state.session.plan.columns.get(name)
    return HierarchySpec() if held is None or held.hierarchy is None else held.hierarchy


def _written(spec: HierarchySpec) -> dict[str, Any]:
    """As a recipe writes it; rows stand elsewhere in the answer."""
    found: dict[str, Any] = spec.model_dump(mode="json", exclude_defaults=True, exclude={"rows"})
    return found | ({"rows": len(spec.rows)} if spec.rows is not None else {})


def set_hierarchy(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Another hierarchy, as a recipe writes it or as the text of a file of ARX; checked now, and solved for at once."""
    name, spec = str(given["column"]), given.get("spec")
    if (text := given.get("arx")) is not None:
        path = desk.scratch.file(".csv")
        path.write_text(str(text), encoding="utf-8")
        try:
            spec = {"rows": tables.from_csv(name, path).to_rows()}
        finally:
            path.unlink(missing_ok=True)
    if not isinstance(spec, dict):
        raise UsageError(Message("error_web.no_json"))
    held = _spec(desk.now, name)
    spec = {form: desk.named_file(one, getattr(held, form)) if form in FILES and isinstance(one, str) else one
            for form, one in spec.items()}  # fmt: skip
    state = desk.change(
        "hierarchy", lambda now: replace(now, session=now.session.with_hierarchy(name, spec), levels=None)
    )
    shown = shown_state(desk, state, ask)
    ask.hear({"stage": ask.say(SEARCHING), "state": shown})  # what was changed is shown before the search ends
    return {"state": shown, "answer": answered(desk, state, ask)}


def offer_hierarchy(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The hierarchy as a file of ARX."""
    state, name = desk.state(given.get("version")), str(given["column"])
    text = state.session.hierarchy(name).to_csv()
    return {"version": state.number, "ticket": desk.tickets.issue(Offer("hierarchy.csv", "text/plain", text=text))}


def _without_folders(spec: HierarchySpec) -> HierarchySpec:
    """A file is named, not where it lies: that may be long, and says nothing about levels."""
    return spec if spec.csv is None else spec.model_copy(update={"csv": Path(spec.csv).name})
