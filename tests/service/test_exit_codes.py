"""Exit codes of streams tell if starting them again helps: 75 for a fault that passes, 78 for a refusal that stays."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Done, call

from benchmarks.brokers import free_port
from oboro.errors import BrokerError, ConflictError, FileError, PromiseError, UsageError
from oboro.stream import endpoints
from oboro.stream.engine import Service, Watch
from oboro.stream.exit_codes import EX_CONFIG, EX_TEMPFAIL, stream_exit_codes
from oboro.stream.journal import Batch, StateFolder

RECIPE = "attributes: {age: {role: quasi}, n: {role: other}}\nsteps: [{k_anonymize: {k: 2}}]\n"
LINES = "".join(json.dumps({"age": 3, "n": n}) + "\n" for n in range(9))
AS_SERVICE = ["--once"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "in.ndjson").write_text(LINES)
    return tmp_path


def run(folder: Path, *more: str, source: str = "in.ndjson", target: str = "out.ndjson") -> Done:
    words = ["--recipe", "recipe.yaml", "--from", source, "--to", target, "--state", "state", *more]
    return call("stream", *words, cwd=folder)


def test_a_broker_that_is_away_beyond_patience_is_a_fault_that_passes(folder: Path) -> None:
    (folder / "service.yaml").write_text("patience: 0.1\n")
    for log in ("text", "json"):
        done = run(folder, "--config", "service.yaml", "--log", log, target=f"redis://127.0.0.1:{free_port()}/OUT")
        assert (done.code, "redis" in done.err) == (EX_TEMPFAIL, True)


@pytest.mark.parametrize("more", [[], AS_SERVICE], ids=["files", "service"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_full_disk_is_a_fault_that_passes(
    folder: Path, more: list[str], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as during:
        during.setattr(endpoints.os, "write", full)  # type: ignore[attr-defined]
        done = run(folder, *more)
    expected = EX_TEMPFAIL if number != errno.EROFS else EX_CONFIG if more else 2
    assert done.code == expected, done.err
    assert run(folder, *more).code == 0


@pytest.mark.parametrize("more", [[], AS_SERVICE], ids=["files", "service"])
def test_what_another_process_holds_may_be_free_later(folder: Path, more: list[str]) -> None:
    held = StateFolder(folder / "state", Batch)
    assert run(folder, *more).code == EX_TEMPFAIL
    held.close()
    stop = endpoints.StopRequest()
    output = endpoints.StreamOutput(str(folder / "out.ndjson"), stop)
    assert run(folder, *more).code == EX_TEMPFAIL
    output.close()
    stop.close()
    assert run(folder, *more).code == 0


def test_a_port_that_another_process_has_may_be_free_later(folder: Path) -> None:
    """As while a service is exchanged for a newer one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert run(folder, "--once", "--listen", address).code == EX_TEMPFAIL
    assert run(folder, "--once", "--listen", address).code == 0
    assert run(folder, "--once", "--listen", "nowhere").code == 2


@pytest.mark.parametrize("more", [[], AS_SERVICE], ids=["files", "service"])
def test_a_refusal_stays(folder: Path, more: list[str]) -> None:
    assert run(folder, *more).code == 0
    assert run(folder, *more, "--mode", "count").code == EX_CONFIG  # a state with other settings
    with (folder / "out.ndjson").open("a") as file:
        file.write(LINES)
    assert run(folder, *more).code == EX_CONFIG  # somebody else writes there
    next((folder / "state").glob("snapshot.*")).write_bytes(b"damaged")
    assert run(folder, *more).code == EX_CONFIG


def test_usage_input_and_promises_have_the_codes_that_they_had(folder: Path) -> None:
    assert run(folder, "--nonsense").code == 2
    assert run(folder, "--batch", "0").code == 2
    assert run(folder, "--mode", "none").code == 2
    assert run(folder, source="none.ndjson").code == 2
    assert run(folder, *AS_SERVICE, source="none.ndjson").code == 2
    (folder / "in.ndjson").write_text("no record\n")
    assert run(folder).code == 2
    (folder / "recipe.yaml").write_text("nonsense: true\n")
    assert run(folder, *AS_SERVICE).code == 2
    with pytest.raises(PromiseError) as broken, stream_exit_codes():
        raise PromiseError("no promise")
    assert broken.value.exit_code == 1


def test_a_leader_whose_place_was_taken_is_started_again_as_the_standby(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lease somebody else writes there, and would again."""
    for error, leased, expected in (
        (ConflictError("taken"), True, EX_TEMPFAIL),
        (ConflictError("taken"), False, EX_CONFIG),
        (BrokerError("away"), False, EX_TEMPFAIL),
        (UsageError("refused"), True, EX_CONFIG),
        (FileError("gone"), True, EX_CONFIG),
    ):
        one = Service.__new__(Service)
        one.watch = Watch()
        one.lease = object() if leased else None  # type: ignore[assignment]

        def loop(error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(one, "_rounds", loop, raising=False)
        with pytest.raises(type(error)) as ended, stream_exit_codes():
            one._loop()
        assert ended.value.exit_code == expected
