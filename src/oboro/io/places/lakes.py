"""Lakes (Delta and Iceberg): a table is read as of one commit, and a new one appears by one commit. No table is ever replaced,
because the history of a table would still contain the earlier rows.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from oboro.errors import FileError, OboroError, UsageError
from oboro.io.places.batches import BatchTable, simple_batch, simple_schema
from oboro.io.places.databases import DriverRows
from oboro.io.places.place import Place, TablePlace, as_place
from oboro.text import Message

__all__ = ["PLACE", "LakeTable", "check_lake", "write_lake"]


READ, WRITTEN = "error_places.cannot_be_read", "error_places.cannot_be_written"
ABSENT = ("NoSuchTableError", "NoSuchNamespaceError", "TableNotFoundError")  # as the libraries call it


class Lake(Protocol):
    """Interface to the library of one kind of lake."""

    def is_there(self) -> bool:
        """Return whether there is such a table."""

    def opened(self) -> tuple[pa.Schema, Any]:
        """Its columns, and what gives a reader for some of them."""

    def write(self, rows: DriverRows) -> None:
        """Make it, with one commit."""

    def sweep(self) -> None:
        """Remove what a failed writer left."""


def lake_of(place: Place) -> Lake:
    """The table that a place names, by the library that knows it."""
    return IcebergTable(place) if place.scheme == "iceberg" else DeltaTable(place)


class LakeTable(BatchTable):
    """Rows of one version of a table; read once."""

    def __init__(self, place: Place) -> None:
        self.place, self.shown = place, place.shown

    @cached_property
    def _opened(self) -> tuple[pa.Schema, Any]:
        with _speaking(self.place, READ):
            schema, rows = lake_of(self.place).opened()
            return simple_schema(schema), rows

    @property
    def schema(self) -> pa.Schema:
        """Names and types."""
        return self._opened[0]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; without a column one is read, since the libraries give no rows without."""
        schema, rows = self._opened
        wanted = pa.schema([schema.field(name) for name in columns])
        with _speaking(self.place, READ):
            for batch in rows(list(columns) or schema.names[:1]):
                yield simple_batch(batch, wanted)


def check_lake(place: Place) -> None:
    """Before any work: raise if there is such a table already."""
    with _speaking(place, WRITTEN):
        there = lake_of(place).is_there()
    if there:
        raise FileError(Message("error_places.lake_there", place=place.shown))


def write_lake(place: Place, tables: Iterator[pa.Table]) -> None:
    """Write tables that together are one. Memory: a few of them."""
    check_lake(place)
    rows, lake = DriverRows(tables, place.scheme), lake_of(place)
    try:
        with _speaking(place, WRITTEN):
            lake.write(rows)
            rows.raise_what_went_wrong()
    except BaseException as problem:
        with suppress(Exception):
            lake.sweep()
        rows.raise_what_went_wrong(problem)
        raise


@contextmanager
def _speaking(place: Place, words: str) -> Iterator[None]:
    """Turn an error of a library into one of oboro, without its text: that may hold values and addresses."""
    try:
        yield
    except OboroError:
        raise
    except Exception as problem:
        name = type(problem).__name__
        why = Message("error_places.why.nothing") if name in ABSENT else name
        raise FileError(Message(words, place=place.shown, why=why)) from None


def _library(place: Place, name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(Message("error_places.no_lake", place=place.shown, package=name, extra=extra)) from None


def _remove(location: str) -> None:
    """Remove a folder, here or in a store."""
    named = as_place(location)
    if named.is_local:
        shutil.rmtree(named.path, ignore_errors=True)
        return
    from oboro.io.places.files import file_system, remove_folder

    system, path = file_system(named)
    remove_folder(system, path)


class DeltaTable:
    """`delta:///folder/people` on this machine (four strokes for a path from the root), `delta+s3://bucket/people` in a store."""

    def __init__(self, place: Place) -> None:
        store = place.scheme.partition("+")[2]
        self.location = f"{store}://{place.path}" if store else place.path.removeprefix("/") or "."
        self.library = _library(place, "deltalake", "delta")

    def is_there(self) -> bool:
        """Return whether there is a log."""
        return bool(self.library.DeltaTable.is_deltatable(self.location))

    def opened(self) -> tuple[pa.Schema, Any]:
        """As of its last commit."""
        dataset = self.library.DeltaTable(self.location).to_pyarrow_dataset()
        return dataset.schema, lambda columns: dataset.scanner(columns=columns).to_batches()

    def write(self, rows: DriverRows) -> None:
        """One commit, which is the first."""
        self.library.write_deltalake(self.location, rows.reader(), mode="error")

    def sweep(self) -> None:
        """Files that no commit names."""
        if not self.is_there():
            _remove(self.location)


class IcebergTable:
    """`iceberg://catalog/namespace.people`; which catalog that is stands in the environment or in ~/.pyiceberg.yaml."""

    def __init__(self, place: Place) -> None:
        _library(place, "pyiceberg", "iceberg")
        catalog, _, self.name = place.path.partition("/")
        self.catalog = importlib.import_module("pyiceberg.catalog").load_catalog(catalog)
        self.location: str | None = None

    def is_there(self) -> bool:
        """Return whether the catalog knows it."""
        return bool(self.catalog.table_exists(self.name))

    def opened(self) -> tuple[pa.Schema, Any]:
        """As of its last snapshot."""
        table = self.catalog.load_table(self.name)
        snapshot = table.current_snapshot()
        number = None if snapshot is None else snapshot.snapshot_id

        def rows(columns: list[str]) -> Any:
            return table.scan(selected_fields=tuple(columns), snapshot_id=number).to_arrow_batch_reader()

        return table.schema().as_arrow(), rows

    def write(self, rows: DriverRows) -> None:
        """The table and all its rows in one commit of the catalog."""
        reader = rows.reader()
        made = self.catalog.create_table_transaction(self.name, schema=reader.schema)
        self.location = made.table_metadata.location
        for batch in reader:
            made.append(pa.Table.from_batches([batch]))
        rows.raise_what_went_wrong()
        made.commit_transaction()

    def sweep(self) -> None:
        """Files that no commit names."""
        if self.location is not None and not self.is_there():
            _remove(self.location.removeprefix("file://"))


# Registered place -----------------------------------------------------------------------------------------------------


class Lakes(TablePlace):
    """Tables of Delta and Iceberg; `delta+s3` is Delta in a store."""

    schemes = ("delta", "iceberg")

    def named(self, text: str, scheme: str, rest: str) -> Place:
        """Return the table that a URL names."""
        return Place(text, scheme, "table", rest.rstrip("/"))

    def open_table(self, place: Place) -> BatchTable:
        """Open the current version of a table."""
        return LakeTable(place)

    def check_output(self, place: Place, force: bool, read: Place | None) -> None:
        """Raise if there is such a table: none is ever replaced."""
        check_lake(place)

    def write_table(self, place: Place, tables: Iterator[pa.Table], force: bool) -> None:
        """Write a new table with one commit."""
        write_lake(place, tables)


PLACE = Lakes()
