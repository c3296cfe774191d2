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
PORTS = {kind: broker.port for kind, broker in BROKERS.items()}


def broker_of(place: str) -> str | None:
    """The broker that an address names; None for files, pipes and sockets."""
    scheme, found, _ = place.partition("://")
    if not found:
        return None
    return scheme if scheme in BROKERS else scheme[:-1] if scheme.endswith("s") and scheme[:-1] in BROKERS else None


def open_place(place: str, part: str, side: str) -> Any:
    """The source, sink, store or lease at an address. Nothing is connected yet."""
    kind = broker_of(place)
    assert kind is not None
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
    return getattr(module, name)(BrokerAddress.read(place, side, PORTS))
