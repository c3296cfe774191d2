"""The Columns screen: roles with their reasons, people whom each column makes unique, and the person column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oboro.text import Message
from oboro.web.screens.state import changed
from oboro.web.server import Ask, Desk

__all__ = ["confirm", "set_person", "set_role", "show_columns"]


def show_columns(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Every column's role and figures, exact, over all rows."""
    state = desk.state(given.get("version"))
    ask.tell(Message("web.counting"))
    found = state.session.columns()
    shown = found.as_dict()
    for one, row in zip(found, shown["columns"], strict=True):
        row["why"] = [ask.say(reason) for reason in one.reasons]
        row["kind_said"] = one.kind
        del row["reasons"]
    return {**shown, "version": state.number, "session": found.version}


def set_role(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Give a column a role; that also confirms it."""
    name, role = str(given["column"]), str(given["role"])
    return changed(
        desk,
        ask,
        desk.change("role", lambda now: replace(now, session=now.session.with_role(name, role), levels=None)),
    )


def set_person(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Set the column of the person, or state that every row is a different person's."""
    name = given.get("column") or None
    return changed(
        desk, ask, desk.change("person", lambda now: replace(now, session=now.session.with_person(name), levels=None))
    )


def confirm(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Somebody has read these roles (none named: all of them)."""
    names = [str(one) for one in given.get("columns") or ()]
    state = desk.change("confirm", lambda now: replace(now, session=now.session.confirm(*names)))
    return changed(desk, ask, state)
