"""Which brokers there are. A new one is its file and its line here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from oboro.errors import UsageError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.text import Message

__all__ = ["BROKERS", "Broker", "broker_of", "open_place"]


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
    "kafka": Broker("kafka_topic", "kafka", 9092, "KafkaSource", "KafkaSink", "keeping.kafka_keeping"),
    "mqtt": Broker("mqtt_topic", "mqtt", 1883, "MqttSource", "MqttSink"),
    "nats": Broker("nats_stream", "nats", 4222, "NatsSource", "NatsSink", "keeping.nats_keeping"),
    "rabbitmq": Broker("rabbitmq_queue", "rabbitmq", 5672, "RabbitmqSource", "RabbitmqSink"),
    "redis": Broker("redis_stream", "redis", 6379, "RedisSource", "RedisSink", "keeping.redis_keeping"),
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
        module = import_module(f"oboro.io.brokers.{where}")
    except ImportError as error:
        if (error.name or "").startswith("oboro"):
            raise
        raise UsageError(Message("error_broker.client", kind=kind, extra=broker.extra)) from None
    name = ends.get(part, f"{kind.capitalize()}{part.capitalize()}")
    scheme, _, rest = place.partition("://")
    tls = "" if scheme in BROKERS or scheme in OTHER_NAMES else "s"
    return getattr(module, name)(BrokerAddress.read(f"{kind}{tls}://{rest}", side, PORTS))
