"""Files on disk: atomic writing, locks, drafts, scratch folders and secret keys. All files are written through this module."""

from __future__ import annotations

import ctypes
import errno
import io
import mmap
import os
import re
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from multiprocessing.spawn import get_executable
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, cast

from oboro.errors import FileError, UsageError
from oboro.system.process import make_private
from oboro.text import Message, Words
from oboro.text.language import os_reason

__all__ = [
    "ASIDE",
    "LOCKS_LET_READ",
    "LONGEST_SETTINGS",
    "STDOUT",
    "Draft",
    "FileLock",
    "NoFileError",
    "ScratchFolder",
    "Uncached",
    "atomic",
    "beside",
    "bytes_of",
    "check_free",
    "check_place",
    "check_unused",
    "draft_name",
    "file_marks",
    "hold_output",
    "is_named",
    "is_transient",
    "is_variable_name",
    "open_private",
    "private_folder",
    "put_aside",
    "release_output",
    "remove",
    "require_file",
    "secret_key",
    "settings_of",
    "share_file",
    "staged_folder",
    "sweep",
    "take",
    "tell",
    "tell_when_swept",
    "umask",
    "variable_shown",
    "why_unwritable",
]


# Private files and locks ----------------------------------------------------------------------------------------------
# Files that only their owner may read, and files that only one process may lock.


try:
    import fcntl
except ImportError:  # Windows
    LOCKS_LET_READ = False
else:
    LOCKS_LET_READ = True  # whether others may read a file that is held

BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would turn line ends into its own


def open_private(path: str | Path, flags: int) -> int:
    """Open a file for bytes and return its descriptor; if it is new, only its owner may read it."""
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
        """Release the lock."""
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
    """Unlock a file that stays open, such as standard output."""
    if LOCKS_LET_READ:
        with suppress(OSError):  # a file system without locks, or no file
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def take(descriptor: int, shared: bool = False) -> None:
    """Lock an open file, or raise `OSError` at once."""
    if LOCKS_LET_READ:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    else:
        import msvcrt  # noqa: PLC0415  (Windows alone has it)

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]


# Drafts ---------------------------------------------------------------------------------------------------------------
# Files and folders that are being written: recognized by their names, locked by their writer, and removed after the
# writer was killed.
#
# A process that ends by `kill -9` cannot clean up, but the system releases its locks: a draft that is not locked is
# abandoned. Locks of another machine may not be visible here, so only drafts of this machine are removed; others stay.


FINISHING = 0.5  # seconds: a table that has just got its name is held for a moment longer by its writer
NAME_BYTES = 100  # of the file that a draft is of: what stands behind it must fit into a name too
DRAFT = re.compile(r"\..+\.oboro-([0-9a-f]{8})-[0-9a-f]{8}\.part", re.DOTALL)


def _to_log(said: Message) -> None:
    import logging  # noqa: PLC0415  (rare: streams and jobs log nothing else)

    logging.getLogger("oboro").info(str(said))


_tell: Callable[[Message], object] = _to_log


def tell_when_swept(tell: Callable[[Message], object]) -> None:
    """Report removed drafts, in this process, by `tell`; without it, it goes to the log of `oboro`."""
    global _tell
    _tell = tell


def tell(said: Message) -> None:
    """Report additional changes to files with the function set by `tell_when_swept`."""
    _tell(said)


@dataclass
class Draft:
    """A private file beside its target, locked by this process."""

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
    """Remove a file or a folder; return whether it is gone."""
    try:
        draft.unlink()
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
    return not os.path.lexists(draft)


