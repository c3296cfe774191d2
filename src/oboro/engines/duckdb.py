"""DuckDB engine: the same recipe on files that one machine reads, larger than its memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from oboro.engines.base import ReadFiles, Staged, is_stored
from oboro.engines.coded import (
    OURS,
    ByValue,
    Checked,
    Checking,
    Packer,
    Places,
    RowNumbers,
    Scattered,
    Spool,
    in_chunks,
    parts_for,
    placed,
    prepared,
    spooled,
)
from oboro.system.process import in_order

__all__ = ["DuckTable", "duck_table"]


BATCH = 1 << 17  # rows that are looked at together
PARTS = 64  # into which rows are scattered, where they are many


@dataclass(frozen=True, eq=False)
class DuckTable:
    """A relation of DuckDB. Its columns have plain names of ours inside (c0, c1 …): DuckDB takes `age` for `Age`.

    With `files` the rows come from these, and a relation is made where DuckDB has to work on them.
    """

    connection: Any
    given: Any
    shown: str
    names: tuple[str, ...]
    engine: str = "duckdb"
    files: ReadFiles | None = None
    near: ClassVar[bool] = True

    @staticmethod
    def of(connection: Any, relation: Any, shown: str, names: Sequence[str]) -> DuckTable:
        """A relation as it came; `names` are those of its columns, which DuckDB may have changed."""
        inner = ", ".join(f"{_quoted(name)} AS c{place}" for place, name in enumerate(relation.columns))
        return DuckTable(connection, relation.project(inner), shown, tuple(names))

    @staticmethod
    def of_files(connection: Any, files: ReadFiles, shown: str) -> DuckTable:
        """Files of ours, or of an object store."""
        return DuckTable(connection, None, shown, tuple(files.schema.names), files=files)

    @property
    def relation(self) -> Any:
        """Relation that DuckDB queries."""
        if self.files is None:
            return self.given
        schema = pa.schema([(f"c{place}", one) for place, one in enumerate(self.files.schema.types)])
        parts = (batch.rename_columns(schema.names) for batch in self.files.batches(None, self.names))
        return self.connection.from_arrow(pa.RecordBatchReader.from_batches(schema, parts))

    @cached_property
    def types(self) -> Mapping[str, pa.DataType]:
        """Types of the columns, in Arrow."""
        if self.files is not None:
            return dict(zip(self.names, self.files.schema.types, strict=True))
        return dict(zip(self.names, self.relation.limit(0).to_arrow_table().schema.types, strict=True))

    @property
    def native(self) -> Any:
        """The relation with the names of its columns."""
        named = ", ".join(f"c{place} AS {_quoted(name)}" for place, name in enumerate(self.names))
        return self.relation.project(named)

    def _batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = list(self.names if names is None else names)
        if self.files is not None:
            yield from self.files.batches(None, wanted)
            return
        inner = [f"c{self.names.index(name)}" for name in wanted]
        reader = self.relation.project(", ".join(inner) or "1").to_arrow_reader(BATCH)
        yield from (batch.rename_columns(wanted) if wanted else batch for batch in reader)

    def count(self) -> int:
        """Count the rows in DuckDB."""
        if self.files is not None and self.files.rows is not None:
            return self.files.rows
        return int(self.relation.aggregate("count(*)").fetchall()[0][0])

    def told(
        self, names: Sequence[str], made: Callable[[Iterator[pa.RecordBatch]], Iterator[bytes]], job: str
    ) -> Iterable[bytes]:
        """The data is on this machine."""
        return made(self._batches(names))

    def bucketed(
        self,
        names: Sequence[str],
        scatter: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, bytes]]],
        parts: int,
    ) -> Spool:
        """Blocks wait in a file without a name."""
        return Spool(scatter(self._batches(names)))

    def gather(self, packer: Packer) -> Iterable[bytes]:
        """Encoded here: the data is on this machine."""
        return replace(packer, compression=None, threads=os.cpu_count() or 1).parts(
            self._batches([*packer.touched, *packer.others])
        )

    def published(self, plan: ByValue | Places, types: Mapping[str, pa.DataType], order: str) -> DuckTable | LentRows:
        """Batch by batch through the plan; rows are put in a random order through a file."""
        plan = prepared(plan)
        if isinstance(plan, ByValue):
            made: Iterator[pa.Table] = (plan.coded(one) for one in self._batches())
            if order == "random":
                made = spooled(Scattered(parts_for(plan.rows, PARTS), os.urandom(32)), made)
            return self.lent(map(plan.decoded, made), types)
        connection = self.connection.cursor()  # the rows are read while the new ones are made: that takes two
        own = {name: f"c{place}" for place, name in enumerate(types)}
        parts = (_renamed(plan.numbered(one), own) for one in self._batches())
        rows = _scanned(connection, parts, _renamed(plan.numbered(self._empty()), own).schema)
        outcomes = connection.from_arrow(_renamed(plan.outcomes, own))
        relation = placed(rows, outcomes, list(own.values()), sorted_=order != "kept")
        return DuckTable(connection, relation, self.shown, tuple(types))

    def lent(self, rows: Iterator[pa.Table], types: Mapping[str, pa.DataType]) -> LentRows:
        """Hand rows of the driver into files directly: DuckDB would only pass them on."""
        return LentRows(self, rows, pa.schema(list(types.items())))

    def _empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array([], one) for one in self.types.values()], list(self.names))

    def uploaded(self, table: pa.Table) -> DuckTable:
        """Arrow is read where it lies."""
        inner = table.rename_columns([f"c{place}" for place in range(table.num_columns)])
        return DuckTable(self.connection, self.connection.from_arrow(inner), self.shown, tuple(table.column_names))

    def settled(self, folder: Staged | None) -> DuckTable:
        """A Parquet file in the folder, or a table of the connection."""
        if folder is None:
            name = f"{OURS}{uuid4().hex}"
            self.relation.create(name)
            return replace(self, given=self.connection.table(name), files=None)
        rows = (pa.table(batch).rename_columns(self.names) for batch in self._batches() if batch.num_rows)
        return LentRows(self, rows, pa.schema(list(self.types.items()))).settled(folder)

    def checked(self, numbers: RowNumbers, groups: Sequence[Sequence[str]] = ()) -> Checked:
        """Rows batch by batch, read once, on all cores."""
        how = Checking(numbers, tuple(map(tuple, groups)))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tables = in_chunks(pa.table(batch) for batch in self._batches())
            return how.together(
                chain.from_iterable(in_order(pool, tables, lambda one: list(how.part(one.to_batches()))))
            )


@dataclass(frozen=True, eq=False)
class LentRows:
    """Rows on their way into a file, or a table of DuckDB."""

    table: DuckTable
    rows: Iterator[pa.Table]
    schema: pa.Schema

    def settled(self, folder: Staged | None) -> DuckTable:
        """Written."""
        connection, schema = self.table.connection.cursor(), self.schema
        if folder is not None:
            sizes = dict([folder.made.write(0, in_chunks(self.rows), schema)])
            return DuckTable.of_files(connection, folder.taken(sizes).files(sizes, schema), self.table.shown)
        inner = pa.schema([(f"c{place}", one) for place, one in enumerate(schema.types)])
        rows = (one.rename_columns(inner.names).cast(inner) for one in self.rows)
        return DuckTable(connection, _scanned(connection, rows, inner), self.table.shown, tuple(schema.names)).settled(
            None
        )


def _scanned(connection: Any, tables: Iterator[pa.Table], schema: pa.Schema) -> Any:
    batches = (batch for table in tables for batch in table.to_batches())
    return connection.from_arrow(pa.RecordBatchReader.from_batches(schema, batches))


def _renamed(table: pa.Table, own: Mapping[str, str]) -> pa.Table:
    return table.rename_columns([own.get(name, name) for name in table.column_names])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duck_table(place: str) -> DuckTable:
    """Open a Parquet, CSV or JSON file, a folder of Parquet files, or a pattern of names."""
    import duckdb

    connection = duckdb.connect()
    files = ReadFiles.of(place, "duckdb") if is_stored(place) else ReadFiles.here(place)
    if files is not None:
        return DuckTable.of_files(connection, files, files.shown if is_stored(place) else Path(place).name)
    relation = connection.sql(f"SELECT * FROM {_scan(place)}")
    return DuckTable.of(connection, relation, Path(place).name, _own_names(place, relation.columns))


def _own_names(place: str, columns: Sequence[str]) -> Sequence[str]:
    """The names as they stand in a Parquet file: where two differ in case only, DuckDB renames one."""
    files = sorted(Path(place).rglob("*.parquet")) if Path(place).is_dir() else [Path(place)]
    if not files or files[0].suffix != ".parquet" or not files[0].is_file():
        return columns
    names = pq.read_schema(files[0]).names
    return [*names, *columns[len(names) :]]


def _scan(place: str) -> str:
    path = Path(place)
    if path.is_dir():
        return f"read_parquet({_text(str(path / '**' / '*.parquet'))}, hive_partitioning = true)"
    stem = path.name.removesuffix(".gz").removesuffix(".zst")
    place = re.sub(r"[*?\[]", r"[\g<0>]", place) if path.is_file() else place  # a file of that name, no pattern
    if stem.endswith((".csv", ".tsv", ".txt")):
        return f"read_csv({_text(place)}, all_varchar = true, header = true)"
    if stem.endswith((".json", ".ndjson", ".jsonl")):
        return f"read_json({_text(place)})"
    return f"read_parquet({_text(place)})"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
