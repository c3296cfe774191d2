"""Files and sockets as ends of a service: the place in a file is known again, and what producers sent is not lost."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, ROWS, serve, service

from benchmarks.kills import RECIPE
from oboro.errors import FileError, UsageError
from oboro.service.make import check_service
from oboro.service.settings import ServiceSettings
from oboro.stream.endpoints import FileSink, StopRequest

LONG = json.dumps({**ROWS[0], "note": "x" * 2000}).encode()


def released(folder: Path, **more: Any) -> list[int]:
    """One more life of a service from file to file; what its output holds then."""
    serve(str(folder / "in"), str(folder / "out"), state=folder / "state", longest_line=1000, **more)
    return [json.loads(line)["note"] for line in (folder / "out").read_bytes().splitlines()]


@pytest.mark.parametrize("last", [b"\n", b""])
def test_a_file_is_gone_on_with_behind_long_lines_and_lines_without_end(tmp_path: Path, last: bytes) -> None:
    """A line that was too long counted for eight bytes: the next life released the records behind it once more."""
    (tmp_path / "in").write_bytes(b"\n".join([*BODIES[:5], LONG, b"", *BODIES[5:20]]) + last)
    assert released(tmp_path) == list(range(20))
    assert released(tmp_path) == list(range(20))
    with (tmp_path / "in").open("ab") as file:
        file.write(b"" if last else b"\n")
        file.write(b"\n".join([LONG, *BODIES[20:30], LONG]) + b"\n")
    assert released(tmp_path) == list(range(30))
    with (tmp_path / "in").open("ab") as file:
        file.write(BODIES[30] + b"\n")
    assert released(tmp_path) == list(range(31))


@pytest.mark.parametrize("killed", [False, True])
def test_another_file_in_place_of_the_input_is_refused(tmp_path: Path, killed: bool) -> None:
    """Its beginning was passed over without a word. After a kill the journal knows what was read last."""
    (tmp_path / "in").write_bytes(b"\n".join(BODIES[:40]) + b"\n")
    one = service(str(tmp_path / "in"), str(tmp_path / "out"), state=tmp_path / "state")
    if killed:
        one._end = lambda: None  # type: ignore[method-assign]
    one.run()
    (tmp_path / "in").write_bytes(b"\n".join(BODIES[60:120]) + b"\n")
    with pytest.raises(FileError, match="does not hold what was read"):
        released(tmp_path)


def test_what_producers_sent_comes_out_though_it_was_asked_to_end_before(tmp_path: Path) -> None:
    """More than a block, sent before the service was ready; it took none, or the first block."""
    place = f"unix-listen://{tmp_path / 's'}"
    one = service(place, str(tmp_path / "out"), state=tmp_path / "state", batch=16)
    with socket.socket(socket.AF_UNIX) as producer:
        producer.connect(str(tmp_path / "s"))
        producer.sendall(b"".join(body + b"\n" for body in BODIES))
    one.stop.ask()
    assert one.run()["released"] == len(BODIES)


def test_a_check_takes_nothing_from_producers(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    given = {"recipe": tmp_path / "recipe.json", "from": f"unix-listen://{tmp_path / 's'}", "to": str(tmp_path / "out")}
    said = check_service(ServiceSettings.load(None, {**given, "state": tmp_path / "state"}))
    assert [one.id for one in said] == ["service.no_sample", "service.reached"]


def test_a_long_line_that_was_half_written_is_finished(tmp_path: Path) -> None:
    body = b"x" * (3 << 20)
    (tmp_path / "out").write_bytes(body[: 2 << 20])
    stop = StopRequest()
    sink = FileSink(str(tmp_path / "out"), stop)
    sink.publish(sink.last()[0], [body, b"y"], "")
    assert (tmp_path / "out").read_bytes() == body + b"\ny\n"
    (tmp_path / "out").rename(tmp_path / "rotated")
    with pytest.raises(FileError, match="cannot read"):
        sink.publish(len(body) + 3, [b"z"], "")
    sink.close()
    stop.close()


def test_ids_must_reach_over_a_block_that_may_come_again(tmp_path: Path) -> None:
    """All of a block was doubled where fewer ids were remembered."""
    (tmp_path / "in").write_bytes(b"\n".join(BODIES) + b"\n")
    one = service(str(tmp_path / "in"), str(tmp_path / "out"), state=tmp_path / "s", id="note", id_horizon=15, batch=16)
    one.source.repeats = True  # type: ignore[misc]
    with pytest.raises(UsageError, match="--id-horizon below 16"):
        one.run()
