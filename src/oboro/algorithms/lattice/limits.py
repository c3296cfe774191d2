"""Limits of a search: time limit, cancellation and progress reports."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event, current_thread, main_thread
from time import monotonic
from typing import Any, NamedTuple

__all__ = ["LookStopped", "SearchLimits", "SearchProgress", "stop_asked"]


EVERY = 0.2  # seconds between two reports, at most
OFTENER = 0.05  # of the time so far: the first answers come within hundredths of a second
_ASKED: ContextVar[Callable[[], bool]] = ContextVar("asked to stop")


class LookStopped(Exception):
    """Evaluation of very many rows that was given up, because the search was cancelled."""


def stop_asked() -> Callable[[], bool]:
    """Return a function, which other threads may call, that tells whether the search of this thread was cancelled."""
    return _ASKED.get(lambda: False)


@dataclass(frozen=True, eq=False)
class SearchLimits:
    """Time limit in seconds from now (None: no limit), and cancellation (Ctrl-C)."""

    seconds: float | None = None
    start: float = field(default_factory=monotonic)
    stopped: Event = field(default_factory=Event)
    """Set when somebody asked to stop; shared by limits that are made from this one."""
    tell: Callable[[SearchProgress], None] | None = None
    cancelled: Callable[[], bool] | None = None
    """Asked again and again; true ends the search, as a time limit does."""
    _told: list[float] = field(default_factory=list)
    """When something was told last."""

    def over(self) -> bool:
        """Return whether the search must end."""
        return self.asked_to_stop() or (self.seconds is not None and monotonic() - self.start > self.seconds)

    def asked_to_stop(self) -> bool:
        """Return whether the search was cancelled, by Ctrl-C or by the caller's cancellation."""
        return self.stopped.is_set() or (self.cancelled is not None and self.cancelled())

    def report(self, progress: Callable[[], SearchProgress]) -> None:
        """Report the progress of the search, a few times a second, and oftener in the beginning."""
        now = monotonic()
        if self.tell is not None and (
            not self._told or now - self._told[0] >= min(EVERY, OFTENER * (now - self.start))
        ):
            self._told[:] = [now]
            self.tell(progress())

    @contextmanager
    def within_looks(self) -> Iterator[None]:
        """End evaluations of very many rows too when the search is cancelled, and with them the body of the `with`
        block.
        """
        token = _ASKED.set(self.asked_to_stop)
        try:
            yield
        except LookStopped:
            pass
        finally:
            _ASKED.reset(token)

    @contextmanager
    def interruptible(self) -> Iterator[Callable[[], None]]:
        """Let the first Ctrl-C cancel the search; a second one is handled as before. Yields a function that handles it
        so.

        Only the main thread hears signals, and one that is ignored stays ignored.
        """
        before: Any = signal.getsignal(signal.SIGINT) if current_thread() is main_thread() else None
        if not callable(before):
            yield lambda: None
            return

        def stop(number: int, frame: object) -> None:
            signal.signal(signal.SIGINT, before)
            self.stopped.set()

        signal.signal(signal.SIGINT, stop)
        try:
            yield lambda: before(signal.SIGINT, None)
        finally:
            signal.signal(signal.SIGINT, before)


# Search progress ------------------------------------------------------------------------------------------------------


class SearchProgress(NamedTuple):
    """Progress of a search."""

    evaluated: int
    """Nodes checked."""
    settled: int
    """These, and those that their results settle."""
    size: int
    """Nodes in all."""
    loss: float | None
    """Of the best node so far, if there is one."""
    bound: float | None = None
    """No node loses less than this, as far as that is known yet."""
