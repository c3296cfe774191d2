"""Databases as data sources and sinks: a table or query is read once, in a read-only transaction, with needed columns only."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import pyarrow as pa

from oboro.errors import ColumnError, FileError, OboroError, UsageError
from oboro.io.places.batches import BatchTable, simple_batch, simple_schema
from oboro.io.places.place import OURS, Place, TablePlace, parameters_of, without_secrets
from oboro.text import Message

__all__ = [
    "DRIVERS",
    "PLACE",
    "DatabaseTable",
    "Driver",
    "DriverRows",
    "check_table",
    "connected",
    "database_file",
    "driver_of",
    "ordered_name",
    "quoted",
    "same_database",
    "write_table",
]


# Connections and drivers ----------------------------------------------------------------------------------------------
# Connections to databases through ADBC, the driver of each URL scheme, and quoted SQL names. A driver states its traits
# in `DRIVERS`; another database is one more line.


@dataclass(frozen=True)
class Driver:
    """Traits of one database and its driver."""

    name: str
    module: str
    extra: str  # of this package, which brings the driver
    is_file: bool = False
    aliases: tuple[str, ...] = ()  # other schemes
    begins: tuple[str, ...] = ()  # said before a query: nothing but reading is allowed, all of one moment


DRIVERS = {
    one.name: one
    for one in (
        Driver("sqlite", "adbc_driver_sqlite.dbapi", "sqlite", is_file=True),
        Driver("duckdb", "adbc_driver_duckdb.dbapi", "duckdb", is_file=True),
        Driver(
            "postgresql",
            "adbc_driver_postgresql.dbapi",
            "postgresql",
            aliases=("postgres",),
            begins=("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",),
        ),
    )
}


def driver_of(place: Place) -> Driver:
    """The driver of a place's database."""
    return next(one for one in DRIVERS.values() if place.scheme in (one.name, *one.aliases))


def quoted(name: str) -> str:
    """Quote any name of a table or a column for SQL.

    >>> quoted('people"; DROP TABLE people; --')
    '"people""; DROP TABLE people; --"'
    """
    return '"' + name.replace('"', '""') + '"'


def ordered_name(place: Place, table: str) -> str:
    """A table's name, with its schema where the place names one."""
    schema = place.parameter("schema")
    return quoted(table) if not schema else f"{quoted(schema)}.{quoted(table)}"


def database_file(place: Place) -> str:
    """The file of a database: `sqlite:///people.db` is in this folder, `sqlite:////data/people.db` is not.

    Where there is no such file in this folder, three strokes are taken for a path from the root.
    """
    path = unquote(place.path)
    path = path[1:] if path.startswith("/") else path
    if not path:
        raise UsageError(Message("error_places.no_file", place=place.shown))
    rooted = f"/{path}"
    if not os.path.isabs(path) and not os.path.exists(path) and not os.path.isdir(os.path.dirname(path) or "."):
        return rooted if os.path.isdir(os.path.dirname(rooted)) else path
    return path


@contextmanager
def connected(place: Place, words: str, *, write: bool = False) -> Iterator[Any]:
    """Open a connection whose changes are kept only after `commit`; it is read-only unless opened for writing."""
    driver = driver_of(place)
    with _said(place, words):
        connection = _connect(driver, place, write)
        try:
            if not write:
                for statement in driver.begins:
                    execute(connection, statement)
            yield connection
        finally:
            with suppress(Exception):
                connection.rollback()
            with suppress(Exception):
                connection.close()


