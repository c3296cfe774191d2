"""The same recipe on Spark and DuckDB beside one machine, from Parquet to Parquet: the purchase histories of the library paper."""

from __future__ import annotations

import gc
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.rows import BenchRow
from oboro.engines.run import BOUNDED, anonymize_place
from oboro.recipe.recipe import Recipe
from oboro.samples.purchases import purchases, purchases_hierarchies, purchases_recipe
from oboro.system.process import peak_megabytes

__all__ = ["FULL", "rows"]

QUICK, USUAL, FULL = (100_000,), (10_000_000,), (100_000_000,)
WARM = 50_000
COLUMNS = 4


def rows(*, quick: bool, progress: Callable[[str], None], full: bool = False) -> list[BenchRow]:
    """Levels, suppressed rows and loss must be those of one machine; times and memory are what they are. `full`: 100M rows."""
    found: list[BenchRow] = []
    with tempfile.TemporaryDirectory(prefix="oboro-bench-") as name, redirect_stdout(sys.stderr):
        folder = Path(name)
        recipe = _recipe(folder)
        _one_machine(recipe, _made(folder, WARM), folder)  # compiles what is not compiled yet
        for count in QUICK if quick else (*USUAL, *(FULL if full else ())):
            progress(f"making up {count} rows")
            found += _compared(recipe, _made(folder, count), folder, count, progress)
    return found


def _recipe(folder: Path) -> Recipe:
    for name, levels in purchases_hierarchies().items():
        lines = "".join(";".join(line) + "\n" for line in levels)
        (folder / f"{name}.csv").write_text(lines, encoding="utf-8")
    return Recipe.parse(purchases_recipe(".", COLUMNS), folder=folder)


def _made(folder: Path, count: int) -> Path:
    path = folder / f"purchases-{count}.parquet"
    blocks = purchases(count, columns=COLUMNS)
    first = next(blocks)
    with pq.ParquetWriter(path, first.schema) as out:
        out.write_table(first)
        for block in blocks:
            out.write_table(block)
    return path


def _compared(
    recipe: Recipe, path: Path, folder: Path, count: int, progress: Callable[[str], None]
) -> Iterator[BenchRow]:
    made: dict[str, tuple[Any, dict[str, float], float]] = {}
    for engine in [one for one in ("spark", "duckdb") if _is_here(one)]:
        ways = [(f"{engine}_buckets", 0), (engine, count + 1)]
        for method, held in ways if count <= BOUNDED else ways[:1]:  # with more, nobody has all rows on the driver
            progress(f"{method}: {count} rows")
            made[method] = _on_engine(recipe, path, folder, engine, held)
    progress(f"one machine: {count} rows")
    alone, phases, _ = made["one_machine"] = _one_machine(recipe, path, folder)
    total = sum(phases.values())
    if "spark_buckets" in made:
        copied = _copied_by_spark(path, folder)
        parameters = {"n": count, "columns": COLUMNS, "phase": "all"}
        yield BenchRow("spark", "spark_copy", parameters, "seconds", copied, None, copied)
    for method, (facts, seconds, peak) in made.items():
        whole = sum(seconds.values())
        figures: list[tuple[str, float, dict[str, Any]]] = []
        if method != "one_machine":
            figures += [(f"same_{name}", float(facts[name] == alone[name]), {}) for name in alone]
            figures.append(("ratio_to_one_machine", whole / total, {}))
        figures += [("seconds", value, {"phase": phase}) for phase, value in (seconds | {"all": whole}).items()]
        figures.append(("driver_mb", peak, {}))
        for metric, ours, more in figures:
            parameters = {"n": count, "columns": COLUMNS, "k": 3, "suppress": 0.1, **more}
            spent = ours if metric == "seconds" else whole
            yield BenchRow("spark", method, parameters, metric, ours, None, spent)


def _is_here(engine: str) -> bool:
    here = find_spec("pyspark" if engine == "spark" else engine) is not None
    here = here and (engine != "spark" or shutil.which("java") is not None)
    if not here:
        print(
            f"benchmarks: {engine} is not installed (Spark needs Java too), so that part is left out", file=sys.stderr
        )
    return here


def _facts(release: Any) -> dict[str, Any]:
    told = release.steps[-1].facts
    return {"levels": told["levels"], "suppressed": told["suppressed"], "loss": told["loss"]["value"]}


def _on_engine(
    recipe: Recipe, path: Path, folder: Path, engine: str, held_rows: int
) -> tuple[Any, dict[str, float], float]:
    """With at most so many rows on the driver: 0 is that of buckets, which a table of this size need not have."""
    _forget_peak()
    started = time.perf_counter()
    output = folder / f"{engine}.parquet"
    release = anonymize_place(recipe, str(path), str(output), engine=engine, force=True, held_rows=held_rows)
    seconds = dict(release.phases)
    seconds["start"] = time.perf_counter() - started - sum(seconds.values())
    shutil.rmtree(output)
    return _facts(release), seconds, peak_megabytes() or 0.0


def _forget_peak() -> None:
    """What was held before is not this method's: Linux counts the most memory anew."""
    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _copied_by_spark(path: Path, folder: Path) -> float:
    """Seconds in which Spark itself reads and writes the table: what is left is ours."""
    from oboro.engines.spark import spark_session

    started = time.perf_counter()
    spark_session().read.parquet(str(path)).write.parquet(str(folder / "copy"))
    shutil.rmtree(folder / "copy")
    return time.perf_counter() - started


def _one_machine(recipe: Recipe, path: Path, folder: Path) -> tuple[Any, dict[str, float], float]:
    _forget_peak()
    started = time.perf_counter()
    release = recipe.run(str(path))
    made = time.perf_counter()
    output = folder / "one.parquet"
    release.write(output, force=True)
    seconds = {"read and decide": made - started, "write": time.perf_counter() - made}
    output.unlink()
    return _facts(release), seconds, peak_megabytes() or 0.0
