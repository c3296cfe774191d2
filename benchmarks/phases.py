"""Where the time of a job goes: processor seconds of each phase, and of the loops inside, whichever thread runs them.

    python -m benchmarks.phases table.csv recipe.yaml released.csv

Prints JSON. Loops run beside each other on all cores, so those of a phase can be more than its seconds on the clock.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pyarrow

LOOPS = {  # where a loop is used, under which name its room is known there, and the loops
    ("oboro.io.formats.csv.blocks", "kernels"): ("tokenize",),
    ("oboro.io.formats.csv.reader", "kernels"): ("encode_columns",),
    ("oboro.io.formats.csv.reader", ""): ("add_cells",),
    ("oboro.io.formats.columns", "kernels"): ("encode_columns", "pack_values"),
    ("oboro.io.formats.csv.writer", "kernels"): ("copy_records",),
    ("oboro.io.external_shuffle", "kernels"): ("deal_lines", "place_lines"),
    ("oboro.io.formats.csv.writer", "rendering"): ("render",),
}
PHASES = ("_opened", "_check_hierarchies", "released_order", "verify_promises", "check_release")


def main() -> None:
    """One job, measured."""
    table, recipe, output = sys.argv[1:]
    started = time.process_time()
    run, recipes = import_module("oboro.recipe.run"), import_module("oboro.recipe.recipe")
    pyarrow.array([0])  # Arrow imports pandas with its first array, where that is installed
    phases: dict[str, float] = defaultdict(float)
    loops: dict[str, float] = defaultdict(float)
    for (room, known), names in LOOPS.items():
        _measure_loops(import_module(room), known, names, loops)
    for name in PHASES:
        setattr(run, name, _measured(getattr(run, name), name.strip("_"), time.process_time, phases))
    run._Table.take = _measured(run._Table.take, "steps", time.process_time, phases)
    phases["imports"] = time.process_time() - started
    clock = time.perf_counter()
    release = run.run(recipes.Recipe.load(recipe), table)
    _measured(release.write, "write", time.process_time, phases)(output, force=True)
    facts = {"clock": time.perf_counter() - clock, "processor": time.process_time(), "phases": phases, "loops": loops}
    print(json.dumps(facts, indent=1, default=float))


def _measure_loops(room: Any, known: str, names: tuple[str, ...], out: dict[str, float]) -> None:
    """Let a room call measured loops in the place of its own."""
    home: Any = room if not known else getattr(room, known, None)
    if home is None:
        return
    changed = {name: _measured(getattr(home, name), name, time.thread_time, out) for name in names}
    if known:
        setattr(room, known, SimpleNamespace(**{**vars(home), **changed}))
    else:
        vars(room).update(changed)


def _measured(
    act: Callable[..., Any], name: str, now: Callable[[], float], out: dict[str, float]
) -> Callable[..., Any]:
    @wraps(act)
    def measured(*given: Any, **named: Any) -> Any:
        began = now()
        try:
            return act(*given, **named)
        finally:
            out[name] += now() - began

    return measured


if __name__ == "__main__":
    main()
