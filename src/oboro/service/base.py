"""Brokers of services: addresses such as `nats://HOST:4222/PEOPLE`, the registry of brokers, keys and headers, links.

Credentials come from the environment, never from an address. User, password, token and certificates are read from
`OBORO_FROM_USER`, `OBORO_FROM_PASSWORD`, `OBORO_FROM_TOKEN`, `OBORO_FROM_CA`, `OBORO_FROM_CERT` and `OBORO_FROM_KEY`
(for the output: `OBORO_TO_…`), or for both from `OBORO_BROKER_…`. A scheme that ends in `s` (`natss`, `rediss`,
`kafkas`, `mqtts`, `rabbitmqs`) uses TLS.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import threading
from collections.abc import Collection, Coroutine, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from oboro.errors import FileError, UsageError
from oboro.text import Message
from oboro.text.language import os_reason

__all__ = [
    "BROKERS",
    "Broker",
    "BrokerAddress",
    "KeyFields",
    "LinkedEnd",
    "WaitingLoop",
    "WriteOnlySink",
    "broker_of",
    "open_place",
    "record_id",
]


@dataclass(frozen=True)
class BrokerAddress:
    """Where a stream, topic, key or queue is, and how to get there."""

    kind: str
    tls: bool
    host: str
    port: int
    name: str
    options: dict[str, str]
    side: str  # FROM or TO: whose secrets are asked for

    @staticmethod
    def read(place: str, side: str, ports: dict[str, int]) -> BrokerAddress:
        """The parts of a place; raises `UsageError` where it is none."""
        try:
            parts = urlsplit(place)
        except ValueError:  # a bracket that is not closed
            raise UsageError(Message("error_broker.address", place=place, kind=place.partition(":")[0])) from None
        tls = parts.scheme not in ports
        kind = parts.scheme.removesuffix("s") if tls else parts.scheme
        if parts.password is not None or parts.username is not None:
            raise UsageError(Message("error_broker.secret_in_address", side=side))
        name = unquote(parts.path.lstrip("/"))
        try:
            port = parts.port or ports[kind]
        except ValueError:
            raise UsageError(Message("error_broker.address", place=place, kind=kind)) from None
        if not parts.hostname or not name:
            raise UsageError(Message("error_broker.address", place=place, kind=kind))
        return BrokerAddress(kind, tls, parts.hostname, port, name, dict(parse_qsl(parts.query)), side)

    def allow(self, options: Collection[str]) -> None:
        """Raise where the address has an option that its broker does not know."""
        if unknown := sorted(set(self.options) - set(options)):
            raise UsageError(
                Message("error_broker.unknown_option", place=self.place, unknown=unknown, known=sorted(options))
            )

    def number(self, option: str) -> int:
        """An option that is a whole number, 0 if it is not given."""
        given = self.options.get(option, "0")
        if not (given.isascii() and given.isdigit()):
            raise UsageError(Message("error_broker.no_number", place=self.place, option=option, given=given))
        return int(given)

    @property
    def place(self) -> str:
        """Short, for messages."""
        return f"{self.kind}://{self.host}:{self.port}/{self.name}"

    @property
    def server(self) -> str:
        """The broker itself."""
        return f"{self.kind}://{self.host}:{self.port}"

    def secret(self, what: str) -> str | None:
        """A user, password, token, or the file of a certificate, from the environment; what is empty is not given."""
        return os.environ.get(f"OBORO_{self.side}_{what}") or os.environ.get(f"OBORO_BROKER_{what}") or None

    def ssl_context(self) -> ssl.SSLContext | None:
        """How to speak TLS, with a certificate of our own if one is given; None for an address without TLS."""
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.secret("CA"))
            if cert := self.secret("CERT"):
                context.load_cert_chain(cert, self.secret("KEY"))
        except (OSError, ssl.SSLError) as error:
            why = os_reason(error) if isinstance(error, OSError) else str(error)
            raise FileError(Message("error_broker.certificate", place=self.place, why=why)) from None
        return context


# Registry of brokers --------------------------------------------------------------------------------------------------
# A new broker is its file and its line here.


@dataclass(frozen=True)
class Broker:
    """A broker: its module, the client it needs (an extra of the package), its usual port, and its classes."""

    module: str
    extra: str
    port: int
    source: str
    sink: str
    keeping: str | None = None
    """The module of its snapshots and leases, if it has any."""


BROKERS = {
    "kafka": Broker("kafka", "kafka", 9092, "KafkaSource", "KafkaSink", "kafka"),
    "mqtt": Broker("mqtt", "mqtt", 1883, "MqttSource", "MqttSink"),
    "nats": Broker("nats", "nats", 4222, "NatsSource", "NatsSink", "nats"),
    "rabbitmq": Broker("rabbitmq", "rabbitmq", 5672, "RabbitmqSource", "RabbitmqSink"),
    "redis": Broker("redis", "redis", 6379, "RedisSource", "RedisSink", "redis"),
}
OTHER_NAMES = {"valkey": "redis", "amqp": "rabbitmq"}  # what people write
SOCKETS = ("tcp", "tcp-listen", "unix", "unix-listen")
PORTS = {kind: broker.port for kind, broker in BROKERS.items()}


def broker_of(place: str) -> str | None:
    """The broker that an address names; None for files, pipes and sockets. Raises `UsageError` for any other scheme."""
    scheme, found, _ = place.partition("://")
    if not found or scheme in SOCKETS:
        return None
    for name in (scheme, scheme.removesuffix("s")):
        if (kind := OTHER_NAMES.get(name, name)) in BROKERS:
            return kind
    known = [*sorted([*BROKERS, *OTHER_NAMES]), *SOCKETS]
    raise UsageError(Message("error_broker.scheme", place=place, scheme=scheme, known=known))


def open_place(place: str, part: str, side: str) -> Any:
    """The source, sink, store or lease at an address. Nothing is connected yet."""
    kind = broker_of(place)
    if kind is None:
        raise UsageError(Message("error_broker.no_broker", place=place, part=part))
    broker = BROKERS[kind]
    ends = {"source": broker.source, "sink": broker.sink}
    where = broker.module if part in ends else broker.keeping
    if where is None:
        raise UsageError(Message("error_broker.no_part", kind=kind, part=part))
    try:
        module = import_module(f"oboro.service.{where}")
    except ImportError as error:
        if (error.name or "").startswith("oboro"):
            raise
        raise UsageError(Message("error_broker.client", kind=kind, extra=broker.extra)) from None
    name = ends.get(part, f"{kind.capitalize()}{part.capitalize()}")
    scheme, _, rest = place.partition("://")
    tls = "" if scheme in BROKERS or scheme in OTHER_NAMES else "s"
    return getattr(module, name)(BrokerAddress.read(f"{kind}{tls}://{rest}", side, PORTS))


# Keys and headers -----------------------------------------------------------------------------------------------------
# Keys and headers of messages, kept on request: they become fields of the record, and the recipe treats them.
#
# A key often identifies a person. So none is forwarded beside the record: the requested ones
# (`?key=FIELD&headers=NAME,NAME`) are put into the JSON object of the input, where the recipe names them like every
# other field, and the output takes released values out again.


@dataclass(frozen=True)
class KeyFields:
    """The field that stands for the key, and headers, each a field of its own name."""

    key: str | None
    headers: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self | None:
        """As an address asks; None if it does not."""
        headers = tuple(name for name in options.get("headers", "").split(",") if name)
        return cls(options.get("key") or None, headers) if options.get("key") or headers else None

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields."""
        return (*((self.key,) if self.key is not None else ()), *self.headers)

    def put_in(self, body: bytes, key: object, headers: Mapping[str, object]) -> bytes:
        """A JSON object with these fields; what is none is left as it is, and refused where it is read."""
        text = body.strip()
        if not (text.startswith(b"{") and text.endswith(b"}")):
            return body
        found = {
            **({self.key: key} if self.key is not None else {}),
            **{name: headers.get(name) for name in self.headers},
        }
        more = json.dumps({name: _text(value) for name, value in found.items()}).encode()[1:-1]
        inside = text[1:-1].strip()
        return b"{" + (inside + b", " if inside else b"") + more + b"}"

    def taken_from(self, body: bytes) -> tuple[bytes | None, list[tuple[str, bytes]]]:
        """Key and headers of a released record; raises `KeyError` and the like where it has no such field, or is no JSON."""
        record = json.loads(body)
        key = _bytes(record[self.key]) if self.key is not None else None
        return key, [(name, _bytes(record[name]) or b"") for name in self.headers]


