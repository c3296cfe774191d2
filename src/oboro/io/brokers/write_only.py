"""Ends of brokers that take records and never say what they hold: readers tell repeats by the id of each record."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["WriteOnlySink"]


class WriteOnlySink:
    """What every such end answers alike. How it opens, publishes and closes, each says itself."""

    compares: ClassVar[bool] = False
    keeps: ClassVar[bool] = True  # what was published is there for good, whether anybody remembers it or not

    def last(self) -> tuple[int, str, bytes]:
        """It cannot say."""
        return 0, "", b""

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """It cannot say."""
        return [None] * count

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1
