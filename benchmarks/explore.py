"""How quickly a session answers: solving again after a move, a frontier of 30 points, rows before and after.

    python -m benchmarks.explore all FOLDER        all three tables with their goals: which hold; stored in `results/explore.json`,
                                                   and written into the table of docs/explore.md
    python -m benchmarks.explore adult FOLDER      ARX's Adult: 9 quasi-identifiers, from a folder with `arx-adult`
    python -m benchmarks.explore people [ROWS]     made-up people: 5 quasi-identifiers, every hierarchy up to `*`
    python -m benchmarks.explore purchases [ROWS]  made-up purchases: 4 quasi-identifiers, 72 nodes

Seconds of the clock and of the processor: on a busy machine only the latter mean something. Each table in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
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
from benchmarks.rows import record
from oboro.samples.people import hierarchy_csv, people, people_hierarchies
from oboro.samples.purchases import purchases, purchases_hierarchies, purchases_recipe

ADULT = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
GOALS = {
    "adult": {
        "frontier": 2.0,
        "first_point": 0.3,
        "solve_again_p95": 0.15,
        "cancelled_after": 0.1,
        "cancelled_first": 0.1,
    },
    "people": {
        "frontier": 5.0,
        "first_point": 0.3,
        "solve_again_p95": 0.3,
        "window": 0.02,
        "cancelled_after": 0.1,
        "cancelled_first": 0.1,
    },
    "purchases": {"solve_again_p95": 1.5, "cancelled_after": 0.1, "cancelled_first": 0.1},
}  # seconds of the clock, two quiet cores
SHOWN = {
    "frontier of 30 points": "frontier",
    "its first point": "first_point",
    "solving again, 95 of 100 moves": "solve_again_p95",
    "100 rows before and after": "window",
    "a search that is cancelled ends after": "cancelled_after",
    "the same of the first question, before rows are laid out": "cancelled_first",
}
RESULT, DOCS = Path(__file__).parent / "results/explore.json", Path(__file__).parents[1] / "docs/explore.md"
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
    looks = session.table.looks
    for held in (looks.looks, looks._spaces, looks.nodes, looks._rolled, session._asked):
        held.clear()
    rng, clock, cpu = np.random.default_rng(0), time.perf_counter(), time.process_time()
    points = [(time.perf_counter() - clock, time.process_time() - cpu) for _ in session.frontier(KS, SHARES)]
    moves = [_timed(lambda: session.solve(_move(rng))) for _ in range(MOVES)]
    levels = session.solve().levels
    assert levels is not None
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
        "cancelled_after": _cancelled(session, laid_out=True),
        "cancelled_first": _cancelled(session, laid_out=False),
    }


def _move(rng: np.random.Generator) -> dict[str, Any]:
    return {"k": int(rng.integers(2, 60)), "suppress": float(rng.uniform(0, 0.1))}


def _timed(act: Any) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - clock, time.process_time() - cpu


def _cancelled(session: oboro.Session, *, laid_out: bool) -> float:
    """Seconds from the wish to the answer: the most of some moments, in sessions that know nothing yet, laid out rows apart."""
    return max(_cancelled_at(session, moment, laid_out=laid_out) for moment in (0.02, 0.05, 0.1, 0.3))


def _cancelled_at(session: oboro.Session, moment: float, *, laid_out: bool) -> float:
    fresh, stop, asked = oboro.explore(session.table.again, session.plan), threading.Event(), [0.0]
    if laid_out:
        fresh.question(fresh.demands).prepare()

    def wish() -> None:
        time.sleep(moment)
        asked[0] = time.perf_counter()
        stop.set()

    threading.Thread(target=wish).start()
    fresh.solve({"k": 7, "suppress": 0.03}, cancel=stop)
    took = max(0.0, time.perf_counter() - (asked[0] or time.perf_counter()))
    with fresh.table.preparing:  # what was begun comes to its end before the next is measured
        return took


def everything(folder: str) -> dict[str, Any]:
    """Each table in a process of its own, and which goals its clock kept."""
    found: dict[str, Any] = record("explore", [], quick=False) | {"load": os.getloadavg()}
    found["command"] = "python -m benchmarks.explore all FOLDER"
    for kind, goals in GOALS.items():
        command = [sys.executable, "-m", "benchmarks.explore", kind, *([folder] if kind == "adult" else [])]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        took = {name: np.ravel(figures[name])[0] for name in goals}
        figures["holds"] = {f"{name} <= {goal}": bool(took[name] <= goal) for name, goal in goals.items()}
        found[kind] = figures
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = DOCS.read_text(encoding="utf-8")
    DOCS.write_text(
        re.sub(r"(?<=<!-- measured -->\n).*?(?=\n*\Z)", table_of(found), page, flags=re.S), encoding="utf-8"
    )
    return found


def table_of(found: dict[str, Any]) -> str:
    """The table of docs/explore.md from what is stored."""
    rows = ["| | Adult, 9 columns | people, 1,000,000 rows | purchases, 10,000,000 rows |", "|---|---:|---:|---:|"]
    for said, name in SHOWN.items():
        took = [f"{float(np.ravel(found[kind][name])[0]):.2g}" for kind in GOALS]
        rows.append(f"| {said} | {' | '.join(took)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    kind, *more = sys.argv[1:]
    tables = {"adult": adult, "people": people_session, "purchases": purchases_session}
    print(json.dumps(everything(*more) if kind == "all" else measured(tables[kind](*more)), indent=1))
