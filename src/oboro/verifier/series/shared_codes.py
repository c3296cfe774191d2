"""Columns of several tables in the same codes: what means the same is the same value, wherever it stands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy.levels import text_array
from oboro.table.large_arrays import large_zeros
from oboro.table.spelling.folding import empty_as_missing
from oboro.table.spelling.named_values import matched
from oboro.table.unencoded_columns import UnreadColumn

__all__ = ["empty_readings", "shared_codes", "shared_labels", "without_empty"]


def shared_codes(columns: Sequence[Column]) -> tuple[list[np.ndarray], int]:
    """The codes of each column over one dictionary, and how many values it holds. O(rows + dictionaries).

    >>> shared_codes([Column.of(["a", None]), Column.of([None, "b", "a"])])[0]
    [array([0, 1]), array([1, 2, 0])]
    """
    texts = pa.concat_arrays([text_array(column.values) for column in columns])
    encoded = texts.dictionary_encode(null_encoding="encode")
    places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum([0, *(len(column.values) for column in columns)])
    tables = [places[begin:end] for begin, end in pairwise(starts)]
    for later, column in enumerate(columns):
        for before in range(later):
            _match_by_meaning(column, tables[later], tables[:later], columns[before], tables[before])
    return [table[column.codes] for table, column in zip(tables, columns, strict=True)], len(encoded.dictionary)


def _match_by_meaning(
    column: Column, table: np.ndarray, seen: Sequence[np.ndarray], before: Column, known: np.ndarray
) -> None:
    """Give values that no column before has, and that this one writes otherwise (1 and 1.0), the number that they have there."""
    fresh = np.flatnonzero(~np.isin(table, np.concatenate(seen)))
    if fresh.size and before.counts.size:
        place = matched(column.values.take(pa.array(fresh)), before.values)
        table[fresh[place >= 0]] = known[place[place >= 0]]


def without_empty(data: Dataset) -> Dataset:
    """A table with empty text as missing; columns in a file that were not read stay as they are."""
    held = {name: column for name, column in data.columns.items() if not isinstance(column, UnreadColumn)}
    return data.with_columns({name: empty_as_missing(column) for name, column in held.items()})


def empty_readings(tables: Sequence[Dataset]) -> list[bool]:
    """In which ways releases must be compared: with empty text as missing (true), as it is (false), or both.

    Of two releases one may have come from CSV, which knows only one of the two; then they must be one, or everybody concerned would
    seem to have left and to have come. Where one table tells them apart, a receiver may too.
    """
    columns = [one for data in tables for one in data.columns.values() if not isinstance(one, UnreadColumn)]
    told = [column for column in columns if _has_empty(column)]
    return ([True] if told else []) + ([False] if not told or any(column.missing >= 0 for column in told) else [])


def _has_empty(column: Column) -> bool:
    text = pa.types.is_string(column.values.type) or pa.types.is_large_string(column.values.type)
    return bool(text and pc.index(column.values, pa.scalar("", column.values.type)).as_py() >= 0)


def shared_labels(tables: Sequence[Dataset], names: Sequence[str]) -> tuple[list[np.ndarray], int]:
    """For each row of each table the number of its combination of values, the same in all; and how many there are."""
    rows = [table.rows for table in tables]
    joined = []
    for name in names:
        codes, width = shared_codes([table[name] for table in tables])
        joined.append(Column(pa.nulls(width), np.concatenate(codes).astype(np.uint32)))
    found = Groups.of(joined, sum(rows)) if sum(rows) else Groups(large_zeros(0, np.uint32), np.zeros(0, np.int64))
    return np.split(found.labels.astype(np.int64), np.cumsum(rows)[:-1]), len(found)
