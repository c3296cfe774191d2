"""Files out: all of a file appears under its name at once, or nothing does. Everybody who writes a file writes it here."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from oboro.errors import FileError
from oboro.system.drafts import Draft, share_file, sweep
from oboro.system.private_file import LOCKS_LET_READ
from oboro.text import Message, Words
from oboro.text.os_reasons import os_reason

__all__ = [
    "ASIDE",
    "STDOUT",
    "atomic",
    "check_free",
    "check_place",
    "check_unused",
    "is_transient",
    "put_aside",
    "why_unwritable",
]

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
    from oboro.system.direct_io import Uncached

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
    """Whether a path is neither a file nor free: /dev/null must not be replaced by a file of that name."""
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
    """Whether the system may write the file later: there is no room for it now."""
    return problem.errno in NO_ROOM


def why_unwritable(problem: OSError) -> Words:
    """Why the system does not write a file."""
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
