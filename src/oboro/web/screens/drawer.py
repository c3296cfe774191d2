"""The drawer: the recipe, the command and the Python for the current screen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oboro.explorer.session import reading_options
from oboro.web.screens.take import taken
from oboro.web.server import Ask, Desk, State

__all__ = ["drawer"]


SHOWN = 100_000  # characters of a recipe
MOST_ROWS, SOME_ROWS = 2_000, 20  # of a hierarchy
OF_STREAM = "oboro stream --recipe recipe.yaml --state state < people.ndjson > released.ndjson"


def drawer(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Three ways to say what the screen shows. What is long is shown in part."""
    screen = str(given.get("screen", ""))
    if screen == "assess":  # the screen knows what it asked
        return {
            "version": 0,
            "yaml": given.get("yaml", ""),
            "long": False,
            "command": given.get("command", ""),
            "python": given.get("python", ""),
        }
    state = desk.state(given.get("version"))
    brief = _brief(state)
    written = taken(brief, given)
    long = brief is not state or len(written.yaml) > SHOWN
    command, python = _said(screen, state, given)
    made_up = f"{state.table.made_up}\n" if state.table.made_up else ""
    return {
        "version": state.number,
        "yaml": written.yaml[:SHOWN],
        "long": long,
        "command": made_up + (command or written.command),
        "python": python or ("" if long else written.python),
    }


def _brief(state: State) -> State:
    """The state with only the first rows of long hierarchies: to write down half a million takes seconds, and nobody reads them."""
    plan, shorter = state.session.plan, {}
    for name, one in plan.attributes.items():
        if one.hierarchy is not None and one.hierarchy.rows is not None and len(one.hierarchy.rows) > MOST_ROWS:
            few = one.hierarchy.model_copy(update={"rows": one.hierarchy.rows[:SOME_ROWS]})
            shorter[name] = one.model_copy(update={"hierarchy": few})
    if not shorter:
        return state
    held = plan.model_copy(update={"attributes": {**plan.attributes, **shorter}})
    return replace(state, session=replace(state.session, plan=held))


def _said(screen: str, state: State, given: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The command and the Python of a screen; None: those that make the release."""
    table, session = state.table, state.session
    options = reading_options(table.reading)
    demands = session.demands.model_dump(mode="json", exclude_defaults=True)
    reading = f", reading={dict(table.reading)!r}" if table.reading else ""
    begin = f"import oboro\n\nrecipe = oboro.Recipe.load('recipe.yaml')\nsession = oboro.explore({table.path!r}, recipe{reading})\n"
    levels = None if state.levels is None else dict(state.levels)
    found = f"{begin}found = session.solve({demands!r})\nlevels = {levels if levels is not None else 'found.levels'}\n"
    release = shlex.join(
        ["oboro", "anonymize", table.path, "--recipe", "recipe.yaml", "--output", "released.csv", *options]
    )
    if screen in ("open", "columns"):
        start = f"import oboro\n\nsession = oboro.explore({table.path!r}{reading})\nsession.columns()\n"
        return shlex.join(["oboro", "init", table.path, *options]), start
    if screen == "hierarchy" and (name := given.get("column")) in session.table.data:
        held = session.plan.columns.get(str(name))
        spec = (
            {}
            if held is None or held.hierarchy is None
            else held.hierarchy.model_dump(mode="json", exclude_defaults=True)
        )
        shown = json.dumps(spec, ensure_ascii=False)
        words = ["oboro", "hierarchy", table.path, str(name), "--spec", shown, *options]
        return shlex.join(words), f"{begin}session = session.with_hierarchy({name!r}, {spec!r})\nsession.solve().loss\n"
    if screen == "promise":
        return None, f"{found}session.look(levels, {demands!r})\n"
    if screen == "space":
        return None, f"{begin}session.plot(demands={demands!r})\n"
    if screen == "rows":
        return None, f"{found}session.window(0, 100, levels, {demands!r})\n"
    if screen == "report":
        run = f"import oboro\n\nrelease = oboro.Recipe.load('recipe.yaml').run({table.path!r}{reading})\n"
        return f"{release} --report report.html", f"{run}release.report.to_html('report.html')\n"
    return (
        (OF_STREAM, "import oboro\n\nanonymizer = oboro.Recipe.load('recipe.yaml').stream()\n")
        if screen == "stream"
        else (None, None)
    )
