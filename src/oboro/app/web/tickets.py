"""One-time tickets: a browser fetches a file by a link, which cannot carry the token; a ticket is good for one file, once."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Offer", "Tickets"]

SECONDS = 3600.0  # that a ticket can be used: one who reads the verdict first must not find a dead button


@dataclass(frozen=True)
class Offer:
    """What a ticket is good for: text, or a file that goes when it was fetched."""

    name: str
    kind: str
    text: str | None = None
    path: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    until: float = 0.0


class Tickets:
    """The open tickets."""

    def __init__(self) -> None:
        self._open: dict[str, Offer] = {}
        self._lock = threading.Lock()

    def issue(self, offer: Offer) -> str:
        """A ticket for an offer, good for a while."""
        ticket = secrets.token_urlsafe(24)
        with self._lock:
            self._expire()
            held = Offer(offer.name, offer.kind, offer.text, offer.path, offer.headers, time.monotonic() + SECONDS)
            self._open[ticket] = held
        return ticket

    def take(self, ticket: str) -> Offer | None:
        """What it is good for; None where it was used, is too old or never was one."""
        with self._lock:
            self._expire()
            return self._open.pop(ticket, None)

    def _expire(self) -> None:
        now = time.monotonic()
        for ticket in [one for one, offer in self._open.items() if offer.until < now]:
            offer = self._open.pop(ticket)
            if offer.path is not None:
                offer.path.unlink(missing_ok=True)
