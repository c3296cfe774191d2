"""Files that somebody names: whether two names are one file, and whether what a recipe names is a file at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["beside", "bytes_of", "file_marks", "require_file"]


class NoFileError(OSError):
    """What has the name of a file is a pipe or a device."""

    words = Message("error_os.no_file")


def beside(folder: Path, name: str) -> str | Path:
    """What a recipe names: a path is looked for beside it, a URL is where it says. A recipe is shown in reports and kept for years,
    so it holds no password.
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
    """What is in a file, at most so much of it; `OSError` where it is no file, or cannot be read."""
    require_file(path)
    with open(path, "rb") as file:
        return file.read(most)


def file_marks(path: str | Path) -> list[object]:
    """What a file is known by under any other name too, through links of either kind and in other letters: its path without links,
    and the file itself, where there is one.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]
