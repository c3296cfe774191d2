"""The page for machines: whether the loop turns, HEAD, HTTPS, and a token for the metrics."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, service
from tests.service.certificates import make_certificates

from benchmarks.brokers import free_port, wait_until
from oboro.errors import FileError, OboroError
from oboro.service.health import health_page, listen_secrets
from oboro.stream import engine
from oboro.stream.engine import Watch

TOKEN = "0123456789abcdef0123"


def asked(port: int, path: str, method: str = "GET", token: str = "", tls: Any = None) -> tuple[int, bytes, Any]:
    """Status, body and headers."""
    given: dict[str, Any] = {"timeout": 5}
    made = http.client.HTTPConnection("127.0.0.1", port, **given)
    if tls is not None:
        made = http.client.HTTPSConnection("127.0.0.1", port, context=tls, **given)
    made.request(method, path, headers={"Authorization": token} if token else {})
    answer = made.getresponse()
    body = answer.read()
    made.close()
    return answer.status, body, answer.headers


def test_a_loop_that_does_not_turn_is_not_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that hangs was called live for ever."""
    (tmp_path / "in").write_bytes(b"\n".join(BODIES[:20]) + b"\n")
    one = service(str(tmp_path / "in"), str(tmp_path / "out"), state=tmp_path / "state")
    hangs, publish = threading.Event(), one.sink.publish

    def slow(*given: Any) -> None:
        hangs.wait(60)
        publish(*given)

    one.sink.publish, port = slow, free_port()  # type: ignore[method-assign, assignment]
    one.watch.live_within = 0.3
    with health_page(f"127.0.0.1:{port}", one.watch):
        assert asked(port, "/health/live")[0] == 200
        work = threading.Thread(target=one.run)
        work.start()
        try:
            wait_until(lambda: asked(port, "/health/live")[0] == 503, "it was live")
        finally:
            hangs.set()
            work.join()
    assert one.watch.released == 20


def test_the_loop_turns_while_it_waits_and_not_before_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    watch = Watch()
    assert watch.live_within == 120.0
    for seconds, act, live in (
        (1e6, watch.turn, True),  # a state is restored
        (0, lambda: watch.turn(first=True), True),
        (119, lambda: None, True),
        (2, lambda: None, False),
        (0, watch.turn, True),
    ):
        now[0] += seconds
        act()  # type: ignore[no-untyped-call]
        assert watch.live == live


@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/health/ready", "/none"])
def test_head_is_answered_as_get_without_a_body(path: str) -> None:
    port = free_port()
    with health_page(f"127.0.0.1:{port}", Watch()):
        status, body, headers = asked(port, path, "HEAD")
        again, whole, _ = asked(port, path)
    assert (status, body) == (again, b"")
    assert int(headers["Content-Length"]) == len(whole) > 0


@pytest.mark.parametrize("in_file", [False, True])
def test_metrics_ask_for_a_token_and_health_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_file: bool
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv(
        *(("OBORO_LISTEN_TOKEN_FILE", str(tmp_path / "token")) if in_file else ("OBORO_LISTEN_TOKEN", TOKEN))
    )
    port = free_port()
    with health_page(f"127.0.0.1:{port}", Watch(), *listen_secrets()):
        for wrong in (
            "",
            "Bearer",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Basic {TOKEN}",
            TOKEN,
            "Bearer \u00e9",
        ):
            status, body, headers = asked(port, "/metrics", token=wrong)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert b"oboro_" not in body
        assert asked(port, "/metrics", "HEAD")[0] == 401
        assert b"oboro_records_total" in asked(port, "/metrics", token=f"Bearer {TOKEN}")[1]
        assert asked(port, "/health/live")[0] == 200


@pytest.mark.parametrize("given", ["", "short"])
def test_a_token_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str) -> None:
    """An empty variable would have let everybody in."""
    monkeypatch.setenv("OBORO_LISTEN_TOKEN", given)
    with pytest.raises(OboroError, match="--listen"):
        listen_secrets()
    monkeypatch.delenv("OBORO_LISTEN_TOKEN")
    monkeypatch.setenv("OBORO_LISTEN_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(FileError, match="none"):
        listen_secrets()


@pytest.mark.skipif(which("openssl") is None, reason="no openssl to make certificates with")
def test_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside many who never make the handshake, and with one who speaks no TLS."""
    make_certificates(tmp_path)
    monkeypatch.setenv("OBORO_LISTEN_CERT", str(tmp_path / "server.pem"))
    with pytest.raises(FileError, match="OBORO_LISTEN_KEY"):
        listen_secrets()
    monkeypatch.setenv("OBORO_LISTEN_KEY", str(tmp_path / "server.key"))
    monkeypatch.setenv("OBORO_LISTEN_TOKEN", TOKEN)
    trusts, port = ssl.create_default_context(cafile=str(tmp_path / "ca.pem")), free_port()
    with health_page(f"127.0.0.1:{port}", Watch(), *listen_secrets()):
        silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(20)]
        assert asked(port, "/metrics", token=f"Bearer {TOKEN}", tls=trusts)[0] == 200
        assert asked(port, "/health/live", "HEAD", tls=trusts)[0] == 200
        with pytest.raises((http.client.HTTPException, OSError)):
            asked(port, "/health/live")
        assert asked(port, "/health/live", tls=trusts)[0] == 200
        for one in silent:
            one.close()
    monkeypatch.setenv("OBORO_LISTEN_CERT", str(tmp_path / "none.pem"))
    with pytest.raises(FileError, match="none.pem"):
        listen_secrets()
