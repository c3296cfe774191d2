"""Methods by themselves, in this process: searches, groups, concealment, streams. What compiles is run once before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import concealment as concealment_bench
from benchmarks import delay_free as delay_free_bench
from benchmarks import lattice as lattice_bench
from benchmarks import service as service_bench
from benchmarks import window as window_bench
from benchmarks.brokers import LocalNats, LocalRedis
from benchmarks.rows import data_folder
from benchmarks.scoreboard.measured_line import Line, Place
from benchmarks.service import warm_measured
from oboro.algorithms.concealment.design import People
from oboro.algorithms.concealment.optimum import exact
from oboro.algorithms.microaggregation.mdav import mdav
from oboro.algorithms.partitioning.records import Space
from oboro.data.column import Column
from oboro.data.dataset import Dataset

__all__ = ["adult_searches", "concealment", "microaggregation", "searches", "service", "streams", "windows"]


def searches(place: Place) -> Iterator[Line]:
    """All minimal nodes of purchase histories, from encoded columns."""
    hierarchies = lattice_bench._purchase_hierarchies()
    lattice_bench._solve(lattice_bench._purchases(lattice_bench.WARM), hierarchies, 3, 0.1)
    for rows, goal in ((1_000_000, 0.05), (10_000_000, 0.25), (100_000_000, 3.5)):
        columns = lattice_bench._purchases(place.rows(rows))
        seconds = min(lattice_bench._solve(columns, hierarchies, 3, 0.1, minimal=True)[1] for _ in range(3))
        yield Line(f"search of {rows // 1_000_000} million rows, all minimal levels", seconds, "s", goal)


def adult_searches(place: Place) -> Iterator[Line]:
    """Nine columns of Adult, k = 5, 10 % suppression, the least of five turns."""
    names = ("Adult, 9 columns, optimum", "Adult, 9 columns, all minimal levels")
    folder = data_folder("arx-adult")
    if folder is None:
        for name, goal in zip(names, (0.08, 0.9), strict=True):
            yield Line(name, None, "s", goal, skipped="no Adult: set OBORO_DATA")
        return
    columns, hierarchies = lattice_bench.adult_table(folder)
    for name, minimal, goal in zip(names, (False, True), (0.08, 0.9), strict=True):
        turns = [lattice_bench._solve(columns, hierarchies, 5, 0.1, minimal=minimal)[1] for _ in range(6)]
        yield Line(name, min(turns[1:]), "s", goal)
    why = "ARX is not part of this: docs/benchmarks.md has what was measured beside it"
    yield Line("10,000 to 100,000 rows of public tables, CPU of ARX over ours", None, "×", 20, less=False, skipped=why)


def microaggregation(place: Place) -> Iterator[Line]:
    """MDAV of a million rows of three numbers, k = 5."""

    def space(rows: int) -> Space:
        rng = np.random.default_rng(1)
        numbers: dict[str, Any] = {
            "age": rng.integers(18, 90, rows),
            "hours": np.clip(np.rint(rng.normal(40, 12, rows)), 1, 99),
            "income": np.round(rng.lognormal(10, 1, rows), 2),
        }
        return Space.of({name: Column.encode(pa.array(column)) for name, column in numbers.items()})

    mdav(space(20_000), 5)
    large = space(place.rows(1_000_000))
    yield _timed("MDAV, a million × 3, k = 5", lambda: mdav(large, 5), 5)


def concealment(place: Place) -> Iterator[Line]:
    """Everybody in Adult, and 100,000 people like them, with the certificate that nothing is cheaper."""
    folder = data_folder("adult")
    names = (("concealment of all of Adult", 10), ("concealment of 100,000 people", 60))
    if folder is None:
        for name, goal in names:
            yield Line(f"{name}, k = 5", None, "s", goal, skipped="no Adult: set OBORO_DATA")
        return
    data = concealment_bench.adult(folder)
    exact(People.of(concealment_bench.sample(data).columns), 5)
    counts = (max(int(data.rows * place.scale), 2000), max(int(100_000 * place.scale), 3000))
    for (name, goal), rows in zip(names, counts, strict=True):
        people = People.of(_like(data, rows).columns)
        yield _timed(f"{name}, k = 5, with certificate", partial(_certified, people, 5), goal)


def _like(data: Dataset, rows: int) -> Dataset:
    """The first people of a table; or, where it has too few, people drawn from it whose numbers are changed by at most two."""
    if rows <= data.rows:
        return data.take(np.arange(rows))
    rng = np.random.default_rng(7)
    drawn = data.take(rng.integers(0, data.rows, rows))
    changed = {}
    for name, column in drawn.columns.items():
        if pa.types.is_integer(column.values.type):
            changed[name] = Column.encode(pa.array(column.decode().to_numpy() + rng.integers(-2, 3, rows)))
    return Dataset({**drawn.columns, **changed}, rows)


def _certified(people: People, k: int) -> None:
    assert exact(people, k).gap(people) == 0


def windows(place: Place) -> Iterator[Line]:
    """`auto` beside FDHQ' of the paper, uniform data, the same heads."""
    window_bench._warm()
    heads = max(int(window_bench.HEADS * min(place.scale, 1)), 100)
    for k in (3, 4, 5):
        turns = [
            [window_bench._experiment(method, 10_000, 64, k, heads, seed)[0] for method in ("auto", "fdhq'")]
            for seed in range(3)
        ]
        auto, peer = np.median(turns, axis=0)
        beside = {"auto s": round(float(auto), 3), "fdhq' s": round(float(peer), 3)}
        yield Line(f"window auto over FDHQ', d = 64, k = {k}", float(peer / auto), "×", 6, less=False, beside=beside)


