"""Kafka as a place for a lease: a topic in which everybody reads who leads.

Membership in a group lost: when a member is gone, brokers let the others wait until the group has settled, for three seconds
and more on librdkafka's mock. A topic has an order that all who read it share, which is all that a lease needs.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from secrets import token_hex

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as KafkaMessage

from oboro.errors import BrokerError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.kafka_topic import ABSENT, DENIED, KafkaLink

__all__ = ["KafkaLease", "Terms"]

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
