"""The paper's Figure 5: suppressed cells so far and latency, by the number of records, for every mode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.plots.pictures import save

__all__ = ["draw"]

TITLES = {"latency_s_total": "latency so far, seconds", "cells": "suppressed cells so far"}
MODES = ["swap", "count", "paper", "fixed", "sequential"]


def draw(rows: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the figure as PNG and HTML; nothing where there was no real data."""
    points = [
        {"mode": row.method, "k": f"k = {row.parameters['k']}", "records": row.parameters["n"], row.metric: row.ours}
        for row in rows
        if "point by point" in row.table
    ]
    if not points:
        return []
    wide = [alt.hconcat(*(_lines(points, metric, k) for k in sorted({p["k"] for p in points}))) for metric in TITLES]
    chart = alt.vconcat(*wide)
    return save(folder, {"delay_free-figure5": chart}, chart, "delay_free")


def _lines(points: Sequence[dict[str, Any]], metric: str, k: str) -> Any:
    """One curve for each mode, both axes logarithmic: the methods differ by orders of magnitude."""
    mine = [point for point in points if point["k"] == k and metric in point]
    chart = alt.Chart(alt.InlineData(values=mine)).mark_line(point={"size": 20})
    axes = {
        "x": alt.X("records:Q", scale=alt.Scale(type="log"), title="records"),
        "y": alt.Y(f"{metric}:Q", scale=alt.Scale(type="log"), title=TITLES[metric]),
        "color": alt.Color("mode:N", sort=MODES, scale=alt.Scale(domain=MODES)),
    }
    return chart.encode(**axes).properties(width=330, height=230, title=f"{k}: {TITLES[metric]}")
