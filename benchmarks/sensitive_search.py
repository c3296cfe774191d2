"""What the search of levels costs where rules about sensitive values are asked, without reading, verifying and writing.

    OBORO_DATA=FOLDER python -m benchmarks.sensitive_search [--times 3] [--only entropy] [--made-up] [--json FILE]

Adult of ARX: each sensitive column in turn, the other eight are quasi-identifiers. `--made-up`: tables of other shapes instead,
whose columns hang together. Processor seconds from the problem to the best levels, the least of `--times` runs, kernels compiled
and tuples not yet counted; nodes looked at, microseconds for each, and what was found, so that two versions can be compared.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.heuristics import made_up
from benchmarks.lattice import ADULT, adult_table
from benchmarks.rows import data_folder
from oboro.algorithms.lattice.constraints import Rule, closeness_rule, disclosure_rule, diversity_rule, likeness_rule
from oboro.algorithms.lattice.losses import loss_of
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.search import search
from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.kernels.jit import always_compiled

SECRETS = ("occupation", "education", "marital-status", "salary-class", "native-country")
ASKED = ((2, 0.0), (5, 0.0), (10, 0.0), (5, 0.02), (2, 0.1), (5, 0.1), (10, 0.1))  # k, suppressed share
SHAPES = ((10_000, 9), (30_000, 8), (100_000, 7))  # rows and columns, the last one sensitive


def rules(column: Column, hierarchy: Hierarchy) -> Iterator[tuple[str, Rule]]:
    """Each kind of rule about one column, about as strict as people ask for."""
    few = min(len(column.values), 4)
    yield "distinct", diversity_rule("s", column, l=min(few, 3))
    yield "entropy", diversity_rule("s", column, l=1.5 if few < 4 else 2.5, kind="entropy")
    yield "recursive", diversity_rule("s", column, l=min(few, 3), c=4.0, kind="recursive")
    yield "t equal", closeness_rule("s", column, t=0.3)
    yield "t ordered", closeness_rule("s", column, t=0.2, distance="ordered")
    yield "t tree", closeness_rule("s", column, t=0.3, distance="hierarchical", hierarchy=hierarchy)
    yield "disclosure", disclosure_rule("s", column, delta=2.0)
    yield "held", disclosure_rule("s", column, delta=2.0, held=True)
    yield "likeness", likeness_rule("s", column, beta=2.0)


def tables(folder: Path | None) -> Iterator[tuple[str, tuple[Column, ...], tuple[Hierarchy, ...]]]:
    """Tables by name; the last column of each is sensitive."""
    if folder is None:
        for count, width in SHAPES:
            problem = made_up(width, count)
            yield f"{count}x{width - 1}", problem.columns, problem.hierarchies
        return
    columns, hierarchies = adult_table(folder)
    for secret in map(ADULT.index, SECRETS):
        order = [*(a for a in range(len(ADULT)) if a != secret), secret]
        yield ADULT[secret], tuple(columns[a] for a in order), tuple(hierarchies[a] for a in order)


def problems(folder: Path | None, only: str) -> Iterator[tuple[str, Problem]]:
    """What is searched, by name."""
    for name, columns, hierarchies in tables(folder):
        quasi, trees = columns[:-1], hierarchies[:-1]
        loss = loss_of("loss", quasi, trees, [1.0] * len(quasi), 5)
        rows = len(quasi[0])
        for kind, rule in rules(columns[-1], hierarchies[-1]):
            for k, share in ASKED:
                if only in f"{name} {kind} {k} {share}":
                    limit = int(rows * share + 1e-9)
                    yield f"{name} {kind} {k} {share}", Problem(quasi, trees, k, limit, (rule,), loss)


def measured(problem: Problem, times: int) -> dict[str, object]:
    """The search of a problem, `times` times."""
    seconds = []
    for _ in range(times):
        begun = time.process_time()
        found = search(replace(problem), minimal=False)
        seconds.append(time.process_time() - begun)
    best = found.best
    answer = None if best is None else [list(best.levels), best.suppressed, best.extra, round(best.loss, 12)]
    return {"cpu": min(seconds), "size": found.size, "nodes": found.evaluated, "exact": found.exact, "best": answer}


def main() -> None:
    """Print a line for each search, and the sums by kind."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--times", type=int, default=3)
    asked.add_argument("--only", default="")
    asked.add_argument("--made-up", action="store_true")
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    folder = None if given.made_up else data_folder("arx-adult")
    found: dict[str, dict[str, object]] = {}
    for name, problem in problems(folder, given.only):
        with always_compiled():
            found[name] = one = measured(problem, given.times if found else given.times + 1)
        each = 1e6 * float(str(one["cpu"])) / int(str(one["nodes"]))
        print(
            f"{name:35} {one['cpu']:8.3f} s {one['nodes']:6} of {one['size']} nodes {each:7.0f} us  {one['best']}",
            flush=True,
        )
    total = np.array([float(str(one["cpu"])) for one in found.values()])
    print(f"{total.size} searches, {total.sum():.2f} s, geometric mean {np.exp(np.log(total).mean()):.4f} s")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
