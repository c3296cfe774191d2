"""The window benchmark: what it counts, compares and times, on small data."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive import window as naive

from benchmarks import window as bench
from benchmarks.rows import BenchRow
from benchmarks.window import fill, pass_heads
from oboro.algorithms.neighbours.index import SearchPlan
from oboro.stream.window.engine import EngineSpec, WindowEngine


@pytest.mark.parametrize("rule", ["paper", "grow"])
def test_the_experiment_of_the_paper(rule: str) -> None:
    points = np.random.default_rng(1).uniform(-0.999, 0.999, (500, 8))
    for index in ("exhaustive", "auto"):
        engine = WindowEngine(
            EngineSpec(k=3, window=200, numbers=8, traits=0, plan=SearchPlan.of(index), cache=500, group=rule)
        )
        fill(engine, points[:200])
        pass_heads(engine, points[200:], 200)
        losses = engine.state.losses
        assert losses[0] / losses[1] == pytest.approx(naive.experiment(points.tolist(), 3, 200, 200, rule), rel=1e-9)


def test_region_sizes_are_of_the_same_anchors() -> None:
    sizes = {method: bench.region_sizes(3000, method) for method in ("fdh", *bench.SPLITS)}
    for each in sizes.values():
        assert each.sum() == 3000
        assert each.size == 4096
        assert (np.diff(each) <= 0).all()
    quarters = bench._draws(3000, bench.SPLITS[0]).max(axis=1)
    target = 1450 * 3000 / 1_000_000
    assert abs(sizes[bench.SPLITS[0]][0] - target) == np.abs(quarters - target).min()


def test_exact_searches_are_compared_within_the_same_run() -> None:
    given = {"W": 10, "d": 2, "k": 3}
    found = [
        BenchRow("2", "fdhq'", given, "seconds", 8.0),
        BenchRow("2", "auto", given, "seconds", 2.0),
        BenchRow("2", "auto", {**given, "k": 4}, "seconds", 2.0),
        BenchRow("3", "exhaustive", given, "loss", 5.0),
        BenchRow("3", "auto", given, "loss", 5.0),
    ]
    rows = {(row.metric, row.parameters["k"]): row.ours for row in bench._compared(found)}
    assert rows == {("times_faster_than_fdhq'", 3): 4.0, ("loss_over_exhaustive", 3): 1.0}


def test_pauses_are_reported_with_the_batch() -> None:
    rows = {row.metric: row for row in bench._pauses(60, 2, 4, 100, lambda stage: None)}
    assert rows["promise_holds"].ours == 1
    assert rows["pause_ms_longest"].parameters["batch"] == 4
    assert rows["pause_ms_learning"].ours > 0


def test_auto_loses_what_exhaustive_loses() -> None:
    losses = [bench._experiment(method, 400, 8, 3, 200)[1] for method in ("exhaustive", "auto")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
