"""An input that removes records before they are read: said at once, not passed over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.brokers_here import BODIES, running, serve, service

from benchmarks.brokers import LocalBroker, LocalKafka, LocalNats, LocalRedis, ended, forked, wait_until
from oboro.errors import BrokerError, FileError, UsageError
from oboro.service.base import open_place


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(LocalRedis, tmp_path_factory.mktemp("redis")) as found:
        yield found


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(LocalNats, tmp_path_factory.mktemp("nats")) as found:
        yield found


def read_on(source: Any) -> None:
    for _ in range(30):
        source.read(5, 0.3)


def of_stream(broker: LocalBroker, ask: Any) -> Any:
    """Let somebody else do something to streams of NATS, or ask what it says of one."""
    import nats

    async def act() -> Any:
        client = await nats.connect(f"nats://127.0.0.1:{broker.port}")
        told = await ask(client.jetstream())
        await client.close()
        return told

    return asyncio.run(act())


@pytest.mark.parametrize("batch", [1, 5, 40])
def test_entries_that_valkey_trims(valkey: Any, tmp_path: Path, batch: int) -> None:
    name = f"TRIM{batch}"
    valkey.send(name, BODIES)
    one = service(valkey.place(name), valkey.place(f"{name}OUT"), state=tmp_path / "state", batch=batch)
    handle, done = one._handle, [0]

    def slow(*given: Any, **named: Any) -> None:
        handle(*given, **named)
        done[0] += 1
        if done[0] == 1:
            valkey._client().xtrim(name, maxlen=20, approximate=False)

    one._handle = slow  # type: ignore[method-assign]
    with pytest.raises(FileError, match="removed before they were read"):
        one.run()


def test_a_few_entries_that_valkey_trims_between_two_reads(valkey: Any) -> None:
    """Fewer than a block: the server shows nothing of it but its count of all that ever came."""
    client, source = valkey._client(), open_place(valkey.place("FEW"), "source", "FROM")
    valkey.send("FEW", BODIES[:3])
    source.open(None)
    assert len(source.read(20, 0.1)) == 3
    for turn in range(3):  # what was read may go
        client.xtrim("FEW", maxlen=0, approximate=False)
        valkey.send("FEW", BODIES[turn : turn + 2])
        assert len(source.read(20, 0.1)) == 2
    valkey.send("FEW", BODIES[:5])
    client.xtrim("FEW", maxlen=2, approximate=False)
    with pytest.raises(FileError, match="3 records were removed"):
        source.read(20, 0.1)
    last = client.xinfo_stream("FEW")["last-generated-id"].decode()
    source.open(last)  # it begins at the end, and what is there now was read
    valkey.send("FEW", BODIES[:2])
    client.xtrim("FEW", maxlen=2, approximate=False)
    assert len(source.read(20, 0.1)) == 2
    assert source.read(20, 0.01) == []
    valkey.send("FEW", BODIES[:4])
    client.xtrim("FEW", maxlen=0, approximate=False)
    with pytest.raises(FileError, match="4 records were removed"):
        source.read(20, 0.1)
    source.close()
    client.close()


def test_entries_that_are_taken_out_by_hand_or_were_read_are_no_loss(valkey: Any) -> None:
    valkey.send("HAND", BODIES)
    client, source = valkey._client(), open_place(valkey.place("HAND"), "source", "FROM")
    source.open(None)
    found = source.read(20, 0.1)
    ids = [id for id, _ in client.xrange("HAND")]
    client.xdel("HAND", *ids[30:33])
    client.xtrim("HAND", minid=ids[18], approximate=False)
    while more := source.read(20, 0.01):
        found += more
    source.close()
    client.close()
    assert [body for body, _, _ in found] == BODIES[:30] + BODIES[33:]


@pytest.mark.parametrize("how", ["deleted", "anew", "set back"])
def test_a_stream_of_valkey_that_is_not_the_one_that_was_read(valkey: Any, how: str) -> None:
    """A stream that is made anew has newer ids, so reading on would pass over what was lost."""
    name = f"ANEW {how}"
    valkey.send(name, BODIES[:20])
    client, source = valkey._client(), open_place(valkey.place(name), "source", "FROM")
    kept = client.dump(name)
    valkey.send(name, BODIES[20:60])
    source.open(None)
    assert len(source.read(16, 0.1)) == 16
    client.delete(name)
    if how == "set back":
        client.restore(name, 0, kept)
    if how != "deleted":
        valkey.send(name, BODIES[60:65])
    with pytest.raises(FileError, match="was deleted, made anew or set back"):
        source.read(16, 0.1)
    source.close()
    client.close()


def test_messages_that_nats_discards(nats: LocalBroker) -> None:
    nats.send("PURGED", BODIES)
    source = open_place(nats.place("PURGED"), "source", "FROM")
    source.open(None)
    assert len(source.read(5, 1.0)) == 5  # and ten more are on their way
    of_stream(nats, lambda js: js.purge_stream("PURGED", seq=90))
    with pytest.raises(FileError, match="removed before"):
        read_on(source)
    source.close()


def test_messages_that_nats_discards_when_nothing_comes_after(nats: LocalBroker) -> None:
    nats.send("EMPTIED", BODIES)
    source = open_place(nats.place("EMPTIED"), "source", "FROM")
    source.open(None)
    assert len(source.read(5, 1.0)) == 5
    of_stream(nats, lambda js: js.purge_stream("EMPTIED"))
    while source.read(5, 0.1):
        pass
    with pytest.raises(FileError, match="removed before"):
        source.behind()
    source.close()


@pytest.mark.parametrize(
    "limit", [{"max_msgs_per_subject": 3}, {"allow_msg_ttl": True}], ids=lambda one: next(iter(one))
)
def test_messages_that_nats_takes_from_the_middle(nats: LocalBroker, limit: dict[str, Any]) -> None:
    """What went before the first start is nobody's loss; what goes while the service is down is."""
    name = next(iter(limit))

    async def fill(js: Any, count: int) -> None:
        await js.publish(f"{name}.first", BODIES[0])
        for body in BODIES[:count]:
            await js.publish(f"{name}.one", body, headers={"Nats-TTL": "1s"} if name == "allow_msg_ttl" else None)
        await js.publish(f"{name}.last", BODIES[0])

    of_stream(nats, lambda js: js.add_stream(name=name, subjects=[f"{name}.*"], **limit))
    of_stream(nats, lambda js: fill(js, 8))
    of_stream(nats, lambda js: js.delete_msg(name, 7))
    source = open_place(nats.place(name), "source", "FROM")
    source.open(None)
    found = []
    while more := source.read(5, 0.2):
        found += more
    assert len(found) < 10
    source.close()
    of_stream(nats, lambda js: fill(js, 5))
    if name == "allow_msg_ttl":  # the server looks for what is over now and then
        wait_until(lambda: of_stream(nats, lambda js: js.stream_info(name)).state.messages == 4, "nothing was removed")
    source.open(found[-1][1])
    with pytest.raises(FileError, match="removed before"):
        read_on(source)
    source.close()
    source = open_place(nats.place(name) + f"?subject={name}.one", "source", "FROM")
    with pytest.raises(UsageError, match=f"removes records by itself .{name}"):
        source.open(None)
    source.close()


