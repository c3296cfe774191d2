"""Columns back in the Arrow type that they came in: dictionaries, wide text, text views, narrow decimals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column, Dataset, plain
from oboro.table.unencoded_columns import UnreadColumn, why_unusable

__all__ = ["Types", "as_it_came", "as_they_appear", "dictionary_array", "lost_types", "restorable", "type_again"]

Types = Mapping[str, pa.DataType]


def encoded_type(type_: pa.DataType) -> pa.DataType:
    """The type that values have once a column of some type is encoded.

    >>> encoded_type(pa.dictionary(pa.int8(), pa.string_view()))
    DataType(string)
    """
    inner = type_.value_type if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_) else type_
    return plain(pa.nulls(0, inner)).type


def lost_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types that columns of a file do not have any more once they are encoded."""
    usable = {entry.name: entry.type for entry in schema if why_unusable(entry.name, entry.type) is None}
    return {name: type_ for name, type_ in usable.items() if encoded_type(type_) != type_}


def type_again(name: str, encoded: pa.DataType, types: Types) -> pa.DataType | None:
    """The type that a column had in its file, if its values still have the type that was made of it."""
    came = types.get(name)
    return came if came is not None and encoded_type(came) == encoded else None


def restorable(data: Dataset, types: Types) -> Dataset:
    """The table with just the values that rows hold, in the order that their dictionary may have, where it becomes one again."""
    return data.with_columns(dict(_ordered(data, types)))


def _ordered(data: Dataset, types: Types) -> Iterator[tuple[str, Column]]:
    for name, type_ in types.items():
        if name in data and not isinstance(data[name], UnreadColumn) and pa.types.is_dictionary(type_):
            yield name, data[name].tidy() if type_.ordered else as_they_appear(data[name])


def as_it_came(column: Column, type_: pa.DataType | None) -> pa.Array:
    """One value per row, in this type; None: in that of the values."""
    if type_ is None or pa.types.is_run_end_encoded(type_):
        return column.decode()
    if not pa.types.is_dictionary(type_):
        return column.decode().cast(type_)
    return dictionary_array(column.tidy() if type_.ordered else as_they_appear(column), type_)


def dictionary_array(column: Column, type_: pa.DataType) -> pa.Array:
    """A column as a dictionary of this type (with wider numbers where it must), all of its values in their order."""
    present = column.values.is_valid().to_numpy(zero_copy_only=False)
    places = np.cumsum(present) - 1  # a missing value is missing in the rows, not an entry of the dictionary
    indices = pa.array(places[column.codes], mask=~present[column.codes])
    values = column.values.drop_null().cast(type_.value_type)
    encoded = pa.DictionaryArray.from_arrays(indices, values, ordered=type_.ordered)
    fits = len(values) <= np.iinfo(type_.index_type.to_pandas_dtype()).max
    return encoded.cast(type_) if fits else encoded


def as_they_appear(column: Column) -> Column:
    """The column with its distinct values in the order in which rows have them first, without others."""
    column = column.tidy()
    first = np.empty(len(column.values), dtype=np.int64)
    first[column.codes[::-1]] = np.arange(len(column))[::-1]  # the last one written stays
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return Column(column.values.take(pa.array(order)), places[column.codes].astype(column.codes.dtype))
