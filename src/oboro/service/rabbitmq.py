"""RabbitMQ queues: at least once on the wire. Every released record has an id that stays the same, by which a reader
drops repeats.

A queue forgets what was acknowledged, so a journal says what was published, and records need an id of their own:
those that were not acknowledged are handed over again. The broker confirms every record once it is safe. (In a
transaction of the channel, quorum queues that are full drop records without a word, and so do queues that are not
there any more.)
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelClosedByBroker,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)
from pika.spec import Basic

from oboro.errors import BrokerError, FileError, UsageError
from oboro.service.base import BrokerAddress, LinkedEnd, WriteOnlySink, record_id
from oboro.text import Message

__all__ = ["RECORD_ID", "RabbitmqSink", "RabbitmqSource"]


T = TypeVar("T")
RECORD_ID = "oboro-id"
ANSWER = 10.0  # seconds in which the broker confirms a block
AHEAD = 2048  # messages that the broker sends before they are acknowledged
ABSENT = 404
NO_QUEUE = (
    "no queue"  # with 404: there is none; with other words the node of the queue is down, as while a broker restarts
)
OFFSET = "x-stream-offset"
FIRST = 5.0  # seconds in which a stream hands over its first record
NO_ENTRY = (AuthenticationError, ProbableAuthenticationError, ProbableAccessDeniedError)


class RabbitmqLink:
    """A connection and its channel."""

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"vhost"})
        self.address = address
        self.queue = address.name
        self._connection: pika.BlockingConnection | None = None
        self._channel: BlockingChannel | None = None
        self._let_in = False  # whether the broker has taken this user and password before

    def connect(self) -> BlockingChannel:
        """Anew."""
        self.close()
        self._connection = self.ask(lambda: pika.BlockingConnection(self._parameters()))
        self._channel = self.ask(self._connection.channel)
        self._let_in = True
        return self._channel

    def _parameters(self) -> pika.ConnectionParameters:
        one, tls = self.address, self.address.ssl_context()
        user, password = one.secret("USER"), one.secret("PASSWORD") or one.secret("TOKEN")
        return pika.ConnectionParameters(
            host=one.host,
            port=one.port,
            virtual_host=one.options.get("vhost", "/"),
            credentials=pika.PlainCredentials(user or "guest", password or "guest"),
            ssl_options=None if tls is None else pika.SSLOptions(tls, one.host),
            socket_timeout=5.0,
            stack_timeout=10.0,
            blocked_connection_timeout=30.0,
            heartbeat=60,
        )

    def ask(self, what: Callable[[], T]) -> T:
        """The answer; `BrokerError` if the broker is away."""
        try:
            return what()
        except NO_ENTRY as error:
            if self._let_in:  # the client guesses: a broker that ends or starts closes connections at the same moment
                raise self._away(error) from None
            raise UsageError(Message("error_broker.refused", place=self.address.place, why=_why(error))) from None
        except ChannelClosedByBroker as error:
            if error.reply_code == ABSENT and NO_QUEUE not in error.reply_text:
                raise self._away(error) from None
            if error.reply_code == ABSENT:
                raise UsageError(Message("error_broker.missing", place=self.address.place)) from None
            raise UsageError(Message("error_broker.refused", place=self.address.place, why=error.reply_text)) from None
        except (AMQPError, OSError, EOFError) as error:
            raise self._away(error) from None

    def _away(self, error: BaseException) -> BrokerError:
        return BrokerError(Message("error_broker.away", place=self.address.server, why=_why(error)))

    def held(self) -> BlockingChannel:
        """The channel, if it is open."""
        if self._channel is None or not self._channel.is_open:
            raise BrokerError(Message("error_broker.away", place=self.address.server, why="closed"))
        return self._channel

    def there(self) -> int:
        """Return the number of messages that wait in the queue; raises if there is no queue."""
        channel = self.held()
        found = self.ask(lambda: channel.queue_declare(self.queue, passive=True))
        return int(found.method.message_count)

    def tend(self, wait: float = 0.0) -> None:
        """Answer what the broker asked meanwhile, and take what it sends."""
        self.held()
        connection = self._connection
        if connection is not None:
            self.ask(lambda: connection.process_data_events(wait))

    def wake(self) -> None:
        """End a wait: the client does not know that what was waited for has come."""
        if self._connection is not None:
            self._connection.call_later(0, lambda: None)

    def close(self) -> None:
        """Let go of it."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and connection.is_open:
            try:
                connection.close()
            except (AMQPError, OSError, EOFError):
                return  # it is gone


