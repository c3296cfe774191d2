"""One process holds a lock, and a process that ends lets go of it; with the locks of POSIX and with those of Windows."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from oboro.system.files import FileLock, open_private


def test_a_new_file_is_its_owners(tmp_path: Path) -> None:
    os.close(open_private(tmp_path / "f", os.O_RDWR | os.O_CREAT))
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    held = FileLock(tmp_path / "lock")
    with pytest.raises(BlockingIOError, match="another process"):
        FileLock(tmp_path / "lock")
    held.release()
    FileLock(tmp_path / "lock").release()


def test_a_process_that_is_killed_lets_go(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, oboro.system.files as p; lock = p.FileLock(pathlib.Path(sys.argv[1])); print(1); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(BlockingIOError):
            FileLock(tmp_path / "lock")
        holder.kill()
    FileLock(tmp_path / "lock").release()


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """A system without fcntl, where msvcrt locks; the descriptors that are locked."""
    locked: set[int] = set()

    def locking(descriptor: int, mode: int, size: int) -> None:
        assert (mode, size) == (2, 1)
        if locked:
            raise PermissionError(13, "Permission denied")
        locked.add(descriptor)

    msvcrt = ModuleType("msvcrt")
    msvcrt.__dict__.update(LK_NBLCK=2, locking=locking)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setattr("oboro.system.files.LOCKS_LET_READ", False)
    return locked


def test_a_lock_without_fcntl(windows: set[int], tmp_path: Path) -> None:
    held = FileLock(tmp_path / "lock")
    assert len(windows) == 1
    with pytest.raises(BlockingIOError):
        FileLock(tmp_path / "lock")
    held.release()
