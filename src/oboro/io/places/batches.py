"""Batches of Arrow read as a table: loaded columns are encoded, the others stay at their source."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import pyarrow as pa

from oboro.data.column import Column, NestedColumn, UnencodedColumn, UnreadColumn, why_unusable
from oboro.data.dataset import Dataset
from oboro.data.frames import encoded_type
from oboro.data.parameters import names_shown, require_few_columns
from oboro.errors import ColumnError
from oboro.io import column_store, external_shuffle
from oboro.io.column_store import SMALL, UntouchedColumns, file_changed
from oboro.io.formats.columns import MOST_ROWS, GrowingColumn, RowCounter, growing_column, joined_column
from oboro.system.process import cores
from oboro.text import Message
from oboro.text.language import ByteProgress, RowProgress

__all__ = [
    "BatchTable",
    "ReadTable",
    "SpooledBatches",
    "UntouchedBatches",
    "WantedColumns",
    "encoded",
    "read_batches",
    "simple_batch",
    "simple_schema",
]


# Table in batches -----------------------------------------------------------------------------------------------------
# A table of another source as batches of Arrow: a schema, and the rows of some columns. Each kind of source implements
# this interface.


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
        """Return the state of the table, to notice changes as far as possible."""
        return None


def simple_schema(schema: pa.Schema) -> pa.Schema:
    """The schema without metadata, and with the types that some library made up as what they are stored as."""
    return pa.schema([pa.field(entry.name, simple_type(entry.type)) for entry in schema])


def simple_type(type_: pa.DataType) -> pa.DataType:
    """Return the storage type of a type: databases give JSON, their own enumerations and numbers as text with a name on it."""
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


# Spooled batches ------------------------------------------------------------------------------------------------------
# Columns of a table that can be read only once: small ones wait in memory, large ones in a file without a name.


class SpooledBatches(BatchTable):
    """Batches of some columns, which can be read again and again. Nobody else can read the file, and it goes with this."""

    twice = True

    def __init__(
        self, shown: str, schema: pa.Schema, names: Sequence[str], most: int = 0, droppable: Sequence[str] = ()
    ) -> None:
        """Prepare for the columns `names`; the `droppable` ones are kept only while all together are at most `most` bytes.

        A check compares those; identifiers of a large table must not wait in a file for it.
        """
        self.shown, self.names = shown, list(dict.fromkeys(names))
        self.most, self.droppable, self.shed = most, {*droppable}, False
        self.schema = pa.schema([schema.field(name) for name in self.names])
        self.count = 0
        self.nbytes: int = 0
        self._held: list[pa.RecordBatch] = []
        self._file: IO[bytes] | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """One more batch, which has these columns and maybe others."""
        self.count += batch.num_rows
        if not self.names:
            return
        batch = batch.select(self.names)
        self.nbytes += batch.nbytes
        if self.droppable and not self.shed and self.nbytes > self.most:
            batch = self._without_droppable(batch)
        if self._writer is None and self.nbytes <= external_shuffle.HELD:
            self._held.append(batch)
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (it goes with this object)
            weakref.finalize(self, self._file.close)
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), batch.schema, options=options)
        self._writer.write_batch(batch)

    def _without_droppable(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the columns that only a small table keeps; return the batch without them."""
        self.shed = True
        self.forget(self.droppable)
        batch = batch.select(self.names)
        self.nbytes += batch.nbytes
        return batch

    def forget(self, names: Collection[str]) -> None:
        """Drop columns that nobody will ask for again, while all wait in memory."""
        self.names = [name for name in self.names if name not in names]
        self.schema = pa.schema([self.schema.field(name) for name in self.names])
        self._held = [one.select(self.names) for one in self._held]
        self.nbytes = sum(one.nbytes for one in self._held)

    def finish(self) -> None:
        """All are there."""
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.flush()
        self.rows = self.count

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some columns, in the order in which they came."""
        if not columns:
            yield from pa.table({"": pa.nulls(self.count)}).select([]).to_batches()  # none where there are no rows
            return
        for batch in self._all():
            yield batch.select(list(columns))

    def _all(self) -> Iterator[pa.RecordBatch]:
        yield from self._held
        if self._file is not None:
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = pa.ipc.open_file(pa.py_buffer(mapped))
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    def state(self) -> Hashable:
        """It does not change."""
        return self.count


# Requested columns ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WantedColumns:
    """Columns to read, and those of them to load into memory; see `oboro.io.read.read`."""

    columns: Sequence[str] | None = None
    held: Collection[str] | None = None
    fingerprinted: Collection[str] = ()
    checked: Collection[str] = ()
    """Columns that are not released, but that a check before writing counts where they are small, such as dropped identifiers."""
    progress: ByteProgress | None = None

    def of_file(self) -> dict[str, Any]:
        """Return the options of `oboro.io.read.read`; a check reads a file once more, so the file need not keep `checked`."""
        asked = vars(self).copy()
        del asked["checked"]
        return asked


# Reading and encoding of batches --------------------------------------------------------------------------------------


MOST_BYTES = 1 << 30  # of a batch: offsets of text have 32 bits


@dataclass(frozen=True)
class ReadTable:
    """Columns of a table that were read, and the location of the others."""

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
        """True if all of it is held easily, and nothing of it was too large to be kept."""
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
    if spool is not None and spool.nbytes <= column_store.HELD_TOO:
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
