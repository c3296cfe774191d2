"""Ends of brokers that take records and never say what they hold: readers tell repeats by the id of each record."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["WriteOnlySink", "record_id"]


def record_id(mark: str, number: int) -> str:
    """The id of a released record by which readers drop repeats: its stream, the process that noted it first, and its number.

    A state that was restored from a backup counts from an earlier number again. Without the process, new records would have the ids
    of those that are there, and readers would drop them.

    >>> record_id("stream/run/17", 3), record_id("stream//17", 3)
    ('stream.run.3', 'stream.3')
    """
    stream, _, rest = mark.partition("/")
    return ".".join((*filter(None, (stream, rest.partition("/")[0])), str(number)))


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