def _why(error: BaseException) -> str:
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    return str(inner) or type(inner).__name__


class RabbitmqSource(LinkedEnd):
    """What a queue hands over, or what a stream holds from an offset on: it hands over only what is asked for."""

    kind: ClassVar[str] = "rabbitmq"
    replays: ClassVar[bool] = False
    repeats: ClassVar[bool] = True
    takes: ClassVar[bool] = True  # a queue counts how often it hands a record over, and drops it after its limit

    def __init__(self, address: BrokerAddress) -> None:
        self.link: RabbitmqLink = RabbitmqLink(address)
        self._came: deque[tuple[int, int | None, str | None, bytes]] = deque()
        self._unconfirmed: deque[tuple[int, int]] = deque()
        self._ids: dict[int, str] = {}  # of unconfirmed messages, by their numbers
        self._count = 0  # how many were taken; of a stream, the next offset
        self._stream = False
        self.whole = False

    def open(self, after: str | None) -> None:
        """Take what the queue holds; what was not acknowledged comes again. A stream goes on where it was read to."""
        self._came, self._unconfirmed, self._ids = deque(), deque(), {}
        known, self._count = int(after or 0), max(self._count, int(after or 0))
        self.link.connect()
        self.link.there()
        try:
            self._consume({OFFSET: max(0, known - 1)})
            self._stream = True
        except UsageError:  # only a stream knows offsets; a new channel, since the broker has closed this one
            self.link.connect()
            self._consume({})
            self._stream = False
        if self._stream:
            self._count = known
            self._find(known)

    def reach(self) -> int:
        """How many records wait, without being handed any."""
        self.link.connect()
        return self.link.there()

    def _consume(self, more: dict[str, Any]) -> None:
        channel, came = self.link.held(), self._came
        self.link.ask(lambda: channel.basic_qos(prefetch_count=AHEAD))

        def take(_: Any, how: Any, properties: Any, body: bytes) -> None:
            offset, id = (properties.headers or {}).get(OFFSET), properties.message_id
            came.append((how.delivery_tag, offset, id, body))

        channel.add_on_cancel_callback(self._cancelled)
        self.link.ask(lambda: channel.basic_consume(self.link.queue, take, arguments=more))

    def _cancelled(self, _: Any) -> None:
        """The queue was deleted or has moved: nothing comes any more, even where it was made anew."""
        self.link.close()

    def _find(self, known: int) -> None:
        """The last that was read must be there, or what came after it: a stream that is shorter would be waited for in silence."""
        until = time.monotonic() + FIRST
        while known and not self._came and time.monotonic() < until:
            self.link.tend(0.1)
        if known and not self._came:
            why = f"record {known} is not there"
            raise BrokerError(Message("error_broker.away", place=self.link.address.place, why=why))
        if known and self._came[0][1] == known - 1:
            self._came.popleft()

    def read(self, most: int, wait: float) -> list[tuple[bytes, str, float]] | None:
        """Return the available records, or the first that arrive within the time."""
        self.link.tend(0.0 if self._came else wait)
        found: list[tuple[bytes, str, float]] = []
        while self._came and len(found) < most:
            tag, offset, id, body = self._came.popleft()
            if offset is not None:
                self._check_kept(int(offset))
            self._count += 1
            self._unconfirmed.append((self._count, tag))
            if id:
                self._ids[self._count] = str(id)
            found.append((body, str(self._count), time.time()))
        return found

    def _check_kept(self, offset: int) -> None:
        """Raise where a stream has removed what was not read yet; what it removed before the first start is nobody's loss."""
        if self._count and offset > self._count:
            raise FileError(Message("error_broker.gone", place=self.link.address.place, count=offset - self._count))
        self._count = offset

    def message_id(self, position: str) -> str | None:
        """Return the offset in a stream; in a queue the `message_id` that the producer gave, if it did."""
        return position if self._stream else self._ids.get(int(position or 0))

    def confirm(self, position: str) -> None:
        """Acknowledge all up to here."""
        channel, until, tag = self.link.held(), int(position), 0
        while self._unconfirmed and self._unconfirmed[0][0] <= until:
            number, tag = self._unconfirmed.popleft()
            self._ids.pop(number, None)
        if tag:
            self.link.ask(lambda: channel.basic_ack(tag, multiple=True))

    def behind(self) -> int | None:
        """What waits in the queue and here; a stream does not say."""
        return None if self._stream else self.link.there() + len(self._came)


