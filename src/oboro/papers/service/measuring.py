"""What a service costs beside a pass-through: the same client reads and publishes the same blocks; nothing is decided or noted."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oboro.papers.service.local_brokers import LocalBroker, ended, forked
from oboro.recipe.recipe import Recipe
from oboro.recipe.service.service_making import make_service
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.recipe.stream_plan import StreamOptions, anonymizer
from oboro.stream.service.service import Service

__all__ = ["Cost", "bodies", "measured", "measured_service", "warm_measured"]

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
