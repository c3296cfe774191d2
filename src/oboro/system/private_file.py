"""Files that only their owner may read, and files that only one process may hold."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    LOCKS_LET_READ = False
else:
    LOCKS_LET_READ = True  # whether others may read a file that is held

__all__ = ["LOCKS_LET_READ", "FileLock", "hold_output", "open_private", "release_output", "take"]

BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would turn line ends into its own


def open_private(path: str | Path, flags: int) -> int:
    """The system's number of a file, opened for bytes; if it is new, nobody but its owner may read it."""
    return os.open(path, flags | BINARY, 0o600)


class FileLock:
    """A file that one process holds at a time; the system lets go of it when that process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            take(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise BlockingIOError(f"{path} is held by another process") from None

    def release(self) -> None:
        """Let others have it."""
        os.close(self._descriptor)


def hold_output(descriptor: int, shared: bool = False) -> bool:
    """Hold an open file that others may read, until it is closed; false if another process holds it.

    `shared`: others may hold it in the same way, but none alone.

    Where a lock would keep readers away (Windows), or the file system has none, nothing is held.
    """
    if not LOCKS_LET_READ:
        return True
    try:
        take(descriptor, shared)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def release_output(descriptor: int) -> None:
    """Let others hold a file that stays open, such as standard output."""
    if LOCKS_LET_READ:
        with suppress(OSError):  # a file system without locks, or no file
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def take(descriptor: int, shared: bool = False) -> None:
    """Lock an open file, or raise `OSError` at once."""
    if LOCKS_LET_READ:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
