"""Folders from which code may be loaded: ours, and closed to everybody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oboro.system.process import is_trusted_file, is_trusted_folder, make_private, why_not_trusted

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
SOMEBODY = 65534


def test_a_folder_of_ours_is_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "deep"
    assert make_private(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert is_trusted_folder(folder)
    assert make_private(folder)  # a second time too
    assert not is_trusted_folder(tmp_path / "none")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
def test_a_folder_that_others_can_write_is_not(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    assert why_not_trusted(folder) == "mode"
    assert not make_private(folder)
    # Nor is what lies below it, unless the sticky bit keeps others from exchanging it.
    inside = folder / "inside"
    inside.mkdir(mode=0o700)
    assert why_not_trusted(inside) == (None if mode & 0o1000 else "mode")
    assert why_not_trusted(inside, alone=True) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("there")
    assert why_not_trusted(tmp_path / "link") == "link"
    assert not make_private(tmp_path / "link")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "another").symlink_to("file")
    assert is_trusted_file(tmp_path / "file")
    assert not is_trusted_file(tmp_path / "another")
    assert not is_trusted_file(tmp_path / "none")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_not(tmp_path: Path) -> None:
    folder, file = tmp_path / "theirs", tmp_path / "file"
    folder.mkdir(mode=0o700)
    file.write_bytes(b"")
    for one in (folder, file):
        os.chown(one, SOMEBODY, SOMEBODY)
    assert why_not_trusted(folder) == "owner"
    assert why_not_trusted(folder, SOMEBODY) is None
    assert why_not_trusted(folder / ".." / "theirs") == "owner"
    assert not make_private(folder)
    assert not make_private(folder / "below"), "somebody who owns the folder above can exchange it"
    assert not (folder / "below").exists()
    assert not is_trusted_file(file)
    assert is_trusted_file(file, SOMEBODY)


def test_a_file_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    file.chmod(0o664)
    assert not is_trusted_file(file)
