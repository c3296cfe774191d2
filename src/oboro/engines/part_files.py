"""Files of a table, here or in an object store, as tasks read and write them.

While a release is made nobody sees its files. A task that is run again writes another file; only those that are told to the driver
become part of the release. Tasks have credentials of their own, from their environment: none travels.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oboro.errors import UsageError
from oboro.io.places.file_systems import file_system
from oboro.io.places.place_names import Place, as_place
from oboro.io.places.stored.columnar_files import ColumnarFiles
from oboro.io.places.stored.table_files import ENDINGS, TableFile, table_files
from oboro.text import Message

__all__ = ["PartFolder", "ReadFiles", "is_stored"]

Told = tuple[str, int, tuple[tuple[str, str | None], ...], tuple[int, int] | None]
"""Path, bytes, columns that the path tells, and which groups of rows; None: all."""
COLUMNAR = ("parquet", "arrow")
PIECE = 1 << 20  # rows of a file that are worth a task
FILES = 64  # so many files are enough for tasks: none is divided then


def is_stored(place: str) -> bool:
    """Whether a place is in an object store that engines reach through our own clients."""
    named = as_place(place)
    return not named.is_local and named.kind != "table"


@dataclass(frozen=True)
class PartFolder:
    """A folder of a file system, into which tasks write."""

    place: str
    """Any place on the same file system, as the user gave it."""
    folder: str

    def write(self, part: int, tables: Iterable[pa.Table], schema: pa.Schema) -> tuple[str, int]:
        """The rows of one part; the file's name and size."""
        name = f"part-{part:05d}-{secrets.token_hex(4)}.parquet"
        system, _ = file_system(as_place(self.place))
        with system.open_output_stream(f"{self.folder}/{name}", compression=None) as file:
            with pq.ParquetWriter(file, schema, compression="zstd") as out:
                for table in tables:
                    out.write_table(table.cast(schema))
            return name, int(file.tell())

    def files(self, sizes: dict[str, int], schema: pa.Schema) -> ReadFiles:
        """Some of its files, to be read again."""
        told: list[Told] = [(f"{self.folder}/{name}", size, (), None) for name, size in sorted(sizes.items())]
        return ReadFiles(self.place, "parquet", schema, None, tuple(told))


@dataclass(frozen=True)
class ReadFiles:
    """Files of Parquet or Arrow, as tasks open them."""

    place: str
    format: str
    schema: pa.Schema
    rows: int | None
    files: tuple[Told, ...]

    @staticmethod
    def of(place: str, engine: str) -> ReadFiles:
        """The files of a place; raises where they are text, which a store must give as a whole."""
        named = as_place(place)
        format_, files = table_files(named)
        if format_ not in COLUMNAR:
            raise UsageError(Message("error_engine.text_in_store", place=named.shown, engine=engine))
        table = ColumnarFiles(named, files, format_)
        return ReadFiles._told(place, table)

    @staticmethod
    def here(place: str) -> ReadFiles | None:
        """The files of a place of this machine, divided as those of a store are; None where they are text."""
        named = as_place(place)
        if not named.is_local or (named.kind == "file" and not place.lower().endswith(ENDINGS["parquet"])):
            return None
        format_, files = table_files(named)
        return ReadFiles._told(place, ColumnarFiles(named, files, format_)) if format_ in COLUMNAR else None

    @staticmethod
    def _told(place: str, table: ColumnarFiles) -> ReadFiles:
        divided = table.format == "parquet" and len(table.files) < FILES
        told = [
            (one.path, one.size, one.keys, piece)
            for one in table.files
            for piece in (table.pieces(one, PIECE) if divided else [None])
        ]
        return ReadFiles(place, table.format, table.schema, table.rows, tuple(told))

    @property
    def shown(self) -> str:
        """What a report calls them."""
        return as_place(self.place).shown

    def table(self, numbers: Iterable[int] | None = None) -> ColumnarFiles:
        """Some of the files, or all."""
        place: Place = as_place(self.place)
        system: Any = file_system(place)[0]
        chosen = self.files if numbers is None else [self.files[number] for number in numbers]
        files = [
            TableFile(system, path, size, None, keys, place.is_local, groups) for path, size, keys, groups in chosen
        ]
        return ColumnarFiles.known(place, files, self.format, self.schema)

    def batches(self, numbers: Iterable[int] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows of some columns of these files."""
        return self.table(numbers).batches(columns)
