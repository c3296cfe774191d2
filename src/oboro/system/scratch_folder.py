"""A private folder for files that must not outlive their process: nobody else may read it, and it goes with its owner.

A process that ends by `kill -9` or by an abort cannot remove anything. A second process that waits for its end does (`watch`).
Where that was killed too, the system has let go of the folder's lock, and the next process sweeps what was left. Every owner on a
machine has one folder under the system's temporary one, and in it one for each process.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.spawn import get_executable
from pathlib import Path

from oboro.errors import FileError
from oboro.system.private_file import FileLock
from oboro.system.trusted_folder import make_private
from oboro.text import Message

__all__ = ["ScratchFolder"]

LOCK = "lock"


class ScratchFolder:
    """A folder of mode 0700 that is removed by `close`, or swept by the next process once its owner was killed."""

    def __init__(self, purpose: str, above: Path | None = None) -> None:
        owner = os.getuid() if hasattr(os, "getuid") else "me"
        home = (above or Path(tempfile.gettempdir()).resolve()) / f"oboro-{purpose}-{owner}"
        if not make_private(home):
            raise FileError(Message("error_system.scratch", path=home))
        self.swept = sum(map(_swept, _others(home)))
        self.path, self._lock = _held(home)
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


def _held(home: Path) -> tuple[Path, FileLock]:
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
    """Remove a folder that nobody holds. Whoever made it a moment ago and does not hold it yet makes another one."""
    try:
        lock = FileLock(folder / LOCK)
    except OSError:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        lock.release()
    return True
