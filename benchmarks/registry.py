"""The benchmarks that `python -m benchmarks NAME` runs, our figures beside the paper's."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.rows import BenchRow, printed, record
from oboro.errors import UsageError
from oboro.system.files import atomic

__all__ = ["BENCHES", "Bench", "run"]


@dataclass(frozen=True)
class Bench:
    """A benchmark: its module, and the result that it shows.

    The module has `rows(quick, progress)` → a list of `BenchRow`, and may have `pictures(rows, folder)` → the files written,
    `FULL`, what it does in addition with `rows(…, full=True)`, and `SECONDS`, how long it lasts without `rows(…, seconds=…)`.
    """

    module: str
    shows: str


BENCHES = {
    "concealment": Bench("benchmarks.concealment", "k-concealment: tables 8 and 9, beside the exact optimum"),
    "delay_free": Bench("benchmarks.delay_free", "streams without delay on Adult: figure 5"),
    "heuristics": Bench("benchmarks.heuristics", "searching 10 to 24 columns, beside ARX's heuristics"),
    "histogram": Bench("benchmarks.histogram", "histograms: tables 1 to 3, figures 2 and 3"),
    "lattice": Bench("benchmarks.lattice", "optimal generalization: purchase histories, Adult, many columns"),
    "local": Bench("benchmarks.local", "local recoding on Adult, beside public packages"),
    "service": Bench("benchmarks.service", "a service between brokers: kills, and cost beside a pass-through"),
    "soak": Bench("benchmarks.soak", "a stream at full rate for some time: memory, latency and state"),
    "spark": Bench("benchmarks.spark", "the same recipe on Spark and DuckDB, beside one machine"),
    "window": Bench("benchmarks.window", "windowed microaggregation of a stream: tables 1 to 5"),
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
    left out, with a line on stderr. `seconds`: the length of a benchmark that may last as long as one likes (soak).
    """
    name = name.replace("-", "_")
    if name not in BENCHES:
        raise UsageError(f"there is no benchmark {name!r}; there are {', '.join(map(repr, BENCHES))}")
    module = importlib.import_module(BENCHES[name].module)
    if full and quick:
        raise UsageError("--full: cannot be combined with --quick")
    if full and not getattr(module, "FULL", ()):
        raise UsageError(f"--full: {name} has no larger part")
    if seconds is not None and not hasattr(module, "SECONDS"):
        raise UsageError(f"{name} lasts as long as its work takes; --seconds is for soak")
    draws = output is not None and hasattr(module, "pictures")
    if draws and find_spec("altair") is None:
        raise UsageError("--output: the pictures need altair, which is not installed; pip install 'oboro[bench]'")
    more: dict[str, Any] = {"full": True} if full else {} if seconds is None else {"seconds": seconds}
    rows: list[BenchRow] = module.rows(quick=quick, progress=progress or (lambda stage, *_: None), **more)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        content = json.dumps(record(name, rows, quick=quick, full=full, seconds=seconds), ensure_ascii=False, indent=1)
        with atomic(output / f"{name}.json") as file:
            file.write(f"{content}\n".encode())
        if draws:
            module.pictures(rows, output)
    if as_json:
        print(json.dumps([row.as_dict() for row in rows], ensure_ascii=False, indent=2))
    else:
        printed(rows)
