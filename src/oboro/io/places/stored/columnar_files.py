"""Files of Parquet and Arrow, one or many, here or in a store, as one table: only the columns that somebody asks for are read."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oboro.errors import ColumnError
from oboro.io.ordered_threads import ahead
from oboro.io.places.batch_table import BatchTable, simple_batch, simple_schema
from oboro.io.places.file_systems import at_place
from oboro.io.places.place_names import Place
from oboro.io.places.stored.table_files import TableFile
from oboro.text import Message

__all__ = ["ColumnarFiles", "partition_schema"]

CELLS, FEWEST, MOST_ROWS = 1 << 19, 1 << 12, 1 << 17
SHARE = 1 << 22  # bytes that are worth a thread
AT_ONCE = 8  # files whose columns are asked for at the same time
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def partition_schema(files: Sequence[TableFile]) -> pa.Schema:
    """The columns that paths tell: whole numbers where all are, written as numbers are; else text."""
    names = list(dict.fromkeys(name for one in files for name, _ in one.keys))
    values = {name: [dict(one.keys).get(name) for one in files] for name in names}
    whole = {name: all(one is None or WHOLE.fullmatch(one) for one in values[name]) for name in names}
    return pa.schema([pa.field(name, pa.int64() if whole[name] else pa.string()) for name in names])


class ColumnarFiles(BatchTable):
    """The files below each other; a column that a file lacks is missing there."""

    twice = True

    def __init__(self, place: Place, files: Sequence[TableFile], format_: str) -> None:
        self.place, self.files, self.shown = place, files, place.shown
        self.kind = _ParquetFile if format_ == "parquet" else _ArrowFile
        self.nbytes = sum(one.size for one in files)
        self.format = format_

    @cached_property
    def _footers(self) -> tuple[pa.Schema, int]:
        """The columns of all files together, and their rows: one small read a file."""
        with ThreadPoolExecutor(AT_ONCE if len(self.files) > 1 else 1) as pool:
            found = list(pool.map(self._footer, self.files))
        schemas, rows = [schema for schema, _ in found], sum(count for _, count in found)
        told = [entry for entry in partition_schema(self.files) if entry.name not in _names(schemas)]
        try:
            schema = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise ColumnError(_disagreeing(self.shown, schemas)) from None
        return pa.schema([*schema, *told]), rows

    def _footer(self, one: TableFile) -> tuple[pa.Schema, int]:
        with self._reading(one), self.kind(one) as file:
            return simple_schema(file.schema), file.rows

    def shares(self, most: int) -> list[BatchTable]:
        """The same table in parts of about equally many bytes, in order, for as many threads; a small one stays whole."""
        parts = min(most, len(self.files), (self.nbytes or 0) // SHARE) or 1
        ends = np.cumsum([one.size for one in self.files])
        cuts = [int(np.searchsorted(ends, ends[-1] * part / parts)) for part in range(1, parts)]
        edges = sorted({0, *cuts, len(self.files)})
        return [self._of(self.files[begin:end]) for begin, end in pairwise(edges)]

    def _of(self, files: Sequence[TableFile]) -> ColumnarFiles:
        """Every part has the columns of all."""
        return ColumnarFiles.known(self.place, files, self.format, *self._footers)

    @staticmethod
    def known(
        place: Place, files: Sequence[TableFile], format_: str, schema: pa.Schema, rows: int = 0
    ) -> ColumnarFiles:
        """Files whose columns are known: their ends are not read for that."""
        table = ColumnarFiles(place, files, format_)
        table.__dict__["_footers"] = (schema, rows)
        return table

    @property
    def schema(self) -> pa.Schema:
        """Names and types."""
        return self._footers[0]

    @property
    def rows(self) -> int:  # type: ignore[override]
        """How many there are."""
        return self._footers[1]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """File by file, the next batch being read while this one is used."""
        return ahead(self._batches(list(columns)))

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        step = min(max(CELLS // max(len(columns), 1), FEWEST), MOST_ROWS)
        for one in self.files:
            with self._reading(one), self.kind(one) as file:
                here = [name for name in columns if name in file.schema.names]
                for batch in file.batches(here, step):
                    yield _with_keys(batch, dict(one.keys), wanted)

    def pieces(self, one: TableFile, rows: int) -> list[tuple[int, int]]:
        """Groups of a Parquet file that follow each other and have about so many rows together: from which to which."""
        with self._reading(one), _ParquetFile(one) as file:
            ends = np.cumsum(file.in_groups)
        cuts = (
            [int(np.searchsorted(ends, begin, side="right")) for begin in range(rows, int(ends[-1]), rows)]
            if len(ends)
            else []
        )
        return list(pairwise(sorted({0, *cuts, len(ends)}))) or [(0, 0)]

    def state(self) -> Hashable:
        """Sizes and times of all files, as they were when they were listed or are now."""
        with at_place(self.place):
            found = self.files[0].system.get_file_info([one.path for one in self.files])
            return tuple((one.path, one.size if one.is_file else -1, one.mtime_ns) for one in found)

    @contextmanager
    def _reading(self, file: TableFile) -> Iterator[None]:
        from dataclasses import replace

        with at_place(replace(self.place, text=file.path, path=file.path, kind="file", parameters=())):
            yield


def _names(schemas: Sequence[pa.Schema]) -> set[str]:
    return {name for schema in schemas for name in schema.names}


def _disagreeing(shown: str, schemas: Sequence[pa.Schema]) -> Message:
    types: dict[str, set[str]] = {}
    for schema in schemas:
        for entry in schema:
            types.setdefault(entry.name, set()).add(str(entry.type))
    several = next(((name, sorted(found)) for name, found in types.items() if len(found) > 1), ("?", ["?"]))
    return Message("error_places.types", place=shown, column=several[0], types=several[1])


def _with_keys(batch: pa.RecordBatch, keys: dict[str, str | None], schema: pa.Schema) -> pa.RecordBatch:
    told = [entry for entry in schema if entry.name in keys and entry.name not in batch.schema.names]
    if told:
        arrays = [pa.repeat(pa.scalar(keys[one.name], pa.string()).cast(one.type), batch.num_rows) for one in told]
        names = [*batch.schema.names, *(one.name for one in told)]
        batch = pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=names)
    return simple_batch(batch, schema)


class _ParquetFile:
    """One Parquet file."""

    def __init__(self, file: TableFile) -> None:
        self.handle = file.opened()
        self.file = pq.ParquetFile(self.handle, pre_buffer=not file.local)
        self.schema, self.rows = self.file.schema_arrow, self.file.metadata.num_rows
        self.groups = None if file.groups is None else list(range(*file.groups))

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.close()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns."""
        if columns:
            yield from map(_whole, self.file.iter_batches(rows, self.groups, list(columns)))
        else:
            yield from _only_rows(
                sum(self.in_groups) if self.groups is None else sum(map(self.in_groups.__getitem__, self.groups))
            )

    @cached_property
    def in_groups(self) -> list[int]:
        """How many rows each group has."""
        told = self.file.metadata
        return [told.row_group(number).num_rows for number in range(told.num_row_groups)]


