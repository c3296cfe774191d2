"""Open a table by its place, or an unread object of another library:
Arrow datasets and readers, lazy frames, relations, streams, bytes.

Each is asked for the columns that are needed, and read once; a dataset of files can be read again and stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, UnreadColumn, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.data.frames import lost_types
from oboro.data.parameters import names_known
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.column_store import SMALL, UntouchedColumns, file_changed
from oboro.io.formats.base import FileFormat, ReadRequest, format_of_bytes, require_options
from oboro.io.places.batches import BatchTable, WantedColumns, read_batches, simple_batch, simple_schema
from oboro.io.places.databases import quoted
from oboro.io.places.files import ColumnarFiles, FetchedFile, TableFile, at_place, called, partition_schema, table_files
from oboro.io.places.place import Place, as_place
from oboro.io.read import Source, column_names, read, read_as
from oboro.text import Message, Raw

__all__ = ["OpenedPlace", "TextFiles", "open_place", "opened_object", "stacked"]


# Text files -----------------------------------------------------------------------------------------------------------
# Files of text, one or many, local or in a store, as one table.


@dataclass(frozen=True)
class UntouchedTexts(UntouchedColumns):
    """Columns that stayed in several files of text."""

    parts: Sequence[UntouchedColumns]

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """File by file."""
        for part in self.parts:
            yield from part.blocks(wanted)

    def read(self, names: Sequence[str]) -> Dataset:
        """These columns of all files."""
        return stacked([part.read(names) for part in self.parts])

    @property
    def small(self) -> bool:
        """True if all of it is held easily."""
        return all(part.small for part in self.parts) and self.rows <= 1 << 20

    def check(self, rows: int | None = None) -> None:
        """Raise if one of them is not as it was."""
        for part in self.parts:
            part.check()
        if rows not in (None, self.rows):
            raise file_changed(self.path)


class TextFiles:
    """Files that are read one after the other, such as CSV, or one workbook; those of a store are copied here first."""

    def __init__(
        self, place: Place, files: Sequence[TableFile], options: Mapping[str, Any], format_: FileFormat
    ) -> None:
        self.place, self.options, self.format = place, options, format_
        self.files = [one for one in files if one.size] or list(files[:1])  # a file without a byte has no rows
        self.told = partition_schema(self.files)
        with at_place(place):
            self.fetched = {one.path: FetchedFile(one) for one in self.files if not one.local}

    def _path(self, file: TableFile) -> str:
        return self.fetched[file.path].path if file.path in self.fetched else file.path

    @property
    def columns(self) -> list[str] | None:
        """Those of the first file, and those of the paths; None where a file must be read as a whole to know them."""
        first = self.files[0]
        with called(self._path(first), first.shown):
            names = self._names(self._path(first))
        return None if names is None else [*names, *(name for name in self.told.names if name not in names)]

    def _names(self, path: str) -> list[str] | None:
        if self.format.fallback:  # its content may be of another format
            return column_names(path, **_of_text(self.options))
        return self.format.column_names(path, ReadRequest(**self.options))

    def _read(self, path: str, wanted: WantedColumns) -> Source:
        if self.format.fallback:
            return read(path, **wanted.of_file(), **self.options)
        return read_as(self.format, path, ReadRequest(**{**wanted.of_file(), **self.options, "held": None}))

    def read(self, wanted: WantedColumns) -> Source:
        """The rows of all files, one below the other."""
        asked = wanted.columns
        here = None if asked is None else [name for name in asked if name not in self.told.names]
        each = replace(wanted, columns=here)
        if len(self.files) > 1:  # fingerprints are keyed anew for each file
            held = wanted.held
            if held is not None and sum(one.size for one in self.files) <= SMALL:
                held = {*held, *wanted.fingerprinted}
            each = replace(each, held=held, fingerprinted=())
        parts: list[Source] = []
        for one in self.files:
            with called(self._path(one), one.shown):
                found = self._read(self._path(one), each)
            names = list(parts[0].data if parts else found.data)
            _require_same(one, list(found.data), [name for name in names if name not in self._from_path(found)])
            data = found.data.select([name for name in names if name in found.data])
            parts.append(replace(found, data=_with_keys(data, one, self.told, asked)))
        return self._joined(parts)

    def _from_path(self, found: Source) -> list[str]:
        return [name for name in self.told.names if name not in found.data]

    def _joined(self, parts: Sequence[Source]) -> Source:
        first, shown, kept = parts[0], self.place.shown, tuple(self.fetched.values())
        if len(parts) == 1 and not self.told.names:
            return replace(first, path=shown, place=self.place, kept=kept)
        data = stacked([part.data for part in parts])
        untouched = [part.untouched for part in parts if part.untouched is not None]
        left = UntouchedTexts(shown, tuple(data), data.rows, None, None, untouched) if untouched else None
        return Source(data, shown, first.dialect, left, first.notes, place=self.place, kept=kept)


def _require_same(file: TableFile, found: Sequence[str], names: Sequence[str] | None) -> None:
    if names is None or sorted(found) == sorted(names):
        return
    lacking = [name for name in names if name not in found]
    more = [name for name in found if name not in names]
    # Each file is read against the other: the line end after the header of one of them may be lost.
    if lacking:
        shown = lacking if names_known(names, found) else [Raw(name) for name in lacking]
        raise ColumnError(Message("error_places.lacks", path=file.shown, columns=shown))
    shown = more if names_known(found, names) else [Raw(name) for name in more]
    raise ColumnError(Message("error_places.has_more", path=file.shown, columns=shown))


def _with_keys(data: Dataset, file: TableFile, told: pa.Schema, columns: Sequence[str] | None) -> Dataset:
    wanted = [entry for entry in told if entry.name not in data and (columns is None or entry.name in columns)]
    keys = dict(file.keys)
    values = {one.name: pa.array([keys.get(one.name)], pa.string()).cast(one.type) for one in wanted}
    codes = np.zeros(data.rows, np.uint8)
    data = data.with_columns({name: Column(one if data.rows else one.slice(1), codes) for name, one in values.items()})
    return data if columns is None else data.select(list(columns))


def stacked(tables: Sequence[Dataset]) -> Dataset:
    """Tables with the same columns, one below the other."""
    if len(tables) == 1:
        return tables[0]
    rows = sum(table.rows for table in tables)
    columns = {name: _stacked([table[name] for table in tables], rows) for name in tables[0]}
    return Dataset(columns, rows)


def _stacked(columns: Sequence[Column], rows: int) -> Column:
    if not columns[0].loaded:
        return UnreadColumn(rows)
    values = pa.chunked_array([one.values for one in columns]).combine_chunks()
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    joined = values.dictionary_encode(null_encoding="encode")
    numbers = joined.indices.to_numpy(zero_copy_only=False).astype(smallest_unsigned(len(joined.dictionary)))
    ends = np.cumsum([len(one.values) for one in columns])
    parts = [numbers[end - len(one.values) : end][one.codes] for one, end in zip(columns, ends, strict=True)]
    finer = None
    if any(one.finer is not None for one in columns):
        finer = lambda: _stacked([one.finest() for one in columns], rows)  # noqa: E731
    return Column(joined.dictionary, np.concatenate(parts), finer)


# Opened places --------------------------------------------------------------------------------------------------------
# A place or an object that gives a table is opened once, states its columns, and is read.


READING: dict[str, Any] = {
    **{"delimiter": None, "quote": None, "encoding": None, "header": True, "sheet": None, "header_row": None},
    "labels": True,
}


def _of_text(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options.get(name, READING[name]) for name in ("delimiter", "quote", "encoding", "header")}


class OpenedPlace(Protocol):
    """A table that is about to be read."""

    @property
    def columns(self) -> list[str] | None:
        """Its columns; None where all of it must be read to know them."""

    def read(self, wanted: WantedColumns) -> Source:
        """Read it; see `oboro.io.read.read`."""


def open_place(place: Any, options: Mapping[str, Any]) -> OpenedPlace:
    """Open a place by its name, or an object of another library; `options` say how text is read."""
    if not isinstance(place, str | Path | Place):
        return opened_object(place, {**READING, **options})
    options = {**READING, **options}
    named = as_place(place)
    if named.kind == "table":
        return Batches(named.opener.open_table(named), named)
    format_, files = table_files(named)
    if format_.columnar:
        return Batches(ColumnarFiles(named, files, format_), named)
    if not format_.joined and len(files) > 1:
        raise FileError(Message("error_places.one_file", place=named.shown))
    if format_.objects:
        return ObjectFiles(named, files, options, format_)
    return TextFiles(named, files, options, format_)


class Batches:
    """A table that comes as batches."""

    def __init__(self, table: BatchTable, place: Place | None = None, given_back: Any = None) -> None:
        self.table, self.place, self.given_back = table, place, given_back

    @property
    def columns(self) -> list[str]:
        """Its columns."""
        return list(self.table.schema.names)

    def read(self, wanted: WantedColumns) -> Source:
        """Only what is asked for is read."""
        found = read_batches(self.table, wanted)
        types = lost_types(found.schema)
        where = self.table.shown
        return Source(
            found.data, where, untouched=found.untouched, types=types, place=self.place, given_back=self.given_back
        )


class ObjectFiles:
    """Files of objects with keys, such as JSON lines: their columns are known when all of them are read."""

    columns = None

    def __init__(
        self, place: Place, files: Sequence[TableFile], options: Mapping[str, Any], format_: FileFormat
    ) -> None:
        self.place, self.files, self.format, self.encoding = place, files, format_, options.get("encoding")
        require_options(format_, place.shown, ReadRequest(**options))

    def read(self, wanted: WantedColumns) -> Source:
        """All rows."""
        data = self.format.table_of_objects(self.place.shown, self._objects(), wanted.columns)
        return Source(data, self.place.shown, place=self.place)

    def _objects(self) -> Iterator[Any]:
        told = partition_schema(self.files)
        for file in self.files:
            with at_place(self.place):
                fetched = None if file.local else FetchedFile(file)
            keys = {name: _key(value, told.field(name).type) for name, value in file.keys}
            for line, row in self.format.read_objects(
                fetched.path if fetched else file.path, self.encoding, file.shown
            ):
                yield line, {**row, **{name: value for name, value in keys.items() if name not in row}}


def _key(value: str | None, type_: Any) -> Any:
    return value if value is None or str(type_) != "int64" else int(value)


# Objects of other libraries -------------------------------------------------------------------------------------------


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
    """A file given as bytes in memory."""

    def __init__(self, content: bytes, options: Mapping[str, Any]) -> None:
        self.format, self.options = format_of_bytes(content[:64]), options
        self.file = FetchedFile.of_bytes(content)

    @property
    def columns(self) -> list[str] | None:
        """Its columns; None where all of it must be read to know them."""
        with called(self.file.path, BYTES):
            if self.format.fallback:
                return column_names(self.file.path, **_of_text(self.options))
            return self.format.column_names(self.file.path, ReadRequest(**self.options))

    def read(self, wanted: WantedColumns) -> Source:
        """As the file that it is."""
        asked = wanted.of_file()
        if asked["columns"] is not None:
            asked["held"] = None
        with called(self.file.path, BYTES):
            found = read_as(self.format, self.file.path, ReadRequest(**asked, **self.options))
        return replace(found, path=BYTES, kept=(self.file,))