def streams(place: Place) -> Iterator[Line]:
    """Without delay: one record pushed, by the number of attributes; and lines of JSON with the state kept."""
    for row in delay_free_bench._widths([10, 20], lambda *_: None):
        if row.metric == "latency_us_median":
            width = row.parameters["d"]
            yield Line(f"push of {width} attributes", row.ours, "µs", {10: 20, 20: 60}[width])
    folder = data_folder("adult")
    if folder is None:
        yield Line(
            "oboro stream, NDJSON with state", None, "/s", 300_000, less=False, skipped="no Adult: set OBORO_DATA"
        )
        return
    people = delay_free_bench._adult(folder) * 4
    list(
        delay_free_bench._lines(people[:2000])
    )  # compiles what is not compiled yet: it counted as a part of the stream
    runs = [[row.ours or 0.0 for row in delay_free_bench._lines(people)] for _ in range(3)]
    clock, processor = (max(one) for one in zip(*runs, strict=True))
    beside = {"per CPU second": round(processor)}
    yield Line("oboro stream, NDJSON with state", clock, "/s", 300_000, less=False, beside=beside)


SERVICE: dict[tuple[str, str, Any, Any], tuple[str, str, float, bool]] = {
    # broker, figure, blocks of, records a second: what is said, unit, goal, whether less is better
    ("nats", "cpu_ratio", 256, None): ("NATS, blocks of 256, over a pass-through", "×", 1.3, True),
    ("redis", "cpu_ratio", 256, None): ("Valkey, blocks of 256, over a pass-through", "×", 2.0, True),
    ("nats", "records_per_s", 1000, None): ("NATS, blocks of 1,000", "records/s", 20_000, False),
    ("redis", "records_per_s", 1000, None): ("Valkey, blocks of 1,000", "records/s", 50_000, False),
    ("nats", "p50_ms", 256, 200): ("NATS, a record at 200/s", "ms", 2.0, True),
    ("redis", "p50_ms", 256, 200): ("Valkey, a record at 200/s", "ms", 2.0, True),
    ("nats", "added_p99_ms", 256, 5000): ("NATS, added at 5,000/s (p99)", "ms", 20.0, True),
    ("redis", "added_p99_ms", 256, 5000): ("Valkey, added at 5,000/s (p99)", "ms", 20.0, True),
}


def service(place: Place) -> Iterator[Line]:
    """Between two streams of a broker on this machine, beside a pass-through with the same client."""
    warm_measured()
    for kind in (LocalNats, LocalRedis):
        if why := kind.found():
            yield Line(f"service between {kind.kind} streams", None, "×", 1, skipped=why)
            continue
        folder = place.folder / kind.kind
        folder.mkdir()
        broker = kind(folder)
        broker.start()
        try:
            for row in service_bench._costs(broker, folder, quick=False):
                given = row.parameters
                if asked := SERVICE.get((kind.kind, row.metric, given.get("batch"), given.get("rate"))):
                    said, unit, goal, less = asked
                    beside = {"seconds": round(row.seconds or 0, 2)}
                    yield Line(f"service: {said}", row.ours, unit, goal, less=less, beside=beside)
        finally:
            broker.stop()


def _timed(work: str, act: Callable[[], object], goal: float) -> Line:
    clock, processor = time.perf_counter(), time.process_time()
    act()
    seconds, used = time.perf_counter() - clock, time.process_time() - processor
    return Line(work, seconds, "s", goal, beside={"processor": round(used, 2)})
