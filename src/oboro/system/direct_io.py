"""Large files written past the system's cache.

What is released is written once and not read again, so a cache of it helps nobody. On a virtual machine, whose memory must first be
got from its host, writing through the cache was ten times slower than the disk.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
from typing import Any

__all__ = ["Uncached"]

ROOM = 8 << 20  # bytes that are collected; a smaller file is written as usual
SECTOR = 4096  # what is written past the cache starts and ends at a multiple of this


class Uncached(io.RawIOBase):
    """A file for writing. Where the system or the disk cannot do without the cache, it is written as usual."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.room = mmap.mmap(-1, ROOM)
        self.used = self.written = 0
        self.direct = False

    def writable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """The system's number of the file."""
        return self.descriptor

    def tell(self) -> int:
        """How many bytes were written so far."""
        return self.written + self.used

    def write(self, data: Any, /) -> int:
        """Take all of it; O(bytes), one more copy than without."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left:
            if self.used == ROOM:
                self._switch(True)
                self._drain(ROOM)
            some = left[: ROOM - self.used]
            self.room[self.used : self.used + len(some)] = some
            self.used += len(some)
            left = left[len(some) :]
        return size

    def flush(self) -> None:
        """Hand what is left to the system; the last sector is seldom full, so it goes through the cache."""
        if not self.closed and self.used:
            self._drain(self.used // SECTOR * SECTOR)
            self._switch(False)
            self._drain(self.used)

    def close(self) -> None:
        """Close the file, flushed or not: whether it is whole is for `flush` to say."""
        if not self.closed:
            self.used = 0
            super().close()
            os.close(self.descriptor)

    def _drain(self, size: int) -> None:
        """Write the first `size` collected bytes and move the rest to the front."""
        done = 0
        with memoryview(self.room) as view:
            while done < size:
                try:
                    done += os.write(self.descriptor, view[done:size])
                except OSError as problem:
                    if problem.errno != errno.EINVAL or not self.direct:
                        raise
                    self._switch(False)
                if done % SECTOR:  # a disk that is nearly full took a part
                    self._switch(False)
        self.room.move(0, size, self.used - size)
        self.used -= size
        self.written += size

    def _switch(self, direct: bool) -> None:
        """Go past the cache from now on, or not; it is no error where that is not possible."""
        if direct == self.direct or not hasattr(os, "O_DIRECT") or (direct and self.written % SECTOR):
            return
        import fcntl

        flags = fcntl.fcntl(self.descriptor, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_SETFL, flags | os.O_DIRECT if direct else flags & ~os.O_DIRECT)
        except OSError:
            return
        self.direct = direct
