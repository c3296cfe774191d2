"""How long oboro takes to read and encode a CSV file, beside polars reading it to a frame, in one process.

    python -m benchmarks.read_csv [--rows 1000000] [--columns 100] [--file PEOPLE.csv]

The table is the purchase history of `oboro synth purchases`. The two take turns, and the best of `--times` turns counts: what
else runs on the machine disturbs both. Reading into oboro includes the dictionary encoding of every column; polars stops at a
frame. Writes `benchmarks/results/read_csv.json`.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.rows import record
from oboro.io.read import read
from oboro.io.write import write_blocks
from oboro.samples.purchases import purchases

RESULT = Path(__file__).parent / "results" / "read_csv.json"


def seconds(act: Callable[[], Any]) -> tuple[float, float]:
    """How long something takes, on the clock and on the processors."""
    gc.collect()
    clock, processor = time.perf_counter(), time.process_time()
    kept = act()
    spent = time.perf_counter() - clock, time.process_time() - processor
    del kept
    return spent


def compare(path: Path, times: int) -> dict[str, Any]:
    """Both readers in turn; the first call of a kernel compiles or loads it, so a small file is read before."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.csv"
        small.write_text("a,b\n1,2\n")
        read(small)
    turns = [(seconds(lambda: read(path)), seconds(lambda: pl.read_csv(path))) for _ in range(times)]
    for ours, peer in turns:
        print(f"oboro {ours[0]:6.2f} s ({ours[1]:.2f} s of processor)   polars {peer[0]:6.2f} s ({peer[1]:.2f} s)")
    oboro, polars = (min(turn[place][0] for turn in turns) for place in (0, 1))
    print(f"best: oboro {oboro:.2f} s, polars {polars:.2f} s, ratio {oboro / polars:.2f}")
    figures = {"oboro_seconds": round(oboro, 3), "polars_seconds": round(polars, 3), "ratio": round(oboro / polars, 3)}
    return {**figures, "turns": [[[round(x, 3) for x in side] for side in turn] for turn in turns]}


def main() -> None:
    """Make the file, compare, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--times", type=int, default=2, help="turns of each reader; the best counts")
    parser.add_argument("--file", type=Path, help="a file to read instead of a made-up one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "purchases.csv"
        if options.file is None:
            write_blocks(purchases(options.rows, columns=options.columns), path)
        print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB")
        figures = compare(path, options.times)
        size = path.stat().st_size
    if options.file is None:
        facts = record("read_csv", [], quick=False)
        facts |= {"command": " ".join(["python", "benchmarks/read_csv.py", *sys.argv[1:]]), "bytes": size}
        facts["versions"]["polars"] = version("polars")
        facts.pop("rows")
        RESULT.write_text(
            json.dumps(facts | {"rows": options.rows, "columns": options.columns} | figures, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