def execute(connection: Any, statement: str) -> None:
    """Execute a statement without reading its result."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _connect(driver: Driver, place: Place, write: bool) -> Any:
    try:
        module = importlib.import_module(driver.module)
    except ImportError:
        needed = {"database": driver.name, "extra": driver.extra}
        raise UsageError(Message("error_places.no_driver", place=place.shown, **needed)) from None
    if not driver.is_file:
        return module.connect(_url(place))
    path = database_file(place)
    if not write and not os.path.isfile(path):
        raise FileError(
            Message("error_places.cannot_be_read", place=place.shown, why=Message("error_places.why.nothing"))
        )
    if driver.name == "sqlite":
        mode = "rwc" if write else "ro"
        return module.connect(f"file:{quote(os.path.abspath(path))}?mode={mode}")
    from adbc_driver_manager.dbapi import connect

    asked = {"path": path} if write else {"path": path, "access_mode": "READ_ONLY"}
    return connect(driver=module.adbc_driver_duckdb.driver_path(), entrypoint="duckdb_adbc_init", db_kwargs=asked)


def _url(place: Place) -> str:
    """The URL as the driver takes it, without what is ours."""
    rest = [f"{quote(name)}={quote(value, safe='')}" for name, value in place.parameters if name not in OURS]
    return f"postgresql://{place.path}" + (f"?{'&'.join(rest)}" if rest else "")


@contextmanager
def _said(place: Place, words: str) -> Iterator[None]:
    """Turn an error of a driver into one clear message: no password, and no value of the data, which a driver may quote."""
    try:
        yield
    except OboroError:
        raise
    except Exception as problem:
        if not type(problem).__module__.startswith(("adbc", "pyarrow", "duckdb")) and not isinstance(problem, OSError):
            raise
        raise FileError(Message(words, place=place.shown, why=_why(problem, place))) from None


def _why(problem: Exception, place: Place) -> Any:
    said = str(problem)
    for words, kind in KNOWN.items():
        if words in said.lower():
            return Message(f"error_places.why.{kind}")
    return re.sub(r"['\"].*['\"]", "…", without_secrets(said, place))  # what stands in quotes may be a value


KNOWN = {
    "password authentication failed": "password",
    "no password supplied": "password",
    "permission denied": "denied",
    "read-only": "read_only",
    "readonly": "read_only",
    "database is locked": "locked",
    "could not set lock": "locked",
    "no space left": "full",
    "database or disk is full": "full",
    "does not exist": "no_such",
    "no such table": "no_such",
    "no such column": "no_such",
    "already exists": "exists",
}


# Reading from databases -----------------------------------------------------------------------------------------------


CANNOT_READ = "error_places.cannot_be_read"


class DatabaseTable(BatchTable):
    """Rows of a database have no order and may change at any moment: they are read once."""

    def __init__(self, place: Place) -> None:
        self.place, self.shown = place, place.shown
        self._casts: dict[str, _Cast] = {}

    @property
    def _from(self) -> str:
        table = self.place.parameter("table")
        if table:
            return ordered_name(self.place, table)
        return f"({(self.place.parameter('query') or '').strip().rstrip(';')}\n) AS oboro_query"

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types, asked for without a row."""
        with connected(self.place, CANNOT_READ) as connection:
            if driver_of(self.place).name == "sqlite":
                return _sqlite_schema(connection, self._from, self.shown)
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {self._from} WHERE 1 = 0")
                schema = cursor.fetch_record_batch().schema
            if driver_of(self.place).name != "postgresql":
                return simple_schema(schema)
            self._casts = {entry.name: one for entry in schema if (one := _postgres_cast(entry)) is not None}
            types = {name: one.type for name, one in self._casts.items()}
            return simple_schema(pa.schema([pa.field(one.name, types.get(one.name, one.type)) for one in schema]))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows as the database gives them, batch by batch."""
        wanted = pa.schema([self.schema.field(name) for name in columns])
        with connected(self.place, CANNOT_READ) as connection, connection.cursor() as cursor:
            if driver_of(self.place).name == "sqlite":
                yield from _sqlite_batches(cursor, self._from, wanted)
                return
            cursor.execute(f"SELECT {self._listed(columns)} FROM {self._from}")
            for batch in cursor.fetch_record_batch():
                yield simple_batch(batch, wanted) if columns else _only_rows(batch)

    def _listed(self, columns: Sequence[str]) -> str:
        asked = [
            f"{cast.sql.format(quoted(name))} AS {quoted(name)}" if (cast := self._casts.get(name)) else quoted(name)
            for name in columns
        ]
        return ", ".join(asked) or "1 AS one"


def _only_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select([])


# Types of PostgreSQL that Arrow lacks ---------------------------------------------------------------------------------


class _Cast(NamedTuple):
    """The expression that asks for a column (`{}`) in another type, and the type in which it then comes."""

    sql: str
    type: pa.DataType


TEXT = _Cast("{}::text", pa.string())
TEXTS = _Cast("{}::text[]", pa.list_(pa.string()))
# Money as text would have the currency and the separators of the server's locale. The driver takes a number of four bytes
# without a sign for one with a sign.
OTHERWISE = {
    "money": _Cast("{}::numeric::text", pa.string()),
    "_money": _Cast("{}::numeric[]::text[]", pa.list_(pa.string())),
    "oid": _Cast("{}::bigint", pa.int64()),
    "inet": _Cast("abbrev({})", pa.string()),  # as text each address would have a `/32` that nobody wrote
}


def _postgres_cast(entry: pa.Field) -> _Cast | None:
    """Return the cast without which the values of a column would be others than in the database; None where it needs none."""
    name = (entry.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    if name in OTHERWISE:
        return OTHERWISE[name]
    if pa.types.is_list(entry.type):
        inner = entry.type.value_type
        return TEXTS if isinstance(inner, pa.BaseExtensionType) or _is_foreign(inner) else None
    return TEXT if _is_foreign(entry.type) else None


def _is_foreign(type_: pa.DataType) -> bool:
    """Return whether a type, or one inside it, is none of single values of Arrow's own."""
    if isinstance(type_, pa.BaseExtensionType):
        return not pa.types.is_string(type_.storage_type)
    if pa.types.is_struct(type_):
        return any(_is_foreign(one.type) or _is_money(one) for one in type_)
    return pa.types.is_interval(type_) or (pa.types.is_list(type_) and _is_foreign(type_.value_type))