def _text(value: object) -> str | None:
    """Bytes that are no text are written with escapes."""
    return (
        value.decode(errors="backslashreplace") if isinstance(value, bytes) else None if value is None else str(value)
    )


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


# Linked sources and sinks ---------------------------------------------------------------------------------------------
# Sources and sinks of brokers that keep one connection.


class Link(Protocol):
    """A connection."""

    def close(self) -> None:
        """Let go of it; what the broker keeps, it keeps."""
        ...


class LinkedEnd:
    """An end whose connection is its `link`."""

    link: Link

    def close(self) -> None:
        """Let go of the connection."""
        self.link.close()


# Event loop for blocking code -----------------------------------------------------------------------------------------
# Clients based on asyncio, called from blocking code: one event loop for all connections of a thread.
#
# While one connection is waited for, the others are served too. The loop ends when the last connection that uses it is
# closed.


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


# Write-only sinks -----------------------------------------------------------------------------------------------------
# Brokers that take records and never report what they hold: readers detect repeats by the id of each record.


def record_id(mark: str, number: int) -> str:
    """The id of a released record by which readers drop repeats: its stream, the process that noted it first, and its number.

    A state that was restored from a backup counts from an earlier number again. Without the process, new records would have the ids
    of those that are there, and readers would drop them.

    >>> record_id("stream/run/17", 3), record_id("stream//17", 3)
    ('stream.run.3', 'stream.3')
    """
    stream, _, rest = mark.partition("/")
    return ".".join((*filter(None, (stream, rest.partition("/")[0])), str(number)))


class WriteOnlySink:
    """What every such end answers alike. How it opens, publishes and closes, each says itself."""

    compares: ClassVar[bool] = False
    keeps: ClassVar[bool] = True  # what was published is there for good, whether anybody remembers it or not

    def last(self) -> tuple[int, str, bytes]:
        """It cannot say."""
        return 0, "", b""

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """It cannot say."""
        return [None] * count

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1
