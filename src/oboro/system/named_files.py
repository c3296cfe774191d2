"""Files that somebody names: whether two names are one file, and whether what a recipe names is a file at all."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["LONGEST_SETTINGS", "NoFileError", "beside", "bytes_of", "file_marks", "require_file", "settings_of"]

LONGEST_SETTINGS = 1 << 26
"""Bytes of a recipe, a script or settings. Recipes that list 500,000 rows of hierarchies have 20 MB, which YAML reads in minutes"""
WRITER_WAIT = 5.0  # seconds in which a writer must open a named pipe: a shell that starts both sides takes milliseconds
POLL = 0.02  # seconds between two attempts to read from a pipe that is empty


class NoFileError(OSError):
    """What has the name of a file is a pipe or a device."""

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
    """What a file is known by under any other name too, through links of either kind and in other letters: its path without links,
    and the file itself, where there is one.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]
