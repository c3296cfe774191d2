"""The papers' figures, drawn again from our rows: one PNG each, and all of a benchmark on one page that loads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from benchmarks.concealment import adult, designs, in_degrees, sample
from benchmarks.concealment import flow as places
from benchmarks.histogram import METHODS, MIXTURES, SEED
from benchmarks.rows import BenchRow, data_folder
from benchmarks.window import SPLITS, region_sizes
from benchmarks.window import flow as journeys
from oboro._lazy import bring
from oboro.algorithms.concealment.design import Design, People
from oboro.algorithms.intervals import Method, univariate
from oboro.data.dataset import Dataset
from oboro.stream import Window
from oboro.system.files import atomic

__all__ = [
    "draw_concealment",
    "draw_delay_free",
    "draw_heuristics",
    "draw_histogram",
    "draw_soak",
    "draw_window",
    "histogram",
    "plane",
    "save",
    "trips",
]


def save(folder: Path, charts: Mapping[str, Any], page: Any, name: str) -> list[Path]:
    """Write charts of altair, each under its name, and one `page` of them; returns the files."""
    vl_convert = bring("vl_convert")
    files = {
        folder / f"{key}.png": vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5) for key, chart in charts.items()
    }
    files[folder / f"{name}.html"] = vl_convert.vegalite_to_html(page.to_dict(), bundle=True).encode()
    for path, content in files.items():
        with atomic(path) as file:
            file.write(content)
    return list(files)


# ---------------------------------------------------------------------------------------------------------------------
# The paper's figures 4 to 12: people on a plane, what each method releases of them, and how far people are apart.


PLANE = 260


def draw_concealment(folder: Path) -> list[Path]:
    """Write all pictures into one HTML file and one PNG each."""
    data = places()
    people = in_degrees(data)
    maps = [plane(data, None, "people (figure 4)")]
    for method, design, _ in designs(people, draws=20_000):
        maps.append(plane(data, design, f"{method}: {people.cost(design.matchings):.4f}"))
    spread = [histogram(people, "on the plane (figure 11)")]
    source = data_folder("adult")
    if source is not None:
        spread.append(histogram(People.of(sample(adult(source)).columns), "Adult (figure 12)"))
    charts: dict[str, Any] = {
        "concealment_plane": alt.concat(*maps, columns=3),
        "concealment_distances": alt.hconcat(*spread),
    }
    return save(folder, charts, alt.vconcat(*charts.values()), "concealment")


def plane(data: Dataset, design: Design | None, title: str) -> Any:
    """Everybody's place, and the rectangle that is released around it."""
    x, y = (data[name].decode().to_numpy() for name in ("longitude", "latitude"))
    axes = {
        "x": alt.X("x:Q", scale=alt.Scale(zero=False), title="longitude"),
        "y": alt.Y("y:Q", scale=alt.Scale(zero=False), title="latitude"),
    }
    layers = [alt.Chart(_inline(x=x, y=y)).mark_point(size=8, filled=True, color="#333").encode(**axes)]
    if design is not None:
        held = {"x": x[design.members].min(1), "x2": x[design.members].max(1)}
        held |= {"y": y[design.members].min(1), "y2": y[design.members].max(1)}
        boxes = alt.Chart(_inline(**held)).mark_rect(fillOpacity=0.15, stroke="#1f77b4", fill="#1f77b4")
        layers.insert(0, boxes.encode(x2="x2:Q", y2="y2:Q", **axes))
    return alt.layer(*layers).properties(width=PLANE, height=PLANE, title=title)


def histogram(people: People, title: str, bins: int = 40) -> Any:
    """How far any two people are apart."""
    pairs = people.distances[np.triu_indices(len(people), 1)]
    counts, edges = np.histogram(pairs, bins)
    table = _inline(start=edges[:-1], end=edges[1:], pairs=counts.astype(float))
    chart = alt.Chart(table).mark_bar()
    x = alt.X("start:Q", bin="binned", title="distance")
    return chart.encode(x=x, x2="end:Q", y="pairs:Q").properties(width=1.3 * PLANE, height=PLANE, title=title)


