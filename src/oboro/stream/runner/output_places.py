"""The files that a stream writes: apart from each other, and what of them is missing after a restart."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from oboro.errors import FileError, UsageError
from oboro.stream.runner.endpoints import StreamOutput
from oboro.system.named_files import file_marks
from oboro.text import Message

__all__ = ["MissingOutput", "check_apart"]

NONE: Mapping[str, Sequence[Path]] = MappingProxyType({})


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


def check_apart(
    source: str, target: str, dead: str | None, state: Path | None = None, others: Mapping[str, Sequence[Path]] = NONE
) -> None:
    """Raise where the same file would be read and written, or hold released records and raw lines.

    The `others` are read only, by what they are. Nothing else is written into the folder of the state.
    """
    held = {"--state": list(state.iterdir())} if state is not None and state.is_dir() else {}
    taken: dict[object, str] = {}
    for what, paths in (*others.items(), *held.items()):
        for one in paths:
            taken = dict.fromkeys(file_marks(one), what) | taken
    for option, place in (("--from", source), ("--to", target), ("--dead-letters", dead)):
        if place in (None, "-", "stderr") or "://" in str(place):
            continue
        path = os.path.realpath(str(place))
        before = next((taken[mark] for mark in file_marks(path) if mark in taken), None)
        if state is not None and Path(path).parent == Path(os.path.realpath(state)):
            before = "--state"
        if before is not None and not _is_special(path):
            raise UsageError(Message("error_stream.same_place", one=before, other=option, place=place))
        taken = dict.fromkeys(file_marks(path), option) | taken


def _is_special(path: str) -> bool:
    """A terminal or /dev/null: what is written there mixes with nothing."""
    return os.path.exists(path) and not os.path.isfile(path)
