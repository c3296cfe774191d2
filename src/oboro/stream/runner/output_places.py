"""The files that a stream writes: apart from each other, and what of them is missing after a restart."""

from __future__ import annotations

import os

from oboro.errors import FileError, UsageError
from oboro.stream.runner.endpoints import StreamOutput
from oboro.text import Message

__all__ = ["MissingOutput", "check_apart"]


class MissingOutput:
    """The end of the output that the log knows and the file lacks."""

    def __init__(self, target: StreamOutput, base: int) -> None:
        self.target = target
        self.base = base
        self.have = target.start - base
        self.parts: list[bytes] = []

    def between(self, least: int, most: int) -> None:
        """Raise unless the file holds all that was there when the snapshot was made, and no more than the log knows."""
        if self.target.is_file and self.have < least:
            raise FileError(Message("error_stream.shorter_output", place=self.target.place))
        if self.target.is_file and self.have > most:
            raise FileError(Message("error_stream.longer_output", place=self.target.place))

    def add(self, start: int, end: int, data: bytes) -> None:
        """One batch: its output takes the bytes from `start` to `end`."""
        if not self.target.is_file:
            return
        if end - start != len(data):
            raise FileError(Message("error_stream.not_repeatable", place=self.target.place))
        if end > self.have:
            self.parts.append(data[max(0, self.have - start) :])

    def write(self) -> None:
        """Write what is missing."""
        for part in self.parts:
            self.target.write(part)


def check_apart(source: str, target: str, dead: str | None) -> None:
    """Raise where the same file would be read and written, or hold released records and raw lines."""
    taken: dict[str, str] = {}
    for option, place in (("--from", source), ("--to", target), ("--dead-letters", dead)):
        if place in (None, "-", "stderr") or "://" in str(place):
            continue
        path = os.path.realpath(str(place))
        if path in taken and not _is_special(path):
            raise UsageError(Message("error_stream.same_place", one=taken[path], other=option, place=place))
        taken[path] = option


def _is_special(path: str) -> bool:
    """A terminal or /dev/null: what is written there mixes with nothing."""
    return os.path.exists(path) and not os.path.isfile(path)
