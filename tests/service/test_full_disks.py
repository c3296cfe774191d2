"""A full disk, letters that nobody takes, a stop during the start: the next service loses and doubles nothing."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, service

from benchmarks.kills import with_poison
from oboro.errors import FileError, UsageError
from oboro.stream.endpoints import StreamOutput
from oboro.stream.journal import StateFolder

POISONED = with_poison(BODIES)


def made(folder: Path) -> Any:
    (folder / "in").write_bytes(b"".join((body or b"-") + b"\n" for body in POISONED))
    return service(
        str(folder / "in"),
        str(folder / "out"),
        state=folder / "state",
        dead_letters=str(folder / "dead"),
        fsync=False,
    )


def check_all(folder: Path) -> None:
    """Another one finishes; everything came out once."""
    made(folder).run()
    assert [json.loads(line)["note"] for line in (folder / "out").read_bytes().splitlines()] == list(range(len(BODIES)))
    places = [json.loads(line)["position"] for line in (folder / "dead").read_bytes().splitlines()]
    assert len(set(places)) == len(places) == len(POISONED) - len(BODIES)


@pytest.mark.parametrize("written", [0, 7, 400])
@pytest.mark.parametrize("block", [0, 3])
def test_a_disk_that_is_full_while_a_block_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int, block: int
) -> None:
    one, left = made(tmp_path), [block]
    log = StateFolder.log

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, data: Any) -> int:
            if written:
                self.file.write(bytes(data)[:written])
            raise OSError(errno.ENOSPC, "No space left on device")

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def noted(folder: Any, entry: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            folder._log = Full(folder._log)
        log(folder, entry)

    with monkeypatch.context() as during:
        during.setattr(StateFolder, "log", noted)
        with pytest.raises(FileError, match="disk is full"):
            one.run()
    check_all(tmp_path)


def test_the_disk_is_waited_for_where_nobody_would_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power failure may take the end of the journal; an output that compares then holds more than the state knows."""
    pytest.importorskip("paho.mqtt")
    pytest.importorskip("pika")
    places = {"nats": False, "mqtt": True, "rabbitmq": True}
    for source, first in places.items():
        for target, second in places.items():
            one = service(f"{source}://127.0.0.1/in", f"{target}://127.0.0.1/out", id="note", state=tmp_path / "state")
            assert one.fsync == (first or second)
            one.stop.close()
    told = list[str]()
    monkeypatch.setattr(StreamOutput, "sync", lambda output: told.append(Path(output.place).name))
    one = made(tmp_path)
    one.fsync = True
    one.run()
    assert told[-2:] == ["out", "dead"]


def test_letters_that_nobody_takes(tmp_path: Path) -> None:
    one = made(tmp_path)

    def refuse(*_: Any) -> None:
        raise UsageError("not allowed")

    one.letter_sink.publish = refuse
    with pytest.raises(UsageError, match="not allowed"):
        one.run()
    check_all(tmp_path)


@pytest.mark.parametrize("step", ["_known", "_meet_output", "_open_source"])
def test_a_stop_during_the_start(tmp_path: Path, step: str) -> None:
    one = made(tmp_path)
    act = getattr(one, step)

    def stopped(*given: Any) -> Any:
        one.stop.ask()
        return act(*given)

    setattr(one, step, stopped)
    assert one.run()["released"] == 0
    check_all(tmp_path)


def test_a_disk_that_is_full_while_a_snapshot_is_saved(tmp_path: Path) -> None:
    one = made(tmp_path)
    start = one._start

    def started() -> None:
        start()

        def full(*_: Any, **__: Any) -> None:
            raise FileError("no space")

        one.decider.anonymizer.save = full

    one._start = started
    with pytest.raises(FileError, match="no space"):
        one.run()
    check_all(tmp_path)
