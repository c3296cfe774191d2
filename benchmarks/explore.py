"""How quickly a session answers: solving again after a move, a frontier of 30 points, rows before and after.

    python benchmarks/explore.py all FOLDER        all three tables with their goals: which hold
    python benchmarks/explore.py adult FOLDER      ARX's Adult: 9 quasi-identifiers, from a folder with `arx-adult`
    python benchmarks/explore.py people [ROWS]     made-up people: 5 quasi-identifiers, every hierarchy up to `*`
    python benchmarks/explore.py purchases [ROWS]  made-up purchases: 4 quasi-identifiers, 72 nodes

Seconds of the clock and of the processor: on a busy machine only the latter mean something. Each table in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import oboro
from oboro.samples.people_table import hierarchy_csv, people, people_hierarchies
from oboro.samples.purchases_table import purchases, purchases_hierarchies, purchases_recipe

ADULT = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
GOALS = {
    "adult": {"frontier": 2.0, "first_point": 0.3, "solve_again_p95": 0.15, "cancelled_after": 0.1},
    "people": {"frontier": 5.0, "first_point": 0.3, "solve_again_p95": 0.3, "window": 0.02, "cancelled_after": 0.1},
    "purchases": {"solve_again_p95": 1.5, "cancelled_after": 0.1},
}  # seconds of the clock, two quiet cores
KS, SHARES, MOVES = (2, 3, 5, 10, 20, 50), (0.0, 0.01, 0.02, 0.05, 0.1), 40


def adult(folder: str = ".") -> oboro.Session:
    """ARX's Adult with ARX's hierarchies."""
    held = Path(folder) / "arx-adult"
    trees = {name: {"csv": str(held / f"adult_hierarchy_{name}.csv")} for name in ADULT}
    attributes = {name: {"role": "quasi", "hierarchy": tree} for name, tree in trees.items()}
    return oboro.explore(held / "adult.csv", oboro.Recipe(attributes=attributes, steps=[{"k_anonymize": {"k": 5}}]))


def people_session(rows: str = "1000000") -> oboro.Session:
    """People, five columns, each up to `*`."""
    data, folder = people(int(rows), seed=1), Path(tempfile.mkdtemp())
    for name, held in people_hierarchies().items():
        (folder / f"{name}.csv").write_text(hierarchy_csv(held))
    trees: dict[str, Any] = {
        "birthdate": {"dates": ["day", "month", "year", "decade"]},
        "sex": None,
        "address": {"csv": str(folder / "address.csv")},
        "job": {"csv": str(folder / "job.csv")},
        "last_purchase": {"dates": ["day", "month", "quarter", "year"]},
    }
    attributes = {name: {"role": "quasi", "hierarchy": tree} for name, tree in trees.items()}
    recipe = oboro.Recipe(attributes=attributes, steps=[{"k_anonymize": {"k": 5}}], unnamed="drop")
    return oboro.explore(data, recipe)


def purchases_session(rows: str = "10000000") -> oboro.Session:
    """Purchases, four columns, the task of the paper."""
    folder = Path(tempfile.mkdtemp())
    for name, held in purchases_hierarchies().items():
        (folder / f"{name}.csv").write_text(hierarchy_csv(held))
    data = pa.concat_tables(purchases(int(rows), seed=1, columns=4))
    return oboro.explore(data, oboro.Recipe.parse(purchases_recipe(str(folder), 4)))


def measured(session: oboro.Session) -> dict[str, Any]:
    """The figures of one table."""
    session.solve({"k": 2})  # compiles, encodes, lays out
    session.table.looks.looks.clear()
    session.table.looks._spaces.clear()
    session.table.looks.nodes.clear()
    rng, clock, cpu = np.random.default_rng(0), time.perf_counter(), time.process_time()
    points = [(time.perf_counter() - clock, time.process_time() - cpu) for _ in session.frontier(KS, SHARES)]
    moves = [_timed(lambda: session.solve(_move(rng))) for _ in range(MOVES)]
    levels = session.solve().levels
    session.window(0, 100, levels)
    window = _timed(lambda: session.window(session.table.data.rows // 2, 100, levels))
    return {
        "rows": session.table.data.rows,
        "looks": len(session.table.looks.looks),
        "frontier": points[-1],
        "first_point": points[0],
        "solve_again_p50": np.median(moves, axis=0).tolist(),
        "solve_again_p95": np.quantile(moves, 0.95, axis=0).tolist(),
        "window": window,
        "cancelled_after": _cancelled(session),
    }


def _move(rng: np.random.Generator) -> dict[str, Any]:
    return {"k": int(rng.integers(2, 60)), "suppress": float(rng.uniform(0, 0.1))}


def _timed(act: Any) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - clock, time.process_time() - cpu


def _cancelled(session: oboro.Session) -> float:
    """Seconds from the wish to the answer, in a session that knows nothing yet."""
    fresh, stop, asked = oboro.explore(session.table.again, session.plan), threading.Event(), [0.0]
    question = fresh.question(fresh.demands)
    question.node(question.problem.lattice.top)  # encoding and laying out are not the search

    def wish() -> None:
        time.sleep(0.05)
        asked[0] = time.perf_counter()
        stop.set()

    threading.Thread(target=wish).start()
    fresh.solve({"k": 7, "suppress": 0.03}, cancel=stop)
    return max(0.0, time.perf_counter() - (asked[0] or time.perf_counter()))


def everything(folder: str) -> dict[str, Any]:
    """Each table in a process of its own, and which goals its clock kept."""
    found: dict[str, Any] = {"load": os.getloadavg()}
    for kind, goals in GOALS.items():
        command = [sys.executable, __file__, kind, *([folder] if kind == "adult" else [])]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        took = {name: np.ravel(figures[name])[0] for name in goals}
        figures["holds"] = {f"{name} <= {goal}": bool(took[name] <= goal) for name, goal in goals.items()}
        found[kind] = figures
    return found


if __name__ == "__main__":
    kind, *more = sys.argv[1:]
    tables = {"adult": adult, "people": people_session, "purchases": purchases_session}
    print(json.dumps(everything(*more) if kind == "all" else measured(tables[kind](*more)), indent=1))
