"""Optimal generalization on this machine: the large-scale library's purchase histories, ARX's Adult, many columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks import heuristics as heuristics_bench
from benchmarks.rows import BenchRow, data_folder
from oboro.algorithms.lattice.losses import LossName, loss_of
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.search import SearchResult, search
from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.samples.purchases import FIRST_BIRTH, LAST_BIRTH, purchases_hierarchies
from oboro.system.process import peak_megabytes

__all__ = ["ADULT", "FULL", "adult_table", "best_losses", "pictures", "rows"]

# Seconds for k-anonymization on 8 cores with 96 GB of heap.
PAPER = {1_000_000: 32.0, 10_000_000: 274.0, 100_000_000: 6118.0}
PAPERS_ARX = {1_000_000: 15.0, 10_000_000: 437.0}  # of ARX, in the same paper; it does not get through 100 million rows
QUICK, USUAL, FULL = (100_000, 1_000_000), (1_000_000, 10_000_000), (100_000_000,)
WARM = 500_000
STEP = 1 << 22  # rows made up at a time
ADULT = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
# What ARX finds with its Loss for the first eight columns: suppressed share → loss; k = 5.
ARX = {0.0: 0.59158, 0.02: 0.30334, 0.1: 0.22302}
MANY = 20  # columns
MANY_SECONDS = 25.0  # for them
Columns = tuple[Column, ...]
Hierarchies = tuple[Hierarchy, ...]


def rows(*, quick: bool, progress: Callable[[str], None], full: bool = False) -> list[BenchRow]:
    """All minimal nodes and the optimum from encoded columns; `full` adds 100 million rows."""
    hierarchies = _purchase_hierarchies()
    _solve(_purchases(WARM), hierarchies, 3, 0.1)  # compiles what is not compiled yet
    found: list[BenchRow] = []
    folder = data_folder("arx-adult")
    if folder is not None:
        found += _adult(folder, quick, progress)
    found += _many_columns(2_000 if quick else 30_000, progress)
    found += heuristics_bench.rows(quick=quick, progress=progress)
    for count in QUICK if quick else (*USUAL, *(FULL if full else ())):
        progress(f"making up {count} rows")
        columns = _purchases(count)
        progress(f"searching for {count} rows")
        found += _purchase_rows(count, columns, hierarchies)
    return found


def pictures(found: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Loss and bound over time where there are many columns."""
    return heuristics_bench.pictures(found, folder)


def _purchase_rows(count: int, columns: Columns, hierarchies: Hierarchies) -> list[BenchRow]:
    # All minimal nodes and the optimum, after a first turn that only warms up.
    best, seconds = min((_solve(columns, hierarchies, 3, 0.1, minimal=True) for _ in range(3)), key=itemgetter(1))
    assert best.best is not None
    parameters = {"n": count, "k": 3, "suppress": 0.1}
    figures: list[tuple[str, float | None, float | None]] = [
        ("seconds", seconds, PAPER.get(count)),
        ("seconds, beside ARX's", seconds, PAPERS_ARX.get(count)),
        ("loss", best.best.loss, None),
        ("nodes looked at", best.evaluated, None),
        ("peak MB so far", peak_megabytes(), None),
    ]
    return [
        BenchRow("library", "k_anonymize", parameters, metric, ours, paper, seconds) for metric, ours, paper in figures
    ]


def _solve(
    columns: Columns, hierarchies: Hierarchies, k: int, suppress: float, loss: LossName = "loss", **options: Any
) -> tuple[SearchResult, float]:
    started = time.perf_counter()
    rows = len(columns[0])
    value = loss_of(loss, columns, hierarchies, [1.0] * len(columns), k)
    found = search(Problem(columns, hierarchies, k, int(rows * suppress + 1e-9), (), value), **options)
    return found, time.perf_counter() - started


def _purchase_values() -> list[pa.Array]:
    """The dictionaries of job, sex, address and birth date."""
    tables = purchases_hierarchies()
    days = np.arange(int((LAST_BIRTH - FIRST_BIRTH).astype(int)) + 1).astype("timedelta64[D]")
    texts = [pa.array([row[0] for row in tables["job"]]), pa.array(["女", "男"])]
    return [*texts, pa.array([row[0] for row in tables["address"]]), pa.array(FIRST_BIRTH + days)]


def _purchases(count: int) -> Columns:
    """Purchase histories as codes, as `oboro synth purchases` draws them: uniform in every column."""
    rng = np.random.default_rng(0)
    return tuple(Column(values, _drawn(rng, count, len(values))) for values in _purchase_values())


def _drawn(rng: np.random.Generator, count: int, width: int) -> np.ndarray:
    codes = np.empty(count, dtype=np.uint8 if width <= 1 << 8 else np.uint16 if width <= 1 << 16 else np.uint32)
    for start in range(0, count, STEP):
        codes[start : start + STEP] = rng.integers(0, width, min(STEP, count - start), dtype=codes.dtype)
    return codes


def _purchase_hierarchies() -> Hierarchies:
    tables = purchases_hierarchies()
    dates = HierarchySpec(dates=["day", "month", "year"], star=False)
    specs = (HierarchySpec(rows=tables["job"]), HierarchySpec(), HierarchySpec(rows=tables["address"]), dates)
    names = ("job", "sex", "address", "birthdate")
    columns = [Column(values, np.zeros(0, dtype=np.uint8)) for values in _purchase_values()]
    return tuple(spec.build(name, column) for spec, name, column in zip(specs, names, columns, strict=True))


