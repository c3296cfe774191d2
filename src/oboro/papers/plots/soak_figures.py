"""What becomes of a stream at full rate: rate, memory, latency and the size of its state over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.plots.pictures import save

__all__ = ["draw"]

TITLES = {
    "records_per_s": "records a second",
    "memory_mb": "memory, MB",
    "latency_p50_ms": "latency of a block, median, ms",
    "latency_p99_ms": "latency of a block, 99th percentile, ms",
    "state_mb": "state on disk, MB",
}


def draw(rows: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the figure as PNG and HTML."""
    points = [
        {"mode": row.method, "second": row.parameters["second"], row.metric: row.ours}
        for row in rows
        if row.table == "over time"
    ]
    charts = [_lines(points, metric) for metric in TITLES]
    chart = alt.vconcat(alt.hconcat(*charts[:2]), alt.hconcat(*charts[2:4]), charts[4])
    return save(folder, {"soak": chart}, chart, "soak")


def _lines(points: Sequence[dict[str, Any]], metric: str) -> Any:
    mine = [point for point in points if metric in point]
    chart = alt.Chart(alt.InlineData(values=mine)).mark_line(interpolate="step-after")
    axes = {
        "x": alt.X("second:Q", title="seconds"),
        "y": alt.Y(f"{metric}:Q", title=None, scale=alt.Scale(zero=True)),
        "color": alt.Color("mode:N"),
    }
    return chart.encode(**axes).properties(width=330, height=170, title=TITLES[metric])
