"""Brokers for tests: one server of each kind for a module, real ones on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.brokers import LocalBroker
from benchmarks.kills import RECIPE, people
from oboro.recipe.recipe import Recipe
from oboro.service.make import make_service
from oboro.service.settings import ServiceSettings
from oboro.stream.engine import Service

__all__ = ["BODIES", "ROWS", "all_records", "running", "serve", "service"]

ROWS = people(120)
BODIES = [json.dumps(row).encode() for row in ROWS]


@contextmanager
def running(kind: type[LocalBroker], folder: Path) -> Iterator[LocalBroker]:
    """A server, while this lasts; skipped where it cannot run, and said why."""
    if why := kind.found():
        pytest.skip(why)
    broker = kind(folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def service(source: str, target: str, recipe: dict[str, Any] = RECIPE, dry: bool = False, **more: Any) -> Service:
    given = {"recipe": ".", "from": source, "to": target, "once": True, "batch": 16, **more}
    return make_service(Recipe(**recipe), ServiceSettings.load(None, given), dry=dry)


def serve(source: str, target: str, **more: Any) -> dict[str, Any]:
    """Run until the input holds nothing more; the counts."""
    return service(source, target, **more).run()


def all_records(broker: LocalBroker, topic: str) -> list[Any]:
    """What stands in a topic of Kafka, up to its end, with keys and headers. For a process of its own: the client has threads."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    given = {"bootstrap.servers": f"127.0.0.1:{broker.port}", "group.id": topic, "enable.partition.eof": True}
    consumer = Consumer(given)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Any] = []
    while (one := consumer.poll(10)) is not None:
        if one.error() is None:
            found.append(one)
        elif one.error().code() == KafkaError._PARTITION_EOF:
            break
    consumer.close()
    return found