def _is_money(entry: pa.Field) -> bool:
    return (entry.metadata or {}).get(b"POSTGRESQL:type") in (b"money", b"_money")


# Column types of SQLite, which has a type for each value --------------------------------------------------------------

TYPES = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary()}
ONES = {"int64": "0", "double": "0.0", "string": "''", "binary": "x''"}
CASTS = {"int64": "INTEGER", "double": "REAL", "string": "TEXT", "binary": "BLOB"}
EXACT = 1 << 53  # whole numbers up to this are decimals too


def _sqlite_schema(connection: Any, source: str, shown: str) -> pa.Schema:
    """The narrowest type that keeps every value of a column as it is: whole numbers, numbers, text."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {source} LIMIT 0")
        names = cursor.fetch_record_batch().schema.names
    return pa.schema([pa.field(name, _sqlite_type(connection, source, name, shown)) for name in names])


def _sqlite_type(connection: Any, source: str, name: str, shown: str) -> pa.DataType:
    column = quoted(name)
    asked = f"group_concat(DISTINCT typeof({column})), max({column}), min({column})"
    kinds, most, least = _one(connection, f"SELECT {asked} FROM {source} WHERE {column} IS NOT NULL")
    found = set((kinds or "text").split(","))
    if len(found) == 1:
        return TYPES[found.pop()]
    if found == {"integer", "real"} and least >= -EXACT and most <= EXACT:
        return pa.float64()
    text = f"CAST({column} AS TEXT)"
    apart, together = _one(
        connection, f"SELECT count(DISTINCT typeof({column}) || {text}), count(DISTINCT {text}) FROM {source}"
    )
    if apart > together or "blob" in found:
        raise ColumnError(Message("error_places.two_kinds", place=shown, column=name))
    return pa.string()


def _one(connection: Any, query: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchone())


def _sqlite_batches(cursor: Any, source: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The driver takes the types of columns from the first rows: a row of our own comes first, and is left out again."""
    if not len(schema):
        cursor.execute(f"SELECT 1 AS one FROM {source}")
        yield from (batch.select([]) for batch in cursor.fetch_record_batch())
        return
    first = ", ".join(f"{ONES[str(entry.type)]} AS {quoted(entry.name)}" for entry in schema)
    rest = ", ".join(f"CAST({quoted(entry.name)} AS {CASTS[str(entry.type)]})" for entry in schema)
    cursor.execute(f"SELECT {first} UNION ALL SELECT {rest} FROM {source}")
    skip = 1
    for batch in cursor.fetch_record_batch():
        yield simple_batch(batch.slice(skip), schema)
        skip = 0


