"""The sections about warnings and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oboro.report.page import charts
from oboro.report.page.blocks import Block, Cell, Grid, Notes, Picture, Pictures, Section, Text
from oboro.text import number

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["stream", "warnings"]


def warnings(report: Report) -> Section | None:
    """What a reader should know before signing."""
    return Section("warnings", "Before you sign", [Notes(report.warnings)]) if report.warnings else None


# Streams --------------------------------------------------------------------------------------------------------------

TIMELINES = {
    "records_per_second": "records per second, since the start",
    "latency_p99": "latency in ms, 99 of 100 records",
    "suppressed_cells": "suppressed cells, so far",
    "loss": "loss of a record, on average",
}
AT_THE_END = {
    "records": "records that came in",
    "released": "records that went out",
    "withheld": "records withheld",
    "held": "records still held",
    "suppressed_records": "fully suppressed records",
    "suppressed_cells": "suppressed cells, so far",
    "generalized_cells": "generalized cells",
    "groups": "groups",
    "loss": "loss of a record, on average",
    "dead_letters": "dead letters: lines that are no records",
    "in_doubt": "records in doubt after a crash",
    "seconds": "seconds",
    "records_per_second": "records per second, since the start",
    "latency_p50": "latency in ms, half of the records",
    "latency_p99": "latency in ms, 99 of 100 records",
}
STREAM = (
    "What the run itself counted. Latency is the time from the arrival of a record to its release; in a window it includes "
    "the wait for others."
)
ONE_MOMENT = (
    "The metrics are of one moment only, so there is no timeline: a run of more than half a second prints several."
)


def stream(report: Report) -> Section | None:
    """How a stream went over time."""
    if not report.stream:
        return None
    moments = [{**one, **_latency(one)} for one in report.stream]
    drawn = [name for name in TIMELINES if len(moments) > 1 and all({name, "seconds"} <= one.keys() for one in moments)]
    pictures = [
        Picture(TIMELINES[name], charts.timeline([{"seconds": one["seconds"], "value": one[name]} for one in moments]))
        for name in drawn
    ]
    shown: Block = Pictures(pictures, legend=False) if pictures else Text(ONE_MOMENT)
    last = moments[-1]
    rows = [[Cell(said), Cell(number(last[name]))] for name, said in AT_THE_END.items() if last.get(name) is not None]
    table = Grid(["at the end", "value"], rows, frozenset({1}))
    return Section("stream", "The stream over time", [Text(STREAM), shown, table])


def _latency(moment: Mapping[str, Any]) -> dict[str, float]:
    return {f"latency_{name}": value for name, value in moment.get("latency_ms", {}).items()}