def test_a_mirror_of_some_messages(nats: LocalBroker) -> None:
    """Its numbers have gaps where the other messages are; with a limit nobody could tell a loss from them."""
    from nats.js.api import StreamSource

    async def fill(js: Any) -> None:
        await js.add_stream(name="ORIGIN", subjects=["origin.*"])
        for n, body in enumerate(BODIES[:30]):
            await js.publish("origin.some" if n % 10 == 5 else "origin.others", body)
        some = StreamSource(name="ORIGIN", filter_subject="origin.some")
        await js.add_stream(name="MIRROR", mirror=some)
        await js.add_stream(name="AGING", mirror=some, max_age=3600)
        while (await js.stream_info("MIRROR")).state.messages < 3:
            await asyncio.sleep(0.01)

    of_stream(nats, fill)
    source = open_place(nats.place("MIRROR"), "source", "FROM")
    source.open(None)
    assert [body for body, _, _ in source.read(5, 1.0)] == BODIES[5:30:10]
    assert source.behind() == 0
    source.close()
    source = open_place(nats.place("AGING"), "source", "FROM")
    with pytest.raises(UsageError, match="removes records by itself .max_age: 3600"):
        source.open(None)
    source.close()


def test_messages_of_one_subject_that_nats_discards(nats: LocalBroker) -> None:
    """Whatever others remove of their own while all of ours was read is no loss."""

    async def fill(js: Any) -> None:
        for n, body in enumerate(BODIES):
            await js.publish("mixed.people" if n % 10 == 0 else "mixed.others", body)

    of_stream(nats, lambda js: js.add_stream(name="MIXED", subjects=["mixed.*"]))
    of_stream(nats, fill)
    source = open_place(nats.place("MIXED") + "?subject=mixed.people", "source", "FROM")
    source.open(None)
    while source.read(5, 0.2) or source.behind():
        pass
    of_stream(nats, lambda js: js.purge_stream("MIXED"))  # all of it was read, or is somebody else's
    of_stream(nats, fill)
    assert source.read(2, 1.0)  # and four more are on their way
    of_stream(nats, lambda js: js.purge_stream("MIXED", seq=220))
    with pytest.raises(FileError, match="records were removed, and nobody can tell"):
        read_on(source)
    source.open(None)
    of_stream(nats, fill)
    of_stream(nats, lambda js: js.purge_stream("MIXED"))
    with pytest.raises(FileError, match="records were removed, and"):  # nothing of it is left to be noticed by
        source.behind()
    source.close()


