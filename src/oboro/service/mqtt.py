"""MQTT 5: at least once on the wire. Every released record has an id that stays the same, by which a reader drops
repeats.

A broker of MQTT keeps no positions, so a journal says what was published. The input is a session that the broker
keeps while the service is away; records are acknowledged after they came out, and may be handed over again: records
need an id of their own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from oboro.errors import BrokerError, FileError, UsageError
from oboro.service.base import BrokerAddress, LinkedEnd, WriteOnlySink, record_id
from oboro.text import Message

__all__ = ["RECORD_ID", "MqttSink", "MqttSource"]


ANSWER = 10.0
RECORD_ID = "oboro-id"
FOREVER = 0xFFFFFFFF  # how long the broker keeps a session
FOR_GOOD = (0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x8F, 0x90, 0xA1, 0xA2)  # of the protocol, names, passwords and rights
TAKEN_OVER = 0x8E
AHEAD = 2048  # messages that the broker sends before they are acknowledged


class MqttLink:
    """A connection, with the client's own thread."""

    def __init__(self, address: BrokerAddress, name: str) -> None:
        self.address = address
        self.name = name
        self.client: mqtt.Client | None = None
        self.lost = True
        self.known = False  # whether the broker had the session still
        self._taken = False  # whether another client has come under the same name

    def connect(self, keep: bool, on_message: Any = None) -> mqtt.Client:
        """Anew; with `keep` the broker remembers the session."""
        self.close()
        one = self.address
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=self.name, protocol=mqtt.MQTTv5, reconnect_on_failure=False
        )
        if user := one.secret("USER"):
            client.username_pw_set(user, one.secret("PASSWORD") or one.secret("TOKEN"))
        if (tls := one.ssl_context()) is not None:
            client.tls_set_context(tls)
        client.max_inflight_messages_set(AHEAD)
        client.max_queued_messages_set(0)
        client.manual_ack_set(keep)
        client.on_message = on_message
        answered: SimpleQueue[Any] = SimpleQueue()

        def gone(*given: Any) -> None:
            self.lost, self._taken = True, given[3].value == TAKEN_OVER
            answered.put(None)

        def came(*given: Any) -> None:
            self.known = given[2].session_present
            answered.put(given[3])

        client.on_disconnect, client.on_connect = gone, came
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        if keep:
            properties.SessionExpiryInterval = FOREVER
            properties.ReceiveMaximum = AHEAD
        self.lost = False
        try:
            client.connect(one.host, one.port, keepalive=30, clean_start=not keep, properties=properties)
            client.loop_start()
            self.client = client
            code = answered.get(timeout=ANSWER)
        except (OSError, Empty) as error:
            self.close()
            raise self.away(str(error) or "no answer") from None
        if code is None:  # the connection was closed, as by a broker that wants a certificate
            self.close()
            raise self.away("closed")
        if code.is_failure:
            self.close()
            raise self.said_no(code)
        return client

    def said_no(self, code: Any) -> BrokerError | UsageError:
        """What the broker answered: whoever may not come in today may not tomorrow."""
        if code.value in FOR_GOOD:
            return UsageError(Message("error_broker.refused", place=self.address.place, why=str(code)))
        return self.away(str(code))

    def away(self, why: str) -> BrokerError:
        """The broker does not answer."""
        return BrokerError(Message("error_broker.away", place=self.address.server, why=why))

    def held(self) -> mqtt.Client:
        """The connection, if it is there."""
        if self._taken:
            raise UsageError(Message("error_broker.taken_over", place=self.address.place, name=self.name))
        if self.client is None or self.lost:
            raise self.away("closed")
        return self.client

    def close(self) -> None:
        """Let go of it."""
        client, self.client = self.client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()


class MqttSource(LinkedEnd):
    """Source of the messages that a broker delivers to one session."""

    kind: ClassVar[str] = "mqtt"
    replays: ClassVar[bool] = False
    repeats: ClassVar[bool] = True
    takes: ClassVar[bool] = True  # a check would take the session from a service that runs

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"client"})
        known = blake2b(address.name.encode(), digest_size=6).hexdigest()
        self.link: MqttLink = MqttLink(address, address.options.get("client", f"oboro-{known}"))
        self._came: SimpleQueue[mqtt.MQTTMessage] = SimpleQueue()
        self._unconfirmed: deque[tuple[int, int, int]] = deque()
        self._count = 0
        self.whole = False

    def open(self, after: str | None) -> None:
        """Go on with the session; what was not acknowledged comes again. One that is forgotten is made anew, and that is said."""
        self._came, self._unconfirmed = SimpleQueue(), deque()
        self._count = max(self._count, int(after or 0))
        came = self._came
        client = self.link.connect(True, lambda _client, _data, message: came.put(message))
        answered: SimpleQueue[Any] = SimpleQueue()
        client.on_subscribe = lambda *given: answered.put(given[3])
        code, _ = client.subscribe(self.link.address.name, qos=1)
        try:
            granted = answered.get(timeout=ANSWER) if code == mqtt.MQTT_ERR_SUCCESS else None
        except Empty:
            granted = None
        if granted is None:
            raise self.link.away(mqtt.error_string(code))
        if granted[0].is_failure:
            raise self.link.said_no(granted[0])
        if self._count and not self.link.known:
            raise FileError(Message("error_broker.session_lost", place=self.link.address.place))

    def read(self, most: int, wait: float) -> list[tuple[bytes, str, float]] | None:
        """Return the available records, or the first that arrive within the time."""
        found: list[tuple[bytes, str, float]] = []
        try:
            while len(found) < most:
                message = self._came.get(timeout=0 if found else wait) if not found else self._came.get_nowait()
                self._count += 1
                self._unconfirmed.append((self._count, message.mid, message.qos))
                found.append((bytes(message.payload), str(self._count), time.time()))
        except Empty:
            if not found:
                self.link.held()
        return found

    def message_id(self, position: str) -> str | None:
        """Return None: a packet identifier is of one connection only."""
        return None

    def confirm(self, position: str) -> None:
        """Acknowledge all up to here."""
        client, until = self.link.held(), int(position)
        while self._unconfirmed and self._unconfirmed[0][0] <= until:
            _, mid, qos = self._unconfirmed.popleft()
            client.ack(mid, qos)

    def behind(self) -> int | None:
        """The broker does not say."""
        return None


class MqttSink(LinkedEnd, WriteOnlySink):
    """A topic."""

    def __init__(self, address: BrokerAddress) -> None:
        address.allow({"client"})
        self.link: MqttLink = MqttLink(address, address.options.get("client", ""))
        self._refused: list[Any] = []

    def open(self) -> None:
        """Connect."""
        self._refused.clear()
        self.link.connect(False).on_publish = lambda *given: (
            self._refused.append(given[3]) if given[3].is_failure else None
        )

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Each with its id: the stream and its number, the same in every life. Waits until the broker has all of them."""
        client, sent = self.link.held(), []
        for number, body in enumerate(bodies, after + 1):
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.UserProperty = (RECORD_ID, record_id(mark, number))
            sent.append(client.publish(self.link.address.name, body, qos=1, properties=properties))
        until = time.monotonic() + ANSWER
        for one in sent:
            try:
                one.wait_for_publish(max(0.01, until - time.monotonic()))
            except (RuntimeError, ValueError) as error:
                raise self.link.away(str(error)) from None
            if self.link.lost or not one.is_published():
                raise self.link.away("no answer")
        if self._refused:  # a refusal is an answer too
            raise self.link.said_no(self._refused.pop())

    def tend(self) -> None:
        """The client's thread does that."""