# Writing to databases -------------------------------------------------------------------------------------------------
# A new table is written in one transaction: with all its rows, or not at all. The table that was read is not changed.


CANNOT_WRITE = "error_places.cannot_be_written"


def check_table(place: Place, force: bool, read: Place | None) -> None:
    """Before any work: raise if the table is there and may not be replaced, or is the one that was read."""
    if place.parameter("query"):
        raise UsageError(Message("error_places.only_table", place=place.shown))
    if driver_of(place).is_file and not os.path.exists(database_file(place)):
        return
    with connected(place, CANNOT_WRITE) as connection:
        there = is_there(connection, place)
    _refuse_read(place, read, there)
    if there and not force:
        raise FileError(Message("error_places.exists", place=place.shown))


def _refuse_read(place: Place, read: Place | None, there: bool) -> None:
    if read is None or read.kind != "table" or read.opener is not PLACE or not there or not same_database(place, read):
        return
    if read.parameter("query"):
        raise UsageError(Message("error_places.maybe_read", place=place.shown))
    if _identity(place) == _identity(read):
        raise UsageError(Message("error_places.same_place", place=place.shown))


def same_database(one: Place, other: Place) -> bool:
    """Return whether two places are in the same database, by whatever name."""
    if driver_of(one) is not driver_of(other):
        return False
    if driver_of(one).is_file:
        with suppress(OSError):
            return os.path.samefile(database_file(one), database_file(other))
        return False
    return bool(_server(one) == _server(other))


def _server(place: Place) -> Any:
    """Return values that identify one database of one running server."""
    asked = "SELECT pg_postmaster_start_time()::text, (SELECT oid FROM pg_database WHERE datname = current_database())"
    with connected(place, CANNOT_WRITE) as connection, connection.cursor() as cursor:
        cursor.execute(asked)
        return cursor.fetchone()


def _identity(place: Place) -> Any:
    """The table itself, by whatever name."""
    table = place.parameter("table") or ""
    if driver_of(place).is_file:
        return table.lower(), (place.parameter("schema") or "main").lower()
    with connected(place, CANNOT_WRITE) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT to_regclass({_text(ordered_name(place, table))})::oid")
        return cursor.fetchone()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def is_there(connection: Any, place: Place) -> bool:
    """Return whether there is a table or a view of this name."""
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
        with connected(place, CANNOT_WRITE, write=True) as connection:
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


# Registered place -----------------------------------------------------------------------------------------------------


class Databases(TablePlace):
    """Tables and queries of databases."""

    schemes = tuple(scheme for one in DRIVERS.values() for scheme in (one.name, *one.aliases))

    def named(self, text: str, scheme: str, rest: str) -> Place:
        """Return the table or the query that a URL names; raise where it names none, or both."""
        path, _, query = rest.partition("?")
        place = Place(text, scheme, "table", path, parameters_of(query))
        asked = [name for name in ("table", "query") if place.parameter(name)]
        if len(asked) != 1:
            raise UsageError(Message("error_places.table_or_query", place=place.shown))
        if "\0" in place.text:
            raise UsageError(Message("error_places.no_name", place=place.shown.replace("\0", "␀")))
        return place

    def open_table(self, place: Place) -> BatchTable:
        """Open a table or a query."""
        return DatabaseTable(place)

    def check_output(self, place: Place, force: bool, read: Place | None) -> None:
        """Raise if the table exists and may not be replaced, or is the one that was read."""
        check_table(place, force, read)

    def write_table(self, place: Place, tables: Iterator[pa.Table], force: bool) -> None:
        """Write a table in one transaction."""
        write_table(place, tables, force)


PLACE = Databases()
