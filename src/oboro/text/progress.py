"""How far the work is: whoever waits is told stages and rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from oboro.text.message import Message, Words

__all__ = ["READING", "Parts", "Progress", "silent"]

READING = Message("progress.reading")
P = ParamSpec("P")
T = TypeVar("T")


class Progress(Protocol):
    """Told the stage that begins, and while it lasts how many rows are done and how many there are in all."""

    def __call__(self, stage: Words, done: int = 0, total: int | None = None) -> None:
        """Take note."""


def silent(stage: Words, done: int = 0, total: int | None = None) -> None:
    """Nobody waits."""


class Parts:
    """Pieces of work that are done side by side, told as one stage: so many of so many. Threads may do them."""

    def __init__(self, tell: Progress, stage: Words, total: int) -> None:
        self._tell, self._stage, self._total, self._done = tell, stage, total, 0
        self._lock = threading.Lock()

    def do(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Do one of them."""
        found = work(*given, **named)
        self._more(1, 0)
        return found

    def inner(self) -> Progress:
        """The progress of a piece that has pieces itself: they count as these do."""
        before = [0, 0]

        def tell(stage: Words, done: int = 0, total: int | None = None) -> None:
            more = done - before[0], (total or 0) - before[1]
            before[:] = done, total or 0
            self._more(*more)

        return tell

    def _more(self, done: int, total: int) -> None:
        with self._lock:
            self._done, self._total = self._done + done, self._total + total
            now = self._done, self._total
        self._tell(self._stage, *now)
