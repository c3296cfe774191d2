"""A table somewhere else, as batches of Arrow: a schema, and the rows of some columns.

This is the seam to whoever brings a table from elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import pyarrow as pa

__all__ = ["BatchTable", "simple_batch", "simple_schema"]


class BatchTable:
    """A table somewhere: its columns, and batches of rows of some of them.

    `twice`: the same rows come again in the same order, so columns can be left where they are and read when they are written.
    What comes only once is read once: columns that no step touches wait in a file without a name.
    """

    shown: str
    """What messages call it: no password, no value of the data."""
    schema: pa.Schema
    twice: bool = False
    rows: int | None = None
    """How many rows there are, where that is known without reading them."""
    nbytes: int | None = None
    """About how many bytes, where that is known."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some columns, these in the order asked for; with no column, batches that have rows only."""
        raise NotImplementedError

    def shares(self, most: int) -> list[BatchTable]:
        """The table in at most so many parts, in order, which several threads can read at once."""
        return [self]

    def state(self) -> Hashable:
        """What tells one state of it from another, as far as that can be told."""
        return None


def simple_schema(schema: pa.Schema) -> pa.Schema:
    """The schema without metadata, and with the types that some library made up as what they are stored as."""
    return pa.schema([pa.field(entry.name, simple_type(entry.type)) for entry in schema])


def simple_type(type_: pa.DataType) -> pa.DataType:
    """What a type is stored as: databases give JSON, their own enumerations and numbers as text with a name on it."""
    stored = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    return stored if pa.types.is_string(stored) or pa.types.is_large_string(stored) else type_


def simple_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the types of a schema; a column that it lacks is missing."""
    rows, there = batch.num_rows, set(batch.schema.names)
    arrays = [
        _simple(batch.column(entry.name), entry.type) if entry.name in there else pa.nulls(rows, entry.type)
        for entry in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema) if len(schema) else batch.select([])


def _simple(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    return array if array.type == type_ else array.cast(type_)