def umask() -> int:
    """Return the permissions that the user removes from new files (umask)."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def draft_name(name: str) -> str:
    """Return a name beside another one that marks a file as being written."""
    short = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.oboro-{machine()}-{secrets.token_hex(4)}.part"


@cache
def machine() -> str:
    """Return an id that is equal for all processes that see each other's locks: those of one running system, in any container."""
    try:
        running = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        import platform  # noqa: PLC0415  (Linux needs none)

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
    """Remove an unlocked draft. A writer that just created it and has not locked it yet creates another one."""
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
    """Return whether an open file still has this name."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


# Atomic files ---------------------------------------------------------------------------------------------------------
# A file appears under its name as a whole, or not at all.


STDOUT = "-"
ASIDE = ".oboro-before"  # behind the name of a list that is being replaced together with what it is a list of
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNWRITABLE = {
    errno.ENOSPC: Message("error_system.unwritable.enospc"),
    errno.EDQUOT: Message("error_system.unwritable.edquot"),
    errno.ENOENT: Message("error_system.unwritable.enoent"),
    errno.ENOTDIR: Message("error_system.unwritable.enotdir"),
    errno.EACCES: Message("error_system.unwritable.eacces"),
    errno.EROFS: Message("error_system.unwritable.erofs"),
    errno.EISDIR: Message("error_system.unwritable.eisdir"),
}


@contextmanager
def atomic(
    path: str | Path, *, large: bool = False, private: bool = False, lasting: bool = False
) -> Iterator[BinaryIO]:
    """A binary file that appears under `path` only when the block ends well; `-` is standard output.

    Meanwhile it is a private file beside it (mode 0600), which is removed if anything goes wrong, an interrupt included. After
    `kill -9` whoever writes there next removes it. A file that was there before stays until then. A link is followed; a device or a
    pipe is written to directly. A file that a running stream writes is not replaced (`FileError`), and no stream begins to write
    it meanwhile.

    `large`: not through the system's cache. `private`: nobody else may read it afterwards either. `lasting`: the name too is
    on the disk before this returns, so that the file is there after the machine fails (its bytes always are).
    """
    if str(path) == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with _writable(path):
        target = Path(os.path.realpath(path))
    with _writable(path):
        if _is_special(target):
            with open(target, "wb") as file:
                yield file
            return
        sweep(target.parent)
        with _held(target), _draft(target, private) as descriptor, _opened(descriptor, large) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if lasting:
            _sync_folder(target.parent)


@contextmanager
def put_aside(path: Path) -> Iterator[None]:
    """Two files are replaced, and one says whose rows are in the other: the block writes this one, then the other.

    Until then the old one lies beside it. After an exception it comes back, or what was new is removed. After `kill -9` it still
    lies there, and whoever reads the list learns that it may not belong to what stands beside it.
    """
    aside = path.with_name(path.name + ASIDE)
    in_doubt = aside.exists()  # a kill left it: nobody knows which of both is of what stands there
    if path.is_file() and not in_doubt:
        with _held(path):
            os.replace(path, aside)
    try:
        yield
    except BaseException:
        if aside.exists() and not in_doubt:
            os.replace(aside, path)
        elif not in_doubt:
            path.unlink(missing_ok=True)
        raise
    aside.unlink(missing_ok=True)


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Keep streams away from the file that is to be replaced, if there is one; raises `FileError` while one writes it."""
    try:
        descriptor = share_file(target)
    except BlockingIOError:
        raise FileError(Message("error_system.in_use", path=str(target)), transient=True) from None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def _draft(target: Path, private: bool) -> Iterator[int]:
    """A file beside the target. What is there at the end takes the target's place; after an exception it is removed."""
    draft, held = Draft(target), None
    try:
        descriptor = draft.create()
        held = os.dup(descriptor) if LOCKS_LET_READ else None  # so that nobody sweeps it before it has its new name
        yield descriptor
        with _held(target):  # a stream may have made it meanwhile, or another table that a stream writes to now
            draft.finish(private)
    except BaseException:
        draft.remove()
        raise
    finally:
        if held is not None:
            os.close(held)


def _opened(descriptor: int, large: bool) -> BinaryIO:
    if not large:
        return open(descriptor, "wb")

    return cast(BinaryIO, Uncached(descriptor))


