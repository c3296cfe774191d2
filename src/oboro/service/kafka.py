"""Kafka: transactions. A block is one transaction; a process that begins to publish fences every earlier one of its
output.

Kafka cannot compare before it writes. So before its first block a process takes the transactional id of the output (an
earlier holder can commit no more), then reads back the last released record, which must be the one it expects. A
standby process fences none. One process serves one partition of a topic.

Experimental: tested with librdkafka's mock cluster only, which shows open and aborted records to those who read
committed ones.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as KafkaMessage
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from oboro.errors import BrokerError, ConflictError, FileError, UsageError
from oboro.service.base import BrokerAddress, KeyFields
from oboro.text import Message

__all__ = ["KafkaLease", "KafkaLink", "KafkaSink", "KafkaSource", "KafkaStore", "Terms"]


ANSWER = 15.0
NUMBER, MARK = "oboro-number", "oboro-mark"
ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.TOPIC_EXCEPTION)
DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.POLICY_VIOLATION,
    KafkaError.INVALID_REPLICATION_FACTOR,
)
FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


class KafkaLink:
    """How to reach one partition of a topic."""

    def __init__(self, address: BrokerAddress, *more: str) -> None:
        address.allow({"partition", "mechanism", *more})
        self.address = address
        self.topic = address.name
        self.partition = address.number("partition")

    def settings(self) -> dict[str, Any]:
        """What every client is told."""
        one = self.address
        one.ssl_context()  # a certificate that cannot be read is not a broker that is away
        user, mechanism = one.secret("USER"), one.options.get("mechanism", "PLAIN")
        protocol = ("SASL_" if user else "") + ("SSL" if one.tls else "PLAINTEXT")
        found = {
            "bootstrap.servers": f"{one.host}:{one.port}",
            "security.protocol": protocol,
            "ssl.ca.location": one.secret("CA"),
            "ssl.certificate.location": one.secret("CERT"),
            "ssl.key.location": one.secret("KEY"),
            "sasl.mechanism": mechanism if user else None,
            "sasl.username": user,
            "sasl.password": one.secret("PASSWORD") if user else None,
            "log_level": 0,
            "socket.timeout.ms": 10_000,
        }
        return {name: value for name, value in found.items() if value is not None}

    def consumer(self) -> Consumer:
        """One that reads committed records, from where it is told."""
        return Consumer(
            {
                **self.settings(),
                "group.id": "oboro",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",  # or what was removed before it was read would be passed over
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
            }
        )

    def bounds(self, consumer: Consumer) -> tuple[int, int]:
        """The first offset that is kept, and the one behind the last."""
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(self.topic, self.partition), timeout=ANSWER)
        except KafkaException as error:
            raise self.away(error) from None
        return low, high

    def check(self, consumer: Consumer) -> None:
        """Raise where the topic has several partitions and nobody said which one."""
        try:
            found = consumer.list_topics(self.topic, timeout=ANSWER).topics[self.topic]
        except KafkaException as error:
            raise self.away(error) from None
        count = len(found.partitions)
        if found.error is not None and found.error.code() not in (None, *ABSENT):
            raise self.away(found.error)
        if found.error is not None and not count:
            raise UsageError(Message("error_broker.missing", place=self.address.place))
        if count > 1 and "partition" not in self.address.options:
            raise UsageError(Message("error_broker.partitions", place=self.address.place, count=count))

    def make(self, settings: Mapping[str, str]) -> None:
        """A topic of one partition, where there is none; raises `UsageError` where this user may not make it."""
        admin = AdminClient(self.settings())
        try:
            found = admin.list_topics(self.topic, timeout=ANSWER).topics[self.topic]
            if found.error is None and found.partitions:
                return
            for made in admin.create_topics([NewTopic(self.topic, num_partitions=1, config=dict(settings))]).values():
                made.result(ANSWER)
        except KafkaException as error:
            code = error.args[0].code()
            if code in DENIED:
                raise self.refused(error.args[0]) from None
            if code != KafkaError.TOPIC_ALREADY_EXISTS:  # somebody else has made it
                raise self.away(error) from None

    def refused(self, error: KafkaError) -> UsageError:
        """What asking again would not change."""
        return UsageError(Message("error_broker.refused", place=self.address.place, why=error.str()))

    def away(self, error: KafkaException | KafkaError) -> BrokerError:
        """What librdkafka says, as an error that may be tried again."""
        what = error.args[0] if isinstance(error, KafkaException) else error
        return BrokerError(Message("error_broker.away", place=self.address.server, why=what.str()))


class KafkaSource:
    """Committed records of one partition. Keys and headers are dropped, unless the address asks for them as fields."""

    kind: ClassVar[str] = "kafka"
    replays: ClassVar[bool] = True
    repeats: ClassVar[bool] = False

    def __init__(self, address: BrokerAddress) -> None:
        self.link = KafkaLink(address, "key", "headers")
        self._asked = KeyFields.of(address.options)
        self.adds_fields = self._asked is not None
        self._consumer: Consumer | None = None
        self._late: list[KafkaMessage] = []
        self._next = self._end = 0
        self.whole = True

    def open(self, after: str | None) -> None:
        """Begin behind an offset, whose record must have the same moment still."""
        self.close()
        self._consumer, self._late = self.link.consumer(), []
        self.link.check(self._consumer)
        low, high = self.link.bounds(self._consumer)
        self.whole = low == 0
        offset = self._check(after, low, high) if after is not None else low
        self._next, self._end = offset, 0
        self._consumer.assign([TopicPartition(self.link.topic, self.link.partition, offset)])

    def _check(self, after: str, low: int, high: int) -> int:
        text, _, moment = after.partition("@")
        offset, place = int(text), self.link.address.place
        if offset >= high:
            raise FileError(Message("error_broker.set_back", place=place, number=offset, last=high - 1))
        if low > offset + 1:
            raise FileError(Message("error_broker.gone", place=place, count=low - offset - 1))
        if offset >= low:
            assert self._consumer is not None
            self._consumer.assign([TopicPartition(self.link.topic, self.link.partition, offset)])
            found = self._one(ANSWER)
            if found is not None and found.offset() == offset and found.timestamp()[1] != int(moment):
                raise FileError(Message("error_broker.other_input", place=place, number=offset))
        return offset + 1

    def _one(self, wait: float) -> KafkaMessage | None:
        assert self._consumer is not None
        return self._taken(self._consumer.poll(wait))

    def _taken(self, found: KafkaMessage | None) -> KafkaMessage | None:
        error = found.error() if found is not None else None
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            self._note_end(found)
            return None
        if error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise FileError(Message("error_broker.gone_some", place=self.link.address.place))
        if error is not None:
            raise self.link.away(error)
        return found

    def read(self, most: int, wait: float) -> list[tuple[bytes, str, float]] | None:
        """The first that comes within the time, and whatever came with it."""
        first = self._taken(self._late.pop(0)) if self._late else self._one(wait)
        if first is None:
            return []
        assert self._consumer is not None
        came = self._late or (self._consumer.consume(most - 1, 0) if most > 1 else [])
        for one in came:
            self._note_end(one)
        came = [one for one in came if (error := one.error()) is None or error.code() != KafkaError._PARTITION_EOF]
        good = next((n for n, one in enumerate(came[: most - 1]) if one.error() is not None), min(len(came), most - 1))
        found, self._late = [first, *came[:good]], came[good:]  # what is wrong is said once what came before it is read
        self._next = (found[-1].offset() or 0) + 1
        return [(self._body(one), f"{one.offset()}@{one.timestamp()[1]}", one.timestamp()[1] / 1e3) for one in found]

    def _note_end(self, message: KafkaMessage | None) -> None:
        """The end of what is there: the mark of a transaction has a number too, and nobody reads it."""
        error = message.error() if message is not None else None
        if message is not None and error is not None and error.code() == KafkaError._PARTITION_EOF:
            self._end = max(self._end, message.offset() or 0)

    def _body(self, message: KafkaMessage) -> bytes:
        body = message.value() or b""
        return body if self._asked is None else self._asked.put_in(body, message.key(), dict(message.headers() or ()))

    def message_id(self, position: str) -> str | None:
        """Return the position: it stays."""
        return position

    def confirm(self, position: str) -> None:
        """Nothing to acknowledge."""

    def behind(self) -> int | None:
        """Offsets behind the last that was read."""
        assert self._consumer is not None
        return max(0, self.link.bounds(self._consumer)[1] - max(self._next, self._end)) + len(self._late)

    def close(self) -> None:
        """Let go of it."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


