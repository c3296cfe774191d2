"""The Before and After screen: rows, distributions, pairs of columns, and the score of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oboro.errors import UsageError
from oboro.explorer.answers import plain
from oboro.explorer.question import plain_measure
from oboro.text import Message
from oboro.web.server import Ask, Desk, State

__all__ = ["chosen", "show_distributions", "show_pairs", "show_rows", "show_score"]


MOST_ROWS = 500


def chosen(state: State, ask: Ask) -> Mapping[str, int]:
    """The levels that a state is about: those that were taken, or the best."""
    if state.levels is not None:
        return state.levels
    found = state.session.solve(cancel=ask.cancel)
    if found.levels is None:
        raise UsageError(found.why or Message("error_web.nothing_to_show"))
    return found.levels


def show_rows(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Some rows as they came and as they would be released."""
    state = desk.state(given.get("version"))
    start, n = max(0, int(given.get("start", 0))), min(MOST_ROWS, int(given.get("n", 100)))
    found = state.session.window(start, n, chosen(state, ask))
    shown = {"before": _texts(found.before), "after": _texts(found.after)}
    return {**plain(found), **shown, "version": state.number}


def _texts(rows: tuple[tuple[Any, ...], ...]) -> list[list[str | None]]:
    return [[None if one is None else str(one) for one in row] for row in rows]


def show_distributions(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Show the frequency of each label in each released column, before and after."""
    state = desk.state(given.get("version"))
    levels, released = chosen(state, ask), state.session.work.data
    found = []
    for name in released:
        ask.tell(Message("web.counting"))
        one = state.session.distribution(name, levels)
        numbered = one.others is not None and max(label.before for label in one.labels) == 1
        if not numbered:  # what numbers people has no distribution
            found.append(plain(one))
    return {"version": state.number, "columns": found}


def show_pairs(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Show the associations of columns, before and after."""
    state = desk.state(given.get("version"))
    ask.tell(Message("web.counting"))
    return {"version": state.number, "pairs": plain(state.session.pairs(chosen(state, ask)))}


def show_score(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Show how well a model that learns from the release predicts."""
    state, target = desk.state(given.get("version")), str(given["target"])
    ask.tell(Message("web.learning"))
    found = state.session.learned(chosen(state, ask), target)
    return {"version": state.number, "target": target, "scores": [plain_measure(one, ask.lang) for one in found]}