def _sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk. Windows opens no folders: there the disk's own journal keeps the names."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_special(path: Path) -> bool:
    """Return whether a path is neither a file nor free: /dev/null must not be replaced by a file of that name."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return path.exists() and not path.is_file()


@contextmanager
def _writable(path: str | Path) -> Iterator[None]:
    """Turn what the system says about a file that cannot be written into one clear message."""
    try:
        yield
    except BrokenPipeError:
        raise
    except UnicodeEncodeError:  # of its name
        why = Message("error_os.name")
        raise FileError(Message("error_system.cannot_be_written", path=str(path), why=why)) from None
    except OSError as problem:
        said = Message("error_system.cannot_be_written", path=path, why=why_unwritable(problem))
        raise FileError(said, transient=is_transient(problem)) from None


def is_transient(problem: OSError) -> bool:
    """Return whether the system may write the file later: there is no room for it now."""
    return problem.errno in NO_ROOM


def why_unwritable(problem: OSError) -> Words:
    """Return the reason why the system does not write a file."""
    return UNWRITABLE.get(problem.errno or 0) or os_reason(problem)


def check_free(path: str | Path, force: bool) -> None:
    """Raise if a file of this name is there and may not be replaced; devices and pipes are not replaced, but written to."""
    if "\0" in str(path):
        raise FileError(Message("error_system.cannot_be_written", path=str(path), why=Message("error_os.name")))
    with _writable(path):
        taken = not force and str(path) != STDOUT and Path(path).is_file()
    if force:
        check_unused(path)
    if taken:
        sweep(Path(os.path.realpath(path)).parent)  # what a run left that was killed before its last file had its name
        raise FileError(Message("error_system.exists", path=str(path)))


def check_unused(path: str | Path) -> None:
    """Raise `FileError` if a stream is writing the file of this name."""
    if str(path) == STDOUT:
        return
    with _writable(path):
        target = Path(os.path.realpath(path))
    with _held(target):
        return


def check_place(path: str | Path) -> None:
    """Before any work: raise if no file could be written under this name."""
    if str(path) == STDOUT:
        return
    path = Path(path)
    with _writable(path):
        if _is_special(path):
            return
        if not path.parent.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not path.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


# Direct I/O -----------------------------------------------------------------------------------------------------------
# Write large files past the cache of the system.
#
# A release is written once and not read again, so caching it is of no use. On a virtual machine, whose memory must
# first be requested from its host, writing through the cache was ten times slower than the disk.


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
        """Return the number of bytes written so far."""
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
        flags = fcntl.fcntl(self.descriptor, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_SETFL, flags | os.O_DIRECT if direct else flags & ~os.O_DIRECT)
        except OSError:
            return
        self.direct = direct


# Identity and type of files -------------------------------------------------------------------------------------------
# Compare names of files, and check that a name in a recipe is a regular file.


LONGEST_SETTINGS = 1 << 26
"""Bytes of a recipe, a script or settings. Recipes that list 500,000 rows of hierarchies have 20 MB, which YAML reads in minutes"""
WRITER_WAIT = 5.0  # seconds in which a writer must open a named pipe: a shell that starts both sides takes milliseconds
POLL = 0.02  # seconds between two attempts to read from a pipe that is empty


class NoFileError(OSError):
    """A name is that of a pipe or a device instead of a file."""

    words = Message("error_os.no_file")


class TooLongError(OSError):
    """A file of settings is longer than any that a person or program writes."""

    def __init__(self, path: str | Path, most: int) -> None:
        super().__init__(errno.EFBIG, "too long", str(path))
        self.words = Message("error_os.too_long", most=most)


class NoWriterError(OSError):
    """No process has a pipe open to write to it."""

    words = Message("error_os.no_writer")


def beside(folder: Path, name: str) -> str | Path:
    """Resolve a name in a recipe: a path is relative to the recipe, a URL is absolute.

    A recipe is shown in reports and kept for years, so it holds no password.
    """
    if "://" not in name:
        return folder / name
    user, at, _ = name.partition("://")[2].partition("/")[0].rpartition("@")
    if at and ":" in user:
        raise UsageError(Message("error_places.password_in_recipe"))
    return name


def require_file(path: str | Path) -> None:
    """Raise `OSError` where something else than a file has this name: a pipe would be waited for, a device never ends."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise NoFileError(errno.EINVAL, "not a file", str(path))


def bytes_of(path: str | Path, most: int = -1) -> bytes:
    """Read a file up to a limit; `OSError` where it is no file, or cannot be read."""
    require_file(path)
    with open(path, "rb") as file:
        return file.read(most)


def settings_of(path: str | Path, most: int = LONGEST_SETTINGS) -> bytes:
    """Return the bytes of a recipe, a script or settings: of a file, or of a pipe such as bash makes of `<(command)`.

    `OSError` where it is a device or longer than `most`, or where no process writes to the pipe.
    """
    mode = os.stat(path).st_mode
    read = _pipe_content if stat.S_ISFIFO(mode) and hasattr(os, "O_NONBLOCK") else bytes_of
    content = read(path, most + 1)
    if len(content) > most:
        raise TooLongError(path, most)
    return content


