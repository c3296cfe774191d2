"""A producer that sends at a rate, and how long its records take to the other end.

Each record has the moment at which it was sent (`note`, nanoseconds of the machine's clock), so that whoever publishes it knows how
long it took from its producer through the broker and the service until the broker has confirmed its release.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oboro.papers.service.local_brokers import LocalBroker, ended, forked
from oboro.stream.service.service import Service

__all__ = ["Latency", "latency", "stamped", "wait_until"]

NOTE = re.compile(rb'"note": ?(\d+)')
TICK = 0.002  # seconds between two sends
PATIENCE = 60.0


class Latency(dict[str, float]):
    """Milliseconds from being sent to being published: `p50`, `p99`; `records` of them."""


def stamped(bodies: Sequence[bytes]) -> Iterator[bytes]:
    """Records again and again, each with the moment at which it is taken from here."""
    heads = [NOTE.split(body)[0] + b'"note": ' for body in bodies]
    while True:
        for head in heads:
            yield head + str(time.monotonic_ns()).encode() + b"}"


def latency(
    broker: LocalBroker,
    folder: Path,
    name: str,
    make: Callable[[str], Service],
    bodies: Sequence[bytes],
    rate: float,
    seconds: float,
) -> Latency:
    """Send at a rate to a service that runs already; the first half second is left out."""
    broker.send(name, [json.dumps({**json.loads(bodies[0]), "note": 0}).encode()])
    ready, found = folder / f"{name}.ready", folder / f"{name}.latency"
    service = forked(lambda: _watched(make(name), ready, found))
    wait_until(ready.exists, "the service did not become ready")
    ended(forked(lambda: _feed(broker, name, bodies, rate, seconds)))
    time.sleep(0.3)
    if code := ended(service, signal.SIGTERM):
        raise RuntimeError(f"{broker.kind}: exit code {code}")
    took = np.array(json.loads(found.read_text(encoding="utf-8")))
    took = took[int(min(0.5, seconds / 4) * rate) :]
    p50, p99 = np.percentile(took, [50, 99]).tolist()
    return Latency(p50=p50, p99=p99, records=float(took.size))


def _watched(service: Service, ready: Path, found: Path) -> None:
    publish, loop = service.sink.publish, service._loop
    took: list[float] = []

    def published(after: int, bodies: Sequence[bytes], mark: str) -> None:
        publish(after, bodies, mark)
        now = time.monotonic_ns()
        sent = [int(one[1]) for body in bodies if (one := NOTE.search(body)) is not None]
        took.extend((now - moment) / 1e6 for moment in sent if moment)

    def looped() -> None:
        ready.touch()
        loop()

    service.sink.publish, service._loop = published, looped  # type: ignore[method-assign]
    service.run(own_process=True)
    found.write_text(json.dumps(took), encoding="utf-8")


def _feed(broker: LocalBroker, name: str, bodies: Sequence[bytes], rate: float, seconds: float) -> None:
    records, sent, began = stamped(bodies), 0, time.monotonic()
    with broker.producer(name) as send:
        while (passed := time.monotonic() - began) < seconds:
            due = int(passed * rate) - sent
            if due > 0:
                send([next(records) for _ in range(due)])
                sent += due
            time.sleep(max(TICK, 0.2 / rate))


def wait_until(holds: Callable[[], Any], otherwise: str) -> None:
    """Wait for something; after a minute raise what is wrong."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise RuntimeError(otherwise)
        time.sleep(0.005)
