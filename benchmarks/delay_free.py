"""Streams without delay on Adult (Yamaoka & Itoh, Figure 5): suppressed cells, latency, and what an attacker with a start gains.

The paper draws Figure 5 and prints no numbers, so `paper` is empty; what it says in words is that its method is about 10⁵ times
faster than the sequential one and loses nearly the same. `cells` are suppressed cells, missing values included. Poisson arrivals
are simulated: records that arrive while a function is being made, which takes as long as here, do not wait for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import BenchRow, adult_records, data_folder
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import run_stream
from oboro.stream import DelayFree
from oboro.verifier.stream import Pairing, candidates, verify_stream

__all__ = ["pictures", "rows"]

COLUMNS = {"sex": 9, "race": 8, "marital-status": 5, "native-country": 13, "workclass": 1}
RATE = 100.0  # arrivals a second
PREFIX = 3000  # what the sequential method can finish
ATTACKED, KNOWN = 10_000, 100
POINTS = 12  # of a curve
MADE_UP = 20_000  # people for more attributes than Adult's five
SHOWN = 500  # records between two looks at the progress
Progress = Callable[..., None]  # the stage, and how many records of how many are done
Record = dict[str, Any]


def rows(quick: bool = False, progress: Progress = lambda *_: None) -> list[BenchRow]:
    """All figures; `quick` takes 5,000 records and one k."""
    found: list[BenchRow] = []
    folder = data_folder("adult")
    if folder is not None:
        people = _adult(folder)[: 5000 if quick else None]
        for k in [3] if quick else [3, 5]:
            found += _side_by_side(people, k, quick, progress)
        progress("lines in and out")
        found += _lines(people * (1 if quick else 4))
    found += _widths([5, 10] if quick else [5, 10, 20], progress)
    return found


def pictures(found: list[BenchRow], folder: Path) -> list[Path]:
    """Figure 5: cumulative suppressed cells and latency by the number of records."""
    from benchmarks.figures import draw_delay_free

    return draw_delay_free(found, folder)


def _adult(folder: Path) -> list[Record]:
    return [
        {column: None if cells[i] == "?" else cells[i] for column, i in COLUMNS.items()}
        for cells in adult_records(folder)
    ]


def _side_by_side(people: list[Record], k: int, quick: bool, progress: Progress) -> Iterator[BenchRow]:
    for mode in ("swap", "count", "paper", "fixed", "sequential"):
        part = people[: PREFIX if not quick else 300] if mode == "sequential" else people
        released, latency, seconds = _pushed(mode, k, part, progress)
        yield from _figures(mode, k, part, released, latency, seconds)
        yield from _curve(mode, k, released, latency)
        if mode in ("swap", "count"):
            yield _batch(mode, k, part)
        yield _attacked(mode, k, part, released)


def _pushed(mode: str, k: int, people: list[Record], progress: Progress) -> tuple[list[Record], np.ndarray, float]:
    """Release record by record; `paper` as if records arrived at the rate of the paper."""
    _warm(mode, k, people)
    latency = np.empty(len(people))
    options: dict[str, Any] = {"background": True} if mode == "paper" else {}
    with DelayFree(list(COLUMNS), k, mode=mode, **options) as anonymizer:
        arrivals = np.random.default_rng(1).exponential(1 / RATE, len(people)).cumsum()
        waits = getattr(anonymizer._side, "wait", None) if mode == "paper" else None
        released, began = [], time.perf_counter()
        busy_until = 0.0
        for i, record in enumerate(people):
            if i % SHOWN == 0:
                progress(f"{mode}, k = {k}", i, len(people))
            if waits is not None and arrivals[i] >= busy_until:
                # The generating side has had its time: let it finish, and begin to count the next one's.
                start = time.perf_counter()
                waits()
                busy_until = arrivals[i] + time.perf_counter() - start
            moment = time.perf_counter_ns()
            released.append(anonymizer.push(record))
            latency[i] = (time.perf_counter_ns() - moment) / 1000
        return released, latency, time.perf_counter() - began


def _warm(mode: str, k: int, people: list[Record]) -> None:
    """Compile before the clock runs."""
    options: dict[str, Any] = {"initial": 20} if mode == "fixed" else {}
    with DelayFree(list(COLUMNS), k, mode=mode, **options) as anonymizer:
        for record in people[:30]:
            anonymizer.push(record)


def _figures(
    mode: str, k: int, people: list[Record], released: list[Record], latency: np.ndarray, seconds: float
) -> Iterator[BenchRow]:
    names = list(COLUMNS)
    given = {"n": len(people), "k": k}
    cells = sum(one[name] == "*" for one in released for name in names)
    holds = verify_stream(people, released, attributes=names, k=k).holds
    yield BenchRow("Figure 5", mode, given, "cells", float(cells), None, seconds)
    yield BenchRow("Figure 5", mode, given, "latency_us_median", float(np.median(latency)), None, seconds)
    yield BenchRow("Figure 5", mode, given, "latency_us_p99", float(np.percentile(latency, 99)), None, seconds)
    yield BenchRow("Figure 5", mode, given, "latency_s_total", float(latency.sum() / 1e6), None, seconds)
    yield BenchRow("Figure 5", mode, given, "promise_holds", float(holds), None, seconds)


def _curve(mode: str, k: int, released: list[Record], latency: np.ndarray) -> Iterator[BenchRow]:
    """What Figure 5 draws: suppressed cells and latency, both summed up so far."""
    stars = np.cumsum([sum(one[name] == "*" for name in COLUMNS) for one in released])
    spent = latency.cumsum() / 1e6
    for end in np.unique(np.geomspace(100, len(released), POINTS).astype(int)).tolist():
        given = {"n": end, "k": k}
        yield BenchRow("Figure 5, point by point", mode, given, "cells", float(stars[end - 1]))
        yield BenchRow("Figure 5, point by point", mode, given, "latency_s_total", float(spent[end - 1]))


def _batch(mode: str, k: int, people: list[Record]) -> BenchRow:
    seconds = _fastest(partial(DelayFree, list(COLUMNS), k, mode=mode), pa.Table.from_pylist(people), 5)
    return BenchRow(
        "Figure 5", mode, {"n": len(people), "k": k}, "push_many_per_s", len(people) / seconds, None, seconds
    )


def _fastest(make: Callable[[], DelayFree], table: pa.Table, times: int) -> float:
    """Seconds that an anonymizer without a past takes for a table, the best of some times."""
    seconds = []
    for _ in range(times):
        anonymizer = make()
        began = time.perf_counter()
        anonymizer.push_many(table)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def _lines(people: list[Record]) -> Iterator[BenchRow]:
    """`oboro stream` on a file of lines, with the state kept."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        attributes = {name: {"role": "quasi"} for name in COLUMNS}
        recipe = {"attributes": attributes, "steps": [{"k_anonymize": {"k": 3}}]}
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
        (folder / "in.ndjson").write_text("".join(json.dumps(record) + "\n" for record in people), encoding="utf-8")
        source, target = str(folder / "in.ndjson"), str(folder / "out.ndjson")
        began = time.process_time()
        metrics = run_stream(Recipe.load(folder / "recipe.json"), source=source, target=target, state=folder / "state")
        used = time.process_time() - began
    given, seconds = {"n": len(people), "k": 3}, metrics["seconds"]
    yield BenchRow("lines", "swap", given, "records_per_s", metrics["records_per_second"], None, seconds)
    yield BenchRow("lines", "swap", given, "records_per_cpu_s", len(people) / used, None, seconds)


