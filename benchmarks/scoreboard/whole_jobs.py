"""Whole jobs as programs of their own, from their start to the last byte on the disk."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import oboro
from benchmarks.scoreboard.made_tables import forget, made
from benchmarks.scoreboard.measured_line import Cost, Line, Place, program, run

__all__ = ["anonymized", "large_csv", "large_parquet", "largest_csv", "small_jobs"]

POLARS = "import sys, polars as pl; pl.read_csv(sys.argv[1], infer_schema=False).write_csv(sys.argv[2])"
BASE = "import numpy, pyarrow"


def small_jobs(place: Place) -> Iterator[Line]:
    """A thousand rows: seconds of the processor, since everything here is starting."""
    table = place.folder / "people.csv"
    run(program("synth", "people", "--rows", 1000, "--seed", 7, "--output", table, "--force"))
    job = program("anonymize", table, "-r", f"{table}.recipe.yaml", "-o", place.folder / "out.csv", "--force")
    report = [*job, "--report", str(place.folder / "report.html")]
    run(report)  # compiles what is not compiled yet
    base = run([sys.executable, "-c", BASE], 3).processor

    def line(work: str, command: list[str], goal: float) -> Line:
        took = run(command, 3).processor
        return Line(work, took, "s CPU", goal, beside={BASE: round(base, 3), "ratio": round(took / base, 2)})

    whole = line("1,000 rows, whole process", job, 1.2)
    yield whole
    yield Line(f"1,000 rows, over {BASE}", (whole.measured or 0) / base, "×", 3, beside=whole.beside)
    yield line("1,000 rows with a report", report, 3)
    yield line("import oboro; oboro.Recipe", [sys.executable, "-c", "import oboro; oboro.Recipe"], 0.5)
    yield line("oboro --help", program("--help"), 0.2)
    with tempfile.TemporaryDirectory() as empty:
        shutil.copytree(Path(oboro.__file__).parent, Path(empty) / "oboro", ignore=shutil.ignore_patterns("*.nb?"))
        first = run(job, PYTHONPATH=empty)
    yield Line("1,000 rows, nothing compiled yet", first.processor, "s CPU", 12)


def large_csv(place: Place) -> Iterator[Line]:
    """CSV to CSV, beside polars that only reads and writes the same file."""
    yield from _beside_polars(place, 10_000_000, 4, seconds=3, ratio=0.6, report=3)
    yield from _beside_polars(place, 1_000_000, 100, seconds=4, ratio=0.8)  # `wide_jobs` uses the same table


def largest_csv(place: Place) -> Iterator[Line]:
    """6.5 GB of CSV, beside a copy of the file."""
    table = made(place, 10_000_000, 100, "csv")
    took, copied = anonymized(table), _copied(table)
    size = table.stat().st_size
    beside = took.as_dict() | {"MB/s": round(size / took.seconds / 1e6), "MB/s of cp": round(size / copied / 1e6)}
    yield Line("10 million × 100, CSV to CSV", took.seconds, "s", 40, beside=beside)
    yield Line("10 million × 100, CSV to CSV, memory", took.gigabytes, "GB", 4)
    forget(table)


def large_parquet(place: Place) -> Iterator[Line]:
    """100 million rows of four columns."""
    table = made(place, 100_000_000, 4, "parquet")
    took = anonymized(table)
    yield Line("100 million × 4, Parquet to Parquet", took.seconds, "s", 25, beside=took.as_dict())
    forget(table)


def _beside_polars(
    place: Place, rows: int, columns: int, *, seconds: float, ratio: float, report: float | None = None
) -> Iterator[Line]:
    table, name = made(place, rows, columns, "csv"), f"{rows // 1_000_000} million × {columns}, CSV to CSV"
    took = anonymized(table, 2)
    peer = run([sys.executable, "-c", POLARS, str(table), str(place.folder / "peer.csv")], 2)
    both = {"oboro": took.as_dict(), "polars reads and writes": peer.as_dict()}
    yield Line(name, took.seconds, "s", seconds, beside=both)
    yield Line(f"{name}, over polars that reads and writes", took.seconds / peer.seconds, "×", ratio, beside=both)
    if report is not None:
        more = anonymized(table, 1, "--report", str(place.folder / "report.html"))
        added = {"with": more.as_dict(), "without": took.as_dict()}
        yield Line(
            f"a report of {rows // 1_000_000} million rows", more.seconds - took.seconds, "s", report, beside=added
        )
        forget(table)


def anonymized(table: Path, times: int = 1, *more: str, recipe: Path | None = None) -> Cost:
    """What it takes to anonymize a table, by the recipe beside it or another."""
    target = table.with_name(f"released-{table.name}")
    chosen = recipe or f"{table}.recipe.yaml"
    found = run([*program("anonymize", table, "-r", chosen, "-o", target, "--force"), *more], times)
    target.unlink()
    return found


def _copied(table: Path) -> float:
    """Seconds to copy a file, to the disk."""
    start, target = time.perf_counter(), table.with_name("copied")
    with table.open("rb") as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 24)
        file.flush()
        os.fsync(file.fileno())
    seconds = time.perf_counter() - start
    target.unlink()
    return seconds
