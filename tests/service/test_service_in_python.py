"""A service in a program of one's own, its options in a file, what can be seen of it, other bodies."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import struct
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.service.brokers_here import BODIES, ROWS, running, service

from benchmarks.brokers import LocalBroker, LocalRedis, free_port
from benchmarks.kills import RECIPE
from oboro.cli.main import main
from oboro.errors import OboroError, UsageError
from oboro.recipe.recipe import Recipe
from oboro.service.health import health_page
from oboro.stream import DelayFree
from oboro.stream.engine import Watch, log_line
from oboro.text import Message


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(LocalRedis, tmp_path_factory.mktemp("redis")) as found:
        found.send("PEOPLE", BODIES)
        yield found


def in_a_thread(asked: Coroutine[Any, Any, Any]) -> Any:
    """The answer, from a thread of its own: in this one a browser's loop may be running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asked).result()


def test_async_for(broker: LocalBroker, tmp_path: Path) -> None:
    async def collect() -> list[dict[str, Any]]:
        stream = Recipe(**RECIPE).stream()
        served = stream.serve(broker.place("PEOPLE"), broker.place("OUT"), state=tmp_path / "state", once=True)
        return [released async for released in served]

    found = in_a_thread(collect())
    assert [one["note"] for one in found] == [row["note"] for row in ROWS]
    assert [json.loads(body) for _, body in broker.held("OUT")] == found


def test_async_for_with_a_page_for_machines(broker: LocalBroker, tmp_path: Path) -> None:
    """The address was taken and nobody listened there."""
    port, given = free_port(), {"state": tmp_path / "state", "once": True}

    def live() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=5) as answer:
            return bool(answer.status == 200)

    async def collect() -> list[bool]:
        stream = Recipe(**RECIPE).stream()
        served = stream.serve(broker.place("PEOPLE"), broker.place("SEEN"), listen=f"127.0.0.1:{port}", **given)
        return [live() async for released in served if released["note"] < 3]

    assert in_a_thread(collect()) == [True] * 3
    with pytest.raises(urllib.error.URLError):
        live()


def test_async_for_in_avro(broker: LocalBroker, tmp_path: Path) -> None:
    """Its schema is made of the recipe, and was asked for."""

    async def collect() -> list[dict[str, Any]]:
        served = (
            Recipe(**RECIPE)
            .stream()
            .serve(
                broker.place("PEOPLE"), broker.place("AVRO"), state=tmp_path / "state", once=True, output_format="avro"
            )
        )
        return [released async for released in served]

    assert [one["note"] for one in in_a_thread(collect())] == [row["note"] for row in ROWS]
    with pytest.raises(UsageError, match="--schema"):
        service(broker.place("PEOPLE"), broker.place("NONE"), format="avro")


def test_records_that_wait_are_released_in_time_where_the_broker_s_clock_is_ahead(
    broker: LocalBroker, tmp_path: Path
) -> None:
    """They waited as much longer as its clock was ahead of this machine's."""
    import redis

    client, ahead = redis.Redis(host="127.0.0.1", port=broker.port), int(time.time() + 3600) * 1000
    for n, row in enumerate(ROWS[:6]):
        client.xadd("AHEAD", {"record": json.dumps({**row, "age": 30 + n})}, id=f"{ahead + n}-0")
    client.close()
    recipe = {**RECIPE, "attributes": {**RECIPE["attributes"], "age": {"role": "quasi"}}}
    how = {"mode": "window", "window": 50, "max_delay": 0.3, "categories": ["sex"], "state": tmp_path / "state"}
    one = service(broker.place("AHEAD"), broker.place("INTIME"), recipe, once=False, **how)
    one.watch.told.append(lambda count, done, seconds: one.stop.ask() if done.bodies else None)
    late = threading.Timer(5.0, one.stop.ask)
    late.start()
    assert one.run()["released"]
    late.cancel()


def test_async_for_that_is_left_ends_the_service(broker: LocalBroker, tmp_path: Path) -> None:
    async def first() -> Any:
        served = Recipe(**RECIPE).stream().serve(broker.place("PEOPLE"), broker.place("LEFT"), state=tmp_path / "state")
        try:
            async for released in served:
                return released
        finally:
            await served.aclose()  # type: ignore[attr-defined]

    assert in_a_thread(first())["note"] == 0


def test_blocks_of_a_loop_of_ones_own() -> None:
    stream, other = Recipe(**RECIPE).stream(), Recipe(**RECIPE).stream()
    taken = stream.take([ROWS[0], {"age": 3}, ROWS[1]], now=1.0)
    assert taken.released == other.push(ROWS[0]) + other.push(ROWS[1])
    assert list(taken.refused) == [1]


