"""Brokers whose clients have threads of their own: everything happens in processes that are forked before."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, all_records, running, serve
from tests.service.certificates import TlsFront, make_certificates

from benchmarks.brokers import LocalBroker, LocalKafka, LocalMqtt, LocalRabbitmq, ended, forked
from benchmarks.kills import RECIPE, kill_often
from oboro.errors import BrokerError, ConflictError, FileError, OboroError, UsageError
from oboro.recipe.recipe import Recipe
from oboro.service.base import open_place
from oboro.service.make import check_service, make_service
from oboro.service.settings import ServiceSettings


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(request.param, tmp_path_factory.mktemp(request.param.kind)) as found:
        yield found


def only(*kinds: type[LocalBroker]) -> pytest.MarkDecorator:
    """One server of each kind, for the whole module."""
    return pytest.mark.parametrize("broker", kinds, indirect=True, ids=lambda one: one.kind)


@only(LocalKafka, LocalMqtt, LocalRabbitmq)
def test_killed_again_and_again(broker: LocalBroker, tmp_path: Path) -> None:
    """On a mock cluster, or with a broker that gives at least once: one form, one id, nothing lost."""
    found = kill_often(broker, broker.folder, 8, seed=3, records=150)
    assert found.wrong == 0, found
    assert found.kills >= 8


@only(LocalKafka)
def test_kafka_refuses_what_does_not_belong_together(broker: LocalKafka, tmp_path: Path) -> None:
    def work() -> None:
        source, target, state = broker.place("PEOPLE"), broker.place("OUT"), tmp_path / "state"
        serve(source, target, state=state)
        with pytest.raises(FileError, match="no state that knows them"):
            serve(source, target, state=tmp_path / "lost")
        broker._send("LATER", BODIES)
        with pytest.raises(FileError, match="another time|set back"):
            serve(broker.place("LATER"), target, state=state)
        with pytest.raises(UsageError, match="4 partitions"):
            serve(source.partition("?")[0], broker.place("ANOTHER"), state=tmp_path / "other")

    broker.send("PEOPLE", BODIES)
    assert ended(forked(work)) == 0
    assert [json.loads(body)["note"] for _, body in broker.held("OUT")] == list(range(len(BODIES)))


@only(LocalKafka)
def test_a_released_value_may_be_the_key(broker: LocalKafka, tmp_path: Path) -> None:
    def work() -> None:
        serve(broker.place("KEYED"), f"{broker.place('BYKEY')}&key=age", state=tmp_path / "state")
        found = all_records(broker, "BYKEY")
        assert [one.key().decode() for one in found] == [str(json.loads(one.value())["age"]) for one in found]
        assert len(found) == 30
        with pytest.raises(UsageError, match="key=name"):
            serve(broker.place("KEYED"), f"{broker.place('NOKEY')}&key=name", state=tmp_path / "other")

    broker.send("KEYED", BODIES[:30])
    assert ended(forked(work)) == 0


@pytest.mark.skipif(which("openssl") is None, reason="no openssl to make certificates with")
@only(LocalRabbitmq)
def test_rabbitmq_over_tls(broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_certificates(tmp_path)
    front = TlsFront(tmp_path, broker.port)
    files = {"CA": "ca.pem", "CERT": "client.pem", "KEY": "client.key"}
    for name, value in {**{name: str(tmp_path / file) for name, file in files.items()}, "USER": "guest"}.items():
        monkeypatch.setenv(f"OBORO_BROKER_{name}", value)

    def given(password: str) -> int:
        monkeypatch.setenv("OBORO_BROKER_PASSWORD", password)
        (tmp_path / "in").write_bytes(b"\n".join(BODIES) + b"\n")
        place = front.place(broker.place("TLS"))
        return int(serve(str(tmp_path / "in"), place, state=tmp_path / password, patience=0.1)["released"])

    try:
        assert given("guest") == len(BODIES)
        with pytest.raises(OboroError, match="refuses"):
            given("wrong")
    finally:
        front.close()


@pytest.mark.parametrize("kind", ["mqtt", "rabbitmq"])
def test_who_hands_over_twice_needs_ids_and_a_folder(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--id"):
        serve(f"{kind}://127.0.0.1/in", f"{kind}://127.0.0.1/out", state=tmp_path / "state")
    with pytest.raises(UsageError, match="--state"):
        serve(f"{kind}://127.0.0.1/in", f"{kind}://127.0.0.1/out", id="note")


@pytest.mark.skipif("KAFKA_BOOTSTRAP" not in os.environ, reason="no real Kafka: set KAFKA_BOOTSTRAP to host:port")
def test_a_real_kafka(tmp_path: Path) -> None:
    """Two topics of one partition are made by their first use."""
    where = os.environ["KAFKA_BOOTSTRAP"]

    def work() -> None:
        from confluent_kafka import Producer

        name = f"oboro-test-{os.getpid()}"
        producer = Producer({"bootstrap.servers": where})
        for body in BODIES:
            producer.produce(f"{name}-in", body, partition=0)
        producer.flush(30)
        source, target = f"kafka://{where}/{name}-in?partition=0", f"kafka://{where}/{name}-out?partition=0"
        assert serve(source, target, state=tmp_path / "state")["released"] == len(BODIES)
        with pytest.raises((FileError, ConflictError)):
            serve(source, target, state=tmp_path / "lost")

    assert ended(forked(work)) == 0


@only(LocalRabbitmq)
def test_a_stream_of_rabbitmq_is_read_by_its_offsets(broker: LocalBroker, tmp_path: Path) -> None:
    """It hands over only what comes from now on, unless it is told where to begin."""

    def send(channel: Any, bodies: list[bytes]) -> None:
        channel.queue_declare("STREAM", durable=True, arguments={"x-queue-type": "stream"})
        channel.tx_select()
        for body in bodies:
            channel.basic_publish("", "STREAM", body)
        channel.tx_commit()

    def released(**more: Any) -> int:
        place = broker.place("STREAM")
        return int(serve(place, str(tmp_path / "out"), state=tmp_path / "state", id="note", **more)["released"])

    def work() -> None:
        from oboro.service import rabbitmq

        rabbitmq.FIRST = 0.5
        source = open_place(broker.place("STREAM"), "source", "FROM")
        channel = source.link.connect()
        for start in (0, 60):
            send(channel, BODIES[start : start + 60])
            assert released() == 60
        assert released() == 0
        source._count = 5
        with pytest.raises(FileError, match="4 records were removed"):
            source._check_kept(9)
        channel.queue_delete("STREAM")
        send(channel, BODIES[:5])  # all of them would be passed over
        with pytest.raises(BrokerError, match="record 120 is not there"):
            released(patience=0.1)
        source.close()

    assert ended(forked(work)) == 0
    assert [json.loads(line)["note"] for line in (tmp_path / "out").read_text().splitlines()] == list(range(120))


@only(LocalRabbitmq)
def test_a_check_takes_nothing_from_a_queue_that_counts(broker: LocalBroker, tmp_path: Path) -> None:
    """Whoever is handed a record and goes counts: at the queue's limit (20 on RabbitMQ 4) all that was looked at was dropped."""
    connection, channel = broker._channel()  # type: ignore[attr-defined]
    channel.queue_declare("COUNTS", durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 1})
    channel.confirm_delivery()
    for body in BODIES[:5]:
        channel.basic_publish("", "COUNTS", body)
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    given = {"recipe": tmp_path / "recipe.json", "from": broker.place("COUNTS"), "to": broker.place("CHECKED")}
    settings = ServiceSettings.load(None, {**given, "state": tmp_path / "state", "id": "note", "once": True})
    for _ in range(3):
        assert "5" in check_service(settings)[0].say("en")
    connection.close()
    assert make_service(Recipe(**RECIPE), settings).run()["released"] == 5


