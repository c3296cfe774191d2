"""A connection to NATS, from code that waits.

The client's own reconnecting is off: it would send what it had buffered for a connection that is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.errors import AuthorizationError
from nats.errors import Error as NatsError
from nats.js.api import StreamInfo
from nats.js.errors import APIError, BadRequestError, NotFoundError, ServerError, ServiceUnavailableError

from oboro.errors import BrokerError, UsageError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.io.brokers.waiting_loop import WaitingLoop
from oboro.text import Message

__all__ = ["ANSWER", "NatsLink"]

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
        """What the server says of the stream."""
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
