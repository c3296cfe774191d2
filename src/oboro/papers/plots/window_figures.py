"""The window paper's figures 4 to 6 (region sizes), time against loss, and trips before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.plots.pictures import save
from oboro.papers.window.window_bench import SPLITS, flow, region_sizes
from oboro.stream import Window

__all__ = ["draw", "trips"]

STOPS = 4


def draw(found: Sequence[BenchRow], folder: Path) -> list[Path]:
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
    records = flow(people, STOPS)
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