class RabbitmqSink(LinkedEnd, WriteOnlySink):
    """A queue, by the default exchange."""

    def __init__(self, address: BrokerAddress) -> None:
        self.link: RabbitmqLink = RabbitmqLink(address)
        self._sent = 0  # messages on this channel: the broker counts them too
        self._open: dict[int, int] = {}  # those that it has not answered yet, and the number of each record
        self._had: set[int] = set()  # numbers that it has confirmed of a block that it did not take whole
        self._wrong = ""

    def open(self) -> None:
        """Connect; a queue that is not there is made, as a quorum queue."""
        self.link.connect()
        try:
            self.link.there()
        except UsageError:
            channel, kind = self.link.connect(), {"x-queue-type": "quorum"}
            self.link.ask(lambda: channel.queue_declare(self.link.queue, durable=True, arguments=kind))
        self._sent, self._open = 0, {}
        # by itself the client waits for each record before it sends the next
        plain = self.link.held()._impl
        plain.add_on_return_callback(self._returned)
        self.link.ask(lambda: plain.confirm_delivery(self._answered))

    def _answered(self, frame: Any) -> None:
        tag, good = frame.method.delivery_tag, isinstance(frame.method, Basic.Ack)
        tags = [one for one in self._open if one <= tag] if frame.method.multiple else [tag]
        numbers = {self._open.pop(one) for one in tags}
        self._had |= numbers if good else set()
        self._wrong = self._wrong if good else "the queue is full"
        if not self._open:
            self.link.wake()

    def _returned(self, *_: Any) -> None:
        self._wrong = "the queue is gone"

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Each with its id: the stream and its number, the same in every life. Returns once the queue has all of them."""
        channel = self.link.held()
        self._wrong = ""

        def send() -> None:
            for number, body in enumerate(bodies, after + 1):
                if number in self._had:
                    continue
                id = record_id(mark, number)
                known = pika.BasicProperties(delivery_mode=2, message_id=id, headers={RECORD_ID: id})
                self._sent += 1
                self._open[self._sent] = number
                channel._impl.basic_publish("", self.link.queue, body, known, mandatory=True)

        self.link.ask(send)
        self._await_answers()
        self._had.clear()

    def _await_answers(self) -> None:
        until = time.monotonic() + ANSWER
        while self._open and (left := until - time.monotonic()) > 0:
            self.link.tend(left)
        if self._wrong == "the queue is gone":
            self._had.clear()  # and all that it held
        if self._wrong or self._open:
            why = self._wrong or "no answer"
            raise BrokerError(Message("error_broker.away", place=self.link.address.place, why=why))

    def tend(self) -> None:
        """Answer what the broker asked meanwhile."""
        self.link.tend()