class KafkaSink:
    """A partition that one service writes."""

    compares: ClassVar[bool] = True

    def __init__(self, address: BrokerAddress) -> None:
        self.link = KafkaLink(address, "key", "headers")
        self._asked = KeyFields.of(address.options)
        self._producer: Producer | None = None
        self._reading: Consumer | None = None
        self._fenced = False  # whether nobody else can publish any more
        self._number = 0
        self._reader: Iterator[tuple[int, bytes]] | None = None
        self._ahead: tuple[int, bytes] | None = None

    def open(self) -> None:
        """Connect; whoever publishes here goes on, until this process publishes."""
        self.close()
        self._producer = self._made()
        try:
            found = self._producer.list_topics(self.link.topic, timeout=ANSWER).topics[self.link.topic]
        except KafkaException as error:
            raise self.link.away(error) from None
        if self.link.partition not in found.partitions:  # it may be in the making
            why = "the topic is not there yet"
            raise BrokerError(Message("error_broker.away", place=self.link.address.place, why=why))

    def _made(self) -> Producer:
        name = f"oboro-{self.link.topic}-{self.link.partition}"
        given = {"transactional.id": name, "linger.ms": 0, "transaction.timeout.ms": 30_000}
        return Producer({**self.link.settings(), **given})

    def _fence(self, producer: Producer) -> None:
        """From now on nobody who published here before can; and see where the output stands."""
        try:
            producer.init_transactions(ANSWER)
        except KafkaException as error:
            raise self.link.away(error) from None
        self._fenced = True
        self.last()

    def last(self) -> tuple[int, str, bytes]:
        """Read back the last released record; markers of transactions take offsets too, so it is looked for."""
        self._reading = consumer = self._reading or self.link.consumer()
        low, high = self.link.bounds(consumer)
        back = 16
        while high > low:
            start = max(low, high - back)
            found = None
            for one in self._from(consumer, start):
                found = one
            if found is not None:
                self._number = int(_header(found, NUMBER) or 0) or 1
                return self._number, _header(found, MARK), found.value() or b""
            if start == low:
                break
            back *= 16
        if low:  # nobody knows its number
            raise FileError(Message("error_broker.emptied", place=self.link.address.place))
        self._number = 0
        return 0, "", b""

    def _from(self, consumer: Consumer, offset: int) -> Iterator[KafkaMessage]:
        """Records from an offset to the end."""
        consumer.assign([TopicPartition(self.link.topic, self.link.partition, offset)])
        while True:
            found = consumer.poll(ANSWER)
            error = found.error() if found is not None else None
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                return
            if found is None or error is not None:
                raise self.link.away(error or KafkaError(KafkaError._TIMED_OUT))
            yield found

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """What stands at some numbers, which only grow from call to call."""
        there: dict[int, bytes] = {}
        if self._reader is None:
            self._reader = self._numbered()
        while True:
            one = self._ahead or next(self._reader, None)
            self._ahead = None
            if one is None or one[0] >= first + count:
                self._ahead = one
                break
            if one[0] >= first:
                there[one[0]] = one[1]
            if one[0] == first + count - 1:
                break
        return [there.get(number) for number in range(first, first + count)]

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        consumer = self.link.consumer()
        try:
            low, _ = self.link.bounds(consumer)  # OFFSET_BEGINNING takes half a second more
            for one in self._from(consumer, low):
                yield int(_header(one, NUMBER) or 0), one.value() or b""
        finally:
            consumer.close()

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """One transaction."""
        self._producer = producer = self._producer or self._made()
        if not self._fenced:
            self._fence(producer)
        if self._number != after:
            raise ConflictError(Message("error_service.other_leader", place=self.link.address.place))
        try:
            producer.begin_transaction()
            for number, body in enumerate(bodies, after + 1):
                key, more = (None, []) if self._asked is None else self._released(body)
                headers: Any = [(NUMBER, str(number).encode()), (MARK, mark.encode()), *more]
                producer.produce(self.link.topic, body, key, partition=self.link.partition, headers=headers)
            producer.commit_transaction(ANSWER)
        except (KafkaException, BufferError) as error:
            raise self._failed(error) from None
        self._number = after + len(bodies)

    def _released(self, body: bytes) -> tuple[bytes | None, list[tuple[str, bytes]]]:
        """Key and headers: released values of the fields that were asked for."""
        assert self._asked is not None
        try:
            return self._asked.taken_from(body)
        except (ValueError, KeyError, TypeError):
            place, field = self.link.address.place, ",".join(self._asked.fields)
            raise UsageError(Message("error_broker.no_key", place=place, field=field)) from None

    def _failed(self, error: KafkaException | BufferError) -> BrokerError | ConflictError | UsageError:
        if isinstance(error, BufferError):
            return BrokerError(Message("error_broker.away", place=self.link.address.server, why=str(error)))
        if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return UsageError(Message("error_broker.too_large", place=self.link.address.place, why=error.args[0].str()))
        if error.args[0].code() in FENCED or error.args[0].fatal():
            self._producer, self._fenced = None, False  # who tries again first sees what was published meanwhile
            return ConflictError(Message("error_service.other_leader", place=self.link.address.place))
        return self.link.away(error)

    def tend(self) -> None:
        """The client does that itself."""

    def close(self) -> None:
        """Let go of it."""
        if self._reading is not None:
            self._reading.close()
        self._producer = self._reader = self._ahead = self._reading = None
        self._fenced = False


