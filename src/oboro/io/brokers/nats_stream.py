"""NATS JetStream: exactly once. Publishing is compare-and-set on the stream's last sequence number.

Each message of a block says after which number it comes (`Nats-Expected-Last-Sequence`), and only the last asks for an answer: the
server stores a message only if all before it are stored. Nothing depends on a window of de-duplication. The output stream belongs
to one service, so its sequence number is the number of the released record.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    ConsumerInfo,
    DeliverPolicy,
    RetentionPolicy,
    StreamConfig,
    StreamInfo,
    StreamState,
)
from nats.js.errors import NotFoundError

from oboro.errors import BrokerError, ConflictError, FileError, UsageError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.linked_end import LinkedEnd
from oboro.io.brokers.nats_link import ANSWER, NatsLink
from oboro.text import Message

__all__ = ["NatsSink", "NatsSource"]

EXPECTED = "Nats-Expected-Last-Sequence"
MARK = "Oboro-Mark"
HEADERS = 128  # bytes beside the mark that stand before a body
TOO_LARGE = 10054
PULL = {"expires": 30_000_000_000, "idle_heartbeat": 1_000_000_000}  # nanoseconds
SILENCE = 4.0  # seconds without a record or a heartbeat, after which the consumer is made again


def _number(position: str) -> int:
    return int(position.partition("@")[0])


def _limit(config: StreamConfig, *names: str) -> str:
    """The first of these that is set, in words; nothing if none is."""
    told = ((name, getattr(config, name, None) or 0) for name in names)
    return next((f"{name}: {float(value):g}" for name, value in told if value > 0), "")


class NatsSource(LinkedEnd):
    """Records of a stream, from any of its numbers on. Nothing is acknowledged: the place follows from the output."""

    kind: ClassVar[str] = "nats"
    replays: ClassVar[bool] = True
    repeats: ClassVar[bool] = False

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"subject"})
        self.link: NatsLink = NatsLink(address)
        self._came: deque[Msg] = deque()
        self._asked = self._read = 0
        self._news: asyncio.Event | None = None
        self._wrong: str | None = None
        self._heard = 0.0
        self._position: str | None = None
        self._old = 0  # up to this number records may have been removed before this service began
        self._sparse = False  # whether some numbers of the stream are not for this service
        self._from_middle = ""  # the limit by which the stream removes records behind others that it keeps
        self._clear = 0  # up to this number the stream holds nothing for this consumer that was not read
        self._subscription: Subscription | None = None
        self.whole = True

    def open(self, after: str | None) -> None:
        """Begin behind a position: its number must still be there with the same moment, or lie just before what is there."""
        self.link.connect()
        info = self.link.info()
        self._check_limits(info.config)
        number = self._check(info, after) if after is not None else 0
        self.whole = info.state.first_seq <= 1
        self._old = self._old if after is not None else info.state.last_seq
        self._position = after
        self._came.clear()
        self._asked = self._read = 0
        self._clear = number if after is not None else info.state.first_seq - 1
        self._wrong = None
        self._consumer = self.link.granted(self._consume(number))

    def _check_limits(self, config: StreamConfig) -> None:
        """Raise where the stream removes records in a way that nobody who reads it could notice."""
        place, mirror = self.link.address.place, config.mirror
        if config.retention not in (None, RetentionPolicy.LIMITS):
            raise UsageError(Message("error_broker.not_limits", place=place))
        mirrored = mirror is not None and bool(mirror.filter_subject or mirror.subject_transforms)
        self._sparse = mirrored or "subject" in self.link.address.options
        self._from_middle = _limit(config, "max_msgs_per_subject", "allow_msg_ttl")
        from_start = _limit(config, "max_age", "max_msgs", "max_bytes") if mirrored else ""
        if self._sparse and (why := self._from_middle or from_start):
            raise UsageError(Message("error_broker.untold", place=place, why=why))

    def _check(self, info: StreamInfo, after: str) -> int:
        """The number of a position; raises where the stream does not hold what it held then."""
        text, _, moment = after.partition("@")
        number, place = int(text), self.link.address.place
        if info.state.last_seq < number:
            raise FileError(Message("error_broker.set_back", place=place, number=number, last=info.state.last_seq))
        if info.state.first_seq > number + 1:
            raise self._gone(info.state.first_seq - number - 1)
        found = self.link.moment(number) if info.state.first_seq <= number else None
        if found is not None and found[0] is not None and abs(found[0].timestamp() - int(moment) / 1e9) > 2e-6:
            raise FileError(Message("error_broker.other_input", place=place, number=number))
        return number

    async def _consume(self, number: int) -> str:
        self._news = asyncio.Event()
        client = self.link.client
        assert client is not None
        self._inbox = client.new_inbox()
        self._subscription = await client.subscribe(
            self._inbox, cb=self._arrived, pending_msgs_limit=1 << 20, pending_bytes_limit=1 << 30
        )
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=number + 1,
            ack_policy=AckPolicy.NONE,
            filter_subject=self.link.address.options.get("subject"),
            inactive_threshold=60.0,
            mem_storage=True,
            num_replicas=1,
        )
        made = await self.link.js.add_consumer(self.link.address.name, config)
        self._heard = asyncio.get_running_loop().time()
        return made.name

    async def _arrived(self, message: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        if not message.reply:
            status = (message.headers or {}).get("Status")
            if status == "100":  # a heartbeat
                return
            self._asked -= int((message.headers or {}).get("Nats-Pending-Messages", self._asked))
            if status not in ("408", "404"):
                self._wrong = (message.headers or {}).get("Description", status)
        else:
            self._asked -= 1
            self._came.append(message)
        assert self._news is not None
        self._news.set()

    def read(self, most: int, wait: float) -> list[tuple[bytes, str, float]] | None:
        """What has arrived; more is asked for before it is needed, at most two blocks of it."""
        self.link.wait(self._waited(most, wait))
        if self._wrong is not None:
            raise BrokerError(Message("error_broker.away", place=self.link.address.server, why=self._wrong))
        came = self._came
        found = [self._item(came.popleft()) for _ in range(min(most, len(came)))]
        if found:
            self._check_kept(found)
            self._position = found[-1][1]
        return found

    def _check_kept(self, found: list[tuple[bytes, str, float]]) -> None:
        """Raise where the stream has removed records that were not read yet; some may be taken out by hand.

        Of one subject nobody can tell whose the missing numbers were. Then it is enough that what was removed last lies behind.
        """
        numbers = [self._seen, *(_number(position) for _, position, _ in found)]
        if numbers[-1] - numbers[0] == len(found):
            return
        gaps = [(number, then - number - 1) for number, then in pairwise(numbers) if then != number + 1]
        gone = self.link.info().state.first_seq - gaps[0][0] - 1
        if gone > 0:
            raise self._gone(gone)
        lost = sum(count for number, count in gaps if number >= self._old)
        if self._from_middle and lost:
            raise self._gone(lost)

    @property
    def _seen(self) -> int:
        """Up to here all was read, or is not for this consumer."""
        return max(self._clear, _number(self._position or "0"))

    def _gone(self, count: int) -> FileError:
        told = Message("error_broker.gone", place=self.link.address.place, count=count)
        return FileError(
            Message("error_broker.gone_or_others", place=self.link.address.place) if self._sparse else told
        )

    async def _waited(self, most: int, wait: float) -> None:
        client, loop = self.link.client, asyncio.get_running_loop()
        if client is None or not client.is_connected:
            raise ConnectionError("closed")
        if self._asked + len(self._came) <= most:
            self._asked += 2 * most
            request = json.dumps({"batch": 2 * most, **PULL}).encode()
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.link.address.name}.{self._consumer}"
            await client.publish(subject, request, reply=self._inbox)
        assert self._news is not None
        if self._came:
            await asyncio.sleep(0)
            return
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), wait)
        except TimeoutError:
            if loop.time() - self._heard > SILENCE + wait:
                raise ConnectionError("no heartbeat") from None

    def _item(self, message: Msg) -> tuple[bytes, str, float]:
        """Body, position and moment. The consumer numbers what it sends: a gap means that some did not arrive."""
        parts = message.reply.split(
            "."
        )  # $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.NUMBER.SEQUENCE.MOMENT.PENDING
        base = 5 if len(parts) == 9 else 7
        self._read += 1
        if int(parts[base + 1]) != self._read:
            raise BrokerError(Message("error_broker.away", place=self.link.address.server, why="a gap"))
        moment = parts[base + 2]
        return message.data, f"{parts[base]}@{moment}", int(moment) / 1e9

    def message_id(self, position: str) -> str | None:
        """Return the position: it stays."""
        return position

    def confirm(self, position: str) -> None:
        """Nothing to acknowledge."""

    def behind(self) -> int | None:
        """Numbers behind the last that was read; of one subject, what its consumer has not sent yet."""
        state = self.link.info().state
        if self._sparse or not state.messages:
            told = self._consumer_told()
            if not told.num_pending and told.delivered is not None and told.delivered.consumer_seq == self._read:
                self._all_read(state)  # asked before: what came since then is not read yet
            return (told.num_pending or 0) + len(self._came)
        return max(0, state.last_seq - max(self._seen, state.first_seq - 1))

    def _consumer_told(self) -> ConsumerInfo:
        try:
            told: ConsumerInfo = self.link.wait(self.link.js.consumer_info(self.link.address.name, self._consumer))
            return told
        except NotFoundError as error:  # the server has forgotten it: it is made again
            raise BrokerError(Message("error_broker.away", place=self.link.address.server, why=str(error))) from None

    def _all_read(self, state: StreamState) -> None:
        """Nothing is left for this consumer; raise where that is so because what came since the last look was removed."""
        if state.first_seq > self._seen + 1:
            raise self._gone(state.first_seq - self._seen - 1)
        self._clear = state.last_seq


class NatsSink(LinkedEnd):
    """A stream that one service writes."""

    compares: ClassVar[bool] = True

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"subject"})
        self.link: NatsLink = NatsLink(address)
        self._subject = address.options.get("subject", "")

    def open(self) -> None:
        """Connect; a stream that is not there is made, with its own name as subject."""
        self.link.connect()
        name = self.link.address.name
        try:
            config = self.link.wait(self.link.js.stream_info(name)).config
        except NotFoundError:
            asked = StreamConfig(name=name, subjects=[self._subject or f"{name}.released"])
            config = self.link.granted(self.link.js.add_stream(asked)).config
        self._subject = self._subject or (config.subjects or [name])[0]
        if "*" in self._subject or ">" in self._subject:
            raise UsageError(Message("error_broker.wildcard", place=self.link.address.place, subject=self._subject))
        client = self.link.client
        assert client is not None
        self._inbox = client.new_inbox()
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self.link.wait(client.subscribe(f"{self._inbox}.*", cb=self._answered))

    async def _answered(self, message: Msg) -> None:
        self._answers.put_nowait(message.data)

    def last(self) -> tuple[int, str, bytes]:
        """The last message; where it has expired, its number is still known."""
        number = self.link.info().state.last_seq
        found = self.link.moment(number) if number else None
        return (number, found[1].get(MARK, ""), found[2]) if found else (number, "", b"")

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """One request for each, all at once: only what was published and not remembered is asked for."""
        return self.link.wait(self._found(range(first, first + count)), ANSWER)

    async def _found(self, numbers: range) -> list[bytes | None]:
        return await asyncio.gather(*map(self._body, numbers))

    async def _body(self, number: int) -> bytes | None:
        try:
            return (await self.link.js.get_msg(self.link.address.name, seq=number)).data or b""
        except NotFoundError:
            return None

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """All of them, each expecting the one before; the answer to the last one speaks for all."""
        self._check_size(max(map(len, bodies)), mark)
        told = self.link.wait(self._sent(after, bodies, mark), ANSWER)
        if not told:  # nobody answers for the subject
            raise BrokerError(Message("error_broker.away", place=self.link.address.place, why="no stream"))
        answer = json.loads(told)
        if "error" in answer:
            code, why = answer["error"].get("err_code"), answer["error"].get("description", "")
            if code in (10071, 10164):  # another last sequence
                if len(bodies) > 1:  # the first says why, where it was refused: the stream may be full
                    self.publish(after, bodies[:1], mark)
                raise ConflictError(Message("error_service.other_leader", place=self.link.address.place))
            if code == TOO_LARGE:
                raise UsageError(Message("error_broker.too_large", place=self.link.address.place, why=why))
            raise BrokerError(Message("error_broker.away", place=self.link.address.place, why=why))
        if answer["seq"] != after + len(bodies):
            raise ConflictError(Message("error_service.other_leader", place=self.link.address.place))

    def _check_size(self, largest: int, mark: str) -> None:
        """Raise where the server would close the connection over a message, again and again."""
        client = self.link.client
        most = client.max_payload if client is not None else 0
        if most and largest + len(mark) + HEADERS > most:
            why = f"{largest:,} > {most - HEADERS:,}"
            raise UsageError(Message("error_broker.too_large", place=self.link.address.place, why=why))

    async def _sent(self, after: int, bodies: Sequence[bytes], mark: str) -> bytes:
        client = self.link.client
        if client is None or not client.is_connected:
            raise ConnectionError("closed")
        reply, last = f"{self._inbox}.{after}", len(bodies) - 1
        while not self._answers.empty():  # to a question that was given up
            self._answers.get_nowait()
        for i, body in enumerate(bodies):
            headers = {EXPECTED: str(after + i), MARK: mark}
            await client.publish(self._subject, body, reply if i == last else "", headers)
        return await self._answers.get()

    def tend(self) -> None:
        """Answer what the server asked meanwhile."""
        self.link.tend()
