"""The server of the page: on loopback, with a token of its own, in a private folder that goes with it."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from oboro.app.web.address_file import AddressFile
from oboro.app.web.desk import Desk
from oboro.app.web.guard import allowed_hosts
from oboro.app.web.routes import load_screens, page_app
from oboro.errors import UsageError
from oboro.system.scratch_folder import ScratchFolder
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["PageServer", "page_server"]


class _Quiet(uvicorn.Server):
    """Ends when it is asked to, and is done then: uvicorn would send itself the same signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals while it runs; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _ENDING}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


MOST_CONNECTIONS = 64  # a browser opens six
HEADER_SECONDS = 10.0  # for the first line and the headers of a request


class _Limited(H11Protocol):
    """A connection that has to ask in time. Of many that ask nothing the oldest is closed, so that they keep nobody out.

    A request that is being answered is left alone: those that take long have the token.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for this connection."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            others = (one for one in self.connections if isinstance(one, _Limited))
            oldest = min((one for one in others if one._idle), key=lambda one: one._since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._late is not None:
            self._late.cancel()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(HEADER_SECONDS, self._close_late)

    def _close_late(self) -> None:
        if self._idle:
            self.transport.close()


_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True)
class PageServer:
    """A server that is about to run."""

    desk: Desk
    url: str
    """Where the page is; the token stands behind the #, which no browser sends to any server."""
    token: str
    server: uvicorn.Server
    listening: socket.socket
    address_file: AddressFile

    def run(self, ready: Callable[[], None] = lambda: None, open_browser: bool = False) -> None:
        """Serve until it is stopped."""
        ready()
        threading.Thread(target=load_screens, daemon=True).start()
        if open_browser:
            # Every user of the machine can read the arguments of a process: the browser gets the address in a file.
            threading.Timer(0.2, webbrowser.open, (self.address_file.write(self.url),)).start()
        self.server.run(sockets=[self.listening])


@contextmanager
def page_server(
    root: Path, *, host: str = "127.0.0.1", port: int = 0, most_bytes: int = 4 << 30, above: Path | None = None
) -> Iterator[PageServer]:
    """A server with its private folder; both are gone at the end. `port` 0 is any that is free."""
    listening = _listening(host, port)
    scratch = ScratchFolder("web", above)
    try:
        scratch.watch()
        number, token = listening.getsockname()[1], secrets.token_urlsafe(24)
        desk = Desk(scratch, root, most_bytes)
        address_file = AddressFile(scratch)
        app = page_app(desk, token, allowed_hosts(host, number), address_file.remove)
        # Nothing of a request is logged: no address, no header, no trace of an error.
        config = uvicorn.Config(app, http=_Limited, access_log=False, log_config=None, lifespan="off", server_header=False,
                                date_header=False, timeout_graceful_shutdown=2)  # fmt: skip
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{number}/#token={token}"
        try:
            yield PageServer(desk, url, token, _Quiet(config), listening, address_file)
        finally:
            address_file.remove()
    finally:
        listening.close()
        scratch.close()


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(Message("error_web.no_port", host=host, port=port, why=os_reason(error))) from None
