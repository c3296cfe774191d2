"""Redis and Valkey streams: exactly once. One script compares the output's last id and appends a block, or nothing.

A released record has its number as id (`17-0`), so the last id is the number of the output. An id of the input holds
the server's moment itself, so it is number and moment in one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import sha1
from secrets import token_hex
from typing import Any, ClassVar, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoScriptError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)
from redis.retry import Retry

from oboro.errors import BrokerError, ConflictError, FileError, OboroError, UsageError
from oboro.service.base import BrokerAddress, LinkedEnd
from oboro.text import Message

__all__ = ["RedisLease", "RedisSink", "RedisSource", "RedisStore"]


T = TypeVar("T")
FIELD, MARK = b"record", b"mark"
PUBLISH = """
local last, info = '0-0', redis.pcall('XINFO', 'STREAM', KEYS[1])
if not info.err then
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
if last ~= ARGV[1] .. '-' .. '0' then return last end
for i = 3, #ARGV do
  redis.call('XADD', KEYS[1], string.format('%.0f-0', ARGV[1] + i - 2), 'record', ARGV[i], 'mark', ARGV[2])
end
return 'done'
"""
DIGEST = sha1(PUBLISH.encode(), usedforsecurity=False).hexdigest()  # by which the server knows the script
LATER = ("LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "MISCONF", "NOREPLICAS")  # what may pass
LEAST = 16  # entries that are asked for: fewer, and nobody could tell a lag from a block that is full
COUNTED = 10_000  # entries that are counted one by one
IDLE = 1.0  # seconds, after which a connection may have been closed by the server


class RedisLink:
    """A connection, without retries of its own: what may have been done is asked, not done again."""

    def __init__(self, address: BrokerAddress) -> None:
        self.address = address
        self.key = address.name
        self.client: redis.Redis | None = None
        self._used = 0.0

    def connect(self) -> redis.Redis:
        """Anew."""
        self.close()
        one = self.address
        one.ssl_context()  # a certificate that cannot be read is not a server that is away
        tls: dict[str, Any] = {"ssl": True, "ssl_ca_certs": one.secret("CA")} if one.tls else {}
        if one.tls and one.secret("CERT"):
            tls |= {"ssl_certfile": one.secret("CERT"), "ssl_keyfile": one.secret("KEY")}
        made: dict[str, Any] = {
            "host": one.host,
            "port": one.port,
            "db": one.number("db"),
            "username": one.secret("USER"),
            "password": one.secret("PASSWORD") or one.secret("TOKEN"),
            "socket_timeout": 10.0,
            "socket_connect_timeout": 2.0,
            "retry": Retry(NoBackoff(), 0),
            "single_connection_client": True,
            **tls,
        }
        client: redis.Redis = self.ask(redis.Redis, **made)
        self.client = client
        self.ask(client.ping)
        return client

    def ask(self, what: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """The answer; `BrokerError` if the server is away."""
        try:
            return what(*given, **named)
        except AuthenticationError as error:
            raise UsageError(Message("error_broker.refused", place=self.address.server, why=str(error))) from None
        except BusyLoadingError as error:
            raise BrokerError(Message("error_broker.away", place=self.address.server, why=str(error))) from None
        except ResponseError as error:
            if isinstance(error, OutOfMemoryError) or any(word in str(error) for word in LATER):
                raise BrokerError(Message("error_broker.away", place=self.address.server, why=str(error))) from None
            raise UsageError(Message("error_broker.refused", place=self.address.place, why=str(error))) from None
        except (RedisError, OSError) as error:
            raise BrokerError(Message("error_broker.away", place=self.address.server, why=str(error))) from None

    def held(self) -> redis.Redis:
        """The connection that is open."""
        if self.client is None:
            raise BrokerError(Message("error_broker.away", place=self.address.server, why="closed"))
        return self.client

    def told(self, *words: Any) -> Any:
        """The answer to a command as the server sent it. By way of the client a block of one record takes twice as long."""
        connection = self._fresh()
        connection.send_command(*words)
        answer = connection.read_response()
        self._used = time.monotonic()
        return answer

    def _fresh(self) -> Any:
        """The connection; made anew where the server has closed it meanwhile."""
        connection: Any = self.held().connection
        if time.monotonic() - self._used > IDLE and connection.can_read():
            connection.disconnect()
        return connection

    def at_once(self, *commands: tuple[Any, ...], after: tuple[Any, ...] = ()) -> Any:
        """The answers to commands between which nothing else is done, once one before them is answered."""
        connection = self._fresh()
        before = [after] if after else []
        connection.send_packed_command(connection.pack_commands([*before, ("MULTI",), *commands, ("EXEC",)]))
        for _ in before:
            connection.read_response()
        for _ in range(len(commands) + 1):
            connection.read_response()
        answers = connection.read_response()
        self._used = time.monotonic()
        for one in answers:
            if isinstance(one, ResponseError):
                raise one
        return answers

    def info(self) -> dict[str, Any] | None:
        """Return the server's description of the stream; None if there is none."""
        client = self.held()
        if not self.ask(client.exists, self.key):
            return None
        found: dict[str, Any] = self.ask(client.xinfo_stream, self.key)
        return found

    def close(self) -> None:
        """Let go of the connection."""
        if self.client is not None:
            self.client.close()
            self.client = None


