"""A network that fails: a proxy that delays what passes and cuts connections after so many bytes."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["CuttingProxy"]


class CuttingProxy:
    """Forwards to a port of this machine. `cuts` connections are cut, each after a chance number of bytes; the rest live."""

    def __init__(
        self, port: int, cuts: int, most: int, seed: int = 1, own: int = 0, told: Callable[[], object] = lambda: None
    ) -> None:
        self._to, self._most, self._told = port, most, told
        self.left = cuts
        self._rng = random.Random(seed)
        self._server = socket.create_server(("127.0.0.1", own))
        self.port: int = self._server.getsockname()[1]

    def start(self) -> CuttingProxy:
        """In a thread."""
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def place(self, address: str) -> str:
        """An address by way of this proxy."""
        return address.replace(f":{self._to}/", f":{self.port}/")

    def serve(self) -> None:
        """Until it is closed."""
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:  # nobody is there behind it
                near.close()
                continue
            budget = [self._rng.randrange(self._most)] if self.left > 0 else None
            self.left -= 1
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(one, other, budget), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket, budget: list[int] | None) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 14):
                if budget is not None:
                    time.sleep(self._rng.uniform(0, 0.002))
                    data, budget[0] = data[: max(0, budget[0])], budget[0] - len(data)
                other.sendall(data)
                if budget is not None and budget[0] <= 0:
                    self._told()
                    break
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """No more connections."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # or whoever waits in `accept` keeps it open
        self._server.close()
