"""Networks that cut and delay, TLS with certificates on both sides, places of different kinds: every record once, in one form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, ROWS, running, serve, service

from oboro.errors import BrokerError, OboroError
from oboro.papers.service.cutting_proxy import CuttingProxy
from oboro.papers.service.local_brokers import LocalBroker, LocalNats, LocalRedis

pytestmark = pytest.mark.xdist_group("service")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LocalBroker]]:
    with (
        running(LocalNats, tmp_path_factory.mktemp("nats")) as nats,
        running(LocalRedis, tmp_path_factory.mktemp("redis")) as redis,
    ):
        yield {"nats": nats, "redis": redis}


def notes(bodies: list[bytes]) -> list[int]:
    return [json.loads(body)["note"] for body in bodies]


@pytest.mark.parametrize("kind", ["nats", "redis"])
@pytest.mark.parametrize("state", [True, False], ids=["folder", "bare"])
def test_connections_that_are_cut_lose_and_double_nothing(
    kind: str, state: bool, brokers: dict[str, LocalBroker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oboro.stream.service.service.PAUSES", (0.0, 0.01))
    broker = brokers[kind]
    broker.send(f"CUT{state}", BODIES)
    proxy = CuttingProxy(broker.port, cuts=8, most=6_000, seed=3 + state).start()
    try:
        source, target = proxy.place(broker.place(f"CUT{state}")), proxy.place(broker.place(f"WHOLE{state}"))
        counts = serve(source, target, **({"state": tmp_path / "state"} if state else {}))
    finally:
        proxy.close()
    assert counts["interruptions"] > 1
    assert notes([body for _, body in broker.held(f"WHOLE{state}")]) == list(range(len(ROWS)))


@pytest.mark.parametrize(("start", "end"), [("nats", "redis"), ("redis", "nats"), ("file", "nats"), ("redis", "file")])
def test_places_of_different_kinds(start: str, end: str, brokers: dict[str, LocalBroker], tmp_path: Path) -> None:
    """Stopped after its first blocks, then started again from its state."""
    name = f"{start}2{end}".upper()
    if start == "file":
        (tmp_path / "in.ndjson").write_bytes(b"\n".join(BODIES) + b"\n")
    else:
        brokers[start].send(f"IN{name}", BODIES)
    source = str(tmp_path / "in.ndjson") if start == "file" else brokers[start].place(f"IN{name}")
    target = str(tmp_path / "out.ndjson") if end == "file" else brokers[end].place(f"OUT{name}")
    one = service(source, target, state=tmp_path / "state", batch=40)
    handle: Callable[..., None] = one._handle
    one._handle = lambda *given, **named: (handle(*given, **named), one.stop.ask())  # type: ignore[method-assign, assignment]
    assert one.run()["released"] == 40
    serve(source, target, state=tmp_path / "state")
    if end == "file":
        found = (tmp_path / "out.ndjson").read_bytes().splitlines()
    else:
        found = [body for _, body in brokers[end].held(f"OUT{name}")]
    assert notes(found) == list(range(len(ROWS)))


def certificates(folder: Path) -> None:
    """An authority, and what it signs for the server and for the service."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")


class TlsNats(LocalNats):
    """Only those with a certificate of the authority may come in, by a password."""

    def command(self) -> list[str]:
        own = {"tlscert": "server.pem", "tlskey": "server.key", "tlscacert": "ca.pem"}
        words = [word for name, file in own.items() for word in (f"--{name}", str(self.folder / file))]
        return [*super().command(), "--tls", *words, "--tlsverify", "--user", "me", "--pass", "secret"]

    def place(self, name: str) -> str:
        return super().place(name).replace("nats:", "natss:")

    def awake(self) -> None:
        """The tests find out."""


@pytest.mark.skipif(which("openssl") is None, reason="no openssl to make certificates with")
def test_tls_with_certificates_on_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates(tmp_path)
    known = {"CA": tmp_path / "ca.pem", "CERT": tmp_path / "client.pem", "KEY": tmp_path / "client.key"}
    given: dict[str, Any] = {**known, "USER": "me", "PASSWORD": "secret"}
    (tmp_path / "in.ndjson").write_bytes(b"\n".join(BODIES[:30]) + b"\n")

    def set_all(**more: Any) -> None:
        for name, value in {**given, **more}.items():
            monkeypatch.setenv(f"OBORO_BROKER_{name}", str(value))

    with running(TlsNats, tmp_path) as broker:
        set_all()
        serve(str(tmp_path / "in.ndjson"), broker.place("OUT"), state=tmp_path / "state")
        assert serve(broker.place("OUT"), str(tmp_path / "again"), state=tmp_path / "second")["records"] == 30
        set_all(PASSWORD="wrong")
        with pytest.raises(OboroError, match="refuses"):
            serve(str(tmp_path / "in.ndjson"), broker.place("NOT"), state=tmp_path / "third")
        set_all(CERT="", KEY="")
        with pytest.raises(BrokerError):
            serve(str(tmp_path / "in.ndjson"), broker.place("NOT"), state=tmp_path / "fourth", patience=0.1)
        assert "secret" not in (tmp_path / "nats.log").read_text()
