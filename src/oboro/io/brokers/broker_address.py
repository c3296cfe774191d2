"""The address of a place in a broker, such as `nats://HOST:4222/PEOPLE`. Secrets come from the environment, never from here.

User, password, token and certificates are read from `OBORO_FROM_USER`, `OBORO_FROM_PASSWORD`, `OBORO_FROM_TOKEN`, `OBORO_FROM_CA`,
`OBORO_FROM_CERT` and `OBORO_FROM_KEY` (for the output: `OBORO_TO_…`), or for both from `OBORO_BROKER_…`. A scheme that ends in `s`
(`natss`, `rediss`, `kafkas`, `mqtts`, `rabbitmqs`) is spoken over TLS.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from oboro.errors import FileError, UsageError
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["BrokerAddress"]


@dataclass(frozen=True)
class BrokerAddress:
    """Where a stream, topic, key or queue is, and how to get there."""

    kind: str
    tls: bool
    host: str
    port: int
    name: str
    options: dict[str, str]
    side: str  # FROM or TO: whose secrets are asked for

    @staticmethod
    def read(place: str, side: str, ports: dict[str, int]) -> BrokerAddress:
        """The parts of a place; raises `UsageError` where it is none."""
        try:
            parts = urlsplit(place)
        except ValueError:  # a bracket that is not closed
            raise UsageError(Message("error_broker.address", place=place, kind=place.partition(":")[0])) from None
        tls = parts.scheme not in ports
        kind = parts.scheme.removesuffix("s") if tls else parts.scheme
        if parts.password is not None or parts.username is not None:
            raise UsageError(Message("error_broker.secret_in_address", side=side))
        name = unquote(parts.path.lstrip("/"))
        try:
            port = parts.port or ports[kind]
        except ValueError:
            raise UsageError(Message("error_broker.address", place=place, kind=kind)) from None
        if not parts.hostname or not name:
            raise UsageError(Message("error_broker.address", place=place, kind=kind))
        return BrokerAddress(kind, tls, parts.hostname, port, name, dict(parse_qsl(parts.query)), side)

    def allow(self, options: Collection[str]) -> None:
        """Raise where the address has an option that its broker does not know."""
        if unknown := sorted(set(self.options) - set(options)):
            raise UsageError(
                Message("error_broker.unknown_option", place=self.place, unknown=unknown, known=sorted(options))
            )

    def number(self, option: str) -> int:
        """An option that is a whole number, 0 if it is not given."""
        given = self.options.get(option, "0")
        if not (given.isascii() and given.isdigit()):
            raise UsageError(Message("error_broker.no_number", place=self.place, option=option, given=given))
        return int(given)

    @property
    def place(self) -> str:
        """Short, for messages."""
        return f"{self.kind}://{self.host}:{self.port}/{self.name}"

    @property
    def server(self) -> str:
        """The broker itself."""
        return f"{self.kind}://{self.host}:{self.port}"

    def secret(self, what: str) -> str | None:
        """A user, password, token, or the file of a certificate, from the environment; what is empty is not given."""
        return os.environ.get(f"OBORO_{self.side}_{what}") or os.environ.get(f"OBORO_BROKER_{what}") or None

    def ssl_context(self) -> ssl.SSLContext | None:
        """How to speak TLS, with a certificate of our own if one is given; None for an address without TLS."""
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.secret("CA"))
            if cert := self.secret("CERT"):
                context.load_cert_chain(cert, self.secret("KEY"))
        except (OSError, ssl.SSLError) as error:
            why = os_reason(error) if isinstance(error, OSError) else str(error)
            raise FileError(Message("error_broker.certificate", place=self.place, why=why)) from None
        return context
