"""A service between brokers on this machine: what a killer finds, and what it costs beside a pass-through in the same run.

It reproduces no paper. Brokers that are not here are left out, and said so. Kafka is a mock cluster: it shows neither what a real
broker does with open transactions nor its speed.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.brokers import ForgetfulRedis, LocalBroker, LocalRedis, ended, forked, wait_until
from benchmarks.kill_run import KINDS, killed_side_by_side
from benchmarks.kills import taken_over
from benchmarks.rows import BenchRow
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.service.make import make_service
from oboro.service.settings import ServiceSettings
from oboro.stream.engine import Service

__all__ = [
    "FULL",
    "Cost",
    "Latency",
    "bodies",
    "latency",
    "measured",
    "measured_service",
    "rows",
    "stamped",
    "warm_measured",
]

FULL = ("10,000 kills",)
# kills of each broker; all of them only where every record must come out exactly once. The usual run takes ten minutes.
QUICK, USUAL, ALL = 24, 100, 5000
TURNS = 2  # of each cost, the better of which counts
SEED, LEASE = 20, 1.0
COUNTED = (
    *("kills", "broker_kills", "lost", "doubled", "two_forms", "promise_broken"),
    *("streams", "cuts", "woken", "refusals"),
)
RECORDS = 100_000  # the first ones, which meet what is new, included
BATCHES = (16, 256, 1000)
RATE, SLOW = 5000.0, 200.0  # records a second, where latency is measured
Progress = Callable[..., None]


def rows(quick: bool = False, progress: Progress = lambda *_: None, full: bool = False) -> list[BenchRow]:
    """Every broker that is here."""
    kinds = []
    if full and not sys.stderr.isatty():
        progress = _line  # it takes long, and is left alone
    for kind in KINDS:
        if why := kind.found():
            print(f"benchmarks: {kind.kind} is left out: {why}", file=sys.stderr)
        else:
            kinds.append(kind)
    found = [*_killed(kinds, QUICK if quick else USUAL, full, progress)]
    for kind in kinds:
        progress(f"{kind.kind}: cost")
        try:
            warm_measured()
            found += _costs_of(kind, quick)
        except Exception as error:  # what was found before is not lost
            print(f"benchmarks: {kind.kind}: the cost was not measured: {error!r}", file=sys.stderr)
            found.append(BenchRow("cost", kind.kind, {}, "failed", 1, None, 0.0))
    return found


def _line(said: object) -> None:
    print(f"benchmarks: {said}", file=sys.stderr, flush=True)


def _costs_of(kind: type[LocalBroker], quick: bool) -> list[BenchRow]:
    with TemporaryDirectory() as made:
        broker = kind(Path(made))
        broker.start()
        try:
            return list(_costs(broker, Path(made), quick))
        finally:
            broker.stop()


def _killed(kinds: list[type[LocalBroker]], kills: int, full: bool, progress: Progress) -> Iterator[BenchRow]:
    strict = [kind for kind in kinds if full and kind.once and kind.survives]
    others = [kind for kind in kinds if kind not in strict]
    tallies = [
        *killed_side_by_side(strict, ALL, SEED, progress),
        *killed_side_by_side(others, kills, SEED, progress),
    ]
    for one in tallies:
        for text in one["failed"]:
            print(f"benchmarks: {one['broker']}: {text}", file=sys.stderr)
        given = {"records": one["records"], "k": 3, "seed": SEED}
        figures = {"kills": one["kills"] + one["broker_kills"], **{name: one[name] for name in COUNTED[1:]}}
        for metric, value in {**figures, "failed": len(one["failed"])}.items():
            yield BenchRow("kills", one["broker"], given, metric, value, None, one["seconds"])


def _costs(broker: LocalBroker, folder: Path, quick: bool) -> Iterator[BenchRow]:
    records = 2_000 if not broker.once else RECORDS if broker.survives else 2_000 if quick else 5_000
    filled = 0

    def run(batch: int, decide: bool, rate: float | None = None, count: int = records) -> Cost:
        nonlocal filled
        filled += 1
        name = f"MEASURE{filled}" if not broker.once or filled == 1 or rate else "MEASURE1"
        return _run(broker, folder, name, batch, decide, rate, count, filled)

    for batch in (256,) if quick else BATCHES:
        turns = [(run(batch, False), run(batch, True)) for _ in range(TURNS)]
        plain, ours = (min(each[i].cpu for each in turns) for i in range(2))
        best = min(decided.seconds for _, decided in turns)
        given = {"batch": batch, "records": records}
        yield BenchRow("cost", broker.kind, given, "cpu_ratio", ours / plain, None, ours)
        yield BenchRow("cost", broker.kind, given, "records_per_s", records / best, None, best)
        yield BenchRow("cost", broker.kind, given, "records_per_cpu_s", records / ours, None, ours)
    for rate in (RATE, SLOW):
        yield from _latencies(broker, folder, rate, quick) if broker.moves else _paced(broker, rate, records, run)
    if isinstance(broker, LocalRedis):
        yield from _without_disk(folder, quick)
    if broker.leases:
        yield _fail_over(broker)


def _without_disk(folder: Path, quick: bool) -> Iterator[BenchRow]:
    """The latency that is left where Valkey does not wait for its disk."""
    own = folder / "forgetful"
    own.mkdir()
    broker = ForgetfulRedis(own)
    broker.start()
    try:
        yield from _latencies(broker, own, SLOW, quick)
    finally:
        broker.stop()


def _fail_over(broker: LocalBroker) -> BenchRow:
    """How long nothing comes out when a leader is stopped."""

    def lead() -> None:
        given = {"recipe": ".", "from": broker.place("LED"), "to": broker.place("LEDOUT"), "lease": LEASE}
        make_service(Recipe(**RECIPE), ServiceSettings.load(None, given)).run(own_process=True)

    people = bodies(400)
    seconds = taken_over(broker, "LED", "LEDOUT", lead, people[:200], people[200:], settle=3.0)
    return BenchRow("fail-over", broker.kind, {"lease": LEASE}, "fail_over_s", seconds, None, seconds)


def _latencies(broker: LocalBroker, folder: Path, rate: float, quick: bool) -> Iterator[BenchRow]:
    """From a producer at a rate until the release is confirmed; and how much of it a pass-through takes too."""
    seconds, people, took = 2.0 if quick else 6.0, bodies(20_000), {}
    for decide in (False, True):
        name = f"LATENCY{int(rate)}{decide}"

        def make(name: str, decide: bool = decide) -> Service:
            return measured_service(broker, folder, name, f"{name}OUT", 256, decide)

        took[decide] = latency(broker, folder, name, make, people, rate, seconds)
    given: dict[str, Any] = {"batch": 256, "rate": int(rate), "records": int(took[True]["records"])}
    if isinstance(broker, LocalRedis):
        given["appendfsync"] = broker.fsync
    for part in ("p50", "p99"):
        yield BenchRow("latency", broker.kind, given, f"{part}_ms", took[True][part], None, seconds)
        added = took[True][part] - took[False][part]
        yield BenchRow("latency", broker.kind, given, f"added_{part}_ms", added, None, seconds)


def _paced(broker: LocalBroker, rate: float, records: int, run: Callable[..., Cost]) -> Iterator[BenchRow]:
    """How long a block takes from its arrival until it is published, where nothing was measured from the producer on."""
    count, batch = min(int(rate * 1.5), records), 64 if rate > SLOW else 1
    paced = run(batch, True, rate, count)
    given = {"batch": batch, "rate": int(rate), "records": count}
    yield BenchRow("latency", broker.kind, given, "p50_ms", paced.p50, None, paced.seconds)
    yield BenchRow("latency", broker.kind, given, "p99_ms", paced.p99, None, paced.seconds)


def _run(
    broker: LocalBroker,
    folder: Path,
    name: str,
    batch: int,
    decide: bool,
    rate: float | None,
    count: int,
    number: int,
) -> Cost:
    """Fill an input, unless it is there, and measure one run over it."""
    filled = folder / f"{name}.filled"
    if broker.forgets:
        from oboro.service.base import open_place

        def subscribe() -> None:
            source = open_place(broker.place(name), "source", "FROM")
            source.open(None)
            source.close()

        ended(forked(subscribe))
    if not filled.exists():
        broker.send(name, bodies(count))
        filled.touch()
    return measured(broker, folder, name, f"MEASURED{number}", batch=batch, decide=decide, rate=rate)


# ---------------------------------------------------------------------------------------------------------------------
# What a service costs beside a pass-through: the same client reads and publishes the same blocks; nothing is decided or noted.


DIFFERENT = (2, 5, 14, 8, 7)  # values of each attribute, about as many as in Adult
NAMES = ("sex", "race", "job", "town", "age")
RECIPE: dict[str, Any] = {
    "attributes": {**{name: {"role": "quasi"} for name in NAMES}, "note": {"role": "other"}},
    "steps": [{"k_anonymize": {"k": 5}}],
}


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    records: int
    cpu: float
    seconds: float
    p50: float
    p99: float


def bodies(count: int) -> list[bytes]:
    """Records of five attributes, some values far more frequent than others, as among people."""
    rng = np.random.default_rng(3)
    columns: dict[str, Any] = {}
    for name, different in zip(NAMES, DIFFERENT, strict=True):
        weights = 1.0 / np.arange(1, different + 1) ** 2
        columns[name] = rng.choice([f"{name} {n}" for n in range(different)], count, p=weights / weights.sum())
    columns["note"] = np.arange(count)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [json.dumps(dict(zip(columns, row, strict=True))).encode() for row in rows]


def warm_measured() -> None:
    """Compile what is measured, before it is."""
    anonymizer(Recipe(**RECIPE), StreamOptions()).warm()


def measured(
    broker: LocalBroker, folder: Path, name: str, target: str, *, batch: int, decide: bool, rate: float | None = None
) -> Cost:
    """One run to the end of an input, in a process of its own."""
    found = folder / f"{target}.json"

    def work() -> None:
        service = measured_service(broker, folder, name, target, batch, decide, once=True, rate=rate)
        _timed(service, found)
        service.run(own_process=True)

    code = ended(forked(work))
    if code:
        raise RuntimeError(f"{broker.kind}: exit code {code}")
    return Cost(**json.loads(found.read_text(encoding="utf-8")))


def measured_service(
    broker: LocalBroker, folder: Path, name: str, target: str, batch: int, decide: bool, **more: Any
) -> Service:
    """From one place to another; without `decide` a pass-through."""
    given = {"recipe": ".", "from": broker.place(name), "to": broker.place(target), "state": folder / target}
    more = {"batch": batch, **more, **({} if broker.once else {"id": "note"})}
    service = make_service(Recipe(**RECIPE), ServiceSettings.load(None, {**given, **more}))
    if not decide:
        _only_pass(service)
    return service


def _only_pass(service: Service) -> None:
    """Publish what was read, as it is; decide and note nothing."""
    put, confirm, watch = service._publish, service._confirm, service.watch

    def handle(items: Any, *_: Any, **__: Any) -> None:
        began = time.perf_counter()
        if items:
            put([one[0] for one in items], items[-1][1])
            service.at.position = items[-1][1]
            confirm(items[-1][1])
        watch.records += len(items)
        watch.latencies.append(time.perf_counter() - began)

    service._handle = handle  # type: ignore[method-assign]
    service._save_if_due = lambda: None  # type: ignore[method-assign]


def _timed(service: Service, path: Path) -> None:
    """Note what the loop takes, without the start and the last wait for more."""
    loop, idle, handle = service._loop, service._idle, service._handle
    last = {"cpu": 0.0, "seconds": 0.0}

    def noted(*given: Any, **named: Any) -> None:
        handle(*given, **named)
        last.update(cpu=time.process_time(), seconds=time.perf_counter())

    def timed() -> None:
        cpu, began = time.process_time(), time.perf_counter()
        loop()
        p50, p99 = np.percentile(service.watch.latencies, [50, 99]).tolist()
        took = {"cpu": last["cpu"] - cpu, "seconds": last["seconds"] - began}
        cost = {"records": service.watch.records, **took, "p50": 1e3 * p50, "p99": 1e3 * p99}
        path.write_text(json.dumps(cost), encoding="utf-8")

    service._handle = noted  # type: ignore[method-assign]
    service._idle = idle  # type: ignore[method-assign]
    service._loop = timed  # type: ignore[method-assign]


# ---------------------------------------------------------------------------------------------------------------------
# A producer that sends at a rate, and how long its records take to the other end.
#
# Each record has the moment at which it was sent (`note`, nanoseconds of the machine's clock), so that its publisher knows how
# long it took from its producer through the broker and the service until the broker has confirmed its release.


NOTE = re.compile(rb'"note": ?(\d+)')
TICK = 0.002  # seconds between two sends


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
