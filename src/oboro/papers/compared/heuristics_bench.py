"""More choices of levels than can be listed: our search beside ARX's heuristics, at the same time of the processor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from oboro.decide.lattice.objective import loss_of
from oboro.decide.lattice.problem import Problem
from oboro.decide.lattice.search import search
from oboro.decide.lattice.search_progress import SearchProgress
from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.compared.arx_searches import METHODS, ArxSearch, Method
from oboro.table.dataset import Column
from oboro.table.hierarchy import HierarchySpec

__all__ = ["made_up", "pictures", "rows"]

COLUMNS = (10, 14, 18, 24)
QUICK, FULL_TIME = (2_000, 1.0), (20_000, 5.0)  # rows, and seconds of the processor for each method
PROOF = 30  # times as long for the proof on a fresh table: where others tie with us, nobody can lose less
K, SUPPRESS = 5, 0.1
KINDS = 40  # of people; what somebody's columns hold depends on their kind
Point = tuple[float, float]


def rows(*, quick: bool, progress: Callable[[str], None]) -> list[BenchRow]:
    """For each number of columns and method the loss in the end, and loss and bound as time goes on."""
    count, seconds = QUICK if quick else FULL_TIME
    found: list[BenchRow] = []
    for columns in COLUMNS[:2] if quick else COLUMNS:
        problem = made_up(columns, count)
        _ours(problem, 0.3)  # compiles what is not compiled yet
        progress(f"{columns} columns: ours")
        losses, bounds = _ours(problem, seconds)
        found += _told("oboro", columns, count, losses, bounds)
        for method in METHODS:
            progress(f"{columns} columns: ARX's {method}")
            found += _told(f"arx {method}", columns, count, _twin(problem, method, seconds))
        progress(f"{columns} columns: tables on which nothing was tuned")
        found += _fresh(columns, count // 2, seconds / 2.5)
    return found


def _fresh(columns: int, count: int, seconds: float) -> list[BenchRow]:
    """What everybody loses in the end on tables of another make."""
    problem = _factors(columns, count)
    row = partial(BenchRow, "many columns: fresh tables", parameters={"columns": columns, "n": count, "k": K})
    losses, bounds = _ours(problem, seconds)
    told = [row(method="oboro", metric="loss", ours=losses[-1][1], seconds=seconds)]
    told.append(row(method="oboro", metric="bound", ours=bounds[-1][1], seconds=seconds))
    told += [
        row(method="oboro", metric="optimum, proved", ours=loss, seconds=at)
        for at, loss in _proved(problem, PROOF * seconds)
    ]
    for method in METHODS:
        found = _twin(problem, method, seconds)
        told.append(row(method=f"arx {method}", metric="loss", ours=found[-1][1] if found else None, seconds=seconds))
    return told


def pictures(found: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Loss and bound over time, method by method."""
    from oboro.papers.plots.heuristics_figures import draw

    return draw(found, folder)


def _told(
    method: str, columns: int, count: int, losses: Sequence[Point], bounds: Sequence[Point] = ()
) -> list[BenchRow]:
    parameters = {"columns": columns, "n": count, "k": K, "suppress": SUPPRESS}
    row = partial(BenchRow, "many columns: heuristics", method, parameters)
    last = losses[-1][0] if losses else 0.0
    told = [row("loss", losses[-1][1] if losses else None, seconds=last)]
    told += [row("bound", bounds[-1][1], seconds=bounds[-1][0])] if bounds else []
    each = partial(BenchRow, "many columns: over time", method)
    told += [each({**parameters, "cpu": round(at, 3)}, "loss so far", loss, seconds=at) for at, loss in losses]
    return told + [each({**parameters, "cpu": round(at, 3)}, "bound so far", bound, seconds=at) for at, bound in bounds]


