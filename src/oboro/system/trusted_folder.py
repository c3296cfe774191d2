"""Folders whose contents may be run as code: nobody but their owner may write there, and the owner is one of us.

Whoever can put a compiled kernel into a folder that a job reads can run code as the person who runs the job. Windows has no owners
and modes of this kind; there every folder passes, and the folder of the user's profile is protected by its own rules.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Set
from pathlib import Path
from typing import Literal

__all__ = ["is_trusted_file", "is_trusted_folder", "make_private", "mend_private", "why_not_trusted"]

OWNERS_KNOWN = hasattr(os, "getuid")


def is_trusted_folder(folder: Path, *owners: int, alone: bool = False) -> bool:
    """Whether a folder is there, and only we, root or these other owners could have put something into it."""
    return folder.is_dir() and why_not_trusted(folder, *owners, alone=alone) is None


def why_not_trusted(folder: Path, *owners: int, alone: bool = False) -> str | None:
    """Why a folder may hold somebody else's code: `link`, `owner` or `mode`; None if it may not.

    A link is not followed, and unless the folder is looked at `alone` so is every folder above: whoever can rename one of them can
    put another in its place. In a folder with the sticky bit, such as /tmp, only the owner of an entry can rename it.
    """
    if not OWNERS_KNOWN:
        return None
    if folder.is_symlink():
        return "link"
    mine, found = {os.getuid(), 0, *owners}, folder.stat()
    if found.st_uid not in mine:
        return "owner"
    if _open_to_others(found):
        return "mode"
    return None if alone else _why_not_above(folder, mine)


def _why_not_above(folder: Path, mine: Set[int]) -> str | None:
    """The same for the folders above one that may not be there yet."""
    for place in folder.resolve().parents:
        if not place.exists():
            continue
        found = place.stat()
        if found.st_uid not in mine:
            return "owner"
        if _open_to_others(found) and not found.st_mode & stat.S_ISVTX:
            return "mode"
    return None


def _open_to_others(found: os.stat_result) -> bool:
    return bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def is_trusted_file(path: Path, *owners: int) -> bool:
    """Whether a file in a trusted folder is one of ours: a folder may have been open to others before."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if not OWNERS_KNOWN:
        return True
    ours = found.st_uid in {os.getuid(), 0, *owners}
    return stat.S_ISREG(found.st_mode) and ours and not _open_to_others(found)


def make_private(folder: Path) -> bool:
    """Make a folder that nobody else may read or write; whether it is there now, can be trusted and can be written."""
    if OWNERS_KNOWN and _why_not_above(folder, {os.getuid(), 0}):
        return False  # not even made there
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_trusted_folder(folder) and os.access(folder, os.W_OK | os.X_OK)


def mend_private(
    folder: Path, own: Callable[[str], bool]
) -> Literal["private", "mended", "owner", "mode", "shared", "planted"]:
    """Let nobody but its owner enter an existing folder for raw values, and return `private`, `mended` or why that cannot be.

    `own` tells by its name whether a file is one of those for which the folder is. A folder with other files (`shared`) is not
    changed: it may be a home folder, or /tmp. `planted`: others could write there, and a file is not ours. A folder of root that
    only a group may write, such as the volume of a container, is taken as it is: its mode is not ours to change.
    """
    if not OWNERS_KNOWN:
        return "private"
    found, me = folder.stat(), os.getuid()
    if {folder.lstat().st_uid, found.st_uid} - {me, 0} and me != 0:
        return "owner"
    if found.st_uid != me and me != 0:
        return "mode" if found.st_mode & stat.S_IWOTH else "private"
    if not found.st_mode & 0o077:
        return "private"
    names = os.listdir(folder)
    if found.st_mode & stat.S_ISVTX or not all(map(own, names)):
        return "shared"
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return "mode"
    if folder.stat().st_mode & 0o077:  # a file system without modes
        return "mode"
    if _open_to_others(found) and not all(is_trusted_file(folder / name) for name in os.listdir(folder)):
        return "planted"
    return "mended"