class _ArrowFile:
    """One Arrow file (Feather), or a stream of Arrow in a file."""

    def __init__(self, file: TableFile) -> None:
        self.handle = file.opened()
        self.streamed = file.head(6) != b"ARROW1"
        self.reader: Any = pa.ipc.open_stream(self.handle) if self.streamed else pa.ipc.open_file(self.handle)
        self.schema = self.reader.schema

    @property
    def rows(self) -> int:
        """How many there are; of a stream nobody knows before its end."""
        if self.streamed:
            return 0
        return sum(self.reader.get_batch(number).num_rows for number in range(self.reader.num_record_batches))

    __enter__ = lambda self: self  # noqa: E731

    def __exit__(self, *_: object) -> None:
        self.handle.close()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns."""
        several = self.reader if self.streamed else map(self.reader.get_batch, range(self.reader.num_record_batches))
        for batch in several:
            batch.validate(full=True)  # Arrow believes what a file says, and kernels believe Arrow
            for begin in range(0, batch.num_rows, rows):
                yield batch.select(list(columns)).slice(begin, rows) if columns else batch.select([]).slice(begin, rows)


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    for column in batch.columns:
        if pa.types.is_time(column.type):
            column.validate(full=True)
    return batch


def _only_rows(rows: int) -> Iterator[pa.RecordBatch]:
    for begin in range(0, rows, MOST_ROWS):
        count = min(MOST_ROWS, rows - begin)
        yield pa.RecordBatch.from_arrays([pa.nulls(count)], names=[""]).select([])
