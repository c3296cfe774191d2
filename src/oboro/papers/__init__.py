"""Benchmarks that reproduce a paper's tables on this machine, our figures beside the paper's."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oboro.errors import UsageError
from oboro.papers.benchmark_rows import BenchRow, printed, record
from oboro.papers.plots.pictures import check_altair
from oboro.system.atomic_file import atomic
from oboro.text import Message

__all__ = ["BENCHES", "Bench", "BenchRow", "run"]


@dataclass(frozen=True)
class Bench:
    """A benchmark: its module, and what it shows.

    The module has `rows(quick, progress)` → a list of `BenchRow`, and may have `pictures(rows, folder)` → the files written, and
    `FULL`, what it does in addition with `rows(…, full=True)`, and `SECONDS`, how long it lasts without `rows(…, seconds=…)`.
    """

    module: str
    shows: str


BENCHES = {
    "concealment": Bench("oboro.papers.concealment_bench", "k-concealment: tables 8 and 9, beside the exact optimum"),
    "delay_free": Bench("oboro.papers.delay_free_bench", "streams without delay on Adult: figure 5"),
    "heuristics": Bench(
        "oboro.papers.compared.heuristics_bench", "searching 10 to 24 columns, beside ARX's heuristics"
    ),
    "histogram": Bench("oboro.papers.histogram_bench", "histograms: tables 1 to 3, figures 2 and 3"),
    "lattice": Bench("oboro.papers.lattice_bench", "optimal generalization: purchase histories, Adult, many columns"),
    "local": Bench("oboro.papers.local_bench", "local recoding on Adult, beside public packages"),
    "service": Bench(
        "oboro.papers.service.service_bench", "a service between brokers: kills, and cost beside a pass-through"
    ),
    "soak": Bench("oboro.papers.soak_bench", "a stream at full rate for some time: memory, latency and state"),
    "spark": Bench("oboro.papers.engine_bench", "the same recipe on Spark and DuckDB, beside one machine"),
    "window": Bench("oboro.papers.window.window_bench", "windowed microaggregation of a stream: tables 1 to 5"),
}


def run(
    name: str,
    *,
    quick: bool = False,
    full: bool = False,
    as_json: bool = False,
    seconds: float | None = None,
    output: Path | None = None,
    progress: Any = None,
) -> None:
    """Run one benchmark and print its rows: a table, or with `as_json` a JSON list.

    With `output` (a folder) the rows are also written there as JSON, with the machine, the versions and the command, and
    the pictures as PNG and in one HTML file. Real data is read from the folder in OBORO_DATA; without it that part is
    left out, and said so on stderr. `seconds`: how long a benchmark lasts that may last as long as one likes (soak).
    """
    name = name.replace("-", "_")
    if name not in BENCHES:
        raise UsageError(Message("error_bench.unknown", name=name, known=list(BENCHES)))
    module = importlib.import_module(BENCHES[name].module)
    if full and (quick or not getattr(module, "FULL", ())):
        raise UsageError(Message("error_bench.full_and_quick") if quick else Message("error_bench.no_more", name=name))
    if output is not None and hasattr(module, "pictures"):
        check_altair()
    if seconds is not None and not hasattr(module, "SECONDS"):
        raise UsageError(Message("error_bench.no_seconds", name=name))
    more: dict[str, Any] = {"full": True} if full else {} if seconds is None else {"seconds": seconds}
    rows: list[BenchRow] = module.rows(quick=quick, progress=progress or (lambda stage: None), **more)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        content = json.dumps(record(name, rows, quick=quick, full=full, seconds=seconds), ensure_ascii=False, indent=1)
        with atomic(output / f"{name}.json") as file:
            file.write(f"{content}\n".encode())
        if hasattr(module, "pictures"):
            module.pictures(rows, output)
    if as_json:
        print(json.dumps([row.as_dict() for row in rows], ensure_ascii=False, indent=2))
    else:
        printed(rows)
