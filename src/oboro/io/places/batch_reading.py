"""Tables that come as batches of Arrow become tables of ours: columns that are held as codes, the others left where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from oboro.errors import ColumnError
from oboro.io import held_limit
from oboro.io.file_progress import RowProgress
from oboro.io.parquet.growing_columns import MOST_ROWS, GrowingColumn, growing_column, joined_column
from oboro.io.parquet.row_counter import RowCounter
from oboro.io.places.batch_table import BatchTable
from oboro.io.places.spooled_batches import SpooledBatches
from oboro.io.places.wanted_columns import WantedColumns
from oboro.io.untouched_columns import SMALL, UntouchedColumns, file_changed
from oboro.system.process import cores
from oboro.table.dataset import Column, Dataset
from oboro.table.frames.came_as import encoded_type
from oboro.table.frames.nested_column import NestedColumn
from oboro.table.named_columns import names_shown, require_few_columns
from oboro.table.unencoded_columns import UnencodedColumn, UnreadColumn, why_unusable
from oboro.text import Message

__all__ = ["ReadTable", "UntouchedBatches", "encoded", "read_batches"]

MOST_BYTES = 1 << 30  # of a batch: offsets of text have 32 bits


@dataclass(frozen=True)
class ReadTable:
    """What was read of a table, and where the rest is."""

    data: Dataset
    untouched: UntouchedBatches | None
    schema: pa.Schema


@dataclass(frozen=True)
class UntouchedBatches(UntouchedColumns):
    """Columns that stayed where they are, or that wait in a file without a name."""

    table: BatchTable

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """Batch by batch, not encoded."""
        empty = self.table.schema.empty_table().select(list(wanted))
        yield Dataset({name: UnencodedColumn(empty[name]) for name in wanted}, 0)
        for batch in self.table.batches(wanted):
            arrays = zip(wanted, batch.columns, strict=True)
            yield Dataset({name: UnencodedColumn(array) for name, array in arrays}, batch.num_rows)

    def read(self, names: Sequence[str]) -> Dataset:
        """These columns, encoded."""
        return encoded(self.table, names)

    @property
    def small(self) -> bool:
        """Whether all of it is held easily, and nothing of it was too large to be kept."""
        if isinstance(self.table, SpooledBatches) and self.table.shed:
            return False
        return self.table.nbytes is not None and self.table.nbytes <= SMALL

    def check(self, rows: int | None = None) -> None:
        """Raise if it is not as it was, or if another number of rows was found."""
        if self.table.state() != self.file_state or rows not in (None, self.rows):
            raise file_changed(self.path)


def read_batches(table: BatchTable, wanted: WantedColumns) -> ReadTable:
    """Encode all columns, only some, or only those that are held.

    Of those that are not held, only the ones that are released, or counted by a check, are read at all. Released ones are held too
    where they are small, as those of a file are: reports show them, and codes are written sooner than columns are read again.
    """
    columns = wanted.columns
    held = wanted.held if columns is None else None
    schema, state = _checked(table, columns), table.state()
    names = list(schema.names if columns is None else columns)
    nested = {name: why for name in names if (why := _unusable(table, schema.field(name))) is not None}
    looked = set(wanted.fingerprinted)
    may_be = {*names} if held is None else {*held}
    if table.twice and table.nbytes is not None and table.nbytes <= SMALL:
        may_be |= looked
    kept = [name for name in names if name in may_be and name not in nested]
    left = [name for name in names if name not in kept]
    waiting = left if held is None else [name for name in left if name in looked]
    checked = [name for name in left if name in set(wanted.checked) and name not in nested and name not in waiting]
    finer = [name for name in kept if held is None and pa.types.is_floating(schema.field(name).type)]
    spool = None if table.twice else SpooledBatches(table.shown, schema, [*waiting, *finer, *checked], SMALL, checked)
    again = table if spool is None else spool
    data = encoded(table, kept, wanted.progress, spool)
    if spool is not None and spool.nbytes <= held_limit.HELD_TOO:
        small = [name for name in left if name in looked and name not in nested]
        data = data.with_columns(encoded(spool, small).columns)
        spool.forget(small)
        left = [name for name in left if name not in small]
    unread = {
        name: NestedColumn(data.rows, nested[name]) if name in nested else UnreadColumn(data.rows) for name in left
    }
    found = {
        name: replace(data[name], finer=partial(_with_nan, again, name)) for name in finer if data[name].missing >= 0
    }
    every = {name: unread[name] if name in unread else found.get(name, data[name]) for name in names}
    where = UntouchedBatches(
        table.shown, tuple(names), data.rows, again.state() if again is not table else state, None, again
    )
    return ReadTable(Dataset(every, data.rows), where if left else None, schema)


def _checked(table: BatchTable, columns: Sequence[str] | None) -> pa.Schema:
    schema = table.schema
    require_few_columns(table.shown, len(schema.names))
    twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
    if twice:
        raise ColumnError(Message("error_io.same_name", path=table.shown, twice=twice[0]))
    unknown = [name for name in columns or () if name not in schema.names]
    if unknown:
        names = names_shown(schema.names, columns or ())
        raise ColumnError(Message("error_io.no_column", path=table.shown, unknown=unknown, names=names))
    return schema


def _unusable(table: BatchTable, entry: pa.Field) -> Message | None:
    why = why_unusable(entry.name, entry.type)
    return None if why is None else Message("error_io.in_file", path=table.shown, problem=why)


def _with_nan(table: BatchTable, name: str) -> Column:
    """A column with not-a-number and missing apart."""
    arrays = [batch.column(0) for batch in table.batches([name])]
    return Column.encode(pa.chunked_array(arrays, table.schema.field(name).type)).finest()


def encoded(
    table: BatchTable, columns: Sequence[str], progress: RowProgress | None = None, spool: SpooledBatches | None = None
) -> Dataset:
    """Some columns of a table as codes; meanwhile others go to `spool`. Memory: codes, dictionaries, and a batch."""
    for name in columns:
        if (why := _unusable(table, table.schema.field(name))) is not None:
            raise ColumnError(why)
    counted = RowCounter(table.rows or 0, progress)
    shares = [table] if spool is not None or not columns else table.shares(cores())
    with ThreadPoolExecutor(max(len(shares), 2)) as pool:
        try:
            coming = [pool.submit(_grown, share, columns, counted, spool) for share in shares]
            found = [one.result() for one in coming]
        finally:
            counted.stopped = True  # an interrupt ends the other threads too
        if spool is not None:
            spool.finish()
        return Dataset({name: joined_column([part[name] for part in found], pool) for name in columns}, counted.rows)


def _grown(
    table: BatchTable, columns: Sequence[str], counted: RowCounter, spool: SpooledBatches | None
) -> dict[str, GrowingColumn]:
    """The columns of some batches, numbered; meanwhile others go to `spool`."""
    types = {name: encoded_type(table.schema.field(name).type) for name in columns}
    parts = {name: growing_column(type_, counted.total) for name, type_ in types.items()}
    read = list(dict.fromkeys([*columns, *(spool.names if spool is not None else ())]))
    for batch in _small(table.batches(read)):
        for name, part in parts.items():
            _add(table, name, part, batch.column(read.index(name)))
        if spool is not None:
            spool.add(batch)
        counted.add(batch.num_rows)
        if counted.stopped:
            break
    return parts


def _add(table: BatchTable, name: str, part: Any, array: pa.Array) -> None:
    try:
        array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        part.add(UnencodedColumn(array).decode() if not pa.types.is_floating(array.type) else array)
    except pa.ArrowInvalid:
        raise ColumnError(Message("error_io.not_text", path=table.shown, name=name)) from None


def _small(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at most as many as a growing column takes."""
    for batch in batches:
        step = MOST_ROWS
        while step > 1 and batch.nbytes // max(batch.num_rows, 1) * step > MOST_BYTES:
            step //= 2
        for begin in range(0, batch.num_rows, step):
            yield batch.slice(begin, step)
