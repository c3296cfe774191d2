"""Intervals in words: `<20`, `20–34`, `≥35`, as hierarchies write them."""

from __future__ import annotations

import numpy as np

from oboro.decide.intervals.univariate import Intervals
from oboro.table.values import STAR, Kind, from_numbers, texts_of

__all__ = ["spans"]

TIMES = (1.0, 1e3, 1e6, 60e6, 3600e6, 86_400e6)  # microseconds: … second, minute, hour, day
DECIMALS = range(18, -19, -1)


def spans(intervals: Intervals, kind: Kind, to: str = " to ") -> list[str]:
    """What each interval is called; the outermost are open, so that no extreme value shows, and a single one is `*`.

    `to` stands between dates and after negative numbers.
    Whole numbers and dates include both ends (`20–34`), other numbers and times only the first (`[1.5, 2)`).

    >>> spans(Intervals(np.array([18.0, 20, 30, 44]), np.ones(4), np.array([1, 3, 4]), 1.0), Kind.INTEGER)
    ['<20', '20–37', '≥38']
    """
    if len(intervals) == 1:
        return [STAR]
    begins = _begins(intervals, kind)
    first = _texts(begins, kind)
    last = _texts(begins - 1, kind) if kind in (Kind.INTEGER, Kind.DATE) else first
    inner = [_closed(*ends, kind, to) for ends in zip(first[:-1], last[1:], strict=True)]
    return [f"<{first[0]}", *inner, f"≥{first[-1]}"]


def _begins(intervals: Intervals, kind: Kind) -> np.ndarray:
    """Where all intervals but the first begin: the roundest place near the middle of the gap before them."""
    low, high = (intervals.values[intervals.ends[:-1] + shift] for shift in (-1, 0))
    middle = intervals.edges[1:-1]
    if kind in (Kind.INTEGER, Kind.DATE):
        return np.asarray(np.floor(middle) + 1)
    if kind is Kind.DATETIME:
        rounder = [np.rint(middle / unit) * unit for unit in TIMES]
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            rounder = [np.round(middle, decimals) for decimals in DECIMALS]
    begins = high.copy()
    for candidate in rounder:
        begins = np.where((low < candidate) & (candidate <= high), candidate, begins)
    return np.asarray(begins)


def _texts(numbers: np.ndarray, kind: Kind) -> list[str]:
    texts = [text or "" for text in texts_of(from_numbers(numbers, kind))]
    return [text.removesuffix(".000000").removesuffix(" 00:00:00") for text in texts]


def _closed(first: str, last: str, kind: Kind, to: str) -> str:
    if kind not in (Kind.INTEGER, Kind.DATE):
        return f"[{first}, {last})"
    if first == last:
        return first
    # A dash before a negative number, or between dates, would read as part of it.
    return f"{first}{to}{last}" if "-" in first + last else f"{first}–{last}"
