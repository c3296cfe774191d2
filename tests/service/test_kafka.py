"""Kafka's lease, snapshots, keys and secrets, on librdkafka's mock cluster.

The mock compacts nothing, knows no certificates and no passwords (a front of ours asks for them), shows open and aborted records to
everybody, and has one broker: what a real cluster does when its brokers disagree is not shown here.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.brokers_here import BODIES, all_records, running, serve, service
from tests.service.certificates import TlsFront, make_certificates

from benchmarks.brokers import LocalKafka, ended, forked
from benchmarks.kills import RECIPE, taken_over
from oboro.errors import BrokerError, FileError, UsageError
from oboro.service.base import BrokerAddress, KeyFields

LEASE = 1.0  # seconds
HANDSHAKE = struct.pack(">h", 17)
BY_PERSON = {**RECIPE, "attributes": {**RECIPE["attributes"], "who": {"role": "other"}, "trace": {"role": "other"}}}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    with running(LocalKafka, tmp_path_factory.mktemp("kafka")) as found:
        assert isinstance(found, LocalKafka)
        yield found


def apart(work: Callable[[], object]) -> None:
    """In a process of its own: the client has threads, which a fork would lose."""
    assert ended(forked(work)) == 0


def test_a_standby_takes_over_and_publishes_nothing_twice(broker: LocalKafka) -> None:
    def lead() -> None:
        service(broker.place("PEOPLE"), broker.place("OUT"), lease=LEASE, once=False).run()

    assert taken_over(broker, "PEOPLE", "OUT", lead, BODIES[:60], BODIES[60:]) < 30
    assert [json.loads(body)["note"] for _, body in broker.held("OUT")] == list(range(len(BODIES)))


@given(said=st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans(), st.booleans()), max_size=60))
def test_of_all_who_read_a_lease_one_leads(said: list[tuple[int, bool, bool, bool]]) -> None:
    """Three processes read one log, each as far as it came; at every place of the log they name the same leader or none."""
    from oboro.service.kafka import Terms

    log: list[tuple[str, int, str]] = []
    readers, places = [Terms() for _ in range(3)], [0] * 3
    leaders: dict[int, str] = {}  # of each term: one
    for who, reads, silent, ends in said:
        one, name = readers[who], f"p{who}"
        if reads:
            for record in log[places[who] :]:
                one.read(*record)
            places[who] = len(log)
        if one.leader == name:
            assert leaders.setdefault(one.term, name) == name
            log.append(("free" if ends else "beat", one.term, name))
        elif silent or not one.leader:
            log.append(("claim", one.term + 1, name))
    for start in range(len(log)):
        late, all_of_it = Terms(), Terms()  # a reader that came late agrees once whoever leads has spoken
        for n, record in enumerate(log):
            all_of_it.read(*record)
            if n >= start:
                late.read(*record)
        if log[-1][0] == "beat" and log[-1][2] == all_of_it.leader and log[-1][1] == all_of_it.term:
            assert late == all_of_it


class Heard:
    """A reader of a lease's topic that finds what it is told to."""

    def __init__(self, *found: Any) -> None:
        self.found, self.closed = list(found), False

    def poll(self, _: float) -> Any:
        one = self.found.pop(0) if self.found else None
        if one is None:
            return None
        return SimpleNamespace(error=lambda: None if isinstance(one, bytes) else one, value=lambda: one)

    def close(self) -> None:
        self.closed = True


def test_a_lease_goes_on_over_strange_records_and_removed_ones_and_says_what_is_not_allowed() -> None:
    from confluent_kafka import KafkaError

    from oboro.service.kafka import KafkaLease

    lease, end = (
        KafkaLease(BrokerAddress.read("kafka://h:1/OUT?key=who", "TO", {})),
        KafkaError(KafkaError._PARTITION_EOF),
    )
    claim = json.dumps({"says": "claim", "term": 4, "who": "other", "number": 1}).encode()
    lease._next = float("inf")  # it says nothing here
    lease._reader = strange = Heard(b"", b"7", b'{"term": Infinity, "says": 1}', b"[" * 100_000, claim, end)  # type: ignore[assignment]
    assert not lease.held()
    assert (lease._terms.term, lease._terms.leader, lease._current) == (4, "other", True)
    strange.found.append(KafkaError(KafkaError._AUTO_OFFSET_RESET))
    assert not lease.held()
    assert strange.closed
    assert lease._reader is None  # it is opened again
    lease._reader = Heard(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))  # type: ignore[assignment]
    with pytest.raises(UsageError, match="OUT-0-oboro-lease"):
        lease.held()
    lease._reader, lease._refused = Heard(), None  # type: ignore[assignment]
    lease._delivered(KafkaError(KafkaError.INVALID_RECORD), None)  # type: ignore[arg-type]  # the topic is compacted
    with pytest.raises(UsageError, match="OUT-0-oboro-lease"):
        lease.held()


