"""The section on a stream: its course over time, and its counts at the end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from oboro.report import charts
from oboro.report.page import Block, Cell, Grid, Picture, Pictures, ShownSection, Text
from oboro.report.sections.base import Section
from oboro.text import number

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["STREAM", "stream_timeline"]


STREAM = Section("stream")


TIMELINES = ("records_per_second", "latency_p99", "suppressed_cells", "loss")
AT_THE_END = (
    "records",
    "released",
    "withheld",
    "held",
    "suppressed_records",
    "suppressed_cells",
    "generalized_cells",
    "groups",
    "loss",
    "dead_letters",
    "in_doubt",
    "seconds",
    "records_per_second",
    "latency_p50",
    "latency_p99",
)


@STREAM.content
def stream_timeline(report: Report) -> ShownSection | None:
    """Build the section on the course of a stream over time."""
    if not report.stream:
        return None
    moments = [{**one, **_latency(one)} for one in report.stream]
    drawn = [name for name in TIMELINES if len(moments) > 1 and all({name, "seconds"} <= one.keys() for one in moments)]
    pictures = [_picture(name, moments) for name in drawn]
    shown: Block = Pictures(pictures, legend=False) if pictures else Text(STREAM.said("one_moment"))
    last = moments[-1]
    rows = [
        [Cell(STREAM.said(f"figures.{name}")), Cell(number(last[name]))]
        for name in AT_THE_END
        if last.get(name) is not None
    ]
    table = Grid([STREAM.said("at_the_end"), STREAM.said("value")], rows, frozenset({1}))
    return STREAM.shown([Text(STREAM.said("lead")), shown, table])


def _latency(moment: Mapping[str, Any]) -> dict[str, float]:
    return {f"latency_{name}": value for name, value in moment.get("latency_ms", {}).items()}


def _picture(name: str, moments: list[dict[str, Any]]) -> Picture:
    points = [{"seconds": one["seconds"], "value": one[name]} for one in moments]
    return Picture(STREAM.said(f"figures.{name}"), partial(charts.timeline, points))
