"""Services that are idle while their broker is away: they wait for it as long as busy ones do, and go on."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, running, service

from benchmarks.brokers import (
    LocalBroker,
    LocalKafka,
    LocalMqtt,
    LocalNats,
    LocalRabbitmq,
    LocalRedis,
    ended,
    forked,
    free_port,
    wait_until,
)
from oboro.errors import BrokerError
from oboro.service import kafka
from oboro.service.health import health_page
from oboro.stream.engine import Service

KINDS = {kind.kind: kind for kind in (LocalNats, LocalRedis, LocalMqtt, LocalRabbitmq, LocalKafka)}


class Door:
    """A way to a port of this machine that can be shut, as if the broker had ended, and opened again."""

    def __init__(self, port: int) -> None:
        self._to, self.port = port, free_port()
        self._ends: list[socket.socket] = []
        self.open()

    def open(self) -> None:
        """Let clients in."""
        self._server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, args=(self._server,), daemon=True).start()

    def shut(self) -> None:
        """Let nobody in, and cut all connections."""
        for end in (self._server, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def place(self, address: str) -> str:
        """An address by way of this door."""
        return address.replace(f":{self._to}/", f":{self.port}/")

    def _serve(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 14):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module", params=list(KINDS))
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(KINDS[request.param], tmp_path_factory.mktemp(request.param)) as found:
        yield found


def asked(port: int, path: str) -> int:
    """The status of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class Running:
    """A service in a thread, with a page that says how it is."""

    def __init__(self, made: Service) -> None:
        self.made, self.port = made, free_port()
        self.fault: BaseException | None = None
        self._page = health_page(f"127.0.0.1:{self.port}", made.watch)
        self._page.__enter__()
        self._work = threading.Thread(target=self._run)
        self._work.start()

    def _run(self) -> None:
        try:
            self.made.run()
        except BaseException as error:
            self.fault = error

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; raise where the service has ended by then."""
        wait_until(lambda: self.fault is not None or holds(), "it did not come so far")
        if self.fault is not None:
            self.end()

    def rest(self) -> None:
        """Wait until it has looked at its empty input."""
        before = self.made._silent
        self.until(lambda: self.made._silent > before + 1)

    def end(self) -> None:
        """Ask it to end; raises what it ended with."""
        self.made.stop.ask()
        self._work.join()
        self._page.__exit__(None, None, None)
        if self.fault is not None:
            raise self.fault


def started(broker: LocalBroker, door: Door, folder: Path, **more: Any) -> Running:
    """An idle service from a broker to the same broker, after its first records."""
    given: dict[str, Any] = {"state": folder / "state", "once": False, "dead_letters": door.place(broker.place("DEAD"))}
    if not broker.once:
        given["id"] = "note"
    if not broker.forgets:
        broker.send("IN", BODIES[:40])
    one = Running(service(door.place(broker.place("IN")), door.place(broker.place("OUT")), **given, **more))
    one.until(lambda: one.made.watch.ready)
    if broker.forgets:
        broker.send("IN", BODIES[:40])
    one.until(lambda: one.made.watch.released == 40)
    one.rest()
    return one


def meet_a_broker_that_is_away(broker: LocalBroker, folder: Path) -> None:
    """Away for longer than the pauses between two attempts, then there again."""
    door = Door(broker.port)
    one = started(broker, door, folder, patience=20.0)
    assert asked(one.port, "/health/ready") == 200
    door.shut()
    one.until(lambda: one.made.watch.interruptions > 3)
    assert [asked(one.port, f"/health/{what}") for what in ("live", "ready")] == [200, 503]
    door.open()
    with_more(broker, one)
    door.shut()
    door.open()
    one.rest()
    one.end()
    door.shut()


def meet_a_broker_that_is_frozen(broker: LocalBroker, folder: Path) -> None:
    """The mock cluster of Kafka tells its clients its own port, so nothing can be put before it."""
    kafka.ANSWER = 0.2
    one = started(broker, Door(broker.port), folder, patience=20.0)
    assert broker._server is not None
    broker._server.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    assert asked(one.port, "/health/live") == 200
    broker._server.send_signal(signal.SIGCONT)
    kafka.ANSWER = 15.0
    with_more(broker, one)
    one.end()


def with_more(broker: LocalBroker, one: Running) -> None:
    """More records come out, and the page says so."""
    one.until(lambda: one.made.watch.connected)
    broker.send("IN", BODIES[40:])
    one.until(lambda: one.made.watch.released == len(BODIES))
    assert asked(one.port, "/health/ready") == 200


def test_an_idle_service_waits_for_its_broker(broker: LocalBroker, tmp_path: Path) -> None:
    """RabbitMQ was asked to keep the connection alive, and what it answered ended the service."""
    meet = meet_a_broker_that_is_frozen if broker.kind == "kafka" else meet_a_broker_that_is_away
    if broker.kind in ("kafka", "mqtt"):  # their clients have threads, which a fork would lose
        assert ended(forked(lambda: meet(broker, tmp_path))) == 0
    else:
        meet(broker, tmp_path)
    if broker.once:
        assert [json.loads(body)["note"] for _, body in broker.held("OUT")] == list(range(len(BODIES)))


def test_an_idle_service_gives_up_after_its_patience(tmp_path: Path) -> None:
    with running(LocalRedis, tmp_path) as broker:
        door = Door(broker.port)
        one = started(broker, door, tmp_path, patience=0.3)
        door.shut()
        with pytest.raises(BrokerError, match="redis"):
            one.until(lambda: False)


def test_letters_of_records_that_are_handed_over_again_have_one_id(broker: LocalBroker, tmp_path: Path) -> None:
    """The broker was not answered, so it hands them over in the next life, at other positions."""
    if broker.once:
        pytest.skip("nothing is handed over again")
    bad, letters = [b"none", b"[]", b"{}"], tmp_path / "dead"

    def life(first: bool) -> None:
        given: dict[str, Any] = {"id": "note", "state": tmp_path / "state", "dead_letters": str(letters), "once": False}
        if first and not broker.forgets:
            broker.send("AGAIN", bad)
        made = service(broker.place("AGAIN"), broker.place("OUT"), **given)
        made.source.confirm = lambda position: None  # type: ignore[method-assign]
        one = Running(made)
        one.until(lambda: made.watch.ready)
        if first and broker.forgets:
            broker.send("AGAIN", bad)
        one.until(lambda: made.watch.dead_letters == len(bad))
        one.end()

    for first in (True, False):
        assert ended(forked(partial(life, first))) == 0  # a client of MQTT has threads, which a fork would lose
    found = [json.loads(line) for line in letters.read_text().splitlines()]
    assert len({one["position"] for one in found}) == 2 * len(bad)
    assert [one["id"] for one in found[: len(bad)]] == [one["id"] for one in found[len(bad) :]]
    assert len({one["id"] for one in found}) == len(bad)
