"""Parquet: read into an encoded table, batch by batch, on all cores, and write row groups from codes and dictionaries."""

from __future__ import annotations

import os
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from oboro._lazy import lazy_module, pc
from oboro.data.column import Column, NestedColumn, UnencodedColumn, UnreadColumn, plain, why_unusable
from oboro.data.dataset import Dataset
from oboro.data.frames import Types, as_it_came, dictionary_array, lost_types, type_again
from oboro.data.parameters import require_few_columns
from oboro.errors import ColumnError
from oboro.io import column_store
from oboro.io.bytes import FileState, readable
from oboro.io.column_store import UntouchedColumns
from oboro.io.formats.base import (
    FileFormat,
    ReadRequest,
    TypedTable,
    WriteRequest,
    require_columns,
    rows_in_group,
)
from oboro.system.process import ahead
from oboro.text import Message
from oboro.text.language import RowProgress

if TYPE_CHECKING:
    from oboro.io.formats.columns import GrowingColumn, RowCounter

__all__ = [
    "FORMAT",
    "UntouchedParquetColumns",
    "are_small",
    "as_dictionaries",
    "batches",
    "encode",
    "only_used",
    "parquet_writer",
    "regrouped",
    "schema_of",
    "typed",
    "unusable",
]


pq = lazy_module("pyarrow.parquet")
growing = lazy_module("oboro.io.formats.columns")
grouping = lazy_module("oboro.kernels.grouping")
CELLS = 1 << 19  # values read at a time; larger batches come in new memory each time, which took ten times as long
FEW_BYTES = 1 << 16  # bytes read at a time of a column of which only the beginning is asked for
FEWEST = 1 << 12  # rows read at a time, at least
SMALL = 1 << 20  # rows that a core must have to read, or it does not begin
REPEATED = 16  # rows that a value must have, on average, or text is not read as a dictionary


def schema_of(path: str) -> pa.Schema:
    """Names and types."""
    schema = pq.read_schema(path)
    require_few_columns(path, len(schema.names))
    twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
    if twice:
        raise ColumnError(Message("error_io.same_name", path=path, twice=twice[0]))
    return schema


def unusable(path: str, schema: pa.Schema) -> dict[str, Message]:
    """The columns that can only be left out, and why: those that do not hold single values."""
    found = {entry.name: why_unusable(entry.name, entry.type) for entry in schema}
    return {name: Message("error_io.in_file", path=path, problem=why) for name, why in found.items() if why is not None}


def are_small(path: str, columns: Collection[str], most: int) -> bool:
    """Return whether some columns have at most so many bytes in the file, uncompressed; repeated values count like their codes.

    Arrow ends the process where a damaged file describes a column wrongly and is asked for that description (version 26). It
    raises an error when it reads the column. So a few rows are read first, unless the file as a whole is small.
    """
    with pq.ParquetFile(path, buffer_size=FEW_BYTES, pre_buffer=False) as file:
        metadata = file.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        if sum(group.total_byte_size for group in groups) <= most:
            return True
        places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in columns]
        for number in range(len(groups)):
            next(file.iter_batches(1, [number], list(columns)), None)
        return bool(sum(group.column(place).total_uncompressed_size for group in groups for place in places) <= most)


