"""Columns of several tables in the same codes: the same text is the same value, wherever it stands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy.levels import text_array
from oboro.table.large_arrays import large_zeros

__all__ = ["shared_codes", "shared_labels"]


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
    return [table[column.codes] for table, column in zip(tables, columns, strict=True)], len(encoded.dictionary)


def shared_labels(tables: Sequence[Dataset], names: Sequence[str]) -> tuple[list[np.ndarray], int]:
    """For each row of each table the number of its combination of values, the same in all; and how many there are."""
    rows = [table.rows for table in tables]
    joined = []
    for name in names:
        codes, width = shared_codes([table[name] for table in tables])
        joined.append(Column(pa.nulls(width), np.concatenate(codes).astype(np.uint32)))
    found = Groups.of(joined, sum(rows)) if sum(rows) else Groups(large_zeros(0, np.uint32), np.zeros(0, np.int64))
    return np.split(found.labels.astype(np.int64), np.cumsum(rows)[:-1]), len(found)
