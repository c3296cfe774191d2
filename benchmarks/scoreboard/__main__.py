"""Every goal of speed in one go, beside what was measured on this machine.

    python benchmarks/scoreboard [--only NAME ...] [--scale 0.01] [--folder DIR]

What needs more disk or memory than there is, is left out, and the file says so. Writes `benchmarks/results/scoreboard.json` after
every line, and the picture of it; with `--scale` (fewer rows, for a first look) nothing is written. Lines that are not run again
stay.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import methods
import whole_jobs
from measured_line import Measure, Place
from picture import draw

from oboro.papers.benchmark_rows import record

RESULTS = Path(__file__).parent.parent / "results"
# What is measured, and how much of the disk and of memory it needs, in GB.
PARTS: dict[str, tuple[Measure, float, float]] = {
    "small": (whole_jobs.small_jobs, 0.1, 1),
    "streams": (methods.streams, 0.1, 1),
    "microaggregation": (methods.microaggregation, 0, 2),
    "concealment": (methods.concealment, 0, 2),
    "windows": (methods.windows, 0, 1),
    "csv": (whole_jobs.large_csv, 3, 4),
    "largest": (whole_jobs.largest_csv, 22, 6),
    "parquet": (whole_jobs.large_parquet, 4, 8),
    "wide": (whole_jobs.wide_tables, 20, 8),
    "searches": (methods.searches, 0, 4),
}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="where tables are made; by default a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        place = Place(Path(folder), given.scale)
        for part in given.only or PARTS:
            for fact in measured(part, place):
                print(json.dumps(fact, ensure_ascii=False), flush=True)
                if given.scale == 1:
                    write(fact)
    if given.scale == 1:
        draw(json.loads((RESULTS / "scoreboard.json").read_text())["lines"], RESULTS / "scoreboard.png")


def measured(part: str, place: Place) -> Any:
    """The lines of one part, or why there are none."""
    measure, disk, memory = PARTS[part]
    if why := lacking(place.folder, disk * place.scale, memory * place.scale):
        yield {"part": part, "work": part, "skipped": why}
        return
    for line in measure(place):
        yield {"part": part, **line.as_dict(), "load": round(os.getloadavg()[0], 1)}


def lacking(folder: Path, disk: float, memory: float) -> str | None:
    """What there is too little of."""
    free = shutil.disk_usage(folder).free / 1e9
    held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / 1e9
    if free < disk:
        return f"needs {disk:g} GB of disk, {free:.0f} are free"
    return f"needs {memory:g} GB of memory, {held:.0f} are free" if held < memory else None


def write(fact: dict[str, Any]) -> None:
    """Put one line in the place of what the file said about that work."""
    path = RESULTS / "scoreboard.json"
    lines = json.loads(path.read_text())["lines"] if path.exists() else []
    order = list(PARTS)
    lines = [one for one in lines if one["work"] != fact["work"]] + [fact]
    lines.sort(key=lambda one: order.index(one["part"]))
    facts = record("scoreboard", [], quick=False) | {"command": "python benchmarks/scoreboard"}
    facts.pop("rows")
    path.write_text(json.dumps(facts | {"lines": lines}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
