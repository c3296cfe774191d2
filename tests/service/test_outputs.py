"""Outputs that are full, removed or emptied, and brokers that refuse or forget: said, and never taken for published."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, running, serve

from benchmarks.brokers import LocalNats, LocalRedis
from oboro.errors import BrokerError, ConflictError, FileError, UsageError
from oboro.service.base import open_place


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(LocalNats, tmp_path_factory.mktemp("nats")) as found:
        yield found


def of_stream(broker: Any, ask: Any) -> None:
    """Let somebody else do something to streams of NATS."""
    import nats

    async def act() -> None:
        client = await nats.connect(f"nats://127.0.0.1:{broker.port}")
        await ask(client.jetstream())
        await client.close()

    asyncio.run(act())


def test_a_stream_of_nats_that_is_full_is_waited_for(nats: Any, tmp_path: Path) -> None:
    """It was taken for one that another process writes."""
    full = {"max_msgs": 20, "discard": "new"}
    of_stream(nats, lambda js: js.add_stream(name="FULL", subjects=["FULL.released"], **full))
    (tmp_path / "in").write_bytes(b"\n".join(BODIES[:50]) + b"\n")
    with pytest.raises(BrokerError, match="maximum messages exceeded"):
        serve(str(tmp_path / "in"), nats.place("FULL"), state=tmp_path / "state", patience=0.1)
    assert [body for _, body in nats.held("FULL")]
    of_stream(nats, lambda js: js.update_stream(name="FULL", subjects=["FULL.released"], max_msgs=100, discard="new"))
    serve(str(tmp_path / "in"), nats.place("FULL"), state=tmp_path / "state")
    assert len(nats.held("FULL")) == 50


def test_an_output_of_valkey_that_others_touched(tmp_path: Path) -> None:
    """Where its last entries were taken out it was refused as another one; a strange entry ended the service with a traceback."""
    import redis

    with running(LocalRedis, tmp_path) as broker:
        client = redis.Redis(host="127.0.0.1", port=broker.port)
        broker.send("IN", BODIES[:20])
        given = {"state": tmp_path / "state"}
        serve(broker.place("IN"), broker.place("OUT"), **given)
        client.xdel("OUT", "20-0", "19-0")
        broker.send("IN", BODIES[20:30])
        serve(broker.place("IN"), broker.place("OUT"), **given)
        assert [id for id, _ in broker.held("OUT")] == [f"{n}-0" for n in range(1, 31) if n not in (19, 20)]
        for fields in ({"mark": "x/y/z"}, {"record": "{}", "mark": b"\xff"}):
            client.xtrim("OUT", 30)
            client.xadd("OUT", fields)
            with pytest.raises((ConflictError, FileError)):
                serve(broker.place("IN"), broker.place("OUT"), **given)
        client.close()


def test_a_stream_of_nats_that_is_removed_is_no_crash(nats: Any) -> None:
    sink = open_place(nats.place("GONE"), "sink", "TO")
    sink.open()
    sink.publish(0, BODIES[:3], "s/")
    of_stream(nats, lambda js: js.delete_stream("GONE"))
    with pytest.raises(BrokerError, match="no stream"):
        sink.publish(3, BODIES[:3], "s/")
    sink.open()
    with pytest.raises(ConflictError):
        sink.publish(3, BODIES[:3], "s/")
    sink.close()


def test_a_topic_of_kafka_whose_records_were_all_removed_is_not_begun_anew() -> None:
    pytest.importorskip("confluent_kafka")
    sink = open_place("kafka://127.0.0.1/OUT?partition=0", "sink", "TO")
    sink.link.consumer = lambda: SimpleNamespace(close=lambda: None)
    sink.link.bounds = lambda _: (0, 0)
    assert sink.last() == (0, "", b"")
    sink.link.bounds = lambda _: (7, 7)
    with pytest.raises(FileError, match="has been removed"):
        sink.last()
    sink.close()


class Mqtt:
    """What the client of MQTT is told by a broker, in place of one."""

    def __init__(self, **told: Any) -> None:
        self.told = told
        self.on_publish = self.on_subscribe = None

    def subscribe(self, *_: Any, **__: Any) -> tuple[int, int]:
        self.on_subscribe(self, None, 1, [SimpleNamespace(is_failure=False)], None)  # type: ignore[misc]
        return 0, 1

    def publish(self, *_: Any, **__: Any) -> Any:
        self.on_publish(self, None, 1, self.told["code"], None)  # type: ignore[misc]
        return SimpleNamespace(wait_for_publish=lambda _: None, is_published=lambda: True)

    def disconnect(self) -> None: ...

    def loop_stop(self) -> None: ...


def mqtt(part: str, client: Mqtt) -> Any:
    pytest.importorskip("paho.mqtt")
    end = open_place("mqtt://127.0.0.1/people", part, "TO")

    def connect(*_: Any) -> Mqtt:
        end.link.client, end.link.lost = client, False
        return client

    end.link.connect = connect
    return end


@pytest.mark.parametrize(("code", "kind"), [(0x87, UsageError), (0x97, BrokerError), (0x10, None)])
def test_a_record_that_mqtt_answers_and_does_not_take(code: int, kind: type[Exception] | None) -> None:
    """Not allowed, or over a quota: an answer comes, but nobody has the record."""
    sink = mqtt("sink", Mqtt(code=SimpleNamespace(value=code, is_failure=code >= 0x80)))
    sink.open()
    if kind is None:
        sink.publish(0, BODIES[:2], "s/")
        return
    with pytest.raises(kind):
        sink.publish(0, BODIES[:2], "s/")


def test_a_session_that_mqtt_has_forgotten_or_given_to_another() -> None:
    source = mqtt("source", Mqtt())
    source.open(None)  # a first start knows none
    with pytest.raises(FileError, match="has forgotten the session"):
        source.open("20")
    source.link.known = True
    source.open("20")
    source.link._taken = True
    with pytest.raises(UsageError, match="client=NAME"):
        source.read(5, 0.0)
