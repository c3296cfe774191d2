"""A service between brokers on this machine: what a killer finds, and what it costs beside a pass-through in the same run.

It reproduces no paper. Brokers that are not here are left out, and said so. Kafka is a mock cluster: it shows neither what a real
broker does with open transactions nor its speed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.service.fail_over import taken_over
from oboro.papers.service.feeding import latency
from oboro.papers.service.kill_run import KINDS, killed_side_by_side
from oboro.papers.service.local_brokers import ForgetfulRedis, LocalBroker, LocalRedis, ended, forked
from oboro.papers.service.measuring import RECIPE, Cost, bodies, measured, measured_service, warm_measured
from oboro.recipe.recipe import Recipe
from oboro.recipe.service.service_making import make_service
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.stream.service.service import Service

__all__ = ["FULL", "rows"]

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
            print(f"oboro: {kind.kind} is left out: {why}", file=sys.stderr)
        else:
            kinds.append(kind)
    found = [*_killed(kinds, QUICK if quick else USUAL, full, progress)]
    for kind in kinds:
        progress(f"{kind.kind}: cost")
        try:
            warm_measured()
            found += _costs_of(kind, quick)
        except Exception as error:  # what was found before is not lost
            print(f"oboro: {kind.kind}: the cost was not measured: {error!r}", file=sys.stderr)
            found.append(BenchRow("cost", kind.kind, {}, "failed", 1, None, 0.0))
    return found


def _line(said: object) -> None:
    print(f"oboro: {said}", file=sys.stderr, flush=True)


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
            print(f"oboro: {one['broker']}: {text}", file=sys.stderr)
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
        from oboro.io.brokers.brokers import open_place

        def subscribe() -> None:
            source = open_place(broker.place(name), "source", "FROM")
            source.open(None)
            source.close()

        ended(forked(subscribe))
    if not filled.exists():
        broker.send(name, bodies(count))
        filled.touch()
    return measured(broker, folder, name, f"MEASURED{number}", batch=batch, decide=decide, rate=rate)