@pytest.mark.parametrize("pause", [0.01, 0.2, 0.9, 5.0])
def test_a_standby_that_has_much_to_do_hears_that_the_leader_is_gone(
    pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However seldom it listens. One that slept hears first what was said meanwhile."""
    from confluent_kafka import KafkaError

    from oboro.service import kafka

    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(kafka, "time", SimpleNamespace(monotonic=lambda: clock.now))
    lease, said = kafka.KafkaLease(BrokerAddress.read("kafka://h:1/OUT", "TO", {})), list[str]()
    beat = json.dumps({"says": "beat", "term": 4, "who": "other", "number": 1}).encode()
    lease._own, lease.seconds = "own", 1.0
    lease._reader = heard = Heard(beat, KafkaError(KafkaError._PARTITION_EOF))  # type: ignore[assignment]
    monkeypatch.setattr(lease, "_say", lambda says, term: said.append(f"{says} {term}"))
    assert not lease.held()
    for _ in range(5):  # the leader is there, and this process sleeps
        clock.now += 60
        assert not lease.held()
        heard.found.append(beat)
        clock.now += 0.1
        assert not lease.held()
    assert said == []
    calls = 0
    while not said:
        clock.now, calls = clock.now + pause, calls + 1
        assert not lease.held()
    assert said == ["claim 5"]
    assert calls <= 1 + max(3, 1.1 / pause)


def test_whoever_floods_the_topic_of_a_lease_holds_nobody_up() -> None:
    from oboro.service.kafka import KafkaLease

    class Flood(Heard):
        def poll(self, _: float) -> Any:
            self.found = [b"more"]
            return super().poll(_)

    lease = KafkaLease(BrokerAddress.read("kafka://h:1/OUT", "TO", {}))
    lease._reader = Flood()  # type: ignore[assignment]
    assert not lease.held()


def test_a_snapshot_in_a_topic_replaces_a_disk(broker: LocalKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several parts; the third start finds what the second named, and the parts of the first are gone."""

    def work() -> None:
        from oboro.service import kafka

        monkeypatch.setattr(kafka, "PART", 1000)
        given = {"snapshots": broker.place("KEPT")}
        found = []
        for turn in range(3):
            found.append(serve(broker.place("MANY"), broker.place("FROM"), **given)["records"])
            broker._send("MANY", BODIES[: turn + 2])
        assert found == [len(BODIES), 2, 3]  # not from the beginning
        store = service(broker.place("MANY"), broker.place("FROM"), **given).store
        assert isinstance(store, kafka.KafkaStore)
        held = store._read()
        names = {key.partition(b"/")[0] for key in held}
        assert len(names) == 2, names
        assert len(held) > 3
        del held[next(key for key in held if key != b"newest")]
        monkeypatch.setattr(store, "_read", lambda: held)
        assert store.get() is None  # not whole

    broker.send("MANY", BODIES)
    apart(work)
    assert len(broker.held("FROM")) == len(BODIES) + 5


def test_keys_and_headers_are_dropped_or_go_by_the_recipe(broker: LocalKafka, tmp_path: Path) -> None:
    def work() -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
        for n, body in enumerate(BODIES[:20]):
            headers: Any = [("trace", f"t{n}".encode()), ("secret", b"s")]
            producer.produce("RAW", body, key=f"k{n}", partition=0, headers=headers)
        producer.flush(20)

        serve(broker.place("RAW"), broker.place("PLAIN"), state=tmp_path / "plain")
        dropped = all_records(broker, "PLAIN")
        assert [one.key() for one in dropped] == [None] * 20
        assert {name for one in dropped for name, _ in one.headers()} == {"oboro-number", "oboro-mark"}
        more = "&key=who&headers=trace"
        serve(broker.place("RAW") + more, broker.place("KEPTKEYS") + more, recipe=BY_PERSON, state=tmp_path / "kept")
        kept = all_records(broker, "KEPTKEYS")
        assert [one.key() for one in kept] == [f"k{n}".encode() for n in range(20)]
        assert [dict(one.headers())["trace"] for one in kept] == [f"t{n}".encode() for n in range(20)]
        assert all("secret" not in dict(one.headers()) for one in kept)

    apart(work)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a": 1}', {"a": 1, "who": "k", "trace": None}),
        (b" { } ", {"who": "k", "trace": None}),
        (b"no record", None),
        (b"", None),
    ],
)
def test_a_key_becomes_a_field(body: bytes, expected: dict[str, Any] | None) -> None:
    asked = KeyFields.of({"key": "who", "headers": "trace"})
    assert asked is not None
    found = asked.put_in(body, b"k", {"other": b"x"})
    assert (json.loads(found) if expected is not None else found) == (expected if expected is not None else body)
    assert KeyFields.of({"partition": "0"}) is None