def _entries(answer: Any) -> Any:
    """The entries of one stream, as either version of the protocol sends them."""
    if not answer:
        return ()
    return answer[0][1] if isinstance(answer, list) else next(iter(answer.values()))


def _pair(id: bytes | str) -> tuple[int, int]:
    text = id.decode() if isinstance(id, bytes) else id
    first, _, second = text.partition("-")
    return int(first), int(second or 0)


class RedisSource(LinkedEnd):
    """Entries of a stream, from any id on. Nothing is acknowledged: the place follows from the output."""

    kind: ClassVar[str] = "redis"
    replays: ClassVar[bool] = True
    repeats: ClassVar[bool] = False

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"db", "field"})
        self.link: RedisLink = RedisLink(address)
        self._field = address.options.get("field", FIELD.decode()).encode()
        self._at = "0-0"
        self._ahead: list[tuple[bytes, str, float]] = []
        self._lags = False  # whether more was there than was asked for
        self._added = 0  # how many there ever were, when somebody looked last
        self._index: int | None = None  # how many there ever were up to the last that was read, once it is known
        self.whole = True

    def open(self, after: str | None) -> None:
        """Begin behind an id, which must be there still, or be the last of all or the last that was taken out."""
        self.link.connect()
        info = self.link.info()
        if info is None:
            raise UsageError(Message("error_broker.missing", place=self.link.address.place))
        added = info.get("entries-added", info["length"])
        self.whole = added == info["length"]
        self._at = after or "0-0"
        self._ahead, self._lags = [], False
        if after is not None:
            self._check(info, after)
        self._index, self._added = self._counted(info), added

    def _counted(self, info: dict[str, Any]) -> int | None:
        """How many there ever were up to the place where it begins: all, or all that are not there any more; else nobody knows."""
        at, first, added = _pair(self._at), info["first-entry"], info.get("entries-added", info["length"])
        if _pair(info["last-generated-id"]) == at:
            return int(added)
        return None if first and _pair(first[0]) <= at else added - info["length"]

    def _check(self, info: dict[str, Any], after: str) -> None:
        place, client, at = self.link.address.place, self.link.held(), _pair(after)
        last, first, removed = info["last-generated-id"], info["first-entry"], info.get("max-deleted-entry-id", b"0-0")
        if _pair(last) < at:
            raise FileError(Message("error_broker.set_back", place=place, number=after, last=last.decode()))
        if at in (_pair(last), _pair(removed)) or self.link.ask(client.xrange, self.link.key, after, after, 1):
            return
        if not self.whole and (not first or _pair(first[0]) > at or _pair(removed) > at):
            raise FileError(Message("error_broker.gone_some", place=place))
        raise FileError(Message("error_broker.other_input", place=place, number=after))

    def read(self, most: int, wait: float) -> list[tuple[bytes, str, float]] | None:
        """Return the available records, or the first that arrive within the time."""
        if not self._ahead:
            self._ahead = self._fetched(max(most, LEAST), max(1, int(wait * 1000)))
        items, self._ahead = self._ahead[:most], self._ahead[most:]
        return items

    def _fetched(self, count: int, wait: int) -> list[tuple[bytes, str, float]]:
        """Up to so many, and in the same moment whether entries were removed that were not read: the server passes over them."""
        key, at = self.link.key, self._at
        # the first only waits until there are some
        news = () if self._lags else ("XREAD", "COUNT", 1, "BLOCK", wait, "STREAMS", key, at)
        wanted = ("XREAD", "COUNT", count, "STREAMS", key, at)
        told, found = self._told(wanted, news)
        self._check_same(told)
        self._check_kept(told)
        entries = _entries(found)
        self._lags = len(entries) == count
        items = [(self._body(fields), id.decode(), int(id[: id.index(b"-")]) / 1e3) for id, fields in entries]
        self._at = items[-1][1] if items else at
        self._index = None if self._index is None else self._index + len(items)
        if told[b"last-generated-id"].decode() == self._at:
            self._index = told.get(b"entries-added")  # what was taken out by hand is no loss
        return items

    def _told(self, wanted: tuple[Any, ...], news: tuple[Any, ...]) -> tuple[dict[bytes, Any], Any]:
        """What the server says of the stream and the answer, of one moment."""
        try:
            info, found = self.link.ask(self.link.at_once, ("XINFO", "STREAM", self.link.key), wanted, after=news)
        except UsageError:
            if self.link.ask(self.link.held().exists, self.link.key):
                raise
            raise FileError(Message("error_broker.made_anew", place=self.link.address.place)) from None
        return info if isinstance(info, dict) else dict(zip(info[::2], info[1::2], strict=True)), found

    def _check_same(self, told: dict[bytes, Any]) -> None:
        """Raise where this is not the stream that was read before: one that is made anew begins to count anew."""
        added = told.get(b"entries-added", 0)
        if added < self._added or _pair(told[b"last-generated-id"]) < _pair(self._at):
            raise FileError(Message("error_broker.made_anew", place=self.link.address.place))
        self._added = added

    def _check_kept(self, told: dict[bytes, Any]) -> None:
        """Raise where the server has cut off what was not read yet."""
        first, at = told[b"first-entry"], _pair(self._at)
        place, added = self.link.address.place, told.get(b"entries-added")
        if (first and _pair(first[0]) <= at) or (added is None and not self._lags):
            return
        if (self._index is None or added is None) and at != (0, 0):
            raise FileError(Message("error_broker.gone_some", place=place))
        gone = 0 if self._index is None or added is None else added - self._index - told[b"length"]
        if gone > 0:
            raise FileError(Message("error_broker.gone", place=place, count=gone))

    def _body(self, fields: list[bytes] | None) -> bytes:
        """The value of the field; of one that stands twice the last."""
        if not fields:
            return b""
        if len(fields) == 2:
            return fields[1] if fields[0] == self._field else b""
        return dict(zip(fields[::2], fields[1::2], strict=True)).get(self._field) or b""

    def message_id(self, position: str) -> str | None:
        """Return the position: it stays."""
        return position

    def confirm(self, position: str) -> None:
        """Nothing to acknowledge."""

    def behind(self) -> int | None:
        """Entries behind the last that was read; where nobody knows how many were before it, as far as ten thousand."""
        info, client = self.link.info(), self.link.held()
        if info is None:
            return len(self._ahead)
        if info["last-generated-id"].decode() == self._at:
            self._index = info.get("entries-added")
            return len(self._ahead)
        added = 0 if self._index is None else info.get("entries-added", 0) - self._index
        if added < COUNTED:  # some may have been taken out
            added = len(self.link.ask(client.xrange, self.link.key, f"({self._at}", "+", COUNTED))
        return len(self._ahead) + added


