"""Released columns in which some values are suppressed: where `*` stands, and the numbers beside it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.dataset import Column
from oboro.table.hierarchy.levels import text_array
from oboro.table.values import STAR, Kind, kind_of, numbers_of

__all__ = ["all_stars", "is_star", "plain_kind", "plain_numbers", "without_star"]


def is_star(column: Column) -> np.ndarray:
    """Which dictionary entries are `*`; numbers and dates never are."""
    type_ = column.values.type
    if pa.types.is_primitive(type_):
        return np.zeros(len(column.values), dtype=bool)
    found = pc.fill_null(pc.equal(text_array(column.values), STAR), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def all_stars(column: Column) -> bool:
    """Whether nothing but `*` and missing values is left, and some `*`.

    >>> [all_stars(Column.of(values)) for values in (["*", None], ["*", "a"], [None])]
    [True, False, False]
    """
    stars = is_star(column)
    return bool(stars.any() and (stars | column.values.is_null().to_numpy(zero_copy_only=False)).all())


def plain_numbers(column: Column) -> np.ndarray | None:
    """The dictionary as numbers, NaN where it is missing or `*`; None if it holds text, or nothing else at all."""
    values, kind = _unstarred(column)
    return numbers_of(values, kind=kind) if kind.numeric and values.null_count < len(values) else None


def plain_kind(column: Column) -> Kind:
    """What a column holds beside `*`."""
    return _unstarred(column)[1]


def _unstarred(column: Column) -> tuple[pa.Array, Kind]:
    if not is_star(column).any():
        return column.values, column.kind  # which is remembered
    values = without_star(column.values)
    return values, kind_of(values)


def without_star(values: pa.Array) -> pa.Array:
    """A dictionary with `*` as missing."""
    return pc.if_else(pc.equal(values, STAR), None, values) if pa.types.is_string(values.type) else values
