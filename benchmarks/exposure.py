"""What the last look before writing costs of a run, and what `assess` costs beside reading the file.

    python -m benchmarks.exposure [--rows 10000000] [--folder DIR]

The table is ten columns of the made-up people (`oboro synth people` without its identifiers). The look is measured from file to
file, with and without it, in both kinds of job: where nobody is unique by the columns that no promise covers, and where the recipe
accepts those who are. `assess` is measured after the read, with roles given and guessed. Ratios of processor time are steadier than
those of the clock where other programs run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

import oboro
from oboro.data.dataset import Dataset
from oboro.disclosure import gate
from oboro.disclosure.gate import Findings
from oboro.io.read import read
from oboro.io.write import write
from oboro.samples.people import hierarchy_csv, people, people_hierarchies

QUASI: dict[str, dict[str, Any]] = {
    "birthdate": {"hierarchy": {"dates": ["day", "month", "year", "decade"]}},
    "sex": {},
    "address": {"hierarchy": {"csv": "address.csv"}},
    "job": {"hierarchy": {"csv": "job.csv"}},
}
OTHER = ["postal_code", "income", "last_purchase", "category", "amount"]
ACCEPT = {"unique_on": OTHER, "because": "a benchmark"}
SMALL = 100_000  # rows of a first run, which compiles kernels

Seconds = tuple[float, float]  # on the clock, of the processor


def table(rows: int) -> Dataset:
    """Made-up people without their identifiers."""
    whole = people(rows, seed=1)
    return whole.select([*QUASI, *OTHER, "diagnosis"])


def recipe(folder: Path, *, accepted: bool) -> oboro.Recipe:
    """k-anonymity of four columns; the others are released and accepted, or dropped but for one that singles nobody out."""
    attributes: dict[str, Any] = {name: {"role": "quasi", **one} for name, one in QUASI.items()}
    attributes |= {"diagnosis": {"role": "sensitive"}, **{name: {"role": "other"} for name in OTHER}}
    drop = [{"drop_columns": {"attributes": [name for name in OTHER if name != "category"]}}]
    steps = [*([] if accepted else drop), {"k_anonymize": {"k": 5, "suppress": 0.05}}]
    content = {"attributes": attributes, "steps": steps, "accept": [ACCEPT] if accepted else []}
    return oboro.Recipe.parse(yaml.safe_dump(content), folder=folder)


def timed(act: Callable[[], Any], times: int = 2) -> Seconds:
    """The shortest of some runs."""
    found = []
    for _ in range(times):
        clock, processor = time.perf_counter(), time.process_time()
        act()
        found.append((time.perf_counter() - clock, time.process_time() - processor))
    return min(one[0] for one in found), min(one[1] for one in found)


def without_look(act: Callable[[], Any]) -> Seconds:
    """The same job, if nobody looked: neither at the release nor, while the file is read, at columns that stay in it."""
    with (
        patch.object(gate, "check_release", lambda candidate: Findings()),
        patch.object(oboro.Recipe, "looks_at", lambda self, names: ()),
    ):
        return timed(act)


def said(name: str, with_it: Seconds, without: Seconds) -> None:
    """Both times, and how much of the one the other is."""
    clock, processor = (one / other for one, other in zip(with_it, without, strict=True))
    print(
        f"{name}: {with_it[0]:.2f} s beside {without[0]:.2f} s, ratio {clock:.2f} (processor {processor:.2f})",
        flush=True,
    )


def looked(folder: Path, ending: str) -> None:
    """Runs with the last look beside runs without it."""
    for accepted in (False, True):
        plan, out = recipe(folder, accepted=accepted), folder / f"out{ending}"

        def job(rows: str, plan: oboro.Recipe = plan, out: Path = out) -> None:
            plan.run(folder / f"{rows}{ending}").write(out, force=True)

        job("small")
        kind = "accepted" if accepted else "nobody unique"
        said(
            f"run with the last look, {ending[1:]}, {kind}",
            timed(lambda: job("large")),
            without_look(lambda: job("large")),
        )


def assessed(folder: Path, ending: str) -> None:
    """`assess` after the read, beside the read."""
    path = folder / f"large{ending}"
    reading = timed(lambda: read(path))
    source = read(path)
    ways: dict[str, dict[str, Any]] = {"roles given": {"quasi": list(QUASI), "sensitive": "diagnosis"}, "guessed": {}}
    for name, roles in ways.items():
        oboro.assess(read(folder / f"small{ending}"), **roles)
        said(f"assess, {ending[1:]}, {name}, beside the read", timed(partial(oboro.assess, source, **roles)), reading)


def main() -> None:
    """Make the table, measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where tables are kept for the next time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        for name, rows in people_hierarchies().items():
            (folder / f"{name}.csv").write_text(hierarchy_csv(rows), encoding="utf-8")
        for ending in (".csv", ".parquet"):
            for name, count in {"small": SMALL, "large": given.rows}.items():
                if not (folder / f"{name}{ending}").exists():
                    write(table(count), folder / f"{name}{ending}", None)
            assessed(folder, ending)
            looked(folder, ending)


if __name__ == "__main__":
    main()