def test_one_subject_of_many_comes_to_its_end(nats: LocalBroker, tmp_path: Path) -> None:
    async def fill(js: Any) -> None:
        await js.add_stream(name="MANY", subjects=["many.*"])
        for n, body in enumerate(BODIES[:30]):
            await js.publish("many.people" if n % 3 == 0 else "many.others", body)

    of_stream(nats, fill)
    serve(nats.place("MANY") + "?subject=many.people", nats.place("SOME"), state=tmp_path / "state")
    assert [json.loads(body)["note"] for _, body in nats.held("SOME")] == list(range(0, 30, 3))


def test_an_offset_that_kafka_does_not_hold(tmp_path: Path) -> None:
    def work() -> None:
        from confluent_kafka import TopicPartition

        source = open_place(broker.place("IN"), "source", "FROM")
        source.open(None)
        assert source.read(5, 5.0)
        source._consumer.assign([TopicPartition("IN", 0, 10_000)])
        with pytest.raises(FileError, match="removed before"):
            read_on(source)

    with running(LocalKafka, tmp_path) as broker:
        broker.send("IN", BODIES[:10])
        assert ended(forked(work)) == 0


class Told:
    """A message of Kafka, or what is wrong."""

    def __init__(self, number: int, code: int | None = None) -> None:
        self.number, self.wrong = number, code

    def error(self) -> Any:
        return None if self.wrong is None else SimpleNamespace(code=lambda: self.wrong, str=lambda: "wrong")

    def offset(self) -> int:
        return self.number

    def timestamp(self) -> tuple[int, int]:
        return 0, 1

    def value(self) -> bytes:
        return b"%d" % self.number


class Teller:
    """Gives what it was given, in any order of calls."""

    def __init__(self, told: list[Told]) -> None:
        self.told = told

    def poll(self, wait: float) -> Told | None:
        return self.told.pop(0) if self.told else None

    def consume(self, most: int, wait: float) -> list[Told]:
        taken, self.told = self.told[:most], self.told[most:]
        return taken


@given(said=st.lists(st.sampled_from(["record", "record", "end", "away"]), max_size=12), most=st.integers(1, 5))
def test_nothing_that_kafka_tells_is_passed_over(said: list[str], most: int) -> None:
    kafka = pytest.importorskip("confluent_kafka").KafkaError
    codes = {"record": None, "end": kafka._PARTITION_EOF, "away": kafka._TRANSPORT}
    told: list[Told] = []
    for one in said:
        told.append(Told(len(told), codes[one]))
    source = open_place("kafka://127.0.0.1/IN", "source", "FROM")
    source._consumer = Teller(list(told))
    found: list[int] = []
    away = 0
    for _ in range(3 * len(said) + 3):
        try:
            found += [int(body) for body, _, _ in source.read(most, 0.0)]
        except BrokerError:
            away += 1
    source._consumer = None
    assert found == [one.number for one in told if one.wrong is None]
    assert away == said.count("away")


def test_the_mark_of_a_transaction_is_not_waited_for() -> None:
    """It takes a number, and nobody reads it: a topic that was read to its end is not behind by one for ever."""
    kafka = pytest.importorskip("confluent_kafka").KafkaError
    source = open_place("kafka://127.0.0.1/IN", "source", "FROM")
    source._consumer = Teller([Told(0), Told(1), Told(3, kafka._PARTITION_EOF)])
    source.link.bounds = lambda _: (0, 3)
    assert [source.behind(), len(source.read(5, 0.0)), source.behind()] == [3, 2, 0]
    source.link.bounds = lambda _: (0, 6)  # two records and their mark
    source._consumer.told = [Told(3), Told(4)]
    assert [source.behind(), len(source.read(5, 0.0)), source.behind()] == [3, 2, 1]
    source._consumer.told = [Told(6, kafka._PARTITION_EOF)]
    assert [source.read(5, 0.0), source.behind()] == [[], 0]
    source._consumer = None
