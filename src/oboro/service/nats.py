"""NATS JetStream: exactly once. Publishing is compare-and-set on the stream's last sequence number.

Each message of a block says after which number it comes (`Nats-Expected-Last-Sequence`), and only the last asks for
an answer: the server stores a message only if all before it are stored. Nothing depends on a window of de-
duplication. The output stream belongs to one service, so its sequence number is the number of the released record.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from secrets import token_hex
from typing import Any, ClassVar, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import AuthorizationError
from nats.errors import Error as NatsError
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    ConsumerInfo,
    DeliverPolicy,
    KeyValueConfig,
    RetentionPolicy,
    StreamConfig,
    StreamInfo,
    StreamState,
)
from nats.js.errors import (
    APIError,
    BadRequestError,
    BucketNotFoundError,
    KeyWrongLastSequenceError,
    NotFoundError,
    ServerError,
    ServiceUnavailableError,
)
from nats.js.kv import KeyValue
from nats.js.object_store import ObjectStore

from oboro.errors import BrokerError, ConflictError, FileError, OboroError, UsageError
from oboro.service.base import BrokerAddress, LinkedEnd, WaitingLoop
from oboro.text import Message

__all__ = ["ANSWER", "NatsLease", "NatsLink", "NatsSink", "NatsSource", "NatsStore"]


# Connection -----------------------------------------------------------------------------------------------------------
# A connection to NATS for blocking code.
#
# The client's own reconnecting is off: it would send what it had buffered for a connection that is gone.


T = TypeVar("T")
ANSWER = 5.0  # seconds that the server has


class NatsLink:
    """A connection."""

    def __init__(self, address: BrokerAddress) -> None:
        self.address = address
        self.client: Client | None = None
        self._loop: WaitingLoop | None = None
        self._lost: asyncio.Future[None] | None = None
        self._why = ""  # what the client said last

    def connect(self) -> None:
        """Anew."""
        self.close()
        self._loop = WaitingLoop()
        self._lost, self._why = None, ""
        client, lost = self.wait(self._connected(), ANSWER)
        self.client, self._lost = client, lost
        self.js = self.client.jetstream(timeout=ANSWER)

    async def _connected(self) -> tuple[Client, asyncio.Future[None]]:
        one, lost = self.address, asyncio.get_running_loop().create_future()
        scheme = "tls" if one.tls else "nats"

        async def closed() -> None:
            if not lost.done():
                lost.set_result(None)

        async def noted(error: Exception) -> None:
            self._why = str(error)

        client = Client()
        try:
            await client.connect(
                servers=f"{scheme}://{one.host}:{one.port}",
                allow_reconnect=False,
                connect_timeout=2,
                error_cb=noted,
                name="oboro",
                user=one.secret("USER"),
                password=one.secret("PASSWORD"),
                token=one.secret("TOKEN"),
                tls=one.ssl_context(),
                pending_size=1 << 28,
                skip_subject_validation=True,
                closed_cb=closed,
            )
        except BaseException:
            await _let_go(client)
            raise
        return client, lost

    def wait(self, asked: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """The answer; `BrokerError` if the broker is away."""
        try:
            return self._held().wait(asked if self._lost is None else _unless(self._lost, asked), seconds)
        except (NotFoundError, BadRequestError):
            raise
        except (NatsError, OSError, EOFError, ValueError, TimeoutError) as error:
            why = str(error) or self._why or type(error).__name__
            if _final(error):
                raise UsageError(Message("error_broker.refused", place=self.address.server, why=why)) from None
            raise BrokerError(Message("error_broker.away", place=self.address.server, why=why)) from None

    def granted(self, asked: Coroutine[Any, Any, T]) -> T:
        """The answer, where a server that refuses does so for good."""
        try:
            return self.wait(asked)
        except (NotFoundError, BadRequestError) as error:
            why = error.description or str(error)
            raise UsageError(Message("error_broker.refused", place=self.address.place, why=why)) from None

    def _held(self) -> WaitingLoop:
        if self._loop is None:
            raise BrokerError(Message("error_broker.away", place=self.address.server, why="closed"))
        return self._loop

    def tend(self) -> None:
        """Answer what the server asked meanwhile."""
        self._held().tend()

    def info(self) -> StreamInfo:
        """Return the server's description of the stream."""
        try:
            return self.wait(self.js.stream_info(self.address.name))
        except NotFoundError:
            raise UsageError(Message("error_broker.missing", place=self.address.place)) from None

    def moment(self, number: int) -> tuple[datetime | None, dict[str, str], bytes] | None:
        """When a message came, its headers and its body; None if it is not kept."""
        try:
            found = self.wait(self.js.get_msg(self.address.name, seq=number))
        except NotFoundError:
            return None
        return found.time, dict(found.headers or {}), found.data or b""

    def close(self) -> None:
        """Let go of the connection."""
        client, self.client = self.client, None
        loop, self._loop = self._loop, None
        if loop is None:
            return
        if client is not None:
            with suppress(NatsError, OSError, TimeoutError):
                loop.wait(_let_go(client), 1.0)
        loop.close()


