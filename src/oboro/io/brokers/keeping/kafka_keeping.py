"""Kafka as a place for snapshots (a compacted topic) and for a lease (membership in a group of consumers).

Experimental, as all of Kafka here: met with librdkafka's mock cluster only, which compacts nothing.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from secrets import token_hex
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from oboro.errors import BrokerError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.kafka_topic import ANSWER, KafkaLink
from oboro.text import Message

__all__ = ["KafkaLease", "KafkaStore"]

NEWEST = b"newest"
PART = 500_000  # bytes of one record: brokers take a million at most
HEARTBEAT = 300  # milliseconds: whoever stands by hears this soon that the group has lost somebody
SOONEST = 6.0  # seconds: a broker takes no shorter lease unless it is told to (group.min.session.timeout.ms)


class KafkaStore:
    """The newest snapshot: its parts as records with keys of their own, then one that names them. It holds raw values.

    What is named is whole: parts of another snapshot have other keys, and those of the one before go once the new one is named.
    """

    def __init__(self, address: BrokerAddress) -> None:
        self.link = KafkaLink(address)
        self._held: dict[bytes, bytes] | None = None

    def get(self) -> bytes | None:
        """The newest one; None where there is none, or it is not whole."""
        self._make()
        self._held = held = self._read()
        if NEWEST not in held:
            return None
        named = json.loads(held[NEWEST])
        parts = [held.get(_part(named["id"], number)) for number in range(named["parts"])]
        data = b"".join(part or b"" for part in parts)
        return data if hashlib.sha256(data).hexdigest() == named["digest"] else None

    def _make(self) -> None:
        """A topic that is not there is made, so that it keeps the newest record of each key."""
        admin = AdminClient(self.link.settings())
        try:
            found = admin.list_topics(self.link.topic, timeout=ANSWER).topics[self.link.topic]
            if found.error is None and found.partitions:
                return
            topic = NewTopic(self.link.topic, num_partitions=1, config={"cleanup.policy": "compact"})
            for made in admin.create_topics([topic]).values():
                with suppress(KafkaException):  # somebody else has made it; if nobody could, reading says so
                    made.result(ANSWER)
        except KafkaException as error:
            raise self.link.away(error) from None

    def _read(self) -> dict[bytes, bytes]:
        consumer = self.link.consumer()
        held: dict[bytes, bytes] = {}
        try:
            self.link.bounds(consumer)
            consumer.assign([TopicPartition(self.link.topic, self.link.partition, OFFSET_BEGINNING)])
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


class KafkaLease:
    """Whoever the group gives the output's partition to leads. One that is silent for the term loses it to another member.

    That nothing comes out twice does not hang on it: whoever begins to publish fences those before it.
    """

    seconds = SOONEST

    def __init__(self, address: BrokerAddress) -> None:
        self.link = KafkaLink(address, "key", "headers")
        self._member: Consumer | None = None
        self._leads = False
        self._asked = 0.0

    def held(self) -> bool:
        """Hear what the group says; whether this process leads now."""
        late = self._leads and time.monotonic() - self._asked > self.seconds
        self._asked = time.monotonic()
        try:
            member = self._member or self._joined()
            for _ in range(2 if late else 1):  # after a long silence the group may have decided otherwise
                member.poll(0.1 if late else 0)
        except KafkaException:
            self._leads = False
        return self._leads

    def _joined(self) -> Consumer:
        link, term = self.link, int(self.seconds * 1000)
        own = TopicPartition(link.topic, link.partition)
        member = Consumer(
            {
                **link.settings(),
                "group.id": f"oboro-{link.topic}-{link.partition}",
                "session.timeout.ms": term,
                "heartbeat.interval.ms": min(HEARTBEAT, max(1, term // 4)),
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "partition.assignment.strategy": "cooperative-sticky",  # who leads goes on when another joins
            }
        )

        def given(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            self._leads = self._leads or own in partitions

        def taken(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self._leads = self._leads and own not in partitions

        member.subscribe([link.topic], on_assign=given, on_revoke=taken, on_lost=taken)
        self._member = member
        return member

    def release(self) -> None:
        """Let another lead at once."""
        if self._member is not None:
            self._member.close()
        self._member, self._leads = None, False
