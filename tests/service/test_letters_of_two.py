"""Dead letters where two processes serve one stream: named once, and nobody is put out by them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.brokers_here import BODIES, running, service

from benchmarks.brokers import LocalBroker, LocalRedis, wait_until
from benchmarks.kills import with_poison
from oboro.errors import UsageError


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(LocalRedis, tmp_path_factory.mktemp("redis")) as found:
        yield found


def test_a_standby_waits_for_letters_as_for_records(broker: LocalBroker) -> None:
    def one() -> tuple[object, threading.Thread]:
        made = service(
            broker.place("IN"), broker.place("OUT"), lease=0.5, once=False, dead_letters=broker.place("DEAD")
        )
        work = threading.Thread(target=made.run)
        work.start()
        wait_until(lambda: made.watch.ready or not work.is_alive(), "it did not start")
        return made, work

    poisoned = with_poison(BODIES)
    broker.send("IN", poisoned[:40])
    both = [one(), one()]
    broker.send("IN", poisoned[40:])
    count = len(poisoned) - len(BODIES)
    wait_until(lambda: len(broker.held("DEAD")) == count and len(broker.held("OUT")) == len(BODIES), "not all came out")
    assert all(work.is_alive() for _, work in both)
    for made, work in both:
        made.stop.ask()  # type: ignore[attr-defined]
        work.join()
    positions = [json.loads(body)["position"] for _, body in broker.held("DEAD")]
    assert len(set(positions)) == len(positions) == count


def test_two_cannot_share_a_file_of_letters(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="share a file"):
        service("redis://127.0.0.1/in", "redis://127.0.0.1/out", lease=1.0, dead_letters=str(tmp_path / "dead"))
