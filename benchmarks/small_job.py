"""What a small job costs: CPU seconds of whole processes, beside importing NumPy and Arrow, in one run.

    python -m benchmarks.small_job [--rows 1000] [--times 5] [--cold]

Every command is run `--times` times, the commands in turn, and the least is taken: other work on the machine only adds. `--cold`
also runs the jobs for the first time, with a copy of the package in which no kernel is compiled. Python's own bytecode is there, as
after an installation: the processes keep theirs in a folder of this run, whatever the environment says.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import oboro

PYTHON = sys.executable
BASE = "import numpy, pyarrow"


def cpu_seconds(command: list[str], **more: str) -> float:
    """User and system time of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = {**os.environ, **more}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)  # a fifth to a half of a small job would be reading source again
    subprocess.run(command, check=True, capture_output=True, env=settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(folder: Path, rows: int) -> dict[str, list[str]]:
    """A name for each row of the table, and what is run."""
    program = [PYTHON, "-m", "oboro.cli.main"]
    table = folder / "people.csv"
    subprocess.run(
        [*program, "synth", "people", "--rows", str(rows), "--seed", "7", "--output", str(table)], check=True
    )
    job = [*program, "anonymize", str(table), "-r", f"{table}.recipe.yaml", "-o", str(folder / "out.csv"), "--force"]
    return {
        f'python -c "{BASE}"': [PYTHON, "-c", BASE],
        "oboro --help": [*program, "--help"],
        "import oboro; oboro.Recipe": [PYTHON, "-c", "import oboro; oboro.Recipe"],
        f"oboro anonymize, {rows} rows": job,
        f"oboro anonymize --report, {rows} rows": [*job, "--report", str(folder / "report.html")],
    }


def main() -> None:
    """Print the seconds of each command, and how often those of the first it takes."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=1000)
    asked.add_argument("--times", type=int, default=5)
    asked.add_argument("--cold", action="store_true")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        todo = commands(Path(folder), given.rows)
        found = dict.fromkeys(todo, float("inf"))
        for turn in range(given.times + 1):  # the first turn loads and compiles what is kept
            for name, command in todo.items():
                seconds = cpu_seconds(command)
                found[name] = min(found[name], seconds) if turn else found[name]
        if given.cold:
            for name, command in list(todo.items())[-2:]:
                with tempfile.TemporaryDirectory() as empty:
                    package = Path(oboro.__file__).parent
                    shutil.copytree(package, Path(empty) / "oboro", ignore=shutil.ignore_patterns("*.nb?"))
                    found[f"{name}, nothing compiled"] = cpu_seconds(command, PYTHONPATH=empty)
    base = next(iter(found.values()))
    rows = [{"work": name, "cpu_seconds": round(one, 3), "ratio": round(one / base, 2)} for name, one in found.items()]
    for row in rows:
        print(f"{row['cpu_seconds']:8.2f} s {row['ratio']:6.1f} ×   {row['work']}")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