def _adult(folder: Path, quick: bool, progress: Callable[[str], None]) -> Iterator[BenchRow]:
    columns, hierarchies = adult_table(folder)
    progress("adult: nine columns")
    for minimal, metric in ((False, "seconds to the optimum"), (True, "seconds to all minimal nodes")):
        _solve(columns, hierarchies, 5, 0.1, minimal=minimal)
        found, seconds = _solve(columns, hierarchies, 5, 0.1, minimal=minimal)
        yield BenchRow("adult", "k_anonymize", {"columns": 9, "k": 5, "suppress": 0.1}, metric, seconds, None, seconds)
    eight = columns[:8], hierarchies[:8]
    rows = len(columns[0])
    cells = [(k, share) for k in ((5,) if quick else (2, 5, 10)) for share in ARX]
    limits = {(k, share): (k, int(share * rows + 1e-9)) for k, share in cells}
    progress("adult: every node")
    proof = {} if quick else best_losses(*eight, list(limits.values()))
    for k, share in cells:
        found, seconds = _solve(*eight, k, share, "arx")
        assert found.best is not None
        parameters = {"columns": 8, "k": k, "suppress": share}
        arx = ARX[share] if k == 5 else None
        yield BenchRow("arx", "k_anonymize", parameters, "loss (arx)", found.best.loss, arx, seconds)
        if proof:
            yield BenchRow("arx", "every node", parameters, "loss (arx)", proof[limits[k, share]], arx)


def adult_table(folder: Path) -> tuple[Columns, Hierarchies]:
    """ARX's Adult: nine columns with their hierarchies."""
    table = pacsv.read_csv(
        folder / "adult.csv",
        parse_options=pacsv.ParseOptions(delimiter=";"),
        convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(ADULT, pa.string())),
    )
    columns = tuple(Column.encode(table[name]) for name in ADULT)
    specs = [HierarchySpec(csv=f"adult_hierarchy_{name}.csv") for name in ADULT]
    return columns, tuple(s.build(n, c, folder) for s, n, c in zip(specs, ADULT, columns, strict=True))


def _many_columns(count: int, progress: Callable[[str], None]) -> list[BenchRow]:
    """3^20 nodes, half of the time limit that a user would wait: a release and how far the best one can be."""
    progress(f"{MANY} columns")
    rng = np.random.default_rng(0)
    ladder = [[f"v{i}", f"g{i // 3}", "*"] for i in range(9)]
    share = np.array([40, 20, 14, 10, 6, 4, 3, 2, 1]) / 100
    columns = tuple(Column.of([f"v{i}" for i in rng.choice(9, count, p=share)]) for _ in range(MANY))
    hierarchies = tuple(HierarchySpec(rows=ladder).build(f"a{a}", column) for a, column in enumerate(columns))
    found, seconds = _solve(columns, hierarchies, 5, 0.1, time_limit=MANY_SECONDS)
    assert found.best is not None
    parameters = {"columns": MANY, "n": count, "k": 5, "suppress": 0.1}
    figures = (("loss", found.best.loss), ("bound", found.bound), ("nodes looked at", float(found.evaluated)))
    return [
        BenchRow("many columns", "k_anonymize", parameters, metric, ours, None, seconds) for metric, ours in figures
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Every node of a lattice by the plainest means, to prove that no node is better: sort the records, count, add up.
#
# It shares nothing with the search but the labels of the hierarchies: no kernels, no bounds, no order. The loss is ARX's.


Cell = tuple[int, int]


def best_losses(
    columns: Sequence[Column], hierarchies: Sequence[Hierarchy], cells: Sequence[Cell]
) -> dict[Cell, float]:
    """For each (k, most records suppressed) the least ARX loss of all nodes. O(nodes · records · log).

    As in ARX the suppressed may be fewer than k; ours may not, so this is a bound that no release can pass.
    """
    tables = list(zip(columns, hierarchies, strict=True))
    values = [[level.table[column.codes] for level in h.levels] for column, h in tables]
    costs = [[_cost(h, i)[column.codes] for i in range(len(h.levels))] for column, h in tables]
    best = dict.fromkeys(cells, inf)
    for node in product(*(range(len(levels)) for levels in values)):
        sizes = _sizes([values[a][level] for a, level in enumerate(node)])
        paid = [costs[a][level] for a, level in enumerate(node)]
        for k, limit in cells:
            gone = sizes < k
            if int(gone.sum()) <= limit:
                best[k, limit] = min(best[k, limit], _loss(paid, gone))
    return best


def _sizes(labels: list[np.ndarray]) -> np.ndarray:
    """For each record how many share its labels."""
    key = np.zeros(labels[0].size, dtype=np.int64)
    for label in labels:
        key = key * (int(label.max()) + 1) + label
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def _loss(paid: list[np.ndarray], gone: np.ndarray) -> float:
    parts = [np.where(gone, 1.0, cost).mean() for cost in paid]
    return float(np.exp(np.mean(np.log1p(parts))) - 1)


def _cost(hierarchy: Hierarchy, level: int) -> np.ndarray:
    """For each value what its label costs: the part of the hierarchy's leaves beyond the first that it covers."""
    rows = hierarchy.to_rows()
    under: dict[str, int] = {}
    for row in rows:
        under[row[level]] = under.get(row[level], 0) + 1
    mine = {row[0]: (under[row[level]] - 1) / max(len(rows) - 1, 1) for row in rows}
    return np.array([mine[str(text)] for text in hierarchy.levels[0].labels.to_pylist()])
