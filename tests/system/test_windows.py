"""Tables run where POSIX is not: nothing but the room for the operating system asks for what only some systems have."""

from __future__ import annotations

import ast
import io
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.source_code import SOURCE, nodes

from oboro.errors import UsageError
from oboro.stream import endpoints
from oboro.stream.endpoints import StopRequest, StreamInput, StreamOutput
from oboro.system import process

HERE = Path(__file__).parent
SYSTEM_ONLY = {"fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "winreg"}


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_only_one_room_asks_for_what_some_systems_lack() -> None:
    asking = {path for path in SOURCE.rglob("*.py") if SYSTEM_ONLY & set(imports(path))}
    assert {path.parent.name for path in asking} == {"system", "formats"}  # a workbook is read by a program of its own


def text_without_encoding(path: Path) -> Iterator[int]:
    """The lines that open a file as text in whatever encoding the system is set to."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and "encoding" not in {one.arg for one in node.keywords}:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            modes = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(owner, ast.Name) and owner.id in ("os", "self"):
                continue
            if getattr(owner, "attr", getattr(owner, "id", "")) in (
                "source",
                "sink",
                "outlet",
                "records",
                "letters",
                "archive",
            ):
                continue  # ends of a service are opened too; what an archive holds is bytes
            if called in ("read_text", "write_text") or (called == "open" and not any("b" in mode for mode in modes)):
                yield node.lineno


def test_text_is_read_and_written_in_an_encoding_that_is_said() -> None:
    """Windows would take its code page."""
    found = {path: list(text_without_encoding(path)) for path in SOURCE.rglob("*.py")}
    assert {path.name: lines for path, lines in found.items() if lines} == {}


def test_every_module_imports_and_a_table_is_anonymized_without_posix(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "windows_like.py", tmp_path],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[0]) > 200
    released = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert len(released) == 4001
    assert {path.name for path in tmp_path.iterdir()} >= {"out.csv.gz", "out.parquet", "report.html"}


def test_cores_and_memory_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert process.cores() >= 1
    assert (process.peak_megabytes() or 0) > 1
    monkeypatch.delattr(process.os, "sched_getaffinity")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert process.cores() >= 1
    assert process.peak_megabytes() is None


def test_what_is_printed_is_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr(process.os, "name", "nt")
    process.print_utf8()
    monkeypatch.undo()
    assert printed.encoding == "utf-8"


def test_a_stream_where_only_sockets_can_be_awaited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(endpoints, "WAITS_FOR_FILES", False)
    stop = StopRequest()
    assert stop.wait(0, selectors.EVENT_READ)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        target = StreamOutput(place, stop)
        peer, _ = server.accept()
        source = StreamInput(place, stop)
        other, _ = server.accept()
    with peer, other:
        assert target.write(b"record")
        assert peer.recv(100) == b"record"
        other.send(b"answer")
        assert source.read() == b"answer"
        stop.ask()
        assert source.read() is None
    for one in (source, target, stop):
        one.close()


def test_unix_sockets_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = StopRequest()
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(UsageError, match="no Unix sockets on this system; use tcp://"):
        StreamInput("unix:///tmp/records", stop)
    stop.close()
