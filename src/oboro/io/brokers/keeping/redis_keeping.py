"""Redis and Valkey as a place for snapshots (a key) and for a lease (a key that expires)."""

from __future__ import annotations

import time
from secrets import token_hex

from oboro.errors import BrokerError, OboroError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.linked_end import LinkedEnd
from oboro.io.brokers.redis_stream import RedisLink

__all__ = ["RedisLease", "RedisStore"]

PROLONG = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
)
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class RedisStore(LinkedEnd):
    """The newest snapshot, as the value of a key. It holds raw values: whoever may read the key may read them."""

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
