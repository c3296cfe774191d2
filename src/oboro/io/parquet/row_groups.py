"""Row groups of a Parquet file from codes: text goes there as the dictionary that it is.

Turned into one text per row, it would be hashed by the Parquet writer to find the dictionary again; that took three times as long.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oboro.io.parquet.growing_columns import by_appearance, is_text
from oboro.kernels import grouping
from oboro.table.dataset import Column, Dataset
from oboro.table.frames.came_as import Types, type_again
from oboro.table.unencoded_columns import UnencodedColumn

__all__ = ["as_dictionaries", "only_used", "parquet_writer"]


def as_dictionaries(data: Dataset) -> pa.Table:
    """Text as dictionaries, with values that these rows may not use; everything else one value per row."""
    return pa.table({name: _dictionary(column) for name, column in data.columns.items()})


def _dictionary(column: Column) -> pa.Array:
    if isinstance(column, UnencodedColumn) or not is_text(column.values.type):
        return column.decode()
    return pa.DictionaryArray.from_arrays(pa.array(column.codes.astype(np.int32)), column.values)


def only_used(group: pa.Table) -> pa.Table:
    """The same rows, with dictionaries of just the values that they hold: what was suppressed must not be in the file."""
    columns = [_used(column) if pa.types.is_dictionary(column.type) else column for column in group.columns]
    return pa.table(columns, names=group.column_names)


def _used(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    codes = array.indices.to_numpy(zero_copy_only=False)
    seen, labels = np.zeros(len(array.dictionary), dtype=np.uint32), np.empty(codes.size, dtype=np.uint32)
    grouping.number_by_appearance(codes, seen, labels)
    values = array.dictionary.take(pa.array(by_appearance(seen)))
    if not values.null_count:
        return pa.DictionaryArray.from_arrays(pa.array(labels.astype(np.int32)), values)
    missing = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))  # Parquet has no such entry
    indices = pa.array((labels - (labels > missing)).astype(np.int32), mask=labels == missing)
    return pa.DictionaryArray.from_arrays(indices, values.drop_null())


def parquet_writer(file: Any, schema: pa.Schema, types: Types) -> pq.ParquetWriter:
    """A writer whose file says what columns were in the input (`types`); else that text is text, though it comes as dictionaries.

    A dictionary is said to have no order: Parquet gives the one of the rows.

    Text gets no statistics: for dictionaries they would take as long as everything else, since Arrow looks at every row for them.
    """
    plain = [pa.field(entry.name, _plain(entry.type)) for entry in schema]
    measured = [entry.name for entry in plain if not is_text(entry.type)]
    fields = [pa.field(one.name, _unordered(type_again(one.name, one.type, types) or one.type)) for one in plain]
    writer = pq.ParquetWriter(file, schema, compression="zstd", store_schema=False, write_statistics=measured or False)
    writer.add_key_value_metadata({"ARROW:schema": b64encode(pa.schema(fields).serialize().to_pybytes()).decode()})
    return writer


def _unordered(type_: pa.DataType) -> pa.DataType:
    return pa.dictionary(pa.int32(), type_.value_type) if pa.types.is_dictionary(type_) else type_


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
