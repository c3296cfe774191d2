"""Hierarchy of dates: days, months, quarters, years and decades."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.errors import HierarchyError
from oboro.hierarchies.hierarchy import Level, odd_one, span_share
from oboro.notations.kinds import Kind, because_unread, is_months, kind_of, typed
from oboro.notations.ordered_dates import DateOrder, order_matters, read_in_order, read_years, why_no_order
from oboro.notations.partial_dates import odd_among_plain_dates, read_plain_dates
from oboro.notations.texts import is_text
from oboro.text import Message, Raw

__all__ = ["FINER_THAN_YEARS", "UNITS", "date_levels"]


UNITS = ("day", "month", "quarter", "year", "decade")
FINER_THAN_YEARS = {"day", "month", "quarter"}
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
DAY = 86_400_000_000  # microseconds


def date_levels(name: str, values: pa.Array, units: Sequence[str], order: DateOrder | None = None) -> list[Level]:
    """One level per unit, finest first; `day` is the value itself in a column of dates. Times count in their own zone.

    Given: units in the order of `UNITS`. Promises: each level is a function of the one below: units nest. O(n log n).
    """
    kinds = (Kind.DATE, Kind.DATETIME)
    values = values if order is None else _in_order(name, values, order)
    if (plain := read_plain_dates(values)) is not None:
        values = plain
    elif not FINER_THAN_YEARS & set(units) and (years := _years(values)) is not None:
        values = years
    kind = _kind(values)
    if len(values) and kind not in kinds:
        if is_text(values) and (why := why_no_order(values)) is not None:
            raise HierarchyError(Message("error_dates.unclear", name=name, why=why))
        stray = odd_among_plain_dates(values)
        odd, because = (odd_one(values, kinds), because_unread(values)) if stray is None else (stray, "")
        raise HierarchyError(Message("error_table.needs_dates", name=name, odd=Raw(odd), because=because))
    if kind is Kind.DATE:
        days = (
            pc.cast(typed(values, kind), pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        level = partial(_date_level, days=days, exact=days.astype(np.float64), size=1)
        return list(map(level, units[1:] if units[0] == "day" else units))
    moments = _local_microseconds(values) if len(values) else np.empty(0, dtype=np.int64)
    return list(map(partial(_date_level, days=moments // DAY, exact=moments.astype(np.float64), size=DAY), units))


def _in_order(name: str, values: pa.Array, order: DateOrder) -> pa.Array:
    """Dates in the order that the recipe says, as days or moments; other values as they are."""
    if not is_text(values) or not order_matters(values):
        return values
    read = read_in_order(values, order)
    if read is None:
        odd = next((one for one in values.to_pylist() if read_in_order(pa.array([one]), order) is None), None)
        raise HierarchyError(Message("error_dates.not_in_order", name=name, order=order, odd=Raw(odd)))
    return read


def _years(values: pa.Array) -> pa.Array | None:
    """Return the years of dates in unknown order of day and month; None for other columns."""
    if not is_text(values) or kind_of(values) is not Kind.TEXT:
        return None
    return read_years(values)


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
    """Return the label of a unit.

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
