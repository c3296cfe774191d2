"""The limits of a search: how long it may take, who may stop it, and who is told how far it is."""

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
    """A look at very many rows was given up, for somebody asked the search to end."""


def stop_asked() -> Callable[[], bool]:
    """Whether somebody asked the search of this thread to end, as a function that other threads may call."""
    return _ASKED.get(lambda: False)


@dataclass(frozen=True, eq=False)
class SearchLimits:
    """A time limit in seconds from now (None: as long as it takes), and the wish to stop (Ctrl-C)."""

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
        """Whether the search must end."""
        return self.asked_to_stop() or (self.seconds is not None and monotonic() - self.start > self.seconds)

    def asked_to_stop(self) -> bool:
        """Whether somebody asked it to end: Ctrl-C, or whoever may cancel it."""
        return self.stopped.is_set() or (self.cancelled is not None and self.cancelled())

    def report(self, progress: Callable[[], SearchProgress]) -> None:
        """Tell how far the search is, a few times a second, and oftener in the beginning."""
        now = monotonic()
        if self.tell is not None and (
            not self._told or now - self._told[0] >= min(EVERY, OFTENER * (now - self.start))
        ):
            self._told[:] = [now]
            self.tell(progress())

    @contextmanager
    def within_looks(self) -> Iterator[None]:
        """Looks at very many rows end too when somebody asks the search to end, and with them what stands within."""
        token = _ASKED.set(self.asked_to_stop)
        try:
            yield
        except LookStopped:
            pass
        finally:
            _ASKED.reset(token)

    @contextmanager
    def interruptible(self) -> Iterator[Callable[[], None]]:
        """The first Ctrl-C asks the search to stop, a second one is answered as before. Gives what answers it so.

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
# How far a search is, for whoever waits.


class SearchProgress(NamedTuple):
    """How far a search is."""

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