def _pipe_content(path: str | Path, most: int) -> bytes:
    """Read a pipe to its end. Opened without blocking, since `open` would wait for a writer without an end."""
    parts, until = list[bytes](), time.monotonic() + WRITER_WAIT
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    written = False  # whether a writer was seen: from then on an empty read is the end
    try:
        while most > 0:
            try:
                part = os.read(descriptor, min(most, 1 << 16))
            except BlockingIOError:  # there is a writer, and it has nothing to say yet
                written = True
                time.sleep(POLL)
                continue
            if not part and written:
                break
            if not part and time.monotonic() > until:
                raise NoWriterError(errno.EPIPE, "no writer", str(path))
            if not part:
                time.sleep(POLL)
                continue
            written = True
            parts.append(part)
            most -= len(part)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def file_marks(path: str | Path) -> list[object]:
    """Return the identities of a file under all its names, links and letter cases: its path without links, and the file itself
    if it exists.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]


# Scratch folder -------------------------------------------------------------------------------------------------------
# A private folder for files that must not outlive their process: only its owner may read it.
#
# A process that ends by `kill -9` or by an abort cannot remove anything. A second process that waits for its end does
# (`watch`). Where that was killed too, the system has released the lock of the folder, and the next process removes
# what was left. Each user of a machine has one folder under the temporary folder of the system, with one folder in it
# for each process.


LOCK = "lock"


class ScratchFolder:
    """A folder of mode 0700 that is removed by `close`, or swept by the next process once its owner was killed."""

    def __init__(self, purpose: str, above: Path | None = None) -> None:
        owner = os.getuid() if hasattr(os, "getuid") else "me"
        home = (above or Path(tempfile.gettempdir()).resolve()) / f"oboro-{purpose}-{owner}"
        if not make_private(home):
            raise FileError(Message("error_system.scratch", path=home))
        self.swept = sum(map(_swept, _others(home)))
        self.path, self._lock = _new_scratch_folder(home)
        self._closed = False
        self._watcher: subprocess.Popen[bytes] | None = None

    def watch(self) -> None:
        """Start a process that removes the folder when this one has ended without `close`."""
        self._watcher = subprocess.Popen(
            [get_executable(), "-I", "-S", str(Path(__file__).with_name("folder_watcher.py")), str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.path.parent.parent,  # it keeps nothing else in use
            start_new_session=True,  # Ctrl-C and the end of a terminal go to this process only
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    def remove_too(self, path: Path) -> None:
        """Let the watcher remove a file that lies elsewhere as well."""
        if self._watcher is not None and self._watcher.stdin is not None:
            with suppress(OSError):  # it was killed
                self._watcher.stdin.write(os.fsencode(path) + b"\n")
                self._watcher.stdin.flush()

    def file(self, ending: str = "") -> Path:
        """The name of a new file in it; nothing of it comes from a user but its ending."""
        return self.path / f"{secrets.token_hex(8)}{ending}"

    def folder(self) -> Path:
        """A new folder in it."""
        made = self.path / secrets.token_hex(8)
        made.mkdir(mode=0o700)
        return made

    def close(self) -> None:
        """Remove it with everything in it."""
        if not self._closed:
            self._closed = True
            shutil.rmtree(self.path, ignore_errors=True)
            self._lock.release()
            if self._watcher is not None:
                self._watcher.communicate()  # it finds nothing to do, and ends


def _new_scratch_folder(home: Path) -> tuple[Path, FileLock]:
    """A new folder and its lock; another one where somebody swept it in the moment before it was held."""
    while True:
        path = home / secrets.token_hex(8)
        path.mkdir(mode=0o700)
        with suppress(OSError):
            lock = FileLock(path / LOCK)
            if (path / LOCK).exists():
                return path, lock
            lock.release()


def _others(home: Path) -> Iterator[Path]:
    with os.scandir(home) as entries:
        yield from [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]


def _swept(folder: Path) -> bool:
    """Remove an unlocked folder. A process that just created it and has not locked it yet creates another one."""
    try:
        lock = FileLock(folder / LOCK)
    except OSError:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        lock.release()
    return True


# Secret keys ----------------------------------------------------------------------------------------------------------
# Keys are never part of a recipe: they come from the environment or from a file, and no message shows them.


KEY_BYTES = (16, 1 << 16)  # a shorter key can be guessed; a longer file is not a key
MAKE_A_KEY = Message("error_technique.make_a_key")


def is_variable_name(name: str) -> bool:
    """Return whether a name may be that of an environment variable; a key that stands there by mistake hardly is."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def secret_key(asker: str, variable: str | None, file: str | None, folder: Path) -> bytes:
    """The key in an environment variable, or in a file (a relative path starts at `folder`); `asker` is who needs it.

    Every message says where it was looked for and never what was found.
    """
    if variable is not None:
        where, found = Message("error_technique.key_env", name=variable_shown(variable)), os.environ.get(variable)
        if found is None:
            raise UsageError(Message("error_technique.key_not_set", step=asker, where=where, make=MAKE_A_KEY))
        key = found.encode("utf-8", "surrogateescape")
    else:
        path = folder / (file or "")
        where, key = Message("error_technique.key_file", path=path), _read(path)
    key = key.rstrip(b"\r\n")
    if not key:
        raise UsageError(Message("error_technique.empty_key", step=asker, where=where, make=MAKE_A_KEY))
    if not KEY_BYTES[0] <= len(key) <= KEY_BYTES[1]:
        id = "error_technique.short_key" if len(key) < KEY_BYTES[0] else "error_technique.long_key"
        least, most = KEY_BYTES
        raise UsageError(Message(id, step=asker, least=least, most=most, where=where, make=MAKE_A_KEY))
    return key