def _attacked(mode: str, k: int, people: list[Record], released: list[Record]) -> BenchRow:
    """How many of the first records have fewer than k candidates for somebody who knows the first owners."""
    began = time.perf_counter()
    pairing = Pairing.of(people[:ATTACKED], released[:ATTACKED], list(COLUMNS))
    found = candidates(pairing, KNOWN)[KNOWN:]
    given = {"n": len(pairing), "k": k, "known": KNOWN}
    return BenchRow("known owners", mode, given, "exposed", float((found < k).sum()), None, time.perf_counter() - began)


def _widths(attributes: list[int], progress: Progress) -> Iterator[BenchRow]:
    """Latency by the number of attributes, on made-up people whose attributes depend on each other."""
    for width in attributes:
        progress(f"{width} attributes")
        people = _correlated(width, MADE_UP)
        names = [f"a{i}" for i in range(width)]
        anonymizer = DelayFree(names, 3)
        latency = np.empty(len(people))
        began = time.perf_counter()
        for i, record in enumerate(people):
            moment = time.perf_counter_ns()
            anonymizer.push(record)
            latency[i] = (time.perf_counter_ns() - moment) / 1000
        seconds = time.perf_counter() - began
        given = {"n": len(people), "d": width, "k": 3}
        yield BenchRow("attributes", "swap", given, "latency_us_median", float(np.median(latency)), None, seconds)
        yield BenchRow("attributes", "swap", given, "latency_us_p99", float(np.percentile(latency, 99)), None, seconds)
        yield BenchRow("attributes", "swap", given, "cells", float(anonymizer.suppressed_cells), None, seconds)
        seconds = _fastest(partial(DelayFree, names, 3), pa.Table.from_pylist(people), 2)
        yield BenchRow("attributes", "swap", given, "push_many_per_s", len(people) / seconds, None, seconds)


def _correlated(width: int, count: int) -> list[Record]:
    """People of twenty kinds; each attribute follows the kind with probability 0.8."""
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 20, count)
    typical = rng.integers(0, 6, (20, width))
    codes = np.where(rng.random((count, width)) < 0.8, typical[kind], rng.integers(0, 6, (count, width)))
    return [{f"a{i}": int(code) for i, code in enumerate(row)} for row in codes]
