"""Sockets: several producers at once, and nothing that was sent is lost when the stream is asked to end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import oboro.stream.anonymizer
from benchmarks.brokers import free_port
from oboro.errors import OboroError
from oboro.stream.delay_free import modes
from oboro.stream.endpoints import StopRequest

RECIPE = {
    "attributes": {"sex": {"role": "quasi"}, "note": {"role": "other"}},
    "steps": [{"k_anonymize": {"k": 2}}],
}


def started(folder: Path, port: int) -> subprocess.Popen[bytes]:
    (folder / "recipe.json").write_text(json.dumps(RECIPE))
    words = ["stream", "--recipe", "recipe.json", "--from", f"tcp-listen://127.0.0.1:{port}", "--to", "out.ndjson"]
    return subprocess.Popen([sys.executable, "-m", "oboro", *words], cwd=folder, stderr=subprocess.PIPE)


def connected(port: int) -> socket.socket:
    for _ in range(3000):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.02)
    raise TimeoutError


def lines(first: int, count: int) -> bytes:
    return b"".join(json.dumps({"sex": "F", "note": n}).encode() + b"\n" for n in range(first, first + count))


def test_what_was_sent_comes_out_though_it_is_asked_to_end_at_once(tmp_path: Path) -> None:
    """The signal comes while the process is still getting ready for its first record."""
    port = free_port()
    process = started(tmp_path, port)
    with connected(port) as one:
        one.sendall(lines(0, 100))
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    found = [json.loads(line)["note"] for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    assert found == list(range(100))


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system knows no end of a terminal")
def test_the_end_of_a_terminal_is_a_wish_to_end_unless_it_is_kept_away() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        for kept in (signal.SIG_DFL, signal.SIG_IGN):
            signal.signal(signal.SIGHUP, kept)
            stop = StopRequest()
            with stop.listening():
                os.kill(os.getpid(), signal.SIGHUP)
            assert stop.asked == (kept is signal.SIG_DFL)
            assert signal.getsignal(signal.SIGHUP) is kept
            stop.close()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_several_producers_at_once_never_mix_their_lines(tmp_path: Path) -> None:
    port = free_port()
    process = started(tmp_path, port)
    first = connected(port)
    first.sendall(lines(0, 50)[:-7])  # in the midst of a line, and it stays connected

    def send(start: int) -> None:
        with connected(port) as one:
            data = lines(start, 200)
            for at in range(0, len(data), 97):
                one.sendall(data[at : at + 97])

    others = [threading.Thread(target=send, args=(1000 * n,)) for n in (1, 2, 3)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    first.sendall(lines(0, 50)[-7:])
    first.close()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    found = [json.loads(line)["note"] for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    wanted = [*range(50), *(1000 * n + i for n in (1, 2, 3) for i in range(200))]
    assert sorted(found) == wanted, said
    for n in (0, 1, 2, 3):
        own = [one for one in found if one // 1000 == n]
        assert own == sorted(own)


def test_a_generating_side_that_fails_stops_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(modes, "_generate", fails)
    anonymizer = oboro.stream.DelayFree(attributes=["sex"], k=2, mode="paper", background=True)

    def go_on() -> None:
        for _ in range(10_000):
            anonymizer.push({"sex": "F"})
            time.sleep(0.001)

    with pytest.raises(OboroError, match="failed"):
        go_on()
    anonymizer.close()
