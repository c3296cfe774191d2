"""Parquet to an encoded table, batch by batch, on all cores: what is held is codes and dictionaries, never the rows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oboro.errors import ColumnError
from oboro.io.file_progress import RowProgress
from oboro.io.ordered_threads import ahead
from oboro.io.parquet.growing_columns import (
    MOST_ROWS,
    GrowingColumn,
    GrowingDictionary,
    growing_column,
    is_text,
    joined_column,
)
from oboro.io.parquet.row_counter import RowCounter
from oboro.table.dataset import Column, Dataset, plain
from oboro.table.named_columns import require_few_columns
from oboro.table.unencoded_columns import why_unusable
from oboro.text import Message

__all__ = ["are_small", "batches", "encode", "schema_of", "unusable"]

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
    """Whether some columns have at most so many bytes in the file before they are packed; repeated values count like their codes.

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
    rows = min(max(CELLS // max(len(columns), 1), FEWEST), MOST_ROWS)
    with pq.ParquetFile(path, pre_buffer=False, read_dictionary=list(dictionaries)) as file:
        if not columns:
            chosen = range(file.metadata.num_row_groups) if groups is None else groups
            count = sum(file.metadata.row_group(number).num_rows for number in chosen)
            yield from (_empty(min(MOST_ROWS, count - start)) for start in range(0, count, MOST_ROWS))
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
    counter = RowCounter(sum(groups), done)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            parts = [pool.submit(_encode, path, schema, columns, some, counter) for some in _shares(groups)]
            found = [part.result() for part in parts]
        finally:
            counter.stopped = True  # an interrupt ends the other threads too
        return Dataset({name: _joined(path, name, found, pool) for name in columns}, counter.rows)


def _joined(path: str, name: str, parts: list[dict[str, GrowingColumn]], pool: ThreadPoolExecutor) -> Column:
    with _text_is_text(path, name):
        return joined_column([part.pop(name) for part in parts], pool)


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
    repeated = _repeated(path, [name for name in columns if is_text(schema.field(name).type)], groups)
    parts: dict[str, GrowingColumn] = {
        name: GrowingDictionary(counter.total)
        if name in repeated
        else growing_column(schema.field(name).type, counter.total)
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
