"""How long `oboro anonymize` takes from file to file, and how much memory: search, verification, start and all.

    python -m benchmarks.file_to_file [--job 10000000x4.csv ...] [--folder DIR] [--keep]

A job is rows x columns of `oboro synth purchases` and the ending of both files. Beside it, up to 10 million rows of CSV, runs a
script in polars that does less: it is told the levels instead of searching for them, and verifies nothing. The same job with
`--report` tells what risk, utility and evidence cost, and a program that only reads the table what one more read costs. Writes
`benchmarks/results/file_to_file.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.rows import record

RESULT = Path(__file__).parent / "results" / "file_to_file.json"
JOBS = ["10000000x4.csv", "1000000x100.csv", "100000000x4.parquet"]
MOST_ROWS = 10_000_000  # that the script is given
SCRIPT = """
import sys
import polars as pl
source, target, hierarchy = sys.argv[1:]
quasi = ["job", "sex", "address", "birthdate"]
levels = pl.read_csv(hierarchy, separator=";", has_header=False, new_columns=["from", "chome", "town", "to"])
table = pl.read_csv(source, schema_overrides={"job": pl.String, "birthdate": pl.String})
table = table.with_columns(
    pl.col("address").replace_strict(levels["from"], levels["to"]),
    pl.col("birthdate").str.slice(0, 7),
)
rare = pl.len().over(quasi) < 3
table.with_columns(pl.when(rare).then(pl.lit("*")).otherwise(pl.col(quasi)).name.keep()).write_csv(target)
"""

READ = """
import sys
from oboro.io.read import read
read(sys.argv[1])
"""


def measured(command: list[str]) -> dict[str, float]:
    """Seconds on the clock, seconds of processor, and the most memory that a program had, in GB."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed")
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 2),
        "processor": round(used.ru_utime + used.ru_stime, 2),
        "gigabytes": round(used.ru_maxrss / 1e6, 2),
    }


def run(job: str, folder: Path, keep: bool) -> dict[str, Any]:
    """Make the table, unless it is there, and anonymize it."""
    rows, columns, ending = re.fullmatch(r"(\d+)x(\d+)\.(\w+)", job).groups()  # type: ignore[union-attr]
    source, target = folder / job, folder / f"released-{job}"
    oboro = [sys.executable, "-m", "oboro.cli.main"]
    if not source.exists():
        print(f"{job}: making the table", file=sys.stderr)
        subprocess.run([*oboro, "synth", "purchases", "--rows", rows, "--columns", columns, "-o", source], check=True)
    recipe = source.with_name(f"{job}.recipe.yaml")
    facts: dict[str, Any] = {"job": job, "bytes": source.stat().st_size}
    command = [*oboro, "anonymize", str(source), "--recipe", str(recipe), "--output", str(target), "--force"]
    facts["oboro"] = measured(command)
    facts["with_report"] = measured([*command, "--report", str(folder / "report.html")])
    facts["one_more_read"] = measured([sys.executable, "-c", READ, str(source)])
    if ending == "csv" and int(rows) <= MOST_ROWS:
        hierarchy = source.with_name(f"{job}.hierarchies") / "address.csv"
        facts["polars"] = measured([sys.executable, "-c", SCRIPT, str(source), str(target), str(hierarchy)])
    facts["rows_per_second"] = round(int(rows) / facts["oboro"]["seconds"])
    print(json.dumps(facts))
    target.unlink()
    (folder / "report.html").unlink()
    if not keep:
        source.unlink()
    return facts


def main() -> None:
    """Every job in turn; the figures of jobs that are not run again stay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", action="append", help=f"rows x columns . ending; by default {', '.join(JOBS)}")
    parser.add_argument("--folder", type=Path, help="where the tables are, or are made")
    parser.add_argument("--keep", action="store_true", help="keep the tables that were made")
    options = parser.parse_args()
    before = json.loads(RESULT.read_text())["jobs"] if RESULT.exists() else []
    jobs = {facts["job"]: facts for facts in before}
    with tempfile.TemporaryDirectory() as folder:
        for job in options.job or JOBS:
            jobs[job] = run(job, options.folder or Path(folder), options.keep)
    facts = record("file_to_file", [], quick=False) | {"command": "python -m benchmarks.file_to_file"}
    facts["versions"]["polars"] = version("polars")
    facts.pop("rows")
    RESULT.write_text(json.dumps(facts | {"jobs": list(jobs.values())}, indent=2) + "\n")


if __name__ == "__main__":
    main()
