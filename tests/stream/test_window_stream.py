"""`oboro stream --mode window`: files, restarts, kills, dead letters, time limits, the end."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.stream.stream_cases import command, killed_again_and_again, lay_out, lines, people

from oboro.cli.stream import _watch
from oboro.errors import UsageError
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, run_stream
from oboro.verifier.stream import verify_window

OPTIONS: dict[str, Any] = {"mode": "window", "window": 30, "categories": ["sex"]}


def go(folder: Path, **more: Any) -> dict[str, Any]:
    given = {"source": str(folder / "in.ndjson"), "target": str(folder / "out.ndjson"), "options": OPTIONS, **more}
    options = StreamOptions(**given.pop("options", {}))
    return run_stream(Recipe.load(folder / "recipe.yaml"), options, **given)


def checked(released: list[dict[str, Any]], count: int) -> None:
    assert sorted(one["note"] for one in released) == list(range(count))
    assert verify_window(released, attributes=["sex", "age"], k=3, window=30).holds


def test_a_file_goes_through(tmp_path: Path) -> None:
    lay_out(tmp_path, people(500))
    metrics = go(tmp_path)
    checked(lines(tmp_path / "out.ndjson"), 500)
    assert metrics["records"] == metrics["released"] == 500
    assert metrics["held"] == 0
    _watch()(metrics)


def test_csv(tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    (tmp_path / "in.csv").write_text("note,sex,age\n1,F,31\n2,F,\n3,F,33\n4,F,x\n5,M,35\n")
    metrics = go(
        tmp_path,
        source=str(tmp_path / "in.csv"),
        target=str(tmp_path / "out.csv"),
        dead_letters=str(tmp_path / "dead.ndjson"),
        options={**OPTIONS, "order": "kept"},
    )
    assert (tmp_path / "out.csv").read_text() == "sex,age,note\nF,33.0,1\nF,33.0,2\nF,33.0,3\nF,33.0,5\n"
    (letter,) = lines(tmp_path / "dead.ndjson")
    assert letter["line"] == 5
    assert "age: must be a finite number" in letter["reason"]
    assert metrics["dead_letters"] == 1


def test_a_restart_goes_on(tmp_path: Path) -> None:
    """At the end of the input everybody is released; a later start goes on behind that, and may join what was published."""
    rows = people(400)
    lay_out(tmp_path, rows[:150])
    go(tmp_path, state=tmp_path / "state")
    checked(lines(tmp_path / "out.ndjson"), 150)
    lay_out(tmp_path, rows)
    metrics = go(tmp_path, state=tmp_path / "state")
    assert metrics["records"] == 400
    checked(lines(tmp_path / "out.ndjson"), 400)
    with pytest.raises(UsageError, match="other settings"):
        go(tmp_path, state=tmp_path / "state", options={**OPTIONS, "group": "paper"})


@pytest.mark.parametrize("how", ["file", "pipe"])
def test_killed_at_any_moment(how: str, tmp_path: Path) -> None:
    lay_out(tmp_path, people(220))
    assert killed_again_and_again(tmp_path, how, "window-exchanged" if how == "file" else "window-kept") >= 3
    released = lines(tmp_path / "out.ndjson")
    if how == "file":
        checked(released, 220)
        return
    notes = [one["note"] for one in released]
    assert notes == sorted(set(notes)), "nothing twice, and in order"
    doubts = [one["released"] for one in lines(tmp_path / "dead.ndjson")]
    named = {number - 1 for first, last in doubts for number in range(first, last + 1)}
    assert set(notes) | named == set(range(220)), "what may be lost is named"


def test_too_few_are_dead_letters(tmp_path: Path) -> None:
    lay_out(tmp_path, people(2))
    metrics = go(tmp_path, dead_letters=str(tmp_path / "dead.ndjson"), state=tmp_path / "state")
    assert (tmp_path / "out.ndjson").read_text() == ""
    letters = lines(tmp_path / "dead.ndjson")
    assert [letter["record"]["note"] for letter in letters] == [0, 1]
    assert all("waited in vain" in letter["reason"] for letter in letters)
    assert metrics["dead_letters"] == metrics["withheld"] == 2


def window(width: int, *more: object) -> list[str]:
    return command("--mode", "window", "--window", width, "--categories", "sex", *more)


def test_max_delay_needs_no_further_record(tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    process = subprocess.Popen(
        window(1000, "--max-delay", "0.2", "--json"), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for row in people(4):
        process.stdin.write(json.dumps(row).encode() + b"\n")
    process.stdin.flush()
    released = [json.loads(process.stdout.readline()) for _ in range(4)]  # comes though nothing else goes in
    checked(released, 4)
    process.stdin.close()
    assert process.wait(30) == 0
    process.stdout.close()


@pytest.mark.parametrize("remembers", [False, True])
def test_sigterm(remembers: bool, tmp_path: Path) -> None:
    """Without a state those who wait are released; with one they go on waiting."""
    rows = people(8)
    lay_out(tmp_path, rows)
    state = ["--state", "state"] if remembers else []
    process = subprocess.Popen(
        window(6, "--to", "out.ndjson", "--json", *state), cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write((tmp_path / "in.ndjson").read_bytes())
    process.stdin.flush()
    for _ in range(1200):  # until the block has been taken
        if (tmp_path / "out.ndjson").exists() and (tmp_path / "out.ndjson").stat().st_size:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    released = lines(tmp_path / "out.ndjson")
    if remembers:
        assert 0 < len(released) < 8
        go(tmp_path, state=tmp_path / "state", options={**OPTIONS, "window": 6})
        released = lines(tmp_path / "out.ndjson")
    checked(released, 8)
