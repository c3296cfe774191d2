"""Pieces of work side by side, told as one stage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from oboro.text.message import Words
from oboro.text.progress import Progress

__all__ = ["Parts"]

P = ParamSpec("P")
T = TypeVar("T")


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