async def _let_go(client: Client) -> None:
    """Close a connection. The client itself leaves its socket open where the server went away at the wrong moment."""
    try:
        await client.close()
    finally:
        if client._transport is not None:
            client._transport.close()  # type: ignore[no-untyped-call]
            await asyncio.sleep(0)


async def _unless(lost: asyncio.Future[None], asked: Coroutine[Any, Any, T]) -> T:
    """The answer; an error as soon as the connection is lost, for then none will come."""
    asking = asyncio.ensure_future(asked)
    try:
        await asyncio.wait((asking, lost), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise ConnectionError("the connection was lost")
        return asking.result()
    finally:
        asking.cancel()


def _final(error: Exception) -> bool:
    """Whether the server has understood, and will say no the next time too."""
    if isinstance(error, APIError):
        return not isinstance(error, ServiceUnavailableError | ServerError)
    return isinstance(error, AuthorizationError) or "authorization violation" in str(error).lower()


# Snapshots and lease --------------------------------------------------------------------------------------------------
# Snapshots in an object store, and a lease in a key-value bucket whose keys expire.


class NatsStore(LinkedEnd):
    """The newest snapshot, as an object in a bucket. It holds raw values: readers of the bucket can read them."""

    def __init__(self, address: BrokerAddress) -> None:
        address.allow(())
        self.link: NatsLink = NatsLink(address)

    def _bucket(self) -> ObjectStore:
        self.link.connect()
        js, name = self.link.js, self.link.address.name
        try:
            return self.link.wait(js.object_store(name))
        except (NotFoundError, BucketNotFoundError):
            return self.link.granted(js.create_object_store(name))

    def get(self) -> bytes | None:
        """The newest one."""
        try:
            return self.link.wait(self._bucket().get("snapshot")).data
        except NotFoundError:
            return None
        finally:
            self.link.close()

    def put(self, data: bytes) -> None:
        """A newer one; the bucket names it once it is whole."""
        try:
            self.link.wait(self._bucket().put("snapshot", data))
        finally:
            self.link.close()


class NatsLease:
    """A key that expires unless its holder writes it again."""

    seconds = 5.0

    def __init__(self, address: BrokerAddress) -> None:
        self.link: NatsLink = NatsLink(address)
        self._owner = token_hex(8).encode()
        self._revision: int | None = None
        self._until = self._next = 0.0
        self._bucket: KeyValue | None = None

    def held(self) -> bool:
        """Take it or prolong it, three times in each term."""
        now = time.monotonic()
        if now < self._next:
            return now < self._until
        self._next = now + self.seconds / (3 if self._revision is not None else 10)
        try:
            self._ask()
            self._until = now + self.seconds if self._revision is not None else 0.0
        except BrokerError:
            self._bucket = None
        return now < self._until

    def _ask(self) -> None:
        try:
            bucket = self._bucket or self._open()
            if self._revision is None:
                self._revision = self.link.wait(bucket.create("leader", self._owner))
            else:
                self._revision = self.link.wait(bucket.update("leader", self._owner, self._revision))
        except (KeyWrongLastSequenceError, BadRequestError, APIError):
            self._revision = None

    def _open(self) -> KeyValue:
        self.link.connect()
        js, name = self.link.js, f"OBORO_{self.link.address.name}"
        try:
            self._bucket = self.link.wait(js.key_value(name))
            self._set_term(self.link.wait(self._bucket.status()).stream_info.config)
        except (NotFoundError, BucketNotFoundError):
            self._bucket = self.link.wait(js.create_key_value(KeyValueConfig(bucket=name, ttl=self.seconds)))
        return self._bucket

    def _set_term(self, config: StreamConfig) -> None:
        """A bucket that was made for a longer lease would keep others waiting that long."""
        if abs((config.max_age or 0.0) - self.seconds) < 0.001:
            return
        config.max_age = config.duplicate_window = self.seconds
        with suppress(OboroError, APIError):  # whoever may not change it goes on with its term
            self.link.wait(self.link.js.update_stream(config))

    def release(self) -> None:
        """Let another lead at once."""
        try:
            if self._revision is not None and self._bucket is not None:
                self.link.wait(self._bucket.purge("leader"))
        except (OboroError, APIError):
            pass  # it runs out by itself
        self._revision, self._until = None, 0.0
        self.link.close()


# Source and sink ------------------------------------------------------------------------------------------------------


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
