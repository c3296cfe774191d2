"""Files, pipes and sockets as ends of a service whose other end is a broker; one record a line."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

from oboro.errors import ConflictError, FileError, UsageError
from oboro.stream.runner.codecs import NdjsonCodec
from oboro.stream.runner.endpoints import StopRequest, StreamInput, StreamOutput
from oboro.stream.runner.line_blocks import HUGE, LineBlocks
from oboro.stream.service.ends import Held, Incoming, SilentSink
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["FileSink", "LineSource", "NoSink", "PipeSink"]

CHUNK = 1 << 20


class LineSource:
    """Lines of a file, of standard input or of a socket. A position is the byte behind a line."""

    kind: ClassVar[str] = "lines"
    repeats: ClassVar[bool] = False

    def __init__(self, place: str, stop: StopRequest, most: int) -> None:
        self.place = place
        self._input = StreamInput(place, stop, most)
        self._blocks = LineBlocks(NdjsonCodec(), most)
        self._lines: list[bytes] = []
        self._at = 0
        self._ended = False
        self.whole = True

    @property
    def replays(self) -> bool:
        """A file does; what came through a pipe or a socket is gone."""
        return self._input.is_file

    @property
    def takes(self) -> bool:
        """Whether a look takes records from those who wait for them: producers at a socket cannot send again."""
        return self._input.is_socket

    def open(self, after: str | None) -> None:
        """Behind so many bytes of a file; a pipe or a socket goes on."""
        self._at = int(after or 0)
        if after is not None and self._input.is_file:
            self._input.skip(self._at)

    def read(self, most: int, wait: float) -> list[Incoming] | None:
        """Lines that are there. An empty one is no record."""
        found: list[Incoming] = []
        while not found:
            while not self._lines and not self._ended:
                if not self._input.is_file and not self._input.ready(wait):
                    return []
                data = self._input.read()
                if data is None:
                    return []
                self._lines, _ = self._blocks.add(data) if data else self._blocks.end()
                self._ended = not data
            if not self._lines:
                return None
            taken, self._lines = self._lines[:most], self._lines[most:]
            found = list(self._placed(taken, time.time()))
        return found

    def _placed(self, lines: Sequence[bytes], now: float) -> Iterator[Incoming]:
        end = 0 if self._ended else 1  # what stands last in a file may have no end yet
        for line in lines:
            self._at += end + (int(line[len(HUGE) :]) if line.startswith(HUGE) else len(line))
            if line and (line.startswith(HUGE) or not line.isspace()):
                yield line, str(self._at), now

    def reread(self, position: str) -> bytes | None:
        """The line that ends at a position of a file; None where nobody can say, or it is too long to keep."""
        end = int(position)
        return self._input.line_before(end, self._blocks.most) if self._input.is_file and end else None

    def message_id(self, position: str) -> str | None:
        """Return the place of a line in its file; what came through a pipe or a socket has none that stays."""
        return position if self._input.is_file else None

    def confirm(self, position: str) -> None:
        """Nobody waits for it."""

    def behind(self) -> int | None:
        """Unknown."""
        return None

    def close(self) -> None:
        """Let go of it."""
        self._input.close()


class FileSink(SilentSink):
    """A file that grows by one line for each record; its number is its length in bytes."""

    compares: ClassVar[bool] = True

    def __init__(self, place: str, stop: StopRequest) -> None:
        self._output = StreamOutput(place, stop)
        if not self._output.is_file:
            self._output.close()
            raise UsageError(Message("error_service.not_a_file", place=place))
        self.place = place

    def last(self) -> Held:
        """Its whole lines, and the last of them."""
        size = self._size()
        at, tail = size, b""
        while at and tail.count(b"\n") < 2:
            start = max(0, at - CHUNK)
            tail = self._at(start, at - start) + tail
            at = start
        whole = tail.rfind(b"\n") + 1
        line = tail[:whole].rstrip(b"\n").rpartition(b"\n")[2]
        return size - (len(tail) - whole), "", line

    def _size(self) -> int:
        """Somebody may have moved it away."""
        try:
            return os.path.getsize(self.place)
        except OSError as error:
            raise FileError(Message("error_stream.cannot_read", place=self.place, why=os_reason(error))) from None

    def _at(self, start: int, count: int) -> bytes:
        with open(self.place, "rb") as file:
            file.seek(start)
            return file.read(count)

    def units(self, body: bytes) -> int:
        """Bytes with the line's end."""
        return len(body) + 1

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Append; a line that was half written when a process was killed is finished."""
        data = b"".join(body + b"\n" for body in bodies)
        if self._size() < after or not data.startswith(there := self._at(after, len(data) + 1)):
            raise ConflictError(Message("error_service.other_leader", place=self.place))
        if not self._output.write(data[len(there) :]):
            raise FileError(Message("error_stream.cannot_write", place=self.place, why="stopped"))

    def sync(self) -> None:
        """Wait until it is on its disk."""
        self._output.sync()

    def close(self) -> None:
        """Let go of it."""
        self._output.close()


class PipeSink(SilentSink):
    """Standard output, a pipe or a socket: it cannot say what was read, so after a crash some records come again, in one form."""

    def __init__(self, place: str, stop: StopRequest) -> None:
        self._output = StreamOutput(place, stop)
        self.place = place

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """One line each."""
        if not self._output.write(b"".join(body + b"\n" for body in bodies)):
            raise FileError(Message("error_stream.reader_gone", place=self.place), transient=True)

    def close(self) -> None:
        """Let go of it."""
        self._output.close()


class NoSink(SilentSink):
    """Nowhere: a dry run decides and publishes nothing."""

    compares: ClassVar[bool] = True

    def __init__(self) -> None:
        self._number = 0

    def last(self) -> Held:
        """Nothing is there."""
        return self._number, "", b""

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Forget them."""
        self._number = after + len(bodies)
