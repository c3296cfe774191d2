"""Files and folders that are being written: known as ours by their names, held by their writer, and swept once that was killed.

A process that ends by `kill -9` cannot clean up. The system lets go of its locks, though: a draft that nobody holds belongs to
nobody any more. Locks of another machine may not be seen here, so only drafts of this machine are swept; others stay.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path

from oboro.system.private_file import LOCKS_LET_READ, hold_output, open_private, take
from oboro.text import Message

__all__ = ["Draft", "draft_name", "is_named", "remove", "share_file", "sweep", "tell", "tell_when_swept", "umask"]

FINISHING = 0.5  # seconds: a table that has just got its name is held for a moment longer by its writer
NAME_BYTES = 100  # of the file that a draft is of: what stands behind it must fit into a name too
DRAFT = re.compile(r"\..+\.oboro-([0-9a-f]{8})-[0-9a-f]{8}\.part", re.DOTALL)


def _to_log(said: Message) -> None:
    import logging

    logging.getLogger("oboro").info(str(said))


_tell: Callable[[Message], object] = _to_log


def tell_when_swept(tell: Callable[[Message], object]) -> None:
    """Say what was swept, in this process, by `tell`; without it, it goes to the log of `oboro`."""
    global _tell
    _tell = tell


def tell(said: Message) -> None:
    """Say what was done to files beside what was asked for, as `tell_when_swept` has set it."""
    _tell(said)


@dataclass
class Draft:
    """A private file beside the one that it will become, held by this process."""

    target: Path
    path: Path | None = None  # known before the file is there: an interrupt may come at any moment

    def create(self) -> int:
        """Make it; the system's number of it."""
        while True:
            self.path = self.target.with_name(draft_name(self.target.name))
            descriptor = open_private(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            if hold_output(descriptor) and is_named(self.path, descriptor):
                return descriptor
            os.close(descriptor)  # somebody swept it in the moment before it was held

    def finish(self, private: bool) -> None:
        """Let it take the place of its target; then, unless it is private, let others read it: never under its own name."""
        assert self.path is not None
        os.replace(self.path, self.target)
        if not private:
            with suppress(OSError):  # a file system without modes; otherwise it stays private
                os.chmod(self.target, 0o666 & ~umask())

    def remove(self) -> None:
        """Leave nothing of it."""
        if self.path is not None:
            remove(self.path)


def remove(draft: Path) -> bool:
    """Leave nothing of a file or a folder; whether it is gone."""
    try:
        draft.unlink()
    except OSError:
        import shutil

        shutil.rmtree(draft, ignore_errors=True)
    return not os.path.lexists(draft)


def umask() -> int:
    """What the user lets nobody do with new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def draft_name(name: str) -> str:
    """A name beside another one, by which everybody of this machine knows what is being written."""
    short = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.oboro-{machine()}-{secrets.token_hex(4)}.part"


@cache
def machine() -> str:
    """The same for all processes that see each other's locks: those of one running system, in whatever container."""
    try:
        running = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        import platform

        running = platform.node().encode()
    return blake2b(running, digest_size=4).hexdigest()


def sweep(folder: Path) -> int:
    """Remove the drafts in a folder whose writers were killed, and say so; how many there were."""
    if not LOCKS_LET_READ:  # nobody holds a draft there
        return 0
    try:
        with os.scandir(folder) as entries:
            drafts = list(map(attrgetter("path"), filter(_is_ours, entries)))
    except OSError:  # whoever writes there will say why it cannot be read
        return 0
    gone = sum(map(_removed, drafts))
    if gone:
        _tell(Message("error_system.swept", folder=folder, count=gone))
    return gone


def _is_ours(entry: os.DirEntry[str]) -> bool:
    found = DRAFT.fullmatch(entry.name)
    return found is not None and found[1] == machine() and not entry.is_symlink()


def _removed(draft: str) -> bool:
    """Remove a draft that nobody holds. Whoever made it a moment ago and does not hold it yet makes another one."""
    try:
        descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if os.fstat(descriptor).st_uid != os.geteuid() or not _take_abandoned(descriptor):
            return False
        return is_named(Path(draft), descriptor) and remove(Path(draft))
    finally:
        os.close(descriptor)


def _take_abandoned(descriptor: int) -> bool:
    """Hold a file that nobody holds; where there are no locks, nobody knows."""
    try:
        take(descriptor)
    except OSError:
        return False
    return True


def share_file(path: Path) -> int | None:
    """Keep streams from writing the file of this name, and return its descriptor; None if there is none, or nothing can be locked.

    Raises `BlockingIOError` if a stream writes it. Several tables may share the file: each replaces it whole. A stream appends, and
    holds it alone.
    """
    if not LOCKS_LET_READ:
        return None
    until = time.monotonic() + FINISHING
    while True:
        try:
            descriptor = _open_for_lock(path)
        except OSError:  # there is none, or its owner lets nobody open it
            return None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        shared = hold_output(descriptor, shared=True)
        if shared and is_named(path, descriptor):
            return descriptor
        os.close(descriptor)
        if not shared:
            if time.monotonic() > until:
                raise BlockingIOError(f"{path} is held by another process")
            time.sleep(0.01)


def _open_for_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except PermissionError:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)


def is_named(path: Path, descriptor: int) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False
