"""From what the recipe did to the codes of all rows to a plan that does the same to the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa

from oboro.engines.coded.packed_rows import GatheredRows
from oboro.engines.coded.plan import PLACE, ROW, ByValue, Exceptions, KnownValues, Places
from oboro.engines.coded.tuple_keys import TupleKeys
from oboro.engines.coded.value_numbers import RowNumbers
from oboro.table.dataset import Column, Dataset
from oboro.table.unencoded_columns import UnreadColumn

__all__ = ["by_place", "by_value", "released_columns"]

COUNTED = 1 << 25  # pairs of an original and a released code that are counted in a table


def released_columns(released: Dataset) -> dict[str, Column]:
    """The released columns that the driver holds."""
    return {name: column for name, column in released.columns.items() if not isinstance(column, UnreadColumn)}


@dataclass(frozen=True, eq=False)
class _Rows:
    """For every original row the codes that it had and those that it got."""

    original: Mapping[str, Column]
    got: Mapping[str, np.ndarray]
    values: Mapping[str, pa.Array]
    dropped: np.ndarray | None
    rows: int

    @staticmethod
    def of(gathered: GatheredRows, released: Dataset) -> _Rows | None:
        """None where a released row is none of the original ones."""
        held, origin = released_columns(released), released.origin
        if origin is None and released.rows != gathered.rows:
            return None
        values = {name: column.values for name, column in held.items()}
        if origin is None:
            return _Rows(
                gathered.columns, {name: column.codes for name, column in held.items()}, values, None, released.rows
            )
        dropped = np.ones(gathered.rows, bool)
        dropped[origin] = False
        if gathered.rows - int(dropped.sum()) != released.rows:
            return None
        got = {}
        for name, column in held.items():
            got[name] = np.zeros(gathered.rows, column.codes.dtype)
            got[name][origin] = column.codes
        return _Rows(gathered.columns, got, values, dropped if dropped.any() else None, gathered.rows)


def by_value(gathered: GatheredRows, released: Dataset, key: bytes) -> ByValue | None:
    """The plan, where rows of equal codes got equal codes; else None. O(rows), and a sort of the exceptions' keys."""
    rows = _Rows.of(gathered, released)
    if rows is None or any(name not in rows.original for name in rows.got):
        return None
    maps = {name: _usual(rows, name) for name in rows.got}
    usual = {name: table[rows.original[name].codes] for name, table in maps.items()}
    other = np.zeros(rows.rows, bool) if rows.dropped is None else rows.dropped.copy()
    for name, codes in usual.items():
        other |= codes != rows.got[name]
    exceptions = _exceptions(rows, usual, other) if other.any() else None
    if other.any() and exceptions is None:
        return None
    known = {name: KnownValues(column.values, key) for name, column in rows.original.items()}
    return ByValue(uuid4().hex, known, maps, rows.values, tuple(released), exceptions, rows.rows)


def _usual(rows: _Rows, name: str) -> np.ndarray:
    """For each original code the released code that most of its rows got."""
    column, got = rows.original[name], rows.got[name]
    width, high = len(rows.values[name]), len(column.values)
    kept = slice(None) if rows.dropped is None else ~rows.dropped
    pairs = column.codes[kept].astype(np.int64) * max(width, 1) + got[kept]
    if high * max(width, 1) <= COUNTED:
        counts = np.bincount(pairs, minlength=high * max(width, 1)).reshape(high, max(width, 1))
        return np.asarray(counts.argmax(axis=1), dtype=got.dtype)
    found, counts = np.unique(pairs, return_counts=True)
    out = np.zeros(high, got.dtype)
    order = np.argsort(counts, kind="stable")  # the most frequent is written last
    out[found[order] // width] = found[order] % width
    return out


def _exceptions(rows: _Rows, usual: Mapping[str, np.ndarray], other: np.ndarray) -> Exceptions | None:
    """By what the maps give where that tells the exceptions from all other rows (suppressed classes), else by what came."""
    widths = [len(rows.values[name]) for name in usual]
    found = _told_by(rows, list(usual.values()), widths, other, True)
    if found is not None:
        return found
    original = [column.codes for column in rows.original.values()]
    return _told_by(rows, original, [len(column.values) for column in rows.original.values()], other, False)


def _told_by(
    rows: _Rows, columns: list[np.ndarray], widths: list[int], other: np.ndarray, of_released: bool
) -> Exceptions | None:
    how, keys = TupleKeys.of(columns, widths, rows.rows)
    held, first = np.unique(keys[other], return_index=True)
    places = np.minimum(np.searchsorted(held, keys[~other]), held.size - 1)
    if (held[places] == keys[~other]).any():
        return None
    at = np.flatnonzero(other)
    parts = [rows.got[name] for name in usual_names(rows)] + ([] if rows.dropped is None else [rows.dropped])
    place_of = np.searchsorted(held, keys[other])
    if any((part[at] != part[at[first]][place_of]).any() for part in parts):
        return None
    table = np.stack([part[at[first]].astype(np.int64) for part in parts], axis=1)
    outcomes, outcome = np.unique(table, axis=0, return_inverse=True)
    names = usual_names(rows)
    codes = {name: outcomes[:, place].astype(rows.got[name].dtype) for place, name in enumerate(names)}
    dropped = np.zeros(len(outcomes), bool) if rows.dropped is None else outcomes[:, -1].astype(bool)
    return Exceptions(of_released, how, held, outcome.ravel().astype(np.uint32), codes, dropped)


def usual_names(rows: _Rows) -> list[str]:
    """The released columns of which the driver holds codes."""
    return list(rows.got)


def by_place(
    gathered: GatheredRows,
    released: Dataset,
    order: np.ndarray | None,
    numbers: RowNumbers,
    key: bytes,
    others: tuple[str, ...],
) -> Places:
    """The plan where chance or neighbours decided: each row by its place. O(rows · log(rows)).

    `order` says for each place of the release which row of `released` stands there.
    """
    columns = list(gathered.columns.values())
    how, keys = TupleKeys.of([one.codes for one in columns], [len(one.values) for one in columns], gathered.rows)
    second = np.zeros(gathered.rows, np.int64) if gathered.others is None else gathered.others.view(np.int64)
    sequence = np.lexsort((second, keys))
    place = np.empty(gathered.rows, np.int64)
    place[sequence] = np.arange(gathered.rows)
    known, starts = np.unique(keys[sequence], return_index=True)
    place_in_release = np.empty(released.rows, np.int64)
    place_in_release[np.arange(released.rows) if order is None else order] = np.arange(released.rows)
    table = {name: column.decode() for name, column in released_columns(released).items()}
    outcomes = pa.table({**table, ROW: pa.array(place[released.origin_rows]), PLACE: pa.array(place_in_release)})
    values = {name: KnownValues(column.values, key) for name, column in gathered.columns.items()}
    return Places(uuid4().hex, values, how, known, starts.astype(np.int64), numbers, others, outcomes)
