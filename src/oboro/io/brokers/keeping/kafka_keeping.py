"""Kafka as a place for snapshots (a compacted topic); its leases are in `kafka_lease`.

Experimental, as all of Kafka here: met with librdkafka's mock cluster only, which compacts nothing.
"""

from __future__ import annotations

import hashlib
import json
from secrets import token_hex
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from oboro.errors import BrokerError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.kafka_topic import ANSWER, KafkaLink
from oboro.io.brokers.keeping.kafka_lease import KafkaLease
from oboro.text import Message

__all__ = ["KafkaLease", "KafkaStore"]

NEWEST = b"newest"
PART = 500_000  # bytes of one record: brokers take a million at most


class KafkaStore:
    """The newest snapshot: its parts as records with keys of their own, then one that names them. It holds raw values.

    What is named is whole: parts of another snapshot have other keys, and those of the one before go once the new one is named.
    """

    def __init__(self, address: BrokerAddress) -> None:
        self.link = KafkaLink(address)
        self._held: dict[bytes, bytes] | None = None

    def get(self) -> bytes | None:
        """The newest one; None where there is none, or it is not whole."""
        self.link.make({"cleanup.policy": "compact"})
        self._held = held = self._read()
        if NEWEST not in held:
            return None
        named = json.loads(held[NEWEST])
        parts = [held.get(_part(named["id"], number)) for number in range(named["parts"])]
        data = b"".join(part or b"" for part in parts)
        return data if hashlib.sha256(data).hexdigest() == named["digest"] else None

    def _read(self) -> dict[bytes, bytes]:
        consumer = self.link.consumer()
        held: dict[bytes, bytes] = {}
        try:
            low, _ = self.link.bounds(consumer)
            consumer.assign([TopicPartition(self.link.topic, self.link.partition, low)])
            while (found := consumer.poll(ANSWER)) is not None:
                error, key, value = found.error(), found.key() or b"", found.value()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    return held
                if error is not None:
                    raise self.link.away(error)
                if value is None:
                    held.pop(key, None)
                else:
                    held[key] = value
        finally:
            consumer.close()
        raise self.link.away(KafkaError(KafkaError._TIMED_OUT))

    def put(self, data: bytes) -> None:
        """A newer one; it is named once all of it is there."""
        held = self._read() if self._held is None else self._held
        name, parts = token_hex(8), [data[start : start + PART] for start in range(0, len(data), PART)]
        fresh = {_part(name, number): part for number, part in enumerate(parts)}
        digest = hashlib.sha256(data).hexdigest()
        producer = Producer({**self.link.settings(), "enable.idempotence": True})
        self._sent(producer, fresh)
        self._sent(producer, {NEWEST: json.dumps({"id": name, "parts": len(parts), "digest": digest}).encode()})
        self._sent(producer, dict.fromkeys(held.keys() - {NEWEST}))
        self._held = dict.fromkeys(fresh, b"")

    def _sent(self, producer: Producer, records: dict[bytes, Any]) -> None:
        """All of them, and the broker has them."""
        lost: list[KafkaError] = []

        def told(error: KafkaError | None, _: object) -> None:
            if error is not None:
                lost.append(error)

        try:
            for key, value in records.items():
                producer.produce(self.link.topic, value, key, partition=self.link.partition, on_delivery=told)
            left = producer.flush(ANSWER)
        except (KafkaException, BufferError) as error:
            raise BrokerError(Message("error_broker.away", place=self.link.address.server, why=str(error))) from None
        if lost or left:
            raise self.link.away(lost[0] if lost else KafkaError(KafkaError._TIMED_OUT))

    def close(self) -> None:
        """Nothing is open."""


def _part(name: str, number: int) -> bytes:
    return f"{name}/{number}".encode()
