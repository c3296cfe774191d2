"""A network that fails: a proxy that delays what passes and cuts connections after so many bytes."""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import suppress

__all__ = ["CuttingProxy"]


class CuttingProxy:
    """Forwards to a port of this machine. `cuts` connections are cut, each after a chance number of bytes; the rest live."""

    def __init__(self, port: int, cuts: int, most: int, seed: int = 1) -> None:
        self._to, self._most = port, most
        self.left = cuts
        self._rng = random.Random(seed)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def place(self, address: str) -> str:
        """An address by way of this proxy."""
        return address.replace(f":{self._to}/", f":{self.port}/")

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
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
                    break
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """No more connections."""
        self._server.close()
