"""What the search of levels costs as columns become more: processor seconds, nodes and how many of them were checked.

    python -m benchmarks.columns_search [--rows 20000] [--columns 8 9 10 11 12] [--json FILE]

Made-up people (`python -m benchmarks heuristics`), k = 5; with k alone, and with entropy l-diversity or t-closeness of one
more column; without suppression and with 10 %. Kernels compiled, tuples not yet counted. A search is cut off after a minute,
and says so.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.heuristics import made_up
from oboro.algorithms.lattice.constraints import closeness_rule, diversity_rule
from oboro.algorithms.lattice.losses import loss_of
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.search import search
from oboro.kernels.jit import always_compiled

MOST = 60.0


def problems(columns: int, rows: int) -> Iterator[tuple[str, Problem]]:
    """What is searched, by name."""
    whole = made_up(columns + 1, rows)
    quasi, trees, secret = whole.columns[:-1], whole.hierarchies[:-1], whole.columns[-1]
    loss = loss_of("loss", quasi, trees, [1.0] * columns, 5)
    asked = {
        "k": (),
        "entropy": (diversity_rule("s", secret, l=2.5, kind="entropy"),),
        "closeness": (closeness_rule("s", secret, t=0.3),),
    }
    for name, rules in asked.items():
        for share in (0.0, 0.1):
            yield f"{columns} {name} {share}", Problem(quasi, trees, 5, int(rows * share), rules, loss)


def measured(problem: Problem) -> dict[str, object]:
    """One search."""
    begun = time.process_time()
    found = search(replace(problem), minimal=False, prove=True, cancelled=lambda: time.process_time() - begun > MOST)
    cpu, best = time.process_time() - begun, found.best
    answer = None if best is None else [list(best.levels), best.suppressed, best.extra, round(best.loss, 12)]
    return {"cpu": cpu, "size": found.size, "nodes": found.evaluated, "exact": found.exact, "best": answer}


def main() -> None:
    """Print a line for each search."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=20_000)
    asked.add_argument("--columns", type=int, nargs="+", default=[8, 9, 10, 11, 12])
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    found: dict[str, dict[str, object]] = {}
    with always_compiled():
        for _, problem in problems(6, 5000):
            measured(problem)  # compiles what is not compiled yet
        for columns in given.columns:
            for name, problem in problems(columns, given.rows):
                found[name] = one = measured(problem)
                exact = "" if one["exact"] else "  cut off"
                print(
                    f"{name:20} {one['cpu']:8.3f} s {one['nodes']:6} of {one['size']} nodes  {one['best']}{exact}",
                    flush=True,
                )
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
