"""A new table of a database, in one transaction: it is there with all its rows, or not at all. The table that was read stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from oboro.errors import FileError, UsageError
from oboro.io.places.databases.connections import connected, database_file, driver_of, execute, ordered_name
from oboro.io.places.place_names import Place, is_lake
from oboro.text import Message

__all__ = ["DriverRows", "check_table", "same_database", "write_table"]

WORDS = "error_places.cannot_be_written"


def check_table(place: Place, force: bool, read: Place | None) -> None:
    """Before any work: raise if the table is there and may not be replaced, or is the one that was read."""
    if place.parameter("query"):
        raise UsageError(Message("error_places.only_table", place=place.shown))
    if driver_of(place).is_file and not os.path.exists(database_file(place)):
        return
    with connected(place, WORDS) as connection:
        there = is_there(connection, place)
    _refuse_read(place, read, there)
    if there and not force:
        raise FileError(Message("error_places.exists", place=place.shown))


def _refuse_read(place: Place, read: Place | None, there: bool) -> None:
    if read is None or read.kind != "table" or is_lake(read.scheme) or not there or not same_database(place, read):
        return
    if read.parameter("query"):
        raise UsageError(Message("error_places.maybe_read", place=place.shown))
    if _identity(place) == _identity(read):
        raise UsageError(Message("error_places.same_place", place=place.shown))


def same_database(one: Place, other: Place) -> bool:
    """Whether two places are in the same database, by whatever name."""
    if driver_of(one) is not driver_of(other):
        return False
    if driver_of(one).is_file:
        with suppress(OSError):
            return os.path.samefile(database_file(one), database_file(other))
        return False
    return bool(_server(one) == _server(other))


def _server(place: Place) -> Any:
    """What only one database of one running server says of itself."""
    asked = "SELECT pg_postmaster_start_time()::text, (SELECT oid FROM pg_database WHERE datname = current_database())"
    with connected(place, WORDS) as connection, connection.cursor() as cursor:
        cursor.execute(asked)
        return cursor.fetchone()


def _identity(place: Place) -> Any:
    """The table itself, by whatever name."""
    table = place.parameter("table") or ""
    if driver_of(place).is_file:
        return table.lower(), (place.parameter("schema") or "main").lower()
    with connected(place, WORDS) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT to_regclass({_text(ordered_name(place, table))})::oid")
        return cursor.fetchone()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def is_there(connection: Any, place: Place) -> bool:
    """Whether there is a table or a view of this name."""
    table, schema = place.parameter("table") or "", place.parameter("schema")
    asked = {
        "sqlite": f"SELECT count(*) FROM sqlite_master WHERE lower(name) = lower({_text(table)})",
        "duckdb": "SELECT count(*) FROM information_schema.tables WHERE lower(table_name) = lower("
        f"{_text(table)}) AND lower(table_schema) = lower({_text(schema or 'main')})",
        "postgresql": f"SELECT count(to_regclass({_text(ordered_name(place, table))}))",
    }[driver_of(place).name]
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return bool(cursor.fetchone()[0])


def write_table(place: Place, tables: Iterator[pa.Table], force: bool) -> None:
    """Write tables that together are one. Memory: a few of them."""
    rows = DriverRows(tables, driver_of(place).name)
    new = driver_of(place).is_file and not os.path.exists(database_file(place))
    try:
        with connected(place, WORDS, write=True) as connection:
            if force and is_there(connection, place):
                execute(connection, f"DROP TABLE {ordered_name(place, place.parameter('table') or '')}")
            with connection.cursor() as cursor:
                schema = place.parameter("schema")
                where = {"db_schema_name": schema} if schema else {}
                cursor.adbc_ingest(place.parameter("table"), rows.reader(), mode="create", **where)
            rows.raise_what_went_wrong()
            connection.commit()
    except BaseException as problem:
        if new:
            _remove(database_file(place))
        rows.raise_what_went_wrong(problem)
        raise


def _remove(path: str) -> None:
    for ending in ("", "-journal", "-wal", "-shm", ".wal"):
        with suppress(OSError):
            os.remove(f"{path}{ending}")


class DriverRows:
    """Tables as a reader for a driver: what goes wrong in making them would reach us as text, so it is kept here."""

    def __init__(self, tables: Iterator[pa.Table], database: str) -> None:
        self.tables, self.database = tables, database
        self.problem: BaseException | None = None

    def reader(self) -> pa.RecordBatchReader:
        """The rows, in types that the database has."""
        first = _fitting(next(self.tables), self.database)
        return pa.RecordBatchReader.from_batches(first.schema, self._batches(first))

    def _batches(self, first: pa.Table) -> Iterator[pa.RecordBatch]:
        try:
            yield from first.to_batches()
            for table in self.tables:
                yield from _fitting(table, self.database).to_batches()
        except BaseException as problem:
            self.problem = problem
            raise

    def raise_what_went_wrong(self, other: BaseException | None = None) -> None:
        """Raise what made the rows stop, rather than what the driver says of it."""
        if self.problem is not None and self.problem is not other:
            raise self.problem from None


def _fitting(table: pa.Table, database: str) -> pa.Table:
    """The same values in types that a database has: SQLite knows numbers, text and bytes, PostgreSQL no unsigned numbers."""
    types = [_type(entry.type, database) for entry in table.schema]
    schema = pa.schema([pa.field(name, type_) for name, type_ in zip(table.column_names, types, strict=True)])
    return table.cast(schema).combine_chunks()


def _type(type_: pa.DataType, database: str) -> pa.DataType:
    if pa.types.is_null(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_uint64(type_) and database != "duckdb":
        return pa.string() if database == "sqlite" else pa.decimal128(20, 0)
    if pa.types.is_unsigned_integer(type_) and database != "duckdb":
        return pa.int64()
    plain = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
    if database == "sqlite" and not (plain or pa.types.is_string(type_) or pa.types.is_binary(type_)):
        return pa.string()
    return type_