@only(LocalRabbitmq)
def test_a_restored_state_gives_no_id_twice(broker: LocalBroker, tmp_path: Path) -> None:
    """The queue cannot say what it holds. New records had the ids of earlier ones, and readers who drop repeats lost them."""

    def served(start: int) -> None:
        def work() -> None:
            broker.send("BACKUP", BODIES[start : start + 20])
            serve(broker.place("BACKUP"), broker.place("RESTORED"), state=tmp_path / "state", id="note")

        assert ended(forked(work)) == 0

    served(0)
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    served(20)
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "backup", tmp_path / "state")
    served(40)
    held = broker.held("RESTORED")
    assert [json.loads(body)["note"] for _, body in held] == list(range(60))
    assert len({id for id, _ in held}) == 60


@only(LocalRabbitmq)
def test_what_a_queue_does_not_take_is_not_called_published(broker: LocalBroker, tmp_path: Path) -> None:
    """A transaction says nothing of a queue that is full or gone; with confirmations both are seen, and the rest follows."""

    def work() -> None:
        limit = {"x-queue-type": "quorum", "x-max-length": 20, "x-overflow": "reject-publish"}
        sink = open_place(broker.place("FULL"), "sink", "TO")
        channel = sink.link.connect()
        channel.queue_declare("FULL", durable=True, arguments=limit)
        sink.open()
        channel = sink.link.held()
        at, said = 0, ""
        while not said:
            at += 10
            try:
                sink.publish(at, BODIES[at : at + 10], "s/")
            except BrokerError as full:
                said = str(full)
        assert "is full" in said
        there = len(broker.held("FULL"))
        for _ in range(there):
            channel.basic_get("FULL", auto_ack=True)
        sink._had = {*range(at + 1, at + 4)}  # these it has
        sink.publish(at, BODIES[at : at + 10], "s/")
        assert [int(id.partition(".")[2]) for id, _ in broker.held("FULL")] == [*range(at + 4, at + 11)]
        channel.queue_delete("FULL")
        with pytest.raises(BrokerError, match="is gone"):
            sink.publish(at + 10, BODIES[:5], "s/")
        sink.open()
        sink.publish(at + 10, BODIES[:5], "s/")
        assert len(broker.held("FULL")) == 5
        sink.close()

    assert ended(forked(work)) == 0
