"""What a service asks of the places it stands between. A broker is one file that answers this, and says its own traits.

A *position* says where in the input something stands, in the broker's own words: its number and the broker's moment. Nobody but the
source reads it. A *number* counts what the output holds, from 1. A *mark* travels beside each released record: whose stream it is,
which process published it, and up to which position of the input everything was decided.

A call that cannot be finished because the broker is away raises `BrokerError`: it may or may not have been done, and the service
opens the place again and asks what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

__all__ = ["Held", "Incoming", "Lease", "RecordSink", "RecordSource", "SilentSink", "Store"]

Incoming = tuple[bytes, str, float]
"""A body, its position, and the moment at which the broker got it (seconds since 1970)."""
Held = tuple[int, str, bytes]
"""The last that an output holds: its number (0: none yet), its mark and its body."""


class RecordSource(Protocol):
    """Where records come from, in an order that the place keeps."""

    kind: ClassVar[str]
    """Whose positions these are."""
    repeats: ClassVar[bool]
    """Whether the place itself may hand over a record twice, so that records need ids."""

    @property
    def replays(self) -> bool:
        """Whether it can be read again from a position; one that cannot needs a journal."""
        ...

    def open(self, after: str | None) -> None:
        """Begin behind a position; raises `FileError` where the input is not the one in which that position was."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the input still begins with the first record that ever was there."""
        ...

    def read(self, most: int, wait: float) -> list[Incoming] | None:
        """What there is, up to so many; empty if nothing came within `wait` seconds; None once the input has ended."""
        ...

    def message_id(self, position: str) -> str | None:
        """Return the broker's id of an unconfirmed record, the same whenever it is handed over; None where it has none."""
        ...

    def confirm(self, position: str) -> None:
        """All up to here came out and is never asked for again."""
        ...

    def behind(self) -> int | None:
        """How many records wait in the input; None if the place cannot tell."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class RecordSink(Protocol):
    """Where released records go."""

    compares: ClassVar[bool]
    """Whether publishing is compare-and-set, and the place can say what it holds: then every record is there once."""

    def open(self) -> None:
        """Connect."""
        ...

    def last(self) -> Held:
        """What the place holds last; where it cannot say, number 0."""
        ...

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """What stands at some numbers, `first` and after; None where it is not kept any more."""
        ...

    def units(self, body: bytes) -> int:
        """By how much a body moves the number on: 1, or in a file its bytes."""
        ...

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Publish, if the output stands at `after` and at nothing else (`ConflictError`); return once the place has it."""
        ...

    def tend(self) -> None:
        """Keep the connection alive while nothing is published."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class SilentSink:
    """What a place is that cannot say what it holds and need not be opened; a sink says the rest."""

    compares: ClassVar[bool] = False

    def open(self) -> None:
        """It is open."""

    def last(self) -> Held:
        """It cannot say."""
        return 0, "", b""

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """It cannot say."""
        return [None] * count

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1

    def tend(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to close."""


class Store(Protocol):
    """Snapshots outside of this machine."""

    def get(self) -> bytes | None:
        """The newest one."""
        ...

    def put(self, data: bytes) -> None:
        """A newer one; whole or not at all."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Lease(Protocol):
    """The right to lead for some seconds. It makes a fail-over quick; that nothing comes out twice never depends on it."""

    seconds: float

    def held(self) -> bool:
        """Take it or prolong it; whether this process leads now. Cheap: it asks the broker now and then only."""
        ...

    def release(self) -> None:
        """Let another lead at once."""
        ...
