"""Clients that speak asyncio, asked from code that waits: one event loop for all connections of a thread.

While one connection is waited for, the others are tended too. The loop goes when the last connection that uses it is closed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["WaitingLoop"]

T = TypeVar("T")
_thread = threading.local()


class WaitingLoop:
    """The event loop of this thread, as one of its users holds it."""

    def __init__(self) -> None:
        if getattr(_thread, "loop", None) is None:
            _thread.loop, _thread.users = asyncio.new_event_loop(), 0
        _thread.users += 1
        self.loop: asyncio.AbstractEventLoop = _thread.loop
        self._held = True

    def wait(self, asked: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """The answer; `TimeoutError` if it takes too long."""
        return self.loop.run_until_complete(asyncio.wait_for(asked, seconds) if seconds else asked)

    def tend(self) -> None:
        """Let the connections do what waits for them."""
        self.loop.run_until_complete(asyncio.sleep(0))

    def close(self) -> None:
        """Let go of it."""
        if not self._held:
            return
        self._held = False
        _thread.users -= 1
        if _thread.users == 0:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
            _thread.loop = None