class RedisSink(LinkedEnd):
    """A stream that one service writes."""

    compares: ClassVar[bool] = True

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"db"})
        self.link: RedisLink = RedisLink(address)

    def open(self) -> None:
        """Connect."""
        self.link.connect()

    def last(self) -> tuple[int, str, bytes]:
        """The last entry; where it was trimmed, its number is still known."""
        info = self.link.info()
        if info is None:
            return 0, "", b""
        number, second = _pair(info["last-generated-id"])
        entry = info.get("last-entry")
        if second or (entry and not {MARK, FIELD} <= entry[1].keys()):
            return number or 1, "", b""
        if not entry or _pair(entry[0]) != (number, 0):
            return number, "", b""
        return number, entry[1][MARK].decode(errors="replace"), entry[1][FIELD]

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """Return the bodies of some numbers."""
        client = self.link.held()
        found = self.link.ask(client.xrange, self.link.key, f"{first}-0", f"{first + count - 1}-0")
        there = {_pair(id)[0]: fields.get(FIELD) for id, fields in found}
        return [there.get(number) for number in range(first, first + count)]

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Publish all records if the output is at `after`; else none."""
        done = self.link.ask(self._run, 1, self.link.key, after, mark, *bodies)
        if done != b"done":
            raise ConflictError(Message("error_service.other_leader", place=self.link.address.place))

    def _run(self, *given: Any) -> Any:
        try:
            return self.link.told("EVALSHA", DIGEST, *given)
        except NoScriptError:  # it did nothing: a server that has just started does not know the script
            return self.link.told("EVAL", PUBLISH, *given)

    def tend(self) -> None:
        """A connection that was idle is made anew when it is used."""


# Snapshots and lease --------------------------------------------------------------------------------------------------
# Snapshots in a key, and a lease in a key that expires.


PROLONG = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
)
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class RedisStore(LinkedEnd):
    """The newest snapshot, as the value of a key. It holds raw values: readers of the key can read them."""

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"db"})
        self.link: RedisLink = RedisLink(address)

    def get(self) -> bytes | None:
        """The newest one."""
        client = self.link.connect()
        found: bytes | None = self.link.ask(client.get, self.link.key)
        return found

    def put(self, data: bytes) -> None:
        """A newer one."""
        client = self.link.connect()  # anew: a server closes what was idle for long
        self.link.ask(client.set, self.link.key, data)


class RedisLease:
    """A key that expires unless its holder prolongs it."""

    seconds = 5.0

    def __init__(self, address: BrokerAddress) -> None:
        self.link: RedisLink = RedisLink(address)
        self._key = f"{address.name}:oboro-lease"
        self._owner = ""  # a name that nobody else has, not even a process that was forked from this one
        self._leads = False
        self._until = self._next = 0.0

    def held(self) -> bool:
        """Take it or prolong it, three times in each term."""
        now = time.monotonic()
        if now < self._next:
            return now < self._until
        self._next = now + self.seconds / (3 if self._leads else 10)
        try:
            self._leads = self._ask()
            self._until = now + self.seconds if self._leads else 0.0
        except BrokerError:
            self.link.close()
        return now < self._until

    def _ask(self) -> bool:
        client = self.link.client or self.link.connect()
        self._owner = self._owner or token_hex(8)
        term = int(self.seconds * 1000)
        if self._leads and self.link.ask(client.eval, PROLONG, 1, self._key, self._owner, term):
            return True
        return bool(self.link.ask(client.set, self._key, self._owner, nx=True, px=term))

    def release(self) -> None:
        """Let another lead at once."""
        try:
            if self._leads and self.link.client is not None:
                self.link.ask(self.link.client.eval, RELEASE, 1, self._key, self._owner)
        except OboroError:
            pass  # it runs out by itself
        self._leads, self._until = False, 0.0
        self.link.close()
