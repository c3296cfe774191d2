"""A service between brokers on this machine: what a killer finds, and what it costs beside a pass-through in the same run.

It reproduces no paper. Brokers that are not here are left out, and said so. Kafka is a mock cluster: it shows neither what a real
broker does with open transactions nor its speed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.service.kill_run import KINDS, killed, killed_side_by_side
from oboro.papers.service.local_brokers import LocalBroker, ended, forked
from oboro.papers.service.measuring import Cost, bodies, measured, warm_measured

__all__ = ["FULL", "rows"]

FULL = ("10,000 kills",)
QUICK, USUAL, ALL = (
    24,
    200,
    5000,
)  # kills of each broker; all of them only where every record must come out exactly once
SEED = 20
COUNTED = (
    *("kills", "broker_kills", "lost", "doubled", "two_forms", "promise_broken"),
    *("streams", "cuts", "woken", "refusals"),
)
BATCHES = (16, 256, 1000)
RATE = 5000.0  # records a second, where latency is measured
Progress = Callable[..., None]


def rows(quick: bool = False, progress: Progress = lambda *_: None, full: bool = False) -> list[BenchRow]:
    """Every broker that is here."""
    kinds = []
    for kind in KINDS:
        if why := kind.found():
            print(f"oboro: {kind.kind} is left out: {why}", file=sys.stderr)
        else:
            kinds.append(kind)
    found = [*_killed(kinds, QUICK if quick else USUAL, full, progress)]
    warm_measured()
    for kind in kinds:
        progress(f"{kind.kind}: cost")
        with TemporaryDirectory() as made:
            broker = kind(Path(made))
            broker.start()
            try:
                found += _costs(broker, Path(made), quick)
            finally:
                broker.stop()
    return found


def _killed(kinds: list[type[LocalBroker]], kills: int, full: bool, progress: Progress) -> Iterator[BenchRow]:
    strict = [kind for kind in kinds if full and kind.once and kind.survives]
    if strict:
        progress(f"{', '.join(kind.kind for kind in strict)}: {ALL} kills each")
    tallies = list(killed_side_by_side(strict, ALL, SEED))
    for kind in kinds:
        if kind not in strict:
            progress(f"{kind.kind}: {kills} kills")
            tallies.append(killed(kind, kills, SEED))
    for one in tallies:
        for text in one["failed"]:
            print(f"oboro: {one['broker']}: {text}", file=sys.stderr)
        given = {"records": one["records"], "k": 3, "seed": SEED}
        figures = {"kills": one["kills"] + one["broker_kills"], **{name: one[name] for name in COUNTED[1:]}}
        for metric, value in {**figures, "failed": len(one["failed"])}.items():
            yield BenchRow("kills", one["broker"], given, metric, value, None, one["seconds"])


def _costs(broker: LocalBroker, folder: Path, quick: bool) -> Iterator[BenchRow]:
    records = 2_000 if quick and not broker.once else 40_000
    filled = 0

    def run(batch: int, decide: bool, rate: float | None = None, count: int = records) -> Cost:
        nonlocal filled
        filled += 1
        name = f"MEASURE{filled}" if not broker.once or filled == 1 or rate else "MEASURE1"
        return _run(broker, folder, name, batch, decide, rate, count, filled)

    for batch in (256,) if quick else BATCHES:
        passed, decided = run(batch, False), run(batch, True)
        again, more = run(batch, False), run(batch, True)
        plain, ours = min(passed.cpu, again.cpu), min(decided.cpu, more.cpu)
        best = min(decided.seconds, more.seconds)
        given = {"batch": batch, "records": records}
        yield BenchRow("cost", broker.kind, given, "cpu_ratio", ours / plain, None, ours)
        yield BenchRow("cost", broker.kind, given, "records_per_s", records / best, None, best)
        yield BenchRow("cost", broker.kind, given, "records_per_cpu_s", records / ours, None, ours)
    for rate, batch in ((RATE, 64),) if quick else ((RATE, 64), (200.0, 1)):
        count = min(int(rate * 1.5), records)
        ours_paced = run(batch, True, rate, count)
        given = {"batch": batch, "rate": int(rate), "records": count}
        yield BenchRow("latency", broker.kind, given, "p50_ms", ours_paced.p50, None, ours_paced.seconds)
        yield BenchRow("latency", broker.kind, given, "p99_ms", ours_paced.p99, None, ours_paced.seconds)


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
