"""Nothing partial, nothing that others may read too early, nothing that a failing machine takes away."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from unittest.mock import patch

import pytest

from oboro.errors import FileError
from oboro.system.files import atomic, check_place


def test_nothing_stays_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("last month's")
    for problem in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(problem), atomic(path) as file:  # noqa: PT012
            file.write(b"half")
            raise problem
    assert path.read_text() == "last month's"
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_the_draft_is_private_and_the_result_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic(tmp_path / "out.csv") as file:
            (draft,) = tmp_path.iterdir()
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "reason"), [("missing/out.csv", "no such folder"), (".", "folder"), ("file/out.csv", "folder")]
)
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=reason), atomic(tmp_path / name) as file:
        file.write(b"x")


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    with atomic(tmp_path / "truth.csv", private=True) as file:
        file.write(b"x")
    assert stat.S_IMODE((tmp_path / "truth.csv").stat().st_mode) == 0o600


def test_a_private_file_does_not_take_over_the_mode_of_the_one_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "report.html").touch(0o644)
    with atomic(tmp_path / "report.html", private=True) as file:
        file.write(b"x")
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o600


@pytest.mark.parametrize(("lasting", "kinds"), [(False, ["file"]), (True, ["file", "folder"])])
def test_what_is_synced_before_it_returns(tmp_path: Path, lasting: bool, kinds: list[str]) -> None:
    """The bytes before the name is given, and the name after, where that is asked for."""
    synced: list[str] = []

    def sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        assert (tmp_path / "state").exists() == is_folder
        synced.append("folder" if is_folder else "file")

    with patch.object(os, "fsync", sync), atomic(tmp_path / "state", lasting=lasting) as file:
        file.write(b"x")
    assert synced == kinds


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic(tmp_path / "link") as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"


def test_a_place_is_checked_before_any_work(tmp_path: Path) -> None:
    check_place("-")
    check_place(tmp_path / "out.csv")
    with pytest.raises(FileError, match="no such folder"):
        check_place(tmp_path / "missing" / "out.csv")


def test_a_name_as_long_as_the_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("朧" * 83 + ".csv")  # 253 bytes
    with atomic(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"
