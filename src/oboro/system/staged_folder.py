"""Folders out: all files of a folder appear under its name at once, or nothing does. What a killed writer left is swept."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oboro.system.drafts import DRAFT, draft_name, machine, umask
from oboro.system.private_file import LOCKS_LET_READ, take

__all__ = ["staged_folder"]

EXCHANGE = 2  # of Linux: two names change places in one step


@contextmanager
def staged_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """A private folder that takes the name `target` when the block ends well; a folder that was there stays until then.

    It is held as long as somebody writes in it. Without `replace` only an empty folder gives way; `OSError` otherwise.
    """
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    folder, held = _made(target)
    try:
        yield folder
        for file in folder.iterdir():
            _finish(file)
        _publish(folder, target, replace)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        if held is not None:
            os.close(held)


def _made(target: Path) -> tuple[Path, int | None]:
    while True:
        folder = target.with_name(draft_name(target.name))
        folder.mkdir(mode=0o700)
        held = _hold(folder)
        if folder.is_dir():
            return folder, held
        if held is not None:
            os.close(held)  # somebody swept it in the moment before it was held


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
    if replace and target.is_dir() and any(target.iterdir()):
        _exchange(folder, target)
    else:
        if os.name == "nt" and target.is_dir():
            target.rmdir()  # which works on an empty one only
        os.rename(folder, target)
    with suppress(OSError):
        os.chmod(target, 0o777 & ~umask())


def _exchange(folder: Path, target: Path) -> None:
    """The new folder for the old one; where the system cannot do that in one step, in two."""
    if not _exchanged(folder, target):
        old = target.with_name(draft_name(f"{target.name}-{secrets.token_hex(2)}"))
        os.rename(target, old)
        try:
            os.rename(folder, target)
        except BaseException:
            os.rename(old, target)
            raise
        folder = old
    shutil.rmtree(folder, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and rename(-100, os.fsencode(one), -100, os.fsencode(other), EXCHANGE) == 0


def _hold(folder: Path) -> int | None:
    if not LOCKS_LET_READ:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    with suppress(OSError):  # a file system without locks
        take(descriptor)
    return descriptor


def _sweep(parent: Path) -> None:
    """Remove the folders of this machine that nobody holds any more."""
    if not LOCKS_LET_READ:
        return
    for one in parent.glob(".*.part"):
        found = DRAFT.fullmatch(one.name)
        if found is None or found[1] != machine() or one.is_symlink() or not one.is_dir():
            continue
        try:
            descriptor = os.open(one, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                take(descriptor)
                shutil.rmtree(one, ignore_errors=True)
        except OSError as problem:
            if problem.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                continue
        finally:
            os.close(descriptor)
