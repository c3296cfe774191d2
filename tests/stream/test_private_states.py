"""States lie in folders that only their owner can enter: made so, or refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.errors import FileError
from oboro.stream.journal import Batch, StateFolder
from oboro.system import process

pytestmark = pytest.mark.skipif(not process.OWNERS_KNOWN, reason="the system has no owners and modes")


def opened(path: Path) -> None:
    StateFolder(path, Batch).close()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("given", [0o777, 0o755, 0o770])
def test_a_state_folder_that_others_can_enter_is_made_private(tmp_path: Path, given: int) -> None:
    (tmp_path / "recipe.yaml").write_text("attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    (tmp_path / "in.ndjson").write_text('{"age": 3}\n')
    state = tmp_path / "state"
    state.mkdir()
    for said in (True, False):
        if said:
            state.chmod(given)
        words = ["--recipe", "recipe.yaml", "--from", "in.ndjson", "--to", "out.ndjson", "--state", "state"]
        done = call("stream", *words, cwd=tmp_path)
        assert done.code == 0
        assert ("mode 0700" in done.err) == said
        assert mode(state) == 0o700
    state.chmod(given)
    opened(state)  # with a state in it
    assert mode(state) == 0o700


def test_a_folder_with_other_files_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    for given in (0o755, 0o1777):
        tmp_path.chmod(given)
        with pytest.raises(FileError, match="other files"):
            opened(tmp_path)
        assert tmp_path.stat().st_mode & 0o7777 == given
    tmp_path.chmod(0o700)
    opened(tmp_path)


def test_a_state_that_others_may_have_put_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "snapshot.1").write_bytes(b"")
    (tmp_path / "snapshot.1").chmod(0o666)
    tmp_path.chmod(0o777)
    with pytest.raises(FileError, match="not all of its files are yours"):
        opened(tmp_path)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A volume that root made and a group may write is taken, one that all may write is not."""
    me = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: me + 4711)
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    expected = "other users can write" if me == 0 else "belongs to another user"
    with pytest.raises(FileError, match=expected):
        opened(state)
    if me == 0:  # made by root
        state.chmod(0o770)
        opened(state)
        os.chown(state, 4712, 4712)
        with pytest.raises(FileError, match="belongs to another user"):
            opened(state)
