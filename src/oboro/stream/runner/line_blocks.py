"""Bytes as they arrive, cut into lines. Every byte is looked at once, however it arrives and whatever it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

__all__ = ["HUGE", "LineBlocks", "LineForm"]

HUGE = b"\n"  # stands for a line that was too long to keep, before its length; no line and no record begins like that


class LineForm(Protocol):
    """What a format says of its lines."""

    def ends(self, text: bytes) -> bool:
        """Whether a record may end with this line; if not, it goes on until the next line of that kind."""
        ...

    def ends_everywhere(self, text: bytes) -> bool:
        """Whether a record may end with every line of this."""
        ...


class LineBlocks:
    """Cuts what arrives into records of whole lines. A line that is too long is replaced by a note of its length.

    A record whose quotes do not close within `most` bytes is given up: its first line stands alone, as the bad line that it is,
    and the lines after it are what they would have been without it. So no line is lost. Memory: at most twice `most` bytes.
    """

    def __init__(self, form: LineForm, most: int) -> None:
        self.form = form
        self.most = most
        self._clear()

    def _clear(self) -> None:
        self._open: list[bytes] = []  # lines of a record whose quotes have not closed
        self._open_bytes = 0
        self._pieces: list[bytes] = []  # of a line that has not ended; none once it is too long
        self._length = 0

    @property
    def waiting(self) -> int:
        """Bytes that arrived and are not yet part of a block."""
        return self._open_bytes + self._length

    def add(self, data: bytes) -> tuple[list[bytes], int]:
        """The records that are whole now, and how many bytes of input they take."""
        before = self.waiting
        *ended, rest = data.split(b"\n")
        plain = len(data) <= self.most and self.form.ends_everywhere(data)
        lines = list(self._end_line(ended[0])) if ended else []
        # What came before may have opened a quote, which the first line then does not close.
        if plain and not self._open:
            lines += ended[1:]
        else:
            lines += [record for part in ended[1:] for record in self._end_line(part)]
        self._piece(rest)
        return lines, before + len(data) - self.waiting

    def end(self) -> tuple[list[bytes], int]:
        """What is left at the end of the input, as its last lines."""
        taken = self.waiting
        lines = list(self._end_line(b"")) if self._length else []
        lines += self._open
        self._clear()
        return lines, taken

    def _piece(self, part: bytes) -> None:
        self._length += len(part)
        if self._length > self.most:
            self._pieces = []
        elif part:
            self._pieces.append(part)

    def _end_line(self, part: bytes) -> Iterator[bytes]:
        self._piece(part)
        line, length = b"".join(self._pieces), self._length
        self._pieces, self._length = [], 0
        if length > self.most:
            yield from self._give_up()
            yield HUGE + str(length).encode()
        else:
            yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[bytes]:
        ends = self.form.ends(line)
        if not self._open and ends:
            yield line
            return
        if self._open and self._open_bytes + len(line) > self.most:
            yield from self._give_up()
            yield from self._line(line)
            return
        self._open.append(line)
        self._open_bytes += len(line) + 1
        if len(self._open) > 1 and not ends:
            yield b"\n".join(self._open)
            self._open, self._open_bytes = [], 0

    def _give_up(self) -> Iterator[bytes]:
        yield from self._open
        self._open, self._open_bytes = [], 0