def variable_shown(name: str) -> str:
    """The name of an environment variable for a message; what may be a key that stands there by mistake is not repeated.

    >>> variable_shown("OBORO_KEY"), variable_shown("d3b07384d113edec49eaa6238ad5ff00")
    ('OBORO_KEY', '…')
    """
    usual = len(name) < KEY_BYTES[0] or re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]{1,15})+", name)
    return name if usual else "…"


def _read(path: Path) -> bytes:
    try:
        return bytes_of(path, KEY_BYTES[1] + 3)  # enough to see that it is too long, whatever the line end
    except (OSError, ValueError) as error:
        why = os_reason(error) if isinstance(error, OSError) else Message("error_os.name")
        raise FileError(Message("error_technique.unreadable_key", path=path, why=why, make=MAKE_A_KEY)) from None


# Staged folders -------------------------------------------------------------------------------------------------------
# All files of a folder appear under its name at once, or none. Folders of killed writers are removed.


EXCHANGE = 2  # of Linux: two names change places in one step


@contextmanager
def staged_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """A private folder that takes the name `target` when the block ends well; what was there stays until then.

    Without `replace` only an empty folder gives way; `OSError` otherwise.
    """
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    with private_folder(target) as folder:
        yield folder
        for file in folder.iterdir():
            _finish(file)
        _publish(folder, target, replace)


@contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """Create a folder beside another one for the owner of this process only. It is locked, and removed when the block ends."""
    sweep(beside.parent)
    folder, held = _made(beside)
    try:
        yield folder
    finally:
        remove(folder)
        if held is not None:
            os.close(held)


def _made(beside: Path) -> tuple[Path, int | None]:
    while True:
        folder = beside.with_name(draft_name(beside.name))
        folder.mkdir(mode=0o700)
        if not LOCKS_LET_READ:
            return folder, None
        with suppress(FileNotFoundError):  # somebody swept it in the moment before it was held
            held = os.open(folder, os.O_RDONLY)
            if hold_output(held) and is_named(folder, held):
                return folder, held
            os.close(held)


def _finish(file: Path) -> None:
    """On the disk, and for others to read once the folder is."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    with suppress(OSError):
        os.chmod(file, 0o666 & ~umask())


def _publish(folder: Path, target: Path, replace: bool) -> None:
    if replace and target.exists():
        for file in target.rglob("*"):
            check_unused(file)
        _exchange(folder, target)
    else:
        if os.name == "nt" and target.is_dir():
            target.rmdir()  # which works on an empty one only
        os.rename(folder, target)
    with suppress(OSError):
        os.chmod(target, 0o777 & ~umask())


def _exchange(folder: Path, target: Path) -> None:
    """The new folder for what was there, which is then under the private name; if the system cannot do that at once, in steps."""
    if _exchanged(folder, target):
        return
    old = target.with_name(draft_name(target.name))
    os.rename(target, old)
    try:
        os.rename(folder, target)
    except BaseException:
        os.rename(old, target)
        raise
    remove(old)


def _exchanged(one: Path, other: Path) -> bool:
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and rename(-100, os.fsencode(one), -100, os.fsencode(other), EXCHANGE) == 0