def _inline(**columns: np.ndarray) -> Any:
    return alt.InlineData(values=pa.table({name: pa.array(values) for name, values in columns.items()}).to_pylist())


# ---------------------------------------------------------------------------------------------------------------------
# The paper's Figure 5: suppressed cells so far and latency, by the number of records, for every mode.


DELAY_FREE = {"latency_s_total": "latency so far, seconds", "cells": "suppressed cells so far"}
DELAY_FREE_MODES = ["swap", "count", "paper", "fixed", "sequential"]


def draw_delay_free(rows: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the figure as PNG and HTML; nothing where there was no real data."""
    points = [
        {"mode": row.method, "k": f"k = {row.parameters['k']}", "records": row.parameters["n"], row.metric: row.ours}
        for row in rows
        if "point by point" in row.table
    ]
    if not points:
        return []
    wide = [
        alt.hconcat(*(_delay_free_lines(points, metric, k) for k in sorted({p["k"] for p in points})))
        for metric in DELAY_FREE
    ]
    chart = alt.vconcat(*wide)
    return save(folder, {"delay_free-figure5": chart}, chart, "delay_free")


def _delay_free_lines(points: Sequence[dict[str, Any]], metric: str, k: str) -> Any:
    """One curve for each mode, both axes logarithmic: the methods differ by orders of magnitude."""
    mine = [point for point in points if point["k"] == k and metric in point]
    chart = alt.Chart(alt.InlineData(values=mine)).mark_line(point={"size": 20})
    axes = {
        "x": alt.X("records:Q", scale=alt.Scale(type="log"), title="records"),
        "y": alt.Y(f"{metric}:Q", scale=alt.Scale(type="log"), title=DELAY_FREE[metric]),
        "color": alt.Color("mode:N", sort=DELAY_FREE_MODES, scale=alt.Scale(domain=DELAY_FREE_MODES)),
    }
    return chart.encode(**axes).properties(width=330, height=230, title=f"{k}: {DELAY_FREE[metric]}")


# ---------------------------------------------------------------------------------------------------------------------
# How soon a search over many columns finds a good choice of levels, and how soon it is known how good that is.


SEARCHES = ["oboro", "oboro: proved bound", "arx bottom_up", "arx top_down", "arx genetic"]
SEARCH_COLOURS = ["#0b6e4f", "#7fb8a4", "#c44536", "#e0a458", "#6d6875"]


def draw_heuristics(rows: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the figure as PNG and HTML: one panel for each number of columns."""
    points = [_search_point(row) for row in rows if row.table == "many columns: over time" and row.ours is not None]
    if not points:
        return []
    panels = [_search_panel(points, columns) for columns in sorted({point["columns"] for point in points})]
    chart = alt.vconcat(*(alt.hconcat(*panels[i : i + 2]) for i in range(0, len(panels), 2)))
    return save(folder, {"lattice-gap": chart}, chart, "lattice-gap")


def _search_point(row: BenchRow) -> dict[str, Any]:
    line = f"{row.method}: proved bound" if row.metric == "bound so far" else row.method
    return {"line": line, "columns": row.parameters["columns"], "cpu": row.parameters["cpu"], "loss": row.ours}


def _search_panel(points: Sequence[dict[str, Any]], columns: int) -> Any:
    mine = [point for point in points if point["columns"] == columns]
    axes = {
        "x": alt.X("cpu:Q", scale=alt.Scale(type="log"), title="seconds of the processor"),
        "y": alt.Y("loss:Q", scale=alt.Scale(zero=False), title="loss"),
        "color": alt.Color("line:N", sort=SEARCHES, scale=alt.Scale(domain=SEARCHES, range=SEARCH_COLOURS), title=None),
    }
    chart = alt.Chart(alt.InlineData(values=mine)).mark_line(interpolate="step-after", point={"size": 12}, clip=True)
    return chart.encode(**axes).properties(width=330, height=230, title=f"{columns} columns")


# ---------------------------------------------------------------------------------------------------------------------
# Figures 1 to 3 of the histogram paper: intervals over the density, and losses against k.


NAMES = {"hansen": "Hansen", "hist_aic": "HistAIC", "hist_bic": "HistBIC"}
TOP = 0.7  # the highest density drawn: some intervals of five records are narrow and tall
COLOURS = ("#b4543a", "#3a7ca5", "#4c8c4a")
RELEASES = {"mean": "means (Figure 2)", "uniform": "uniform draws (Figure 3)", "linear": "draws from a line density"}


def draw_histogram(found: list[BenchRow], folder: Path) -> list[Path]:
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
    panels = [_intervals_panel(values, method, k) for method in METHODS for k in (5, 50)]
    return alt.concat(*panels, columns=2, title=f"Intervals over the density, n = 1,000 (heights above {TOP} are cut)")


def _intervals_panel(values: np.ndarray, method: Method, k: int) -> Any:
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


# ---------------------------------------------------------------------------------------------------------------------
# What becomes of a stream at full rate: rate, memory, latency and the size of its state over time.


SOAK = {
    "records_per_s": "records a second",
    "memory_mb": "memory, MB",
    "latency_p50_ms": "latency of a block, median, ms",
    "latency_p99_ms": "latency of a block, 99th percentile, ms",
    "state_mb": "state on disk, MB",
}


def draw_soak(rows: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the figure as PNG and HTML."""
    points = [
        {"mode": row.method, "second": row.parameters["second"], row.metric: row.ours}
        for row in rows
        if row.table == "over time"
    ]
    charts = [_soak_lines(points, metric) for metric in SOAK]
    chart = alt.vconcat(alt.hconcat(*charts[:2]), alt.hconcat(*charts[2:4]), charts[4])
    return save(folder, {"soak": chart}, chart, "soak")


def _soak_lines(points: Sequence[dict[str, Any]], metric: str) -> Any:
    mine = [point for point in points if metric in point]
    chart = alt.Chart(alt.InlineData(values=mine)).mark_line(interpolate="step-after")
    axes = {
        "x": alt.X("second:Q", title="seconds"),
        "y": alt.Y(f"{metric}:Q", title=None, scale=alt.Scale(zero=True)),
        "color": alt.Color("mode:N"),
    }
    return chart.encode(**axes).properties(width=330, height=170, title=SOAK[metric])


# ---------------------------------------------------------------------------------------------------------------------
# The window paper's figures 4 to 6 (region sizes), time against loss, and trips before and after.


STOPS = 4


def draw_window(found: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the pictures, one PNG each, and all of them as one page."""
    n = next(int(row.parameters["n"]) for row in found if row.table == "1")
    charts = {
        "window-regions": alt.vconcat(_figure_4(n), alt.hconcat(_figure_5(n), _figure_6(n))).resolve_scale(
            color="independent"
        ),
        "window-time-loss": _time_and_loss(found),
        "window-trips": trips(),
    }
    page = alt.vconcat(*charts.values()).resolve_scale(color="independent")
    return save(folder, charts, page, "window")


def _sizes(n: int, methods: dict[str, str], first: int | None = None) -> list[dict[str, Any]]:
    """The sizes of regions, largest first, each ninth of the long tail."""
    return [
        {"method": name, "region": i + 1, "records": int(size)}
        for name, method in methods.items()
        for i, size in enumerate(region_sizes(n, method)[:first].tolist())
        if i < 64 or i % 9 == 0
    ]


def _curve(values: list[dict[str, Any]], title: str, order: list[str], *, log: bool = True, width: int = 330) -> Any:
    return (
        alt.Chart(alt.InlineData(values=values), title=title, width=width, height=230)
        .mark_line(strokeWidth=1.6)
        .encode(
            x=alt.X(
                "region:Q", title="region, largest first", scale=alt.Scale(type="log" if log else "linear", nice=False)
            ),
            y=alt.Y("records:Q", title="records", scale=alt.Scale(type="symlog" if log else "linear")),
            color=alt.Color("method:N", sort=order, title=None),
        )
    )


def _figure_4(n: int) -> Any:
    methods = {"FDH, 12 anchors": "fdh", "FDHQ, 6 anchors": SPLITS[0]}
    return _curve(_sizes(n, methods), f"Figure 4: 4096 regions of {n:,} records", list(methods), width=780)


def _figure_5(n: int) -> Any:
    return _curve(_sizes(n, {split: split for split in SPLITS}), "Figure 5: other splits", list(SPLITS))


def _figure_6(n: int) -> Any:
    values = _sizes(n, {split: split for split in SPLITS}, 20)
    return _curve(values, "Figure 6: the twenty largest", list(SPLITS), log=False)


def _time_and_loss(found: Sequence[BenchRow]) -> Any:
    """One panel for each window and width: seconds across, loss per record up; k = 3."""
    seconds = {_key(row): row.ours for row in found if row.metric == "seconds"}
    values = [
        {
            "method": row.method,
            "panel": f"W = {row.parameters['W']:,}, d = {row.parameters['d']}",
            "seconds": seconds[_key(row)],
            "loss": row.ours,
        }
        for row in found
        if row.metric == "loss" and row.table in ("3", "5") and row.parameters["k"] == 3
    ]
    panels = []
    for panel in dict.fromkeys(value["panel"] for value in values):
        base = alt.Chart(
            alt.InlineData(values=[v for v in values if v["panel"] == panel]), title=panel, width=250, height=220
        )
        encoded = base.encode(
            x=alt.X("seconds:Q", scale=alt.Scale(type="log", padding=25), title="seconds (log)"),
            y=alt.Y("loss:Q", scale=alt.Scale(zero=False, padding=20), title="loss per record"),
        )
        points = encoded.mark_point(size=70, filled=True).encode(color=alt.Color("method:N", title=None))
        panels.append(points + encoded.mark_text(dy=-10, fontSize=10).encode(text="method:N"))
    return alt.concat(*panels, columns=2)


def _key(row: BenchRow) -> tuple[Any, ...]:
    return (row.method, *(row.parameters[name] for name in ("W", "d", "k")))


def trips(people: int = 400, k: int = 5) -> Any:
    """Trips as they are and as a window releases them: lines over the plane, coloured by the hour of departure."""
    records = journeys(people, STOPS)
    stream = Window(list(records[0]), k, 200)
    released = stream.push_many(records) + stream.flush()
    return alt.hconcat(
        _plane(records, f"{people} trips"), _plane(released, f"released: every trip is that of {k} people or more", k)
    ).resolve_scale(color="shared")


def _plane(records: list[dict[str, Any]], title: str, k: int = 1) -> Any:
    values = [
        {"trip": i, "stop": stop, "x": one[f"x{stop}"], "y": one[f"y{stop}"], "hour": one["t0"] / 60}
        for i, one in enumerate(records)
        for stop in range(STOPS)
    ]
    scale = alt.Scale(domain=[-20, 20])
    return (
        alt.Chart(alt.InlineData(values=values), title=title, width=380, height=380)
        .mark_line(opacity=0.35 if k == 1 else 0.25, strokeWidth=1.2 if k == 1 else 1.8, clip=True)
        .encode(
            x=alt.X("x:Q", scale=scale, title="x, km"),
            y=alt.Y("y:Q", scale=scale, title="y, km"),
            detail="trip:N",
            order="stop:Q",
            color=alt.Color("hour:Q", scale=alt.Scale(scheme="viridis"), title="departure, hour"),
        )
    )
