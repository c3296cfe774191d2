"""Tables that other libraries hold and have not read yet: Arrow datasets and readers, lazy frames, relations, streams, bytes.

Each is asked for the columns that are needed, and read once; a dataset of files can be read again and stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from oboro.errors import UsageError
from oboro.io.binary_readers import read_sheet
from oboro.io.files import Source, column_names, read
from oboro.io.json_lines import json_objects, json_table
from oboro.io.places.batch_table import BatchTable, simple_batch, simple_schema
from oboro.io.places.databases.connections import quoted
from oboro.io.places.place_in import Batches, OpenedPlace
from oboro.io.places.stored.fetched_files import FetchedFile, called
from oboro.io.places.wanted_columns import WantedColumns
from oboro.text import Message

__all__ = ["opened_object"]

BYTES = "bytes"  # what messages call a table that came as bytes


def opened_object(native: Any, options: Mapping[str, Any]) -> OpenedPlace:
    """A table that is about to be read; `UsageError` where it is none."""
    if isinstance(native, bytes | bytearray | memoryview):
        return GivenBytes(bytes(native), options)
    table, back = _table(native)
    return Batches(table, None, back)


def _table(native: Any) -> tuple[BatchTable, Callable[[pa.Table], Any] | None]:
    import narwhals.stable.v2.dependencies as is_

    kind = type(native).__name__
    if is_.is_narwhals_lazyframe(native):
        table, back = _table(native.to_native())
        return table, lambda arrow: _narwhals(type(native), back(arrow) if back else arrow)
    if is_.is_polars_lazyframe(native):
        return LazyPolars(native), _lazy_polars
    if type(native).__name__ == "DuckDBPyRelation":
        return DuckRelation(native), None
    if hasattr(native, "scanner") and hasattr(native, "get_fragments"):
        return ArrowDataset(native), None
    if isinstance(native, pa.RecordBatchReader):
        return Stream(native, kind), None
    if hasattr(native, "__arrow_c_stream__"):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError):  # a stream of values that are no rows
            return Stream(pa.RecordBatchReader.from_stream(native), kind), None
    raise UsageError(Message("error_table.no_table", kind=kind))


def _lazy_polars(arrow: pa.Table) -> Any:
    import polars as pl

    frame: Any = pl.from_arrow(arrow)
    return frame.lazy()


def _narwhals(wrap: type, native: Any) -> Any:
    import narwhals
    import narwhals.stable.v1 as v1
    import narwhals.stable.v2 as v2

    namespace: Any = next((one for one in (v1, v2) if issubclass(wrap, one.LazyFrame)), narwhals)
    return namespace.from_native(native)


class Stream(BatchTable):
    """Batches that come once, with all their columns."""

    def __init__(self, reader: pa.RecordBatchReader, kind: str) -> None:
        self.reader, self.shown, self.schema = reader, kind, simple_schema(reader.schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Those that are asked for."""
        wanted = pa.schema([self.schema.field(name) for name in columns])
        for batch in self.reader:
            batch.validate(full=True)  # whoever made it may be mistaken, and kernels believe Arrow
            yield simple_batch(batch.select(list(columns)), wanted)


class ArrowDataset(BatchTable):
    """A dataset of Arrow; one of files can be read again. Batches come in order, since one thread reads them."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.shown, self.schema = dataset, type(dataset).__name__, simple_schema(dataset.schema)
        self.twice = hasattr(dataset, "files")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Only these columns are read."""
        wanted = pa.schema([self.schema.field(name) for name in columns])
        for batch in self.dataset.scanner(columns=list(columns), use_threads=False).to_batches():
            if batch.num_rows:
                yield simple_batch(batch, wanted)

    def state(self) -> Hashable:
        """Sizes and times of its files."""
        return tuple((one.path, one.size, one.mtime_ns) for one in self._infos()) if self.twice else None

    @property
    def nbytes(self) -> int | None:  # type: ignore[override]
        """The size of its files."""
        return sum(one.size or 0 for one in self._infos()) if self.twice else None

    def _infos(self) -> Any:
        return self.dataset.filesystem.get_file_info(list(self.dataset.files))


class LazyPolars(BatchTable):
    """A lazy frame: the query with these columns alone is run, and comes in batches."""

    def __init__(self, frame: Any) -> None:
        import polars as pl

        self.frame, self.shown = frame, "LazyFrame"
        self.schema = simple_schema(pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """In the frame's order."""
        import polars as pl
        from polars.selectors import by_name

        if not columns:
            rows = self.frame.select(pl.len()).collect().item()
            yield pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""]).select([])
            return
        wanted = pa.schema([self.schema.field(name) for name in columns])
        for part in self.frame.select(by_name(*columns)).collect_batches(maintain_order=True):
            for batch in part.to_arrow().to_batches():
                yield simple_batch(batch, wanted)


class DuckRelation(BatchTable):
    """A relation of DuckDB: these columns of it, in batches."""

    def __init__(self, relation: Any) -> None:
        self.relation, self.shown = relation, "DuckDBPyRelation"
        self.schema = simple_schema(relation.limit(0).to_arrow_table().schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """As DuckDB gives them."""
        wanted = pa.schema([self.schema.field(name) for name in columns])
        asked = self.relation.project(", ".join(map(quoted, columns)) if columns else "1 AS one")
        for batch in asked.to_arrow_reader():
            yield simple_batch(batch, wanted)


class GivenBytes:
    """A file that somebody holds in memory."""

    def __init__(self, content: bytes, options: Mapping[str, Any]) -> None:
        self.head, self.options, self.file = content[:64], options, FetchedFile.of_bytes(content)

    @property
    def columns(self) -> list[str] | None:
        """Of CSV and Parquet; None of others."""
        with called(self.file.path, BYTES):
            return None if self._is_json or self._is_sheet else column_names(self.file.path, **self.options)

    @property
    def _is_json(self) -> bool:
        return self.head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")

    @property
    def _is_sheet(self) -> bool:
        return self.head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))

    def read(self, wanted: WantedColumns) -> Source:
        """As the file that it is."""
        path = self.file.path
        with called(path, BYTES):
            if self._is_json:
                rows = json_objects(path, self.options.get("encoding"), BYTES)
                return Source(json_table(BYTES, rows, wanted.columns), BYTES)
            if self._is_sheet:
                data, notes = read_sheet(
                    path, wanted.columns, self.options.get("sheet"), self.options.get("header_row")
                )
                return Source(data, BYTES, notes=notes)
            found = read(path, **wanted.of_file(), **self.options)
        return replace(found, path=BYTES, kept=(self.file,))
