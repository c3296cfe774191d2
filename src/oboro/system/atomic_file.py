"""Files out: all of a file appears under its name at once, or nothing does. Everybody who writes a file writes it here."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from oboro.errors import FileError
from oboro.system.private_file import open_private
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["STDOUT", "atomic", "check_free", "check_place"]

STDOUT = "-"
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

    Meanwhile it is a private file beside it (mode 0600), which is removed if anything goes wrong, an interrupt included. A file
    that was there before stays until then. A link is followed; a device or a pipe is written to directly.

    `large`: not through the system's cache. `private`: nobody else may read it afterwards either. `lasting`: the name too is
    on the disk before this returns, so that the file is there after the machine fails (its bytes always are).
    """
    if str(path) == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    with _writable(path):
        if _is_special(target):
            with open(target, "wb") as file:
                yield file
            return
        with _draft(target, private) as draft, _opened(draft, large) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if lasting:
            _sync_folder(target.parent)


@contextmanager
def _draft(target: Path, private: bool) -> Iterator[Path]:
    """A name beside the target. What is there at the end takes the target's place; after an exception it is removed."""
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        yield draft
        if not private:
            draft.chmod(0o666 & ~_umask())
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _opened(draft: Path, large: bool) -> BinaryIO:
    descriptor = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
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
    except OSError as problem:
        why = UNWRITABLE.get(problem.errno or 0) or os_reason(problem)
        raise FileError(Message("error_system.cannot_be_written", path=path, why=why)) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def check_free(path: str | Path, force: bool) -> None:
    """Raise if a file of this name is there and may not be replaced; devices and pipes are not replaced, but written to."""
    if not force and str(path) != STDOUT and Path(path).is_file():
        raise FileError(Message("error_system.exists", path=str(path)))


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
