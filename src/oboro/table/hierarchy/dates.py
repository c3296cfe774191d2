"""Dates into days, months, quarters, years and decades."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from oboro.errors import HierarchyError
from oboro.system import arrow_functions as pc
from oboro.table.hierarchy.levels import Level, odd_one, span_share
from oboro.table.spelling.value_texts import is_text
from oboro.table.values import Kind, because_unread, is_months, kind_of, typed
from oboro.text import Message, Raw

__all__ = ["UNITS", "date_levels"]

UNITS = ("day", "month", "quarter", "year", "decade")
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
DAY = 86_400_000_000  # microseconds


def date_levels(name: str, values: pa.Array, units: Sequence[str]) -> list[Level]:
    """One level per unit, finest first; `day` is the value itself in a column of dates. Times count in their own zone.

    Given: units in the order of `UNITS`. Promises: each level is a function of the one below: units nest. O(n log n).
    """
    kinds = (Kind.DATE, Kind.DATETIME)
    kind = _kind(values)
    if len(values) and kind not in kinds:
        odd, because = odd_one(values, kinds), because_unread(values)
        raise HierarchyError(Message("error_table.needs_dates", name=name, odd=Raw(odd), because=because))
    if kind is Kind.DATE:
        days = (
            pc.cast(typed(values, kind), pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        level = partial(_date_level, days=days, exact=days.astype(np.float64), size=1)
        return list(map(level, units[1:] if units[0] == "day" else units))
    moments = _local_microseconds(values) if len(values) else np.empty(0, dtype=np.int64)
    return list(map(partial(_date_level, days=moments // DAY, exact=moments.astype(np.float64), size=DAY), units))


def _kind(values: pa.Array) -> Kind:
    """By all values; months from October on, which alone read as numbers (`10.2015`), are dates here."""
    kind = kind_of(values)
    return Kind.DATE if kind is Kind.NUMBER and is_text(values) and is_months(values.drop_null()) else kind


def _local_microseconds(values: pa.Array) -> np.ndarray:
    moments = typed(values)
    local = pc.local_timestamp(moments) if moments.type.tz else moments
    counted = pc.cast(pc.cast(local, pa.timestamp("us"), safe=False), pa.int64())
    return np.asarray(counted.to_numpy(zero_copy_only=False))


def _date_level(unit: str, days: np.ndarray, exact: np.ndarray, size: int) -> Level:
    """`exact` holds the values in the unit of which a day has `size`."""
    cells, table = np.unique(_cell(unit, days), return_inverse=True)
    starts, ends = _first_day(unit, cells), _first_day(unit, cells + 1)
    labels = list(map(partial(_label, unit), cells.tolist()))
    share = span_share(starts.astype(np.float64) * size, ends.astype(np.float64) * size, exact, counted=size == 1)
    return Level(pa.array(labels, pa.string()), table, share).compact()


def _cell(unit: str, days: np.ndarray) -> np.ndarray:
    """The number of each day's unit, counted from the year 0, so that decades start with a round year."""
    if unit == "day":
        return days
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    return np.asarray(months // MONTHS[unit])


def _first_day(unit: str, cells: np.ndarray) -> np.ndarray:
    if unit == "day":
        return cells
    months = (cells * MONTHS[unit] - 1970 * 12).astype("datetime64[M]")
    return np.asarray(months.astype("datetime64[D]").astype(np.int64))


def _label(unit: str, cell: int) -> str:
    """What is shown for a unit.

    >>> _label("month", 2024 * 12), _label("quarter", 2024 * 4 + 3), _label("decade", 202)
    ('2024-01', '2024-Q4', '2020s')
    """
    if unit == "day":
        return str(np.datetime64(cell, "D"))
    if unit == "month":
        return f"{cell // 12:04d}-{cell % 12 + 1:02d}"
    if unit == "quarter":
        return f"{cell // 4:04d}-Q{cell % 4 + 1}"
    return f"{cell:04d}" if unit == "year" else f"{cell * 10:04d}s"
