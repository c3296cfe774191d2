"""How soon a search over many columns finds a good choice of levels, and how soon it is known how good that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from oboro.papers.benchmark_rows import BenchRow
from oboro.papers.plots.pictures import save

__all__ = ["draw"]

LINES = ["oboro", "oboro: proved bound", "arx bottom_up", "arx top_down", "arx genetic"]
COLOURS = ["#0b6e4f", "#7fb8a4", "#c44536", "#e0a458", "#6d6875"]


def draw(rows: Sequence[BenchRow], folder: Path) -> list[Path]:
    """Write the figure as PNG and HTML: one panel for each number of columns."""
    points = [_point(row) for row in rows if row.table == "many columns: over time" and row.ours is not None]
    if not points:
        return []
    panels = [_panel(points, columns) for columns in sorted({point["columns"] for point in points})]
    chart = alt.vconcat(*(alt.hconcat(*panels[i : i + 2]) for i in range(0, len(panels), 2)))
    return save(folder, {"lattice-gap": chart}, chart, "lattice-gap")


def _point(row: BenchRow) -> dict[str, Any]:
    line = f"{row.method}: proved bound" if row.metric == "bound so far" else row.method
    return {"line": line, "columns": row.parameters["columns"], "cpu": row.parameters["cpu"], "loss": row.ours}


def _panel(points: Sequence[dict[str, Any]], columns: int) -> Any:
    mine = [point for point in points if point["columns"] == columns]
    axes = {
        "x": alt.X("cpu:Q", scale=alt.Scale(type="log"), title="seconds of the processor"),
        "y": alt.Y("loss:Q", scale=alt.Scale(zero=False), title="loss"),
        "color": alt.Color("line:N", sort=LINES, scale=alt.Scale(domain=LINES, range=COLOURS), title=None),
    }
    chart = alt.Chart(alt.InlineData(values=mine)).mark_line(interpolate="step-after", point={"size": 12}, clip=True)
    return chart.encode(**axes).properties(width=330, height=230, title=f"{columns} columns")