class KafkaFront(TlsFront):
    """Asks for a certificate and a password, and says in the cluster's place that it is its broker."""

    password = b"\0me\0secret"

    def passed(self, data: bytes, answer: bool, near: socket.socket) -> bytes:
        if answer:
            host = b"127.0.0.1"
            return _with_handshake(
                data.replace(host + struct.pack(">i", self._to), host + struct.pack(">i", self.port))
            )
        if data[4:6] == HANDSHAKE:  # what the mock does not know: by which mechanism, and then the password
            said = data[8:12] + struct.pack(">hih", 0, 1, 5) + b"PLAIN"
        elif data == struct.pack(">i", len(self.password)):  # its length comes by itself
            return b""
        elif data.startswith(b"\0me\0"):
            if data != self.password:
                raise OSError
            said = b""
        else:
            return data
        near.sendall(struct.pack(">i", len(said)) + said)
        return b""


def _with_handshake(data: bytes) -> bytes:
    """The list of what a broker knows, with SASL in it; whatever else as it is."""
    if len(data) < 14 or len(data) != 14 + 6 * struct.unpack(">i", data[10:14])[0]:
        return data
    size, count = struct.unpack(">i", data[:4])[0], struct.unpack(">i", data[10:14])[0]
    more = HANDSHAKE + struct.pack(">hh", 0, 0)
    return struct.pack(">i", size + 6) + data[4:10] + struct.pack(">i", count + 1) + data[14:] + more


@pytest.mark.skipif(which("openssl") is None, reason="no openssl to make certificates with")
def test_tls_and_a_password_from_the_environment(
    broker: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_certificates(tmp_path)
    (tmp_path / "in").write_bytes(b"\n".join(BODIES) + b"\n")
    files = {"CA": "ca.pem", "CERT": "client.pem", "KEY": "client.key"}
    for name, value in {**{name: str(tmp_path / file) for name, file in files.items()}, "USER": "me"}.items():
        monkeypatch.setenv(f"OBORO_BROKER_{name}", value)

    def given(password: str, patience: float) -> int:
        monkeypatch.setenv("OBORO_BROKER_PASSWORD", password)
        place = front.place(broker.place("SECRET"))
        return int(serve(str(tmp_path / "in"), place, state=tmp_path / password, patience=patience)["released"])

    def work() -> None:
        from oboro.service import kafka

        assert given("secret", 60.0) == len(BODIES)
        monkeypatch.setattr(kafka, "ANSWER", 2.0)  # a broker that says nothing to a wrong password is waited for
        with pytest.raises((BrokerError, UsageError)):
            given("wrongs", 0.1)
        monkeypatch.setenv("OBORO_BROKER_CERT", str(tmp_path / "no.pem"))
        with pytest.raises(FileError, match="certificate"):
            given("secret", 60.0)

    front = KafkaFront(tmp_path, broker.port)  # it stays in this process
    try:
        apart(work)
    finally:
        front.close()
