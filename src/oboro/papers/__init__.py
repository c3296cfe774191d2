"""Benchmarks that reproduce a paper's tables on this machine, our figures beside the paper's."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from oboro.errors import UsageError, listing
from oboro.papers.figures import Row, printed, record

__all__ = ["BENCHES", "Row", "run"]

# Each module has `rows(quick, progress)` → a list of `Row`, and may have `pictures(rows, folder)` → the files written, and
# `FULL`, what it does in addition with `rows(…, full=True)`.
BENCHES = {
    "concealment": "oboro.papers.concealment_bench",
    "delay_free": "oboro.papers.delay_free_bench",
    "histogram": "oboro.papers.histogram_bench",
    "lattice": "oboro.papers.lattice_bench",
    "local": "oboro.papers.local_bench",
    "window": "oboro.papers.window_bench",
}


def run(
    name: str,
    *,
    quick: bool = False,
    full: bool = False,
    as_json: bool = False,
    output: Path | None = None,
    progress: Any = None,
) -> None:
    """Run one benchmark and print its rows: a table, or with `as_json` a JSON list.

    With `output` (a folder) the rows are also written there as JSON, with the machine, the versions and the command, and
    the pictures as PNG and in one HTML file. Real data is read from the folder in OBORO_DATA; without it that part is
    left out, and said so on stderr.
    """
    name = name.replace("-", "_")
    if name not in BENCHES:
        raise UsageError(f"there is no benchmark {name!r}; there are {listing(BENCHES)}")
    module = importlib.import_module(BENCHES[name])
    if full and (quick or not getattr(module, "FULL", ())):
        raise UsageError(f"--full: {'it cannot be quick too' if quick else f'{name} has no more than it shows anyway'}")
    more = {"full": True} if full else {}
    rows: list[Row] = module.rows(quick=quick, progress=progress or (lambda stage: None), **more)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        content = record(name, rows, quick=quick, full=full)
        (output / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        if hasattr(module, "pictures"):
            module.pictures(rows, output)
    if as_json:
        print(json.dumps([row.as_dict() for row in rows], ensure_ascii=False, indent=2))
    else:
        printed(rows)
