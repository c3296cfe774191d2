"""RabbitMQ on loopback, as Debian installs it: a node of its own in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from oboro.papers.service.local_brokers import LocalBroker, free_port

__all__ = ["LocalRabbitmq"]

HOMES = "/usr/lib/rabbitmq/bin:/usr/lib/rabbitmq/sbin:/opt/rabbitmq/sbin"


class LocalRabbitmq(LocalBroker):
    """Quorum queues. It takes seconds to start, so it is not killed."""

    kind = "rabbitmq"
    once = False
    survives = False
    patience = 120.0

    @classmethod
    def program(cls) -> str | None:
        """The server itself: what Debian puts in the path starts it for another user."""
        return shutil.which("rabbitmq-server", path=HOMES)

    @classmethod
    def found(cls) -> str | None:
        """The server and its client must be there."""
        if not cls.program():
            return "no rabbitmq-server: apt-get install rabbitmq-server"
        return None if find_spec("pika") else "no client of RabbitMQ: pip install pika"

    def command(self) -> list[str]:
        """One node."""
        return [str(self.program())]

    def start(self) -> None:
        """With a name, a cookie and a registry of its own."""
        self._registry = free_port()
        home = self.folder / "rabbitmq"
        home.mkdir(exist_ok=True)
        (home / "plugins").write_text("[].\n", encoding="utf-8")
        given = {
            "HOME": str(home),
            "ERL_EPMD_PORT": str(self._registry),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"oboro{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(home / "data"),
            "RABBITMQ_LOG_BASE": str(home / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(home / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(home / "none"),
            "RABBITMQ_PID_FILE": str(home / "pid"),
        }
        self.environment = {**os.environ, **given}
        super().start()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """The script, the node that it started, and its registry."""
        if self._server is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGKILL)
        self._server.wait()
        self._server = None
        registry = shutil.which("epmd")
        if registry is not None:
            words = [registry, "-port", str(self._registry), "-kill"]
            for _ in range(50):  # it stays while it believes that the node lives
                if subprocess.run(words, check=False, capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)

    def awake(self) -> None:
        """It answers later than the port."""
        self._channel()[0].close()

    def _channel(self) -> tuple[Any, Any]:
        import pika

        given = pika.ConnectionParameters("127.0.0.1", self.port, socket_timeout=5.0)
        try:
            connection = pika.BlockingConnection(given)
        except pika.exceptions.AMQPError as error:
            raise OSError(str(error)) from None
        return connection, connection.channel()

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Make a queue and fill it."""
        import pika

        connection, channel = self._channel()
        channel.queue_declare(name, durable=True, arguments={"x-queue-type": "quorum"})
        channel.tx_select()
        for body in bodies:
            channel.basic_publish("", name, body, pika.BasicProperties(delivery_mode=2))
        channel.tx_commit()
        connection.close()

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """All messages, which stay in the queue."""
        connection, channel = self._channel()
        found: list[tuple[str, bytes]] = []
        while True:
            how, known, body = channel.basic_get(name)
            if how is None:
                break
            found.append((known.message_id or "", body))
        connection.close()
        return found

    def tap(self, name: str) -> Iterator[bytes]:
        """A queue hands a message to one reader only, so nobody listens; repeats stand in it too."""
        yield b""
        while True:
            time.sleep(1.0)
