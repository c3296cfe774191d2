"""Several producers at one socket: their lines come one after the other, never half a line of one within a line of another.

When somebody asks to end, what producers have sent already is still taken, also from those who had only just connected: they
cannot know that nobody reads any more.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable

__all__ = ["Producers"]

CHUNK = 1 << 16
LAST_CALL = 2.0  # seconds for which, after a wish to end, what was sent is taken


class Producers:
    """Those who are connected to a listening socket. Memory: at most one line of each."""

    def __init__(self, server: socket.socket, most: int) -> None:
        self._server, self._most = server, most
        self._open: dict[socket.socket, bytes] = {}
        self._long: set[socket.socket] = set()  # those in the midst of a line that is too long to keep
        self._waiting = selectors.DefaultSelector()
        self._until: float | None = None
        self.ends: Callable[[bytes], bool] = lambda text: True
        server.setblocking(False)
        self._waiting.register(server, selectors.EVENT_READ)

    def there(self, seconds: float | None, wake: socket.socket | None = None) -> list[socket.socket]:
        """Who has something to say within some time; `wake` interrupts the wait."""
        if wake is not None:
            self._waiting.register(wake, selectors.EVENT_READ)
        try:
            ready = self._waiting.select(seconds)
        finally:
            if wake is not None:
                self._waiting.unregister(wake)
        return [key.fileobj for key, _ in ready if key.fileobj is not wake and isinstance(key.fileobj, socket.socket)]

    def read(self, asked: Callable[[], bool], wake: socket.socket) -> bytes | None:
        """Whole lines of one producer; None if it is time to end and nothing is left."""
        while True:
            ending = asked()
            if ending and self._until is None:
                self._until = time.monotonic() + LAST_CALL
            ready = self.there(0.0 if ending else None, None if ending else wake)
            if ending and (not ready or time.monotonic() > (self._until or 0.0)):
                return None  # whoever is in the midst of a line has not sent it
            for one in ready:
                if one is self._server:
                    self._accept()
                elif lines := self._received(one):
                    return lines

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:  # gone again
            return
        connection.setblocking(False)
        self._open[connection] = b""
        self._waiting.register(connection, selectors.EVENT_READ)

    def _received(self, one: socket.socket) -> bytes:
        try:
            data = one.recv(CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        return self._lines(one, data) if data else self._gone(one)

    def _lines(self, one: socket.socket, data: bytes) -> bytes:
        """What is whole by now; the rest waits. Of a line that is too long only its length is told, by one that is too long."""
        if one in self._long:
            _, found, data = data.partition(b"\n")
            if not found:
                return b""
            self._long.discard(one)
            return b" " * (self._most + 1) + b"\n" + self._lines(one, data)
        data = self._open[one] + data
        cut = data.rfind(b"\n") + 1
        while cut and not self.ends(data[:cut]):
            cut = data.rfind(b"\n", 0, cut - 1) + 1
        self._open[one] = data[cut:]
        if len(data) - cut > self._most:
            self._open[one] = b""
            self._long.add(one)
        return data[:cut]

    def _gone(self, one: socket.socket) -> bytes:
        """The end of a connection; a last line without its end is a line."""
        self._waiting.unregister(one)
        one.close()
        rest = self._open.pop(one)
        if one in self._long:
            self._long.discard(one)
            rest = b" " * (self._most + 1)
        return rest + b"\n" if rest else b""

    def close(self) -> None:
        """Hang up."""
        for one in self._open:
            one.close()
        self._open.clear()
        self._waiting.close()