def batches(
    path: str, columns: Sequence[str], groups: range | None = None, dictionaries: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The rows of some columns in order, or of some row groups; memory for two batches and what Parquet buffers of a row group.

    All rows are read ahead by another thread, some row groups by this one. Text comes as `dictionaries` where so named.
    """
    rows = min(max(CELLS // max(len(columns), 1), FEWEST), growing.MOST_ROWS)
    with pq.ParquetFile(path, pre_buffer=False, read_dictionary=list(dictionaries)) as file:
        if not columns:
            chosen = range(file.metadata.num_row_groups) if groups is None else groups
            count = sum(file.metadata.row_group(number).num_rows for number in chosen)
            yield from (_empty(min(growing.MOST_ROWS, count - start)) for start in range(0, count, growing.MOST_ROWS))
        elif groups is None:
            yield from map(_checked, ahead(file.iter_batches(rows, columns=list(columns))))
        else:
            yield from map(_checked, file.iter_batches(rows, list(groups), list(columns), use_threads=False))


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same batch; a time beyond the day, which Parquet does not look for, is an error."""
    for column in batch.columns:
        if pa.types.is_time(column.type):
            column.validate(full=True)
    return batch


def _empty(rows: int) -> pa.RecordBatch:
    return pa.table({"": pa.nulls(rows)}).select([]).to_batches()[0]


def encode(path: str, columns: Sequence[str], done: RowProgress | None = None) -> Dataset:
    """Read and encode some columns, each core its part of the file.

    Memory: their codes, a dictionary for each core, and twice the codes of one column at the end.
    """
    schema = schema_of(path)
    nested = unusable(path, schema)
    for name in columns:
        if name in nested:
            raise ColumnError(nested[name])
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    counter = growing.RowCounter(sum(groups), done)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            parts = [pool.submit(_encode, path, schema, columns, some, counter) for some in _shares(groups)]
            found = [part.result() for part in parts]
        finally:
            counter.stopped = True  # an interrupt ends the other threads too
        return Dataset({name: _joined(path, name, found, pool) for name in columns}, counter.rows)


def _joined(path: str, name: str, parts: list[dict[str, GrowingColumn]], pool: ThreadPoolExecutor) -> Column:
    with _text_is_text(path, name):
        column: Column = growing.joined_column([part.pop(name) for part in parts], pool)
        return column


@contextmanager
def _text_is_text(path: str, name: str) -> Iterator[None]:
    """Turn what Arrow says of bytes that are no text into an error that names the column."""
    try:
        yield
    except pa.ArrowInvalid:
        raise ColumnError(Message("error_io.not_text", path=path, name=name)) from None


def _shares(groups: Sequence[int]) -> list[range]:
    """Row groups, in order, cut into one share for each core, about equally many rows; a small file is not cut."""
    shares = min(os.cpu_count() or 1, sum(groups) // SMALL) or 1
    ends = np.cumsum(groups)
    cuts = [int(np.searchsorted(ends, sum(groups) * share / shares)) for share in range(1, shares)]
    edges = [0, *cuts, len(groups)]
    return [range(begin, end) for begin, end in pairwise(edges) if begin < end] or [range(0)]


def _encode(
    path: str, schema: pa.Schema, columns: Sequence[str], groups: range, counter: RowCounter
) -> dict[str, GrowingColumn]:
    """Some row groups of some columns."""
    repeated = _repeated(path, [name for name in columns if growing.is_text(schema.field(name).type)], groups)
    parts: dict[str, GrowingColumn] = {
        name: growing.GrowingDictionary(counter.total)
        if name in repeated
        else growing.growing_column(schema.field(name).type, counter.total)
        for name in columns
    }
    for batch in batches(path, columns, groups, repeated):
        for (name, part), array in zip(parts.items(), batch.columns, strict=True):
            with _text_is_text(path, name):
                part.add(array)
        counter.add(batch.num_rows)
        if counter.stopped:
            break
    return parts


def _repeated(path: str, texts: Sequence[str], groups: range) -> list[str]:
    """The columns of text whose values come again and again, to judge from the first rows.

    Parquet has a dictionary of such values in each row group: it is read as it is, and no text is made for every row.
    """
    first = next(batches(path, texts, groups), None) if texts and groups else None
    if first is None:
        return []
    distinct = {name: pc.count_distinct(plain(first[name]), mode="all").as_py() for name in texts}
    return [name for name in texts if REPEATED * distinct[name] <= first.num_rows]


# Writing of row groups ------------------------------------------------------------------------------------------------
# Row groups of a Parquet file from codes, with text as a dictionary. As one text per row it would be hashed by the
# Parquet writer to find the dictionary again; that took three times as long.


def as_dictionaries(data: Dataset) -> pa.Table:
    """Text as dictionaries, with values that these rows may not use; everything else one value per row."""
    return pa.table({name: _dictionary(column) for name, column in data.columns.items()})


def _dictionary(column: Column) -> pa.Array:
    if isinstance(column, UnencodedColumn) or not growing.is_text(column.values.type):
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
    values = array.dictionary.take(pa.array(growing.by_appearance(seen)))
    if not values.null_count:
        return pa.DictionaryArray.from_arrays(pa.array(labels.astype(np.int32)), values)
    missing = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))  # Parquet has no such entry
    indices = pa.array((labels - (labels > missing)).astype(np.int32), mask=labels == missing)
    return pa.DictionaryArray.from_arrays(indices, values.drop_null())


