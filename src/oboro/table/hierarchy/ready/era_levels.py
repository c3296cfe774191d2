"""Dates → months → years → eras of the Japanese calendar."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.table.hierarchy.levels import Level, span_share, text_array
from oboro.table.hierarchy.ready.labelled_values import apart, refuse
from oboro.table.japanese.eras import ERAS, era_numbers, joined_labels
from oboro.table.japanese.written_dates import DAY, MONTH, YEAR, WrittenDates, written_dates
from oboro.table.japanese.written_values import plain_text
from oboro.table.spelling.value_texts import is_text
from oboro.table.values import Kind, kind_of, numbers_of

__all__ = ["era_levels"]

MICROSECONDS = 86_400_000_000
FURTHEST = 1 << 40
UNITS = {"month": MONTH, "year": YEAR, "era": YEAR + 1}


def era_levels(name: str, values: pa.Array) -> list[Level]:
    """`昭和34年6月`, then `昭和34年`, then `昭和`; columns of years have no months.

    Given: dates by era or of the Gregorian calendar, whole or without their day or month. Promises: each level is a function of
    the one below. What reaches over the change of an era names both (`1989年` is `昭和64年・平成元年`).
    """
    dates = _days(name, values)
    finest = int(dates.unit.min(initial=YEAR))
    return [_level(unit, dates, values) for unit, size in UNITS.items() if size >= finest]


def _days(name: str, values: pa.Array) -> WrittenDates:
    kind = kind_of(values)
    if kind in (Kind.DATE, Kind.DATETIME) and not is_text(values):
        days = numbers_of(values) // (MICROSECONDS if kind is Kind.DATETIME else 1)
        return _exact(days.astype(np.int64))
    if kind is Kind.DATETIME:
        return _exact((numbers_of(values) // MICROSECONDS).astype(np.int64))
    plain = plain_text(text_array(values).cast(pa.string()))
    if kind is Kind.INTEGER:  # years, some of them without 年
        plain = pa.array([text if text.endswith("年") else f"{text}年" for text in plain.to_pylist()], pa.string())
    dates = written_dates(plain)
    refuse("eras", name, values, ~dates.valid)
    return dates


def _exact(days: np.ndarray) -> WrittenDates:
    there = np.ones(days.size, dtype=bool)
    return WrittenDates(days, days, np.full(days.size, DAY), ~there, there)


def _level(unit: str, dates: WrittenDates, values: pa.Array) -> Level:
    stretches, place = np.unique(np.stack([dates.first, dates.last, dates.unit], axis=1), axis=0, return_inverse=True)
    texts = pa.array([_label(unit, *one) for one in stretches.tolist()], pa.string()).take(pa.array(place.ravel()))
    encoded = apart(texts, values, "中").dictionary_encode()
    table = encoded.indices.to_numpy(zero_copy_only=False)
    starts, ends = _bounds(unit, dates, table, len(encoded.dictionary))
    share = span_share(starts, ends, np.concatenate([dates.first, dates.last]).astype(np.float64), counted=True)
    return Level(encoded.dictionary, table, share).compact()


def _label(unit: str, first: int, last: int, size: int) -> str:
    if unit == "month" and size == YEAR:
        return f"{joined_labels('year', first, last)}（月不明）"
    return joined_labels(unit, first, last)


def _bounds(unit: str, dates: WrittenDates, table: np.ndarray, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The days that each label may stand for: its month or year as far as the era goes, or the era."""
    eras = [era_numbers(days) for days in (dates.first, dates.last)]
    first = np.array([*(era.first for era in ERAS), -FURTHEST])[eras[0]]
    last = np.array([*(era.last for era in ERAS), ERAS[0].first - 1])[eras[1]]
    if unit != "era":
        period = "datetime64[M]" if unit == "month" else "datetime64[Y]"
        begin, end = (days.astype("datetime64[D]").astype(period) for days in (dates.first, dates.last))
        first = np.maximum(first, begin.astype("datetime64[D]").astype(np.int64))
        last = np.minimum(last, (end + 1).astype("datetime64[D]").astype(np.int64) - 1)
    starts, ends = np.full(labels, np.inf), np.full(labels, -np.inf)
    np.minimum.at(starts, table, np.minimum(first, dates.first))
    np.maximum.at(ends, table, np.maximum(last, dates.last) + 1)
    return starts, ends