def _header(message: KafkaMessage, name: str) -> str:
    found: Any = message.headers() or ()
    return next((value.decode() for key, value in found if key == name and value is not None), "")


# Lease ----------------------------------------------------------------------------------------------------------------
# Lease on Kafka: a topic in which every process reads which one leads.
#
# Membership in a group was the slower alternative: when a member is gone, brokers let the others wait until the group
# has settled, for three seconds and more on librdkafka's mock. A topic has an order that all its readers share, which
# is all that a lease needs.


KEPT = {"cleanup.policy": "delete", "retention.ms": "3600000", "segment.ms": "3600000"}
LATEST = 100  # records that a new reader looks at; whoever leads says so four times in each term
RETRY = 0.25  # seconds
LONGEST = 500  # bytes of what one that leads may say
AT_ONCE = 1000  # records that are heard in one go: whoever floods the topic holds nobody up
REFUSED = (*DENIED, KafkaError.INVALID_RECORD)  # the last, where somebody has made the topic a compacted one
ANEW = (KafkaError._AUTO_OFFSET_RESET, *ABSENT)  # what a reader does not get over: its place was removed, or the topic


@dataclass
class Terms:
    """Who leads, as all who read the same records in the same order see it.

    The first claim of a term has it; what comes later for the same one is too late. Only whoever has a term beats in it, so a beat
    tells a reader who came after the claims.
    """

    term: int = 0
    leader: str = ""

    def read(self, says: str, term: int, who: str) -> bool:
        """Take one record; whether it shows that the leader is alive."""
        if (says == "claim" and term > self.term) or (says == "beat" and term >= self.term):
            self.term, self.leader = term, who
            return True
        if says == "free" and (term, who) == (self.term, self.leader):
            self.leader = ""
        return False


