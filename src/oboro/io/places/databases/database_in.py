"""A table or a query of a database: read once, in one transaction that may only read, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

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
        with connected(self.place, WORDS) as connection:
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
        with connected(self.place, WORDS) as connection, connection.cursor() as cursor:
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


# PostgreSQL has types that Arrow lacks: the driver gives their bytes as they go over the wire, and money in cents -----------


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
    """Whether a type, or one inside it, is none of single values of Arrow's own."""
    if isinstance(type_, pa.BaseExtensionType):
        return not pa.types.is_string(type_.storage_type)
    if pa.types.is_struct(type_):
        return any(_is_foreign(one.type) or _is_money(one) for one in type_)
    return pa.types.is_interval(type_) or (pa.types.is_list(type_) and _is_foreign(type_.value_type))


def _is_money(entry: pa.Field) -> bool:
    return (entry.metadata or {}).get(b"POSTGRESQL:type") in (b"money", b"_money")


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
