"""Stray values: the few that make a column of numbers or dates one of text: `unknown` among ages, `2023-02-30` among days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.notations.kinds import Kind, kind_of
from oboro.notations.texts import is_text

__all__ = ["Strays", "stray_values"]


MOST = 10  # different values: more of them are another kind of value, such as codes
MOST_ROWS = 0.1  # of the records
SAMPLE = 64  # values that are looked at first: where most are text, nothing more is
DIGITS_ONLY = "^[0-9]+$"  # with leading zeros: codes, not numbers


@dataclass(frozen=True)
class Strays:
    """Number of records that keep a column from being numbers or dates, the first of them (from 1), and the kind of the others."""

    rows: int
    first: int
    kind: Kind


def stray_values(column: Column) -> Strays | None:
    """Find the few values without which a column of text would be numbers or dates; None if there are none, or many.

    They are found by halving the dictionary: O(distinct values · log of them), or a few looks where they are many.

    >>> stray_values(Column.of([*map(str, range(20, 40)), "unknown", None]))
    Strays(rows=1, first=21, kind=<Kind.INTEGER: 'integer'>)
    >>> stray_values(Column.of(["007", *map(str, range(100, 130))])) is None  # codes
    True
    """
    if column.kind is not Kind.TEXT or not is_text(column.values) or not _mostly_digits(column.values):
        return None
    places = np.flatnonzero(column.values.is_valid().to_numpy(zero_copy_only=False))
    if len(_text_among(column.values, places[:: len(places) // SAMPLE + 1], MOST + 1)) > MOST:
        return None
    strays = _text_among(column.values, places, MOST + 1)
    rows = int(column.counts[strays].sum())
    if not 0 < len(strays) <= MOST or rows > MOST_ROWS * len(column):
        return None
    if pc.any(pc.match_substring_regex(column.values.take(strays), DIGITS_ONLY)).as_py():
        return None
    kind = kind_of(column.values.take(np.setdiff1d(places, strays)))
    first = int(np.flatnonzero(np.isin(column.codes, strays))[0]) + 1
    return None if kind is Kind.TEXT else Strays(rows, first, kind)


def _mostly_digits(texts: pa.Array) -> bool:
    """Return whether half of the values have a digit: most text ends here."""
    found = pc.sum(pc.match_substring_regex(texts, "[0-9０-９]")).as_py() or 0
    return 2 * found >= len(texts) > 1


def _text_among(texts: pa.Array, places: np.ndarray, most: int) -> list[int]:
    """The places, at most so many, of values that are text by themselves."""
    if most <= 0 or kind_of(texts.take(places)) is not Kind.TEXT:
        return []
    if len(places) == 1:
        return [int(places[0])]
    middle = len(places) // 2
    left = _text_among(texts, places[:middle], most)
    return left + _text_among(texts, places[middle:], most - len(left))