@pytest.mark.parametrize("form", ["msgpack", "avro"])
def test_other_bodies(broker: LocalBroker, tmp_path: Path, form: str) -> None:
    import io

    import fastavro

    types = {"name": "string", "age": "long", "sex": "string", "note": "long"}
    schema = {"type": "record", "name": "P", "fields": [{"name": n, "type": t} for n, t in types.items()]}
    (tmp_path / "schema.json").write_text(json.dumps(schema))

    def body(row: dict[str, Any]) -> bytes:
        if form == "msgpack":
            return msgspec.msgpack.encode(row)
        data = io.BytesIO()
        fastavro.schemaless_writer(data, fastavro.parse_schema(schema), row)
        return data.getvalue()

    broker.send(f"IN-{form}", [*(body(row) for row in ROWS), b"\xff\xff"])
    more = {"schema": tmp_path / "schema.json"} if form == "avro" else {}
    one = service(
        broker.place(f"IN-{form}"),
        broker.place(f"OUT-{form}"),
        state=tmp_path / "state",
        format=form,
        output_format="ndjson",
        **more,
    )
    counts = one.run()
    assert (counts["released"], counts["dead_letters"]) == (len(ROWS), 1)
    assert counts["smallest_crowd"] == RECIPE["steps"][1]["k_anonymize"]["k"]
    assert [json.loads(each)["note"] for _, each in broker.held(f"OUT-{form}")] == [row["note"] for row in ROWS]


def test_options_in_a_file_a_check_and_a_dry_run(
    broker: LocalBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    given = {"recipe": "recipe.json", "from": broker.place("PEOPLE"), "to": broker.place("FILED"), "log": "json"}
    (tmp_path / "service.yaml").write_text(json.dumps({**given, "state": str(tmp_path / "state"), "once": True}))

    def run(*more: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["oboro", "stream", "--config", str(tmp_path / "service.yaml"), *more])
        try:
            main()
        except SystemExit as ended:
            assert ended.code in (0, None)
        return tuple(capsys.readouterr())

    assert "100 records looked at, 0 would be refused" in run("--check")[0]
    assert "120 would be released" in run("--dry-run")[0]
    assert broker.held("FILED") == []
    log = [json.loads(line) for line in run()[1].splitlines()]
    assert [one["event"] for one in log] == ["service.ready", "service.ended"]
    assert len(broker.held("FILED")) == len(ROWS)


def test_what_machines_ask() -> None:
    watch, port = Watch(), free_port()

    def asked(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    with health_page(f"127.0.0.1:{port}", watch):
        assert asked("/health/live")[0] == 200
        assert asked("/health/ready")[0] == 503
        watch.ready, watch.records = True, 7
        assert asked("/health/ready")[0] == 200
        assert "oboro_records_total 7.0" in asked("/metrics")[1]
        assert "oboro_smallest_crowd" not in asked("/metrics")[1]
        anonymizer = DelayFree(["sex"], 2)
        anonymizer.push_many([{"sex": "F"}] * 3)
        watch.glance = anonymizer.glance
        watch.saved()
        told = asked("/metrics")[1]
        assert "oboro_smallest_crowd 2.0" in told
        assert "oboro_suppressed_cells 1.0" in told
        assert "oboro_state_age_seconds 0." in told


def test_those_who_ask_and_say_nothing_hold_nobody_up(capfd: pytest.CaptureFixture[str]) -> None:
    """Each held a thread and a file of the service for ever, and one that went away filled its log."""
    port, threads = free_port(), threading.active_count()
    with health_page(f"127.0.0.1:{port}", Watch()):
        silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(40)]
        for one in silent:
            one.sendall(b"GET /metrics HT")
        for _ in range(3):
            gone = socket.create_connection(("127.0.0.1", port), 5)
            gone.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
        for path in ("/health/live", "/metrics?name=x"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                assert answer.status == 200
        assert threading.active_count() - threads <= 20
        for one in silent:
            one.close()
    assert capfd.readouterr().err == ""


def test_passwords_do_not_stand_in_addresses(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="OBORO_FROM_PASSWORD"):
        service("redis://me:secret@127.0.0.1/in", "redis://127.0.0.1/out", state=tmp_path / "state")


def test_a_line_of_the_log() -> None:
    line = json.loads(log_line(Message("service.leads"), "info", "en", True))
    assert (line["event"], line["level"]) == ("service.leads", "info")


def test_how_much_waits_is_known_while_it_works(
    broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that never rests is the one that falls behind."""
    monkeypatch.setattr("oboro.stream.engine.LOOK", 0.0)
    one, seen = service(broker.place("PEOPLE"), broker.place("WAITS"), state=tmp_path / "state"), list[int]()
    one.watch.told.append(lambda *_: seen.append(one.watch.behind))
    one.run()
    assert seen == [0, *range(len(BODIES) - 16, 0, -16)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list what is open")
@pytest.mark.parametrize(
    "given",
    [
        {"snapshots": "mqtt://127.0.0.1/KEPT"},
        {"snapshots": "/no/broker"},
        {"lease": 5.0, "target": "-"},
        {"format": "avro"},
        {"dead_letters": "/no/such/folder/letters"},
        {"state": "/dev/null/state"},
        {"lease": 5.0, "state": "state"},
    ],
    ids=str,
)
def test_a_service_that_is_refused_leaves_nothing_open(given: dict[str, Any], tmp_path: Path) -> None:
    """Neither the socket at which it listened, nor those that wake it up."""
    place = f"tcp-listen://127.0.0.1:{free_port()}"
    given = {name: str(tmp_path / one) if one == "state" else one for name, one in given.items()}

    def refused() -> int:
        with pytest.raises(OboroError):
            service(place, **{"target": "redis://127.0.0.1:1/OUT", **given}).run()
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.freeze()  # only what is made from here on is looked through
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        assert refused() == refused()
    assert [str(one.message) for one in told if issubclass(one.category, ResourceWarning)] == []
