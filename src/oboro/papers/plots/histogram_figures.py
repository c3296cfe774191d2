"""Figures 1 to 3 of the histogram paper: intervals over the density, and losses against k."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from oboro.decide.intervals.univariate import Method, univariate
from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.histogram_bench import METHODS, MIXTURES, SEED
from oboro.papers.plots.pictures import save

__all__ = ["draw"]

NAMES = {"hansen": "Hansen", "hist_aic": "HistAIC", "hist_bic": "HistBIC"}
TOP = 0.7  # the highest density drawn: some intervals of five records are narrow and tall
COLOURS = ("#b4543a", "#3a7ca5", "#4c8c4a")
RELEASES = {"mean": "means (Figure 2)", "uniform": "uniform draws (Figure 3)", "linear": "draws from a line density"}


def draw(found: list[BenchRow], folder: Path) -> list[Path]:
    """Write one PNG per figure and one HTML file that loads nothing; returns the files."""
    figures = {
        "histogram-figure1": _intervals(),
        "histogram-figure2": _losses(found, ["mean"]),
        "histogram-figure3": _losses(found, ["uniform", "linear"]),
    }
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    page = alt.vconcat(*drawn.values()).resolve_scale(color="independent")
    return save(folder, drawn, page, "histogram")


def _intervals() -> Any:
    """Figure 1: the intervals of one data set as bars, the true density as a line."""
    values = MIXTURES["c"].draw(1000, np.random.default_rng(SEED))
    panels = [_panel(values, method, k) for method in METHODS for k in (5, 50)]
    return alt.concat(*panels, columns=2, title=f"Intervals over the density, n = 1,000 (heights above {TOP} are cut)")


def _panel(values: np.ndarray, method: Method, k: int) -> Any:
    found = univariate(values, np.ones(values.size, dtype=np.int64), k=k, method=method)
    height = np.minimum(found.sizes / values.size / np.diff(found.edges), TOP)
    bars = _records(left=found.edges[:-1], right=found.edges[1:], density=height, zero=np.zeros(height.size))
    line = np.linspace(values[0] - 0.5, values[-1] + 0.5, 200)
    truth = _records(value=line, density=MIXTURES["c"].density(line))
    y = alt.Y("density:Q", scale=alt.Scale(domain=[0, TOP]), title="density")
    boxes = alt.Chart(alt.InlineData(values=bars)).mark_rect(fill="#c8d5e0", stroke="#3a5a78", strokeWidth=0.5)
    curve = alt.Chart(alt.InlineData(values=truth)).mark_line(color=COLOURS[0], strokeWidth=1.5)
    layers = (
        boxes.encode(x=alt.X("left:Q", title="value"), x2="right:Q", y=y, y2="zero:Q"),
        curve.encode(x="value:Q", y=y),
    )
    return alt.layer(*layers, title=f"{NAMES[method]}, k = {k}: {len(found)} intervals", width=320, height=130)


def _records(**columns: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def _losses(found: list[BenchRow], releases: list[str]) -> Any:
    """Figures 2 and 3: the estimated divergence against k, one panel for each data set and way to publish."""
    colour = alt.Color("method:N", title=None, scale=alt.Scale(domain=list(NAMES.values()), range=list(COLOURS)))
    panels = []
    for release in releases:
        for (name, records), points in _series(found, release):
            title = f"{name}, n = {records:,}: {RELEASES[release]}"
            chart = alt.Chart(alt.InlineData(values=points), width=280, height=180, title=title).mark_line(point=True)
            y = alt.Y("loss:Q", title="estimated KL (nats)")
            panels.append(chart.encode(x=alt.X("k:Q", title="k"), y=y, color=colour))
    return alt.concat(*panels, columns=3) if panels else None


def _series(found: list[BenchRow], release: str) -> Iterator[tuple[tuple[str, int], list[dict[str, Any]]]]:
    rows = [row for row in found if row.metric == "kl_ulsif" and row.parameters["publish"] == release]
    for key in dict.fromkeys((row.parameters["data"], row.parameters["n"]) for row in rows):
        mine = [row for row in rows if (row.parameters["data"], row.parameters["n"]) == key]
        yield key, [{"k": row.parameters["k"], "loss": row.ours, "method": NAMES[row.method]} for row in mine]
