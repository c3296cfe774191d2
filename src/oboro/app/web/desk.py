"""What lies on the desk: one table, the state of the conversation about it, and the states before.

Every state has a number, and every answer carries the number of the state that it is about. A state is never changed; so an answer
that comes late is known as one about an older state, and undo is to take the state before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.app.web.picker import Picker
from oboro.app.web.tickets import Tickets
from oboro.errors import UsageError
from oboro.system.scratch_folder import ScratchFolder
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.app.web.asking import Ask
    from oboro.explorer.session import Session
    from oboro.recipe.release import Release

__all__ = ["Desk", "FirstTable", "OpenTable", "State"]

MOST_STATES = 200  # that undo goes back
ONE_ACT = 1.5  # seconds: moves of one control that follow each other so closely are one act


@dataclass(frozen=True)
class OpenTable:
    """The table that is open, and what a command calls it."""

    name: str
    path: str
    """As a command on the user's machine would name it."""
    bytes: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    made_up: str | None = None
    """The command that makes it, where it is made up."""
    notes: tuple[Message, ...] = ()


@dataclass(frozen=True)
class State:
    """Everything that answers depend on."""

    number: int
    table: OpenTable
    session: Session
    levels: Mapping[str, int] | None = None
    """Levels that were taken; None: the best ones."""
    act: str = "open"
    """What led to it, for undo."""
    moment: float = 0.0


FirstTable = Callable[["Ask"], "tuple[OpenTable, Session]"]


class Desk:
    """One conversation. Changes come one after the other; questions about a state may come at any time."""

    def __init__(self, scratch: ScratchFolder, root: Path, most_bytes: int) -> None:
        self.scratch, self.picker, self.tickets, self.most_bytes = scratch, Picker(root), Tickets(), most_bytes
        self.first: FirstTable | None = None
        """A table to begin with, read when the page asks for it."""
        self.first_asked = threading.Lock()
        self._lock = threading.RLock()
        self._numbers = count(1)
        self._past: list[State] = []
        self._future: list[State] = []
        self._now: State | None = None
        self._moves: dict[str, int] = {}
        self._uploads: dict[str, tuple[Path, str]] = {}
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._found: tuple[Mapping[str, Any], Mapping[str, int]] | None = None

    # States -------------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> State:
        """The current state; a `UsageError` where no table is open."""
        if self._now is None:
            raise UsageError(Message("error_web.no_table_open"))
        return self._now

    @property
    def opened(self) -> bool:
        """Whether a table is open."""
        return self._now is not None

    def state(self, number: int | None) -> State:
        """The state of a number, as long as it is known; without a number the current one."""
        with self._lock:
            if number is None or self.now.number == number:
                return self.now
            known = next((one for one in (*self._past, *self._future) if one.number == number), None)
        if known is None:
            raise UsageError(Message("error_web.old_state"))
        return known

    def put(self, table: OpenTable, session: Session) -> State:
        """Put another table on the desk."""
        with self._lock:
            self._past, self._future, self._kept = [], [], {}
            self._now = State(next(self._numbers), table, session)
            return self._now

    def change(self, act: str, made: Callable[[State], State]) -> State:
        """The next state. Moves of one control that follow each other closely are undone together."""
        with self._lock:
            before, moment = self.now, time.monotonic()
            after = replace(made(before), number=next(self._numbers), act=act, moment=moment)
            if not (act.startswith("move:") and before.act == act and moment - before.moment < ONE_ACT):
                self._past.append(before)
                del self._past[:-MOST_STATES]
            self._future, self._now = [], after
            return after

    def in_order(self, control: str, move: int | None) -> bool:
        """Whether a move of a control is newer than all before it; a late one must not win."""
        with self._lock:
            if move is None:
                return True
            newest = self._moves.get(control, -1)
            self._moves[control] = max(newest, move)
            return move > newest

    def undo(self) -> State:
        """The state before, under a number of its own."""
        return self._back(self._past, self._future, "undo")

    def redo(self) -> State:
        """The state that was undone."""
        return self._back(self._future, self._past, "redo")

    def _back(self, source: list[State], target: list[State], act: str) -> State:
        with self._lock:
            if not source:
                raise UsageError(Message("error_web.nothing_to_undo"))
            target.append(self.now)
            self._now = replace(source.pop(), number=next(self._numbers), moment=0.0)
            return self._now

    @property
    def can(self) -> dict[str, bool]:
        """Whether something can be undone, or done again."""
        return {"undo": bool(self._past), "redo": bool(self._future)}

    # Files --------------------------------------------------------------------------------------------------------------

    def uploaded(self, path: Path, name: str) -> str:
        """Take note of a file that came in; the key by which the page calls it."""
        self._uploads[path.name] = (path, name)
        return path.name

    def file(self, given: Mapping[str, Any]) -> tuple[Path, str, str]:
        """A file that the page names, as an upload or below the root: its path, its name, and what a command calls it."""
        if (key := given.get("upload")) is not None:
            if key not in self._uploads:
                raise UsageError(Message("error_web.old_state"))
            path, name = self._uploads[key]
            return path, name, name
        path = self.picker.file(str(given.get("path", "")))
        return path, path.name, str(path)

    def named_file(self, given: Any, known: Any) -> str:
        """A file that a demand or a hierarchy names: one of the recipe that was begun with, or one below the root."""
        return str(given) if given == known else str(self.picker.inside(str(given)))

    def keep_found(self, session: Session, levels: Mapping[str, int] | None) -> None:
        """Take note of the best levels of a state: the next search begins with them."""
        self._found = None if not levels or session.demands.limits else (session.plan.attributes, levels)

    def found(self, session: Session) -> list[tuple[int, ...]]:
        """The best levels of the state before, where its columns and hierarchies are those of this one."""
        if self._found is None or session.demands.limits or session.demands.levels is not None:
            return []
        known, levels = self._found
        now = session.plan.attributes
        same = known.keys() == now.keys() and all(known[name] is now[name] for name in now)
        return [tuple(levels.values())] if same else []

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Something slow that was made for a state; the latest few are kept."""
        if key not in self._kept:
            made = make()
            self._kept[key] = made
            for old in list(self._kept)[:-4]:
                del self._kept[old]
        return self._kept[key]

    def release(self, state: State, seed: int | None, make: Callable[[], Release]) -> Release:
        """The release of a state: made once, so that the report speaks of the very file that is taken away."""
        found: Release = self.kept(("release", state.number, seed), make)
        return found
