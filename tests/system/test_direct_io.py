"""Files written past the cache hold the same bytes as any others."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oboro.system import files
from oboro.system.files import Uncached, atomic


def create(path: Path) -> Uncached:
    return Uncached(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.integers(0, 40_000), max_size=8))
def test_what_is_written_is_there(tmp_path: Path, sizes: list[int]) -> None:
    parts = [bytes(number % 251 for number in range(start, start + size)) for start, size in enumerate(sizes)]
    with patch.object(files, "ROOM", 16_384), create(tmp_path / "f") as file:
        for part in parts:
            assert file.write(part) == len(part)
        assert file.tell() == sum(sizes)
        file.flush()
    assert (tmp_path / "f").read_bytes() == b"".join(parts)


def test_writing_goes_on_after_a_flush(tmp_path: Path) -> None:
    with patch.object(files, "ROOM", 8192), create(tmp_path / "f") as file:
        for _ in range(5):
            file.write(b"x" * 10_001)
            file.flush()
    assert (tmp_path / "f").read_bytes() == b"x" * 50_005


def test_a_disk_that_cannot_do_it_is_written_as_usual(tmp_path: Path) -> None:
    written = os.write

    def picky(descriptor: int, data: memoryview) -> int:
        if file.direct:
            raise OSError(errno.EINVAL, "no")
        return written(descriptor, data[:5000])  # and takes a part at a time

    with patch.object(files, "ROOM", 8192), patch.object(os, "write", picky), create(tmp_path / "f") as file:
        file.write(bytes(range(256)) * 300)
        file.flush()
    assert (tmp_path / "f").read_bytes() == bytes(range(256)) * 300


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    def full(descriptor: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "full")

    with (
        patch.object(files, "ROOM", 8192),
        patch.object(os, "write", full),
        pytest.raises(Exception, match="the disk is full"),
        atomic(tmp_path / "f", large=True) as file,
    ):
        file.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []
