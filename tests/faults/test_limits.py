"""A machine that has nothing left to give, or gives something else, is told as it is, and leaves nothing half done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("resource", reason="no limits to set here")
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All cases, in one process that forks: to start one takes seconds."""
    words = [sys.executable, "-m", "tests.faults.limits", str(tmp_path_factory.mktemp("limits"))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lives(seen: dict[str, Any], case: str) -> list[dict[str, Any]]:
    if case not in seen["cases"]:
        pytest.skip("a disk of its own cannot be mounted here")
    found: list[dict[str, Any]] = seen["cases"][case]
    return found


def test_nothing_is_lost_doubled_half_written_shown_or_said_wrongly(seen: dict[str, Any]) -> None:
    assert seen["faults"] == []


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("full disk", "the disk is full; nothing was left there"),
        ("file too large", "File too large; nothing was left there"),
        ("read-only, batch", "cannot be written"),
        ("read-only, stream", "read-only disk"),
        ("input cut", "was changed while it was being anonymized"),
        ("input empty", "was changed while it was being anonymized"),
        ("input longer", "was changed while it was being anonymized"),
        ("input turned", "was changed while it was being anonymized"),
        ("input gone", "no such file"),
        ("two at once, state", "another stream is using this state"),
        ("two at once, output", "another process is writing it"),
        ("reader gone, stream", "the reader of the output has gone"),
    ],
)
def test_it_is_said_and_nothing_is_left(seen: dict[str, Any], case: str, said: str) -> None:
    for life in lives(seen, case):
        assert life["code"] == (75 if case.startswith("two at once") else 2)
        assert said in life["said"]
        assert life["left"] == []
        assert not life["whole"] or "output" in case


@pytest.mark.parametrize(
    "case", ["full disk, stream, out.ndjson", "full disk, stream, dead.ndjson", "full disk, stream, state",
             "file too large, stream"]
)  # fmt: skip
def test_a_stream_goes_on_when_there_is_room_again(seen: dict[str, Any], case: str) -> None:
    first, again = lives(seen, case)
    assert first["code"] == 75
    assert "cannot write it" in first["said"]
    assert again["code"] == 0


@pytest.mark.parametrize("kind", ["handles", "memory"])
def test_too_little_is_an_error_and_enough_is_enough(seen: dict[str, Any], kind: str) -> None:
    found = {case: [one["code"] for one in many] for case, many in seen["cases"].items() if case.startswith(kind)}
    assert all(set(codes) <= {0, 2} and codes[-1] == 0 for codes in found.values()), found
    assert any(2 in codes for codes in found.values())


def test_links_pipes_and_two_tables(seen: dict[str, Any]) -> None:
    assert [one["is_link"] for one in lives(seen, "link")] == [True]
    assert [one["code"] for one in lives(seen, "reader gone")] == [141]
    assert [(one["code"], one["left"]) for one in lives(seen, "two at once, table")][-1] == (0, [])