def parquet_writer(file: Any, schema: pa.Schema, types: Types) -> Any:
    """A writer whose file says what columns were in the input (`types`); else that text is text, though it comes as dictionaries.

    A dictionary is said to have no order: Parquet gives the one of the rows.

    Text gets no statistics: for dictionaries they would take as long as everything else, since Arrow looks at every row for them.
    """
    plain = [pa.field(entry.name, _plain(entry.type)) for entry in schema]
    measured = [entry.name for entry in plain if not growing.is_text(entry.type)]
    fields = [pa.field(one.name, _unordered(type_again(one.name, one.type, types) or one.type)) for one in plain]
    writer = pq.ParquetWriter(file, schema, compression="zstd", store_schema=False, write_statistics=measured or False)
    writer.add_key_value_metadata({"ARROW:schema": b64encode(pa.schema(fields).serialize().to_pybytes()).decode()})
    return writer


def _unordered(type_: pa.DataType) -> pa.DataType:
    return pa.dictionary(pa.int32(), type_.value_type) if pa.types.is_dictionary(type_) else type_


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


# Arrow tables in the input types --------------------------------------------------------------------------------------
# Blocks of a table as Arrow tables, in the types of the input and with the rows of one row group.


def typed(data: Dataset, types: Types) -> pa.Table:
    """One value per row, in the types that came in."""

    def one(name: str, column: Column) -> pa.Array:
        type_ = type_again(name, column.values.type, types) if name in types else None
        if type_ is None or not pa.types.is_dictionary(type_):
            return as_it_came(column, type_)
        return dictionary_array(
            column, type_
        )  # all blocks have the same values: a file has one dictionary for a column

    return pa.table({name: one(name, column) for name, column in data.columns.items()})