class KafkaLease:
    """Whoever leads beats; one that hears nothing for the time of the lease claims the next term.

    That nothing comes out twice does not hang on it: whoever begins to publish fences those before it.
    """

    seconds = 5.0

    def __init__(self, address: BrokerAddress) -> None:
        name = f"{address.name}-{address.number('partition')}-oboro-lease"
        options = {key: value for key, value in address.options.items() if key == "mechanism"}
        self.link = KafkaLink(replace(address, name=name, options=options))
        self._own = ""  # a name that nobody else has, not even a process that was forked from this one
        self._terms = Terms()
        self._number, self._sent = 0, dict[int, float]()  # none is used twice: a client may send one again
        self._heard = self._asked = self._next = 0.0  # when it said what it heard last of itself; and so on
        self._silence = 0.0  # seconds for which it listened and whoever leads said nothing
        self._current = False  # whether all that the topic holds was read
        self._refused: KafkaError | None = None
        self._reader: Consumer | None = None
        self._writer: Producer | None = None

    def held(self) -> bool:
        """Hear what the topic says, and say what is due; whether this process leads now."""
        before, self._asked = self._asked, time.monotonic()
        # one that slept may not have heard what was said meanwhile, so a pause counts for no more than half a term
        self._silence += min(self._asked - before, self.seconds / 2)
        if self._reader is None and not self._opened():
            return False
        self._hear()
        now = time.monotonic()
        if self._reader is not None and self._current and now >= self._next:
            self._speak()
        return self._leads and now - self._heard < self.seconds

    @property
    def _leads(self) -> bool:
        return self._own != "" and self._terms.leader == self._own

    def _opened(self) -> bool:
        if self._asked < self._next:
            return False
        self._next = self._asked + RETRY
        try:
            self.link.make(KEPT)
            reader = self.link.consumer()
            low, high = self.link.bounds(reader)
            reader.assign([TopicPartition(self.link.topic, 0, max(low, high - LATEST))])
        except (BrokerError, KafkaException):
            return False
        self._own = self._own or token_hex(8)
        term = max(1000, int(self.seconds * 1000))
        self._writer = self._writer or Producer({**self.link.settings(), "linger.ms": 0, "message.timeout.ms": term})
        self._reader, self._current = reader, False
        return True

    def _hear(self) -> None:
        for _ in range(AT_ONCE):
            if self._reader is None or (found := self._reader.poll(0)) is None:
                break
            if (error := found.error()) is None:
                self._take(found)
            else:
                self._current = self._current or error.code() == KafkaError._PARTITION_EOF
                self._wrong(error)
        if self._refused is not None:
            raise self.link.refused(self._refused)

    def _take(self, found: KafkaMessage) -> None:
        body = found.value() or b""
        try:
            told = json.loads(body if len(body) <= LONGEST else b"")
            says, term, who, number = str(told["says"]), int(told["term"]), str(told["who"]), int(told["number"])
        except (ValueError, KeyError, TypeError, OverflowError):
            return  # nobody who leads says this
        if self._terms.read(says, term, who):
            self._silence = 0.0
            if who == self._own:
                self._heard = self._sent.pop(number, self._heard)

    def _wrong(self, error: KafkaError) -> None:
        """Begin anew where this reader hears nothing any more; whoever may not read or write here could wait for ever."""
        if error.code() in REFUSED:
            self._refused = error
        elif error.code() in ANEW and self._reader is not None:
            self._reader.close()
            self._reader = None

    def _delivered(self, error: KafkaError | None, _: KafkaMessage) -> None:
        if error is not None and error.code() in REFUSED:
            self._refused = error

    def _speak(self) -> None:
        if self._leads:
            self._say("beat", self._terms.term)
        elif not self._terms.leader or self._silence > self.seconds:
            self._say("claim", self._terms.term + 1)

    def _say(self, says: str, term: int) -> None:
        now = time.monotonic()
        self._next = now + (self.seconds / 4 if says == "beat" else RETRY)
        self._number += 1
        self._sent = {n: at for n, at in self._sent.items() if now - at < self.seconds} | {self._number: now}
        told = {"says": says, "term": term, "who": self._own, "number": self._number}
        assert self._writer is not None
        try:
            self._writer.produce(self.link.topic, json.dumps(told).encode(), partition=0, on_delivery=self._delivered)
            self._writer.poll(0)
        except (KafkaException, BufferError):
            pass  # nobody hears it, so nobody takes this process for the leader, nor does it itself

    def release(self) -> None:
        """Let another lead at once."""
        if self._writer is not None and self._leads:
            self._say("free", self._terms.term)
            self._writer.flush(2.0)
        if self._reader is not None:
            self._reader.close()
        self._reader = self._writer = None
        self._terms, self._own = Terms(), ""


# Snapshots ------------------------------------------------------------------------------------------------------------
# Snapshots on Kafka (a compacted topic).
#
# Experimental, as all of Kafka here: tested with librdkafka's mock cluster only, which compacts nothing.


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
