"""What is noted before anything is published, so that after a crash the same bytes are published, and nothing is decided anew."""

from __future__ import annotations

from typing import ClassVar

import msgspec

__all__ = ["JournalEntry"]


class JournalEntry(msgspec.Struct, array_like=True, frozen=True):
    """A block: what came, what was decided, and the bytes that go out."""

    MARK: ClassVar[bytes] = b"obs1"

    bodies: list[bytes]
    moments: list[float]
    moment: float
    """When an empty block was due."""
    decisions: list[list[int]]
    position: str
    """Of the input, behind this block."""
    after: int
    """The number of the output before this block."""
    released: list[bytes]
    letters_after: int
    letters: list[bytes]
    last: bool = False
    run: str = ""
    """The process that publishes it first: its name is in the ids of records, which stay when others publish them again."""

    def pack(self) -> bytes:
        """As bytes, for the log."""
        return _encode(self)

    @classmethod
    def unpack(cls, data: bytes) -> JournalEntry:
        """The way back."""
        return _decode(data)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(JournalEntry).decode
