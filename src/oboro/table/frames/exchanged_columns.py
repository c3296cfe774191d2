"""A frame with some of its columns exchanged, whatever kind of frame it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from oboro.errors import UsageError
from oboro.table.dataset import Column, Dataset
from oboro.text import Message

__all__ = ["exchange_columns"]


def exchange_columns(native: Any, columns: Mapping[str, pa.Array]) -> Any:
    """The same kind of frame with these columns in their old places; an ordered dictionary becomes an ordered category.

    >>> exchange_columns({"age": ["20–29", "*"], "sex": ["F", "M"]}, {"age": pa.array([24.5, None])})
    {'age': [24.5, None], 'sex': ['F', 'M']}
    """
    if isinstance(native, Dataset):
        return native.with_columns({name: Column.encode(array) for name, array in columns.items()})
    if isinstance(native, pa.Table):
        return pa.table({name: columns.get(name, native[name]) for name in native.column_names})
    import narwhals.stable.v2.dependencies as is_

    if is_.is_pandas_dataframe(native):
        frame = native.copy()
        for place, label in enumerate(native.columns):
            if str(label) in columns:
                frame.isetitem(place, columns[str(label)].to_pandas())
        return frame
    if is_.is_polars_dataframe(native):
        return native.with_columns([_series(name, array) for name, array in columns.items()])
    if isinstance(native, Mapping):
        return {name: columns[str(name)].to_pylist() if str(name) in columns else native[name] for name in native}
    raise UsageError(Message("error_table.no_table", kind=type(native).__name__))


def _series(name: str, array: pa.Array) -> Any:
    import polars as pl

    if not pa.types.is_dictionary(array.type):
        return pl.Series(name, array)
    return pl.Series(name, array.cast(pa.string())).cast(pl.Enum(array.dictionary.to_pylist()))