def regrouped(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of as many as a row group has, whatever the blocks have."""
    waiting: list[pa.Table] = []
    first = True
    for table in tables:
        rows = rows_in_group(table.num_columns)
        waiting.append(table)
        while sum(map(len, waiting)) >= rows:
            together = pa.concat_tables(waiting)
            yield together.slice(0, rows).combine_chunks()
            waiting, first = [together.slice(rows)], False
    if first or any(map(len, waiting)):
        yield pa.concat_tables(waiting).combine_chunks()


# Pass-through columns -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UntouchedParquetColumns(UntouchedColumns):
    """Columns that stayed in a Parquet file."""

    def read(self, names: Sequence[str]) -> Dataset:
        """On all cores."""
        with readable(self.path):
            return encode(self.path, names)

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """Batch by batch, not encoded: most are written as they come."""
        with readable(self.path):
            empty = schema_of(self.path).empty_table().select(list(wanted))
            yield Dataset({name: UnencodedColumn(empty[name]) for name in wanted}, 0)
            for batch in batches(self.path, wanted):
                arrays = zip(wanted, batch.columns, strict=True)
                yield Dataset({name: UnencodedColumn(array) for name, array in arrays}, batch.num_rows)


# Files of a folder ----------------------------------------------------------------------------------------------------


class ParquetColumns:
    """One Parquet file of a folder or a store, or some of its row groups."""

    def __init__(self, file: Any) -> None:
        self.handle = file.opened()
        self.file = pq.ParquetFile(self.handle, pre_buffer=not file.local)
        self.schema, self.rows = self.file.schema_arrow, self.file.metadata.num_rows
        self.groups = None if file.groups is None else list(range(*file.groups))

    def __enter__(self) -> ParquetColumns:
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.close()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of some columns."""
        if columns:
            yield from map(_checked, self.file.iter_batches(rows, self.groups, list(columns)))
        else:
            left = sum(self.in_groups if self.groups is None else map(self.in_groups.__getitem__, self.groups))
            yield from (_empty(min(growing.MOST_ROWS, left - begin)) for begin in range(0, left, growing.MOST_ROWS))

    @cached_property
    def in_groups(self) -> list[int]:
        """The number of rows of each group."""
        metadata = self.file.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


# Format ---------------------------------------------------------------------------------------------------------------


class Parquet(FileFormat):
    """Parquet."""

    name = "parquet"
    endings = (".parquet", ".pq")
    magic = (b"PAR1",)
    nested = columnar = divided = joined = folders = offered = True

    def column_names(self, path: str, request: ReadRequest) -> list[str]:
        """Return the names in the footer."""
        with readable(path):
            return list(schema_of(path).names)

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read all columns or the requested ones; columns that need not be held stay in the file."""
        if request.held is not None:
            return self._read_held(path, request)
        with readable(path):
            schema = schema_of(path)
            require_columns(path, schema.names, request.columns)
            nested = unusable(path, schema) if request.columns is None else {}
            names = list(schema.names if request.columns is None else request.columns)
            data = encode(path, [name for name in names if name not in nested])
        floats = {
            name: replace(column, finer=partial(_with_nan, path, name))
            for name, column in data.columns.items()
            if column.missing >= 0 and pa.types.is_floating(schema.field(name).type)
        }
        left = {name: NestedColumn(data.rows, why) for name, why in nested.items()}
        return TypedTable(data.with_columns({**floats, **left}).select(names), lost_types(schema))

    def _read_held(self, path: str, request: ReadRequest) -> TypedTable:
        """Read the held columns, and small fingerprinted ones: holding their codes is faster than reading twice."""
        held, fingerprinted = set(request.held or ()), set(request.fingerprinted)
        with readable(path):
            file_state = FileState.of(path)
            schema = schema_of(path)
            names, nested = schema.names, unusable(path, schema)
            # To ask takes a twentieth of a second for each million rows.
            small = not fingerprinted <= held and are_small(path, fingerprinted, column_store.HELD_TOO)
            kept = [name for name in names if name in held or (small and name in fingerprinted and name not in nested)]
            data = encode(path, kept, request.progress)
        left = {
            name: NestedColumn(data.rows, nested[name]) if name in nested else UnreadColumn(data.rows) for name in names
        }
        columns = {name: data[name] if name in data else left[name] for name in names}
        untouched = None
        if len(kept) < len(names):
            untouched = UntouchedParquetColumns(path, tuple(names), data.rows, file_state, None)
        return TypedTable(replace(data, columns=columns), lost_types(schema), untouched=untouched)

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write row groups, the next one being prepared while one is written."""
        writer = None
        try:
            for group in ahead(map(only_used, regrouped(map(as_dictionaries, blocks)))):
                writer = writer or parquet_writer(file, group.schema, request.types)
                writer.write_table(group)
        finally:
            if writer is not None:
                writer.close()

    def open_columns(self, file: Any) -> ParquetColumns:
        """Open a file."""
        return ParquetColumns(file)


def _with_nan(path: str, name: str) -> Column:
    """Return a column with not-a-number and missing apart; read again, since hardly any file has both."""
    with readable(path):
        return Column.encode(pq.read_table(path, columns=[name]).column(0)).finest()


FORMAT = Parquet()
