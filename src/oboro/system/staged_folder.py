"""Folders out: all files of a folder appear under its name at once, or nothing does. What a killed writer left is swept."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oboro.system.atomic_file import check_unused
from oboro.system.drafts import draft_name, is_named, remove, sweep, umask
from oboro.system.private_file import LOCKS_LET_READ, hold_output

__all__ = ["private_folder", "staged_folder"]

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
    """A folder beside another one that only this process's owner may enter. It is held, and removed when the block ends."""
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
