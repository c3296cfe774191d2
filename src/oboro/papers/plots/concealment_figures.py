"""The paper's figures 4 to 12: people on a plane, what each method releases of them, and how far people are apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from oboro.decide.concealment.design import Design
from oboro.decide.concealment.people import People
from oboro.papers.benchmark_rows import data_folder
from oboro.papers.concealment_bench import adult, designs, flow, in_degrees, sample
from oboro.papers.plots.pictures import save
from oboro.table.dataset import Dataset

__all__ = ["draw", "histogram", "plane"]

SIZE = 260


def draw(folder: Path) -> list[Path]:
    """Write all pictures into one HTML file and one PNG each."""
    data = flow()
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
    layers = [alt.Chart(_data(x=x, y=y)).mark_point(size=8, filled=True, color="#333").encode(**axes)]
    if design is not None:
        held = {"x": x[design.members].min(1), "x2": x[design.members].max(1)}
        held |= {"y": y[design.members].min(1), "y2": y[design.members].max(1)}
        boxes = alt.Chart(_data(**held)).mark_rect(fillOpacity=0.15, stroke="#1f77b4", fill="#1f77b4")
        layers.insert(0, boxes.encode(x2="x2:Q", y2="y2:Q", **axes))
    return alt.layer(*layers).properties(width=SIZE, height=SIZE, title=title)


def histogram(people: People, title: str, bins: int = 40) -> Any:
    """How far any two people are apart."""
    pairs = people.distances[np.triu_indices(len(people), 1)]
    counts, edges = np.histogram(pairs, bins)
    table = _data(start=edges[:-1], end=edges[1:], pairs=counts.astype(float))
    chart = alt.Chart(table).mark_bar()
    x = alt.X("start:Q", bin="binned", title="distance")
    return chart.encode(x=x, x2="end:Q", y="pairs:Q").properties(width=1.3 * SIZE, height=SIZE, title=title)


def _data(**columns: np.ndarray) -> Any:
    return alt.InlineData(values=pa.table({name: pa.array(values) for name, values in columns.items()}).to_pylist())
