"""A second process takes over from one that is gone, and starts from a snapshot that a broker keeps."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.brokers_here import BODIES, running, serve, service

from benchmarks.brokers import LocalBroker, LocalNats, LocalRedis, ended, forked
from benchmarks.kills import taken_over
from oboro.service.base import open_place
from oboro.stream.engine import ServicePlan

LEASE = 0.6


@pytest.fixture(scope="module", params=[LocalNats, LocalRedis], ids=lambda one: one.kind)
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(request.param, tmp_path_factory.mktemp(request.param.kind)) as found:
        yield found


def test_a_standby_takes_over_and_publishes_nothing_twice(broker: LocalBroker, tmp_path: Path) -> None:
    """The time is measured by `python -m benchmarks service`: here other tests take the processor."""

    def lead() -> None:
        service(broker.place("PEOPLE"), broker.place("OUT"), lease=LEASE, once=False).run()

    assert taken_over(broker, "PEOPLE", "OUT", lead, BODIES[:60], BODIES[60:]) < 30
    assert [json.loads(body)["note"] for _, body in broker.held("OUT")] == list(range(len(BODIES)))


def test_a_lease_is_as_long_as_this_time(broker: LocalBroker) -> None:
    """It was longer once; whoever comes after a holder that is gone waits as long as the newer one says."""
    before, holder, second = (open_place(broker.place("TERM"), "lease", "TO") for _ in range(3))
    before.seconds, holder.seconds, second.seconds = 600.0, 0.3, 0.3
    assert before.held()
    before.release()
    assert holder.held()  # and says nothing any more
    began = time.monotonic()
    while not second.held():
        time.sleep(0.02)
    assert time.monotonic() - began < 10
    second.release()
    holder.link.close()


def test_processes_that_were_forked_from_one_do_not_lead_together(broker: LocalBroker) -> None:
    """One that wakes up after its term must not prolong the other's lease."""
    lease = open_place(broker.place("FORKED"), "lease", "TO")
    lease.seconds = 0.3

    def lead_and_end() -> None:
        assert lease.held()
        time.sleep(0.4)
        (broker.folder / "expired").touch()
        while not (broker.folder / "taken").exists():
            time.sleep(0.01)
        lease._next = 0.0
        assert not lease.held()

    other = forked(lead_and_end)
    while not (broker.folder / "expired").exists():
        time.sleep(0.01)
    lease.seconds = 1.5
    while not lease.held():
        time.sleep(0.01)
    (broker.folder / "taken").touch()
    assert ended(other) == 0
    lease.release()


def test_a_limited_rate_does_not_let_the_lease_run_out() -> None:
    """A block of 256 at one record a second would be four minutes of sleep."""
    assert [ServicePlan(rate=rate).most for rate in (None, 1e6, 40.0, 0.5)] == [256, 256, 40, 1]


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
