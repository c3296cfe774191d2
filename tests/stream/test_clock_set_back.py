"""A clock that is set back, while a stream runs or between two runs, holds no record longer than `max_delay` says."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.stream import DelayFree, Window
from oboro.stream.engine import Runner, StreamPlan
from oboro.system.process import SteadyClock

HOUR = 3600.0
RECIPE = Recipe.parse("{attributes: {x: {role: quasi}}, steps: [{k_anonymize: {k: 2}}]}")


class MachineClock:
    """The clock of the machine, which somebody may set."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.real = time.time

    def time(self) -> float:
        return self.real() + self.ahead


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> MachineClock:
    clock = MachineClock()
    monkeypatch.setattr(time, "time", clock.time)
    return clock


def test_time_goes_on_from_what_was_noted(machine: MachineClock) -> None:
    clock = SteadyClock()
    before = clock.now()
    machine.ahead = -HOUR
    assert 0 <= clock.now() - before < 1
    assert 0 <= SteadyClock(clock.now()).now() - before < 1
    machine.ahead = HOUR
    assert 0 <= clock.now() - before < 1
    assert SteadyClock(clock.now()).now() - before > HOUR - 1  # the machine was off meanwhile


@pytest.mark.parametrize("again", [False, True], ids=["running", "restored"])
def test_a_window_in_python(machine: MachineClock, tmp_path: Path, again: bool) -> None:
    window = Window(["x"], 2, 100, max_delay=0.2)
    assert window.push_many([{"x": 1}, {"x": 2}]) == []
    machine.ahead = -HOUR
    if again:
        window.save(tmp_path / "state")
        window = Window.restore(tmp_path / "state")
    time.sleep(0.25)
    assert len(window.push_many([])) == 2


def test_a_horizon_in_python(machine: MachineClock, tmp_path: Path) -> None:
    """Who came more than `horizon_seconds` ago protects nobody, also if the clock says that this is still to come."""
    stream = DelayFree(["x"], 2, horizon_seconds=0.2)
    stream.push({"x": 1})
    machine.ahead = -HOUR
    stream.save(tmp_path / "state")
    stream = DelayFree.restore(tmp_path / "state")
    time.sleep(0.25)
    assert stream.push({"x": 1}) == {"x": "*"}


def running(source: Path, target: Path, state: Path) -> Runner:
    options = StreamOptions(mode="window", window=100, max_delay=0.3)
    plan = StreamPlan(source=str(source), target=str(target), state=state)
    return Runner(lambda: anonymizer(RECIPE, options), plan)


def wait_for(target: Path, lines: int, most: float = 20.0) -> float:
    began = time.monotonic()
    while time.monotonic() - began < most:
        if target.exists() and target.read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.01)
    return time.monotonic() - began


def lines(count: int) -> bytes:
    return b"".join(json.dumps({"x": n}).encode() + b"\n" for n in range(count))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_running_stream(machine: MachineClock, tmp_path: Path) -> None:
    """Set back while records wait; then once more while the stream is down and records wait in its state."""
    source, target, state = tmp_path / "in", tmp_path / "out.ndjson", tmp_path / "state"
    os.mkfifo(source)
    sent = b""
    for part in (2, 2):
        one: Any = running(source, target, state)
        thread = threading.Thread(target=one.run)
        thread.start()
        with source.open("wb", buffering=0) as pipe:
            pipe.write(sent + lines(part))  # after a restart the input starts over
            sent += lines(part)
            time.sleep(0.1)
            machine.ahead -= HOUR
            assert wait_for(target, sent.count(b"\n")) < 10
        thread.join(20)
    assert len(target.read_bytes().splitlines()) == 4


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_records_that_wait_in_a_state(machine: MachineClock, tmp_path: Path) -> None:
    source, target, state = tmp_path / "in", tmp_path / "out.ndjson", tmp_path / "state"
    os.mkfifo(source)
    for ahead in (0.0, -HOUR):
        machine.ahead = ahead
        one = running(source, target, state)
        thread = threading.Thread(target=one.run)
        thread.start()
        with source.open("wb", buffering=0) as pipe:
            pipe.write(lines(2))
            if ahead == 0.0:  # ended while they wait
                wait_until_taken(one)
                one.stop.ask()
                thread.join(20)
            else:
                assert wait_for(target, 2) < 10
        thread.join(20)
    assert len(target.read_bytes().splitlines()) == 2


def wait_until_taken(one: Runner) -> None:
    while getattr(one, "anonymizer", None) is None or one.anonymizer.records < 2:
        time.sleep(0.005)
