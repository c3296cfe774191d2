"""Seconds that go on steadily, whatever somebody does to the clock of the machine."""

from __future__ import annotations

import time

__all__ = ["SteadyClock", "elapsed"]


def elapsed() -> float:
    """Seconds since some moment. Where the system says so, those count in which the machine slept."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """Seconds since 1970 that never go back: the machine's clock is asked once, and its answer goes on steadily.

    `latest` is a moment that was noted before, by another process. A clock that was set back since then would say that it lies in
    the future, and whoever waits since then would wait longer: time then goes on from that moment.

    >>> clock = SteadyClock(latest=9e9)
    >>> 9e9 <= clock.now() < 9e9 + 1
    True
    """

    def __init__(self, latest: float = 0.0) -> None:
        self._before = max(time.time(), latest) - elapsed()

    def reach(self, moment: float) -> None:
        """Go on from a moment that somebody else's clock has told, where that is ahead of this one."""
        self._before = max(self._before, moment - elapsed())

    def now(self) -> float:
        """Seconds since 1970."""
        return self._before + elapsed()
