"""How large the state of a service is after many records, and how long it takes to save and to take up again.

    python -m benchmarks.service_state --records 10000000

Written to benchmarks/results/service_state.json.
Five attributes as in `python -m benchmarks service` (7,840 combinations, some far more frequent than others). As many
ids are remembered (`--id`) as the horizon says.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.service import DIFFERENT, NAMES, RECIPE
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.stream.engine import ServicePosition, restored
from oboro.stream.records import RecordIds

BLOCK = 1000
WEIGHTS = [1.0 / np.arange(1, different + 1) ** 2 for different in DIFFERENT]
EDGES = [np.cumsum(weights / weights.sum())[:-1] for weights in WEIGHTS]


def main() -> None:
    """Print a line for each power of ten."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--horizon", type=int, default=None, help="records that protect later ones; all if not given")
    given = parser.parse_args()
    options = StreamOptions(horizon=given.horizon)
    recipe, rng = Recipe(**RECIPE), np.random.default_rng(5)
    stream, ids = anonymizer(recipe, options), RecordIds("note", 100_000)
    began, done, next_look = time.process_time(), 0, 10_000
    looks: list[dict[str, float]] = []
    while done < given.records:
        columns = [np.searchsorted(edges, rng.random(BLOCK)) for edges in EDGES]
        rows = zip(*(column.tolist() for column in columns), range(done, done + BLOCK), strict=True)
        records = [dict(zip((*NAMES, "note"), row, strict=True)) for row in rows]
        for record in records[-100_000:]:
            ids.meet(record)
        stream.take(records, 0.0)
        done += BLOCK
        if done >= next_look or done >= given.records:
            looks.append(look(lambda: anonymizer(recipe, options), stream, ids, done, time.process_time() - began))
            next_look *= 10
    if given.horizon is None:
        command = f"python -m benchmarks.service_state --records {given.records}"
        whole = {"command": command, "over_records": looks}
        (Path(__file__).parent / "results/service_state.json").write_text(json.dumps(whole, indent=1) + "\n")


def look(make: Callable[[], Any], stream: Any, ids: RecordIds, done: int, took: float) -> dict[str, float]:
    """Save and take up again."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "snapshot")
        saving = time.process_time()
        stream.save(path, extra=asdict(ServicePosition(ids=ids.dump())))
        restoring = time.process_time()
        again, position = restored(make, path, "state")
        RecordIds("note", 100_000).load(position.ids)
        ended, size = time.process_time(), path.stat().st_size
        again.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{done:>11,} records: snapshot {size / 1e6:.1f} MB, saved in {restoring - saving:.2f} s of CPU, "
        f"taken up in {ended - restoring:.2f} s; {took / done * 1e6:.1f} µs a record, {memory} MB at most",
        flush=True,
    )
    return {
        "records": done,
        "snapshot_mb": round(size / 1e6, 2),
        "save_cpu_s": round(restoring - saving, 3),
        "restore_cpu_s": round(ended - restoring, 3),
        "memory_mb": memory,
    }


if __name__ == "__main__":
    main()
