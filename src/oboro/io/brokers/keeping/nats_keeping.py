"""NATS as a place for snapshots (object store) and for a lease (key-value bucket whose keys expire)."""

from __future__ import annotations

import time
from contextlib import suppress
from secrets import token_hex

from nats.js.api import KeyValueConfig, StreamConfig
from nats.js.errors import APIError, BadRequestError, BucketNotFoundError, KeyWrongLastSequenceError, NotFoundError
from nats.js.kv import KeyValue
from nats.js.object_store import ObjectStore

from oboro.errors import BrokerError, OboroError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.linked_end import LinkedEnd
from oboro.io.brokers.nats_link import NatsLink

__all__ = ["NatsLease", "NatsStore"]


class NatsStore(LinkedEnd):
    """The newest snapshot, as an object in a bucket. It holds raw values: whoever may read the bucket may read them."""

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
