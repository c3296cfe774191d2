"""Every goal of speed in one go, beside what was measured on this machine.

    python -m benchmarks.scoreboard [--only NAME ...] [--scale 0.01] [--minutes 25] [--folder DIR]

Each part is a process of its own that is ended when its time is up, so that nothing hangs and no part has the memory of another.
What needs more disk, memory or time than there is, is left out, and the file says so. Prints each line as it is measured and
writes `benchmarks/results/scoreboard.json` after every one, and at the end the picture of it; with `--scale` (fewer rows, for a
first look) nothing is written. Lines that are not run again stay.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.rows import record
from benchmarks.scoreboard.measured_line import Place

RESULTS = Path(__file__).parent.parent / "results"
# Where each part is, how much of the disk and of memory it needs, in GB, and after how many seconds it is ended.
# The most important first: what comes last is left out where time runs short.
PARTS: dict[str, tuple[str, float, float, float]] = {
    "small": ("whole_jobs.small_jobs", 0.1, 1, 120),
    "csv": ("whole_jobs.large_csv", 4, 4, 240),
    "adult": ("methods.adult_searches", 0, 2, 60),
    "streams": ("methods.streams", 0.1, 1, 90),
    "microaggregation": ("methods.microaggregation", 0, 2, 60),
    "searches": ("methods.searches", 0, 6, 180),
    "windows": ("methods.windows", 0, 1, 120),
    "concealment": ("methods.concealment", 0, 3, 240),
    "parquet": ("whole_jobs.large_parquet", 4, 6, 240),
    "largest": ("whole_jobs.largest_csv", 22, 4, 300),
    "wide": ("wide_jobs.wide_tables", 22, 6, 480),
    "service": ("methods.service", 0.5, 1, 240),
}
LEAST = 20  # seconds that a part is begun with


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--minutes", type=float, default=25, help="parts that do not begin before are left out")
    parser.add_argument("--folder", type=Path, help="where tables are made; by default a temporary folder")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        measure_here(given.part, Place(given.folder, given.scale))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the part that is under way ends too, and its tables go
    until = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for part in given.only or PARTS:
            began = time.monotonic()
            for fact in measured(part, Place(Path(folder), given.scale), until - began):
                print(json.dumps(fact, ensure_ascii=False), flush=True)
                if given.scale == 1:
                    write(fact)
            print(f"{part}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    if given.scale == 1:
        from benchmarks.scoreboard.picture import draw

        draw(json.loads((RESULTS / "scoreboard.json").read_text())["lines"], RESULTS / "scoreboard.png")


def measure_here(part: str, place: Place) -> None:
    """The lines of one part, printed as they are known."""
    room, _, name = PARTS[part][0].partition(".")
    for line in getattr(import_module(f"benchmarks.scoreboard.{room}"), name)(place):
        load = round(os.getloadavg()[0], 1)
        print(json.dumps({"part": part, **line.as_dict(), "load": load}, ensure_ascii=False), flush=True)


def measured(part: str, place: Place, seconds: float) -> Iterator[dict[str, Any]]:
    """The lines of one part, or why there are none, or no more."""
    _, disk, memory, most = PARTS[part]
    why = lacking(place.folder, disk * place.scale, memory * place.scale)
    if why is None and seconds < LEAST:
        why = "no time was left"
    if why is None:
        why = yield from in_a_process(part, place, min(most, seconds))
    if why is not None:
        yield {"part": part, "work": part, "skipped": why}


def in_a_process(part: str, place: Place, seconds: float) -> Generator[dict[str, Any], None, str | None]:
    """The lines of one part from a process of its own; returns what ended it too early."""
    words = ["--part", part, "--scale", str(place.scale), "--folder", str(place.folder)]
    command = [sys.executable, "-m", "benchmarks.scoreboard", *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    late = threading.Event()

    def end() -> None:
        late.set()
        os.killpg(child.pid, signal.SIGKILL)  # with what it started

    timer = threading.Timer(seconds, end)
    timer.start()
    assert child.stdout is not None
    try:
        for line in child.stdout:
            yield json.loads(line)
        child.wait()
    finally:
        timer.cancel()
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if late.is_set():
        return f"not done after {seconds:.0f} s"
    return f"failed with {child.returncode}" if child.returncode else None


def lacking(folder: Path, disk: float, memory: float) -> str | None:
    """What there is too little of."""
    free = shutil.disk_usage(folder).free / 1e9
    held = available_memory() / 1e9
    if free < disk:
        return f"needs {disk:g} GB of disk, {free:.0f} are free"
    return f"needs {memory:g} GB of memory, {held:.0f} are free" if held < memory else None


def available_memory() -> float:
    """Bytes that programs can have: what is free, and what the system only caches."""
    try:
        facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(facts["MemAvailable"].split()[0]) * 1024.0
    except (OSError, KeyError, ValueError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def write(fact: dict[str, Any]) -> None:
    """Put one line in the place of what the file said about that work."""
    path = RESULTS / "scoreboard.json"
    lines = json.loads(path.read_text())["lines"] if path.exists() else []
    order = list(PARTS)
    same = {fact["work"], fact["part"]}  # that a part was left out is no longer so
    lines = [one for one in lines if one["work"] not in same and one["part"] in PARTS] + [fact]
    lines.sort(key=lambda one: order.index(one["part"]))
    facts = record("scoreboard", [], quick=False) | {"command": "python -m benchmarks.scoreboard"}
    facts.pop("rows")
    path.write_text(json.dumps(facts | {"lines": lines}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
