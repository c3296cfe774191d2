"""Networks that cut and delay, places of different kinds: every record once, in one form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.service.brokers_here import BODIES, ROWS, running, serve, service

from benchmarks.brokers import CuttingProxy, LocalBroker, LocalNats, LocalRedis


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
    monkeypatch.setattr("oboro.stream.engine.PAUSES", (0.0, 0.01))
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


def test_a_field_among_others_is_the_record(brokers: dict[str, LocalBroker], tmp_path: Path) -> None:
    """Entries of other producers: more fields than one, none that is meant, and a removed entry among them."""
    import redis

    client = redis.Redis(host="127.0.0.1", port=brokers["redis"].port)
    written = [client.xadd("MIXED", {"trace": "17", "payload": body}) for body in BODIES]
    client.xadd("MIXED", {"trace": "17"})
    client.xdel("MIXED", written[3])
    client.close()
    counts = serve(brokers["redis"].place("MIXED") + "?field=payload", str(tmp_path / "out"), state=tmp_path / "state")
    found = notes((tmp_path / "out").read_bytes().splitlines())
    assert found == [number for number in range(len(ROWS)) if number != 3]
    assert counts["dead_letters"] == 1


def test_empty_lines_are_no_records_and_empty_messages_are_said(
    brokers: dict[str, LocalBroker], tmp_path: Path
) -> None:
    (tmp_path / "in.ndjson").write_bytes(b"\n" * 70_000 + b"\n \n".join(BODIES) + b"\n" * 500)
    counts = serve(str(tmp_path / "in.ndjson"), brokers["nats"].place("GAPS"), state=tmp_path / "state")
    assert (counts["released"], counts["dead_letters"]) == (len(ROWS), 0)
    brokers["nats"].send("EMPTY", [*BODIES[:5], b"", *BODIES[5:]])
    counts = serve(brokers["nats"].place("EMPTY"), str(tmp_path / "out"), state=tmp_path / "other")
    assert (counts["released"], counts["dead_letters"]) == (len(ROWS), 1)
