"""The state as every screen shows it: the table, the roles, the demands, and the number of the state."""

from __future__ import annotations

from typing import Any

from oboro.errors import OboroError
from oboro.schema import Role
from oboro.web.screens.form import shown_demands
from oboro.web.server import Ask, Desk, State

__all__ = ["changed", "shown_state", "state_now"]


def state_now(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The current state, or that no table is open. The table of the command line is opened when it is first asked for."""
    with desk.first_asked:
        if desk.first is not None:
            try:
                desk.put(*desk.first(ask))
            except OboroError:  # the page says why, and another table can be opened: it is not tried again
                desk.first = None
                raise
            desk.first = None
    return shown_state(desk, desk.now, ask) if desk.opened else {"version": 0, "table": None, "can": desk.can}


def shown_state(desk: Desk, state: State, ask: Ask) -> dict[str, Any]:
    """Everything that needs no work."""
    session, table = state.session, state.table
    data = session.table.data
    return {
        "version": state.number,
        "table": {
            "name": table.name,
            "rows": data.rows,
            "columns": list(data),
            "bytes": table.bytes,
            "made_up": table.made_up is not None,
            "notes": [ask.say(one) for one in table.notes],
        },
        "roles": {name: session.role(name).value for name in data},
        "quasi": [name for name in data if session.role(name) is Role.QUASI],
        "sensitive": [name for name in data if session.role(name) is Role.SENSITIVE],
        "person": session.person,
        "unconfirmed": session.unconfirmed,
        "demands": shown_demands(session),
        "taken": state.levels,
        "can": desk.can,
    }


def changed(desk: Desk, ask: Ask, state: State) -> dict[str, Any]:
    """Return the answer to a change."""
    return {"state": shown_state(desk, state, ask)}
