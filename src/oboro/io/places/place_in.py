"""One way in: a place or an object that gives a table is opened once, says its columns, and is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from oboro.errors import FileError
from oboro.io.files import Source
from oboro.io.json_lines import json_objects, json_table
from oboro.io.places.batch_reading import read_batches
from oboro.io.places.batch_table import BatchTable
from oboro.io.places.file_systems import at_place
from oboro.io.places.place_names import Place, as_place, is_lake
from oboro.io.places.stored.columnar_files import ColumnarFiles, partition_schema
from oboro.io.places.stored.fetched_files import FetchedFile
from oboro.io.places.stored.table_files import TableFile, table_files
from oboro.io.places.stored.text_files import TextFiles
from oboro.io.places.wanted_columns import WantedColumns
from oboro.table.frames.came_as import lost_types
from oboro.text import Message

__all__ = ["OpenedPlace", "open_place"]

READING = {"delimiter": None, "quote": None, "encoding": None, "header": True, "sheet": None, "header_row": None}


class OpenedPlace(Protocol):
    """A table that is about to be read."""

    @property
    def columns(self) -> list[str] | None:
        """Its columns; None where all of it must be read to know them."""

    def read(self, wanted: WantedColumns) -> Source:
        """Read it; see `oboro.io.files.read`."""


def open_place(place: Any, options: Mapping[str, Any]) -> OpenedPlace:
    """Open a place by its name, or an object of another library; `options` say how text is read."""
    if not isinstance(place, str | Path | Place):
        from oboro.io.places.given_objects import opened_object

        return opened_object(place, {**READING, **options})
    options = {**READING, **options}
    named = as_place(place)
    if is_lake(named.scheme):
        from oboro.io.places.lakes.lake_tables import LakeTable

        return Batches(LakeTable(named), named)
    if named.kind == "table":
        from oboro.io.places.databases.database_in import DatabaseTable

        return Batches(DatabaseTable(named), named)
    format_, files = table_files(named)
    if format_ in ("parquet", "arrow"):
        return Batches(ColumnarFiles(named, files, format_), named)
    if format_ == "json":
        return JsonFiles(named, files, options)
    if format_ == "excel" and len(files) > 1:
        raise FileError(Message("error_places.one_file", place=named.shown))
    return TextFiles(named, files, options)


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


class JsonFiles:
    """Files of JSON lines: their columns are known when all of them are read."""

    columns = None

    def __init__(self, place: Place, files: Sequence[TableFile], options: Mapping[str, Any]) -> None:
        self.place, self.files, self.encoding = place, files, options.get("encoding")

    def read(self, wanted: WantedColumns) -> Source:
        """All rows."""
        return Source(json_table(self.place.shown, self._objects(), wanted.columns), self.place.shown, place=self.place)

    def _objects(self) -> Iterator[Any]:
        told = partition_schema(self.files)
        for file in self.files:
            with at_place(self.place):
                fetched = None if file.local else FetchedFile(file)
            keys = {name: _key(value, told.field(name).type) for name, value in file.keys}
            for line, row in json_objects(fetched.path if fetched else file.path, self.encoding, file.shown):
                yield line, {**row, **{name: value for name, value in keys.items() if name not in row}}


def _key(value: str | None, type_: Any) -> Any:
    return value if value is None or str(type_) != "int64" else int(value)
