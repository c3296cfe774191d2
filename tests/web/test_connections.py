"""Slow connections: many that ask nothing keep nobody out, and none is held for ever."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.request import Request, urlopen

import pytest

from oboro.web import server
from oboro.web.server import PageServer, page_server


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("page")
    folder.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch, page_server(folder, above=folder) as made:
        patch.setattr(server, "load_screens", lambda: None)
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        yield made
        made.server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def connected(serving: PageServer, sent: bytes = b"GET / HTTP/1.1\r\nHo") -> socket.socket:
    made = socket.create_connection(serving.listening.getsockname(), timeout=20)
    made.sendall(sent)
    return made


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side closed a connection; the system may say so in either way."""
    try:
        return connection.recv(10) == b""
    except ConnectionResetError:
        return True


def answers(serving: PageServer) -> bool:
    with urlopen(serving.url.split("#")[0], timeout=20) as answer:
        return bool(answer.status == 200)


def test_many_slow_connections_keep_nobody_out(serving: PageServer) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(serving)) for _ in range(200)]
        assert answers(serving)
        assert len(serving.server.server_state.connections) <= server.MOST_CONNECTIONS
        assert is_closed(slow[0])  # the oldest went
        slow[-1].sendall(
            f"st: {serving.listening.getsockname()[0]}:{serving.listening.getsockname()[1]}\r\n\r\n".encode()
        )
        assert slow[-1].recv(15) == b"HTTP/1.1 200 OK"


def test_a_connection_that_asks_too_slowly_is_closed(serving: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.2)
    with connected(serving, b"") as silent, connected(serving) as slow:
        end = time.monotonic() + 20
        while not select.select([slow], [], [], 0.05)[0]:
            assert time.monotonic() < end
            slow.sendall(b"x")
        assert is_closed(slow)
        assert is_closed(silent)
    assert answers(serving)


def test_an_upload_that_takes_long_is_not_cut(serving: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.05)

    def body() -> Iterator[bytes]:
        for _ in range(4):
            yield b"a,b\n"
            time.sleep(0.06)

    headers = {"x-oboro-token": serving.token, "x-oboro-name": "a.csv"}
    url = f"{serving.url.split('#')[0]}api/upload"
    with urlopen(Request(url, data=body(), headers=headers, method="PUT"), timeout=20) as answer:
        assert b'"bytes":16' in answer.read()
