"""A second process takes over from one that is gone, and starts from a snapshot that a broker keeps."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.brokers_here import BODIES, running, serve, service

from oboro.papers.service.local_brokers import LocalBroker, LocalNats, LocalRedis, ended, forked

LEASE = 0.6


@pytest.fixture(scope="module", params=[LocalNats, LocalRedis], ids=lambda one: one.kind)
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(request.param, tmp_path_factory.mktemp(request.param.kind)) as found:
        yield found


def test_a_standby_takes_over_and_publishes_nothing_twice(broker: LocalBroker, tmp_path: Path) -> None:
    broker.send("PEOPLE", BODIES[:60])
    given = {"lease": LEASE, "once": False}

    def lead() -> None:
        service(broker.place("PEOPLE"), broker.place("OUT"), **given).run()

    first = forked(lead)
    while len(broker.held("OUT") if _there(broker) else []) < 60:
        time.sleep(0.05)
    second = forked(lead)
    time.sleep(1.0)  # it stands by
    os.kill(first, signal.SIGSTOP)  # a leader that does not know that it is gone
    broker.send("PEOPLE", BODIES[60:])
    began = time.monotonic()
    while len(broker.held("OUT")) < len(BODIES) and time.monotonic() - began < 30:
        time.sleep(0.05)
    took = time.monotonic() - began
    os.kill(first, signal.SIGCONT)
    time.sleep(0.5)
    ended(first, signal.SIGKILL)
    ended(second, signal.SIGTERM)
    print(f"{broker.kind}: taken over within {took:.2f} s, with a lease of {LEASE} s")
    assert [json.loads(body)["note"] for _, body in broker.held("OUT")] == list(range(len(BODIES)))


def _there(broker: LocalBroker) -> bool:
    try:
        broker.held("OUT")
    except Exception:
        return False
    return True


def test_a_snapshot_in_the_broker_replaces_a_disk(broker: LocalBroker) -> None:
    broker.send("MANY", BODIES)
    given = {"snapshots": broker.place("KEPT")}
    assert serve(broker.place("MANY"), broker.place("FROM"), **given)["records"] == len(BODIES)
    broker.send("MANY", BODIES[:5])
    assert serve(broker.place("MANY"), broker.place("FROM"), **given)["records"] == 5  # not from the beginning
    assert len(broker.held("FROM")) == len(BODIES) + 5


def test_a_service_is_served_in_a_thread(broker: LocalBroker, tmp_path: Path) -> None:
    broker.send("THREAD", BODIES)
    counts: list[dict[str, int]] = []
    work = threading.Thread(
        target=lambda: counts.append(serve(broker.place("THREAD"), broker.place("WORK"), state=tmp_path / "state"))
    )
    work.start()
    work.join()
    assert counts[0]["released"] == len(BODIES)
