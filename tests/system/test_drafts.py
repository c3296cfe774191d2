"""Files that killed processes left are swept; those of others, and of whoever still writes, are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.errors import FileError
from oboro.system import files
from oboro.system.files import LOCKS_LET_READ, Draft, atomic, check_free, staged_folder, sweep

pytestmark = pytest.mark.skipif(not LOCKS_LET_READ, reason="nobody holds a draft here, so none is swept")


def left_behind(folder: Path) -> Path:
    """A draft as `kill -9` leaves it: a real process that forks no interpreter anew."""
    pid = os.fork()
    if pid == 0:
        with atomic(folder / "other.csv") as file:
            file.write(b"raw")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    (draft,) = folder.glob(".other.csv.*.part")
    return draft


def test_the_next_who_writes_there_sweeps_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = left_behind(tmp_path)
    assert draft.read_bytes() == b"raw"
    assert draft.stat().st_mode & 0o777 == 0o600
    said: list[str] = []
    before, files._tell = files._tell, lambda message: said.append(str(message))
    try:
        with atomic(tmp_path / "out.csv") as file:
            file.write(b"x")
    finally:
        files._tell = before
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]
    assert said == [f"{tmp_path}: removed 1 unfinished file that a killed process had left there"]


def test_who_is_refused_because_the_output_is_there_sweeps_too(tmp_path: Path) -> None:
    """A run that was killed between its table and its truth leaves the draft of that, and a table that nobody replaces."""
    left_behind(tmp_path)
    (tmp_path / "out.csv").touch()
    with pytest.raises(FileError, match="is there already"):
        check_free(tmp_path / "out.csv", force=False)
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]


def test_a_draft_in_use_is_not_swept(tmp_path: Path) -> None:
    with atomic(tmp_path / "out.csv") as file:
        file.write(b"x")
        assert sweep(tmp_path) == 0
    descriptor = (draft := Draft(tmp_path / "closed.csv")).create()
    held = os.dup(descriptor)  # as between its last byte and its new name
    os.close(descriptor)
    assert sweep(tmp_path) == 0
    draft.finish(private=True)
    os.close(held)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["closed.csv", "out.csv"]


def test_a_draft_that_is_swept_before_it_is_held_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold, swept = files.hold_output, []

    def late(descriptor: int) -> bool:
        if not swept:
            swept.append(sweep(tmp_path))
        return hold(descriptor)

    monkeypatch.setattr(files, "hold_output", late)
    with atomic(tmp_path / "out.csv") as file:
        file.write(b"x")
    assert swept == [1]
    assert (tmp_path / "out.csv").read_bytes() == b"x"


def test_a_folder_that_nobody_holds_any_more_is_swept_too(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        with staged_folder(tmp_path / "out", replace=False) as folder:
            (folder / "part-0.csv").write_bytes(b"raw")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert len(list(tmp_path.iterdir())) == 1
    with staged_folder(tmp_path / "out", replace=False) as folder:
        assert sweep(tmp_path) == 0
        assert [one.name for one in tmp_path.iterdir()] == [folder.name]
        assert folder.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("old", ["file", "folder", "empty"])
def test_a_folder_takes_the_place_of_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, at_once: bool
) -> None:
    if not at_once:
        monkeypatch.setattr("oboro.system.files._exchanged", lambda one, other: False)
    target = tmp_path / "out"
    if old == "file":
        target.write_bytes(b"old")
    else:
        target.mkdir()
        if old == "folder":
            (target / "old").touch()
            with pytest.raises(OSError, match="not empty"), staged_folder(target, replace=False):
                pass
    with staged_folder(target, replace=True) as folder:
        (folder / "new").touch()
        assert target.is_file() == (old == "file")
    assert [one.relative_to(tmp_path).as_posix() for one in sorted(tmp_path.rglob("*"))] == ["out", "out/new"]


def test_what_may_be_somebody_elses_stays(tmp_path: Path) -> None:
    mine = left_behind(tmp_path)
    names = [
        ".out.csv.1a2b3c4d.part",  # of another program
        ".out.csv.oboro-00000000-1a2b3c4d.part",  # of another machine, whose locks may not be seen here
        mine.name[1:],  # not hidden
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "elsewhere").write_bytes(b"kept")
    (tmp_path / mine.name.replace("other", "link")).symlink_to(tmp_path / "elsewhere")
    assert sweep(tmp_path) == 1
    assert not mine.exists()
    assert len(list(tmp_path.iterdir())) == len(names) + 2
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"


def test_the_command_line_says_it(tmp_path: Path) -> None:
    left_behind(tmp_path)
    done = call("synth", "people", "--rows", 5, "--output", tmp_path / "people.csv")
    assert done.code == 0
    assert "removed 1 unfinished file" in done.err


def test_a_draft_of_another_process_is_seen(tmp_path: Path) -> None:
    """The lock is the system's, not this process's own."""
    descriptor = Draft(tmp_path / "out.csv").create()
    code = f"from pathlib import Path; from oboro.system.files import sweep; print(sweep(Path({str(tmp_path)!r})))"
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout]
    os.close(descriptor)
    said.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert said == ["0\n", "1\n"]
