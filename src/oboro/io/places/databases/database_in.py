"""A table or a query of a database: read once, in one transaction that may only read, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from oboro.errors import ColumnError
from oboro.io.places.batch_table import BatchTable, simple_batch, simple_schema
from oboro.io.places.databases.connections import connected, driver_of, ordered_name, quoted
from oboro.io.places.place_names import Place
from oboro.text import Message

__all__ = ["DatabaseTable"]

WORDS = "error_places.cannot_be_read"


class DatabaseTable(BatchTable):
    """Rows of a database have no order and may change at any moment: they are read once."""

    def __init__(self, place: Place) -> None:
        self.place, self.shown = place, place.shown

    @property
    def _from(self) -> str:
        table = self.place.parameter("table")
        if table:
            return ordered_name(self.place, table)
        return f"({(self.place.parameter('query') or '').strip().rstrip(';')}\n) AS oboro_query"

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types, asked for without a row."""
        with connected(self.place, WORDS) as connection:
            if driver_of(self.place).name == "sqlite":
                return _sqlite_schema(connection, self._from, self.shown)
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {self._from} WHERE 1 = 0")
                return simple_schema(cursor.fetch_record_batch().schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows as the database gives them, batch by batch."""
        wanted = pa.schema([self.schema.field(name) for name in columns])
        with connected(self.place, WORDS) as connection, connection.cursor() as cursor:
            if driver_of(self.place).name == "sqlite":
                yield from _sqlite_batches(cursor, self._from, wanted)
                return
            cursor.execute(f"SELECT {_listed(columns)} FROM {self._from}")
            for batch in cursor.fetch_record_batch():
                yield simple_batch(batch, wanted) if columns else _only_rows(batch)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns)) if columns else "1 AS one"


def _only_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select([])


# SQLite has a type for each value, not for each column ----------------------------------------------------------------

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