def _ours(problem: Problem, seconds: float) -> tuple[list[Point], list[Point]]:
    """The loss of the best node and the bound, whenever they change, until the processor has worked so long."""
    start = time.process_time()
    losses: list[Point] = []
    bounds: list[Point] = []

    def tell(so_far: SearchProgress) -> None:
        now = time.process_time() - start
        if so_far.loss is not None and (not losses or so_far.loss < losses[-1][1]):
            losses.append((now, so_far.loss))
        if so_far.bound is not None and (not bounds or so_far.bound > bounds[-1][1] + 1e-3):
            bounds.append((now, so_far.bound))

    found = search(
        problem, prove=True, tell=tell, cancelled=lambda: time.process_time() - start > seconds, minimal=False
    )
    now = time.process_time() - start
    assert found.best is not None
    return [*losses, (now, found.best.loss)], [*bounds, (now, found.bound or 0.0)]


def _proved(problem: Problem, seconds: float) -> list[Point]:
    """When the optimum was proved, and its loss; nothing where so many seconds of the processor are not enough."""
    start = time.process_time()
    found = search(problem, prove=True, cancelled=lambda: time.process_time() - start > seconds, minimal=False)
    return [(time.process_time() - start, found.best.loss)] if found.exact and found.best is not None else []


def _twin(problem: Problem, method: Method, seconds: float) -> list[Point]:
    start = time.process_time()
    losses: list[Point] = []
    twin = ArxSearch(
        problem,
        lambda: time.process_time() - start > seconds,
        found=lambda loss: losses.append((time.process_time() - start, loss)),
    )
    twin.run(method)
    return [*losses, (time.process_time() - start, twin.best)] if losses else []


def made_up(columns: int, count: int) -> Problem:
    """Made-up people of some kinds: columns hang together, as in real tables, each with a ladder of two to four levels."""
    rng = np.random.default_rng(columns)
    kinds, held, ladders = rng.integers(0, KINDS, count), [], []
    for a in range(columns):
        width = int(rng.choice([4, 6, 9, 12, 20]))
        usual, stray = rng.integers(0, width, KINDS)[kinds], rng.geometric(0.45, count) - 1
        values = (usual + stray * rng.choice([-1, 1], count)) % width
        values = np.where(rng.random(count) < 0.25, rng.integers(0, width, count), values)
        steps = [step for step in (3, 9) if step < width]
        ladder = [[f"{v:02d}", *(f"{step}×{v // step}" for step in steps), "*"] for v in range(width)]
        held.append(Column.of([f"{v:02d}" for v in values]))
        ladders.append(HierarchySpec(rows=ladder).build(f"a{a}", held[-1]))
    table, trees = tuple(held), tuple(ladders)
    loss = loss_of("loss", table, trees, [1.0] * columns, K)
    return Problem(table, trees, K, int(count * SUPPRESS), (), loss)


def _factors(columns: int, count: int) -> Problem:
    """Made-up people of four hidden traits that every column follows more or less, cut into two to thirty unequal parts."""
    rng = np.random.default_rng(1000 * columns + 1)
    hidden, held, ladders = rng.normal(size=(count, 4)), [], []
    for a in range(columns):
        width = int(rng.choice([2, 3, 5, 8, 15, 30]))
        follows = hidden @ rng.normal(size=4) * rng.choice([0.3, 1.0, 2.0]) + rng.normal(size=count)
        values = np.searchsorted(np.quantile(follows, np.sort(rng.random(width - 1))), follows)
        steps = [step for step in (5, 10) if step < width]
        ladder = [[f"{v:02d}", *(f"{step}×{v // step}" for step in steps), "*"] for v in range(width)]
        held.append(Column.of([f"{v:02d}" for v in values]))
        ladders.append(HierarchySpec(rows=ladder).build(f"a{a}", held[-1]))
    table, trees = tuple(held), tuple(ladders)
    return Problem(table, trees, K, int(count * SUPPRESS), (), loss_of("loss", table, trees, [1.0] * columns, K))
