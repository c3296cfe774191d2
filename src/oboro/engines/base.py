"""Base of all engines: part files, staging folders, the interface of an engine's table, and its release."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from oboro.data.column import UnencodedColumn
from oboro.data.dataset import Dataset
from oboro.engines.coded import ByValue, ChangedData, Checked, Packer, Places, RowNumbers, speaking_for
from oboro.errors import FileError, UsageError
from oboro.io.column_store import FIRST
from oboro.io.formats.base import FORMATS
from oboro.io.places.files import (
    ColumnarFiles,
    TableFile,
    check_stored,
    file_system,
    stored_folder,
    table_files,
)
from oboro.io.places.place import Place, as_place
from oboro.io.write import refuse_place_read
from oboro.recipe.release import Release
from oboro.report.report import Report
from oboro.system.files import check_place, private_folder, staged_folder, why_unwritable
from oboro.text import Message

__all__ = [
    "Buckets",
    "EngineRelease",
    "EngineTable",
    "PartFolder",
    "Phases",
    "Published",
    "ReadFiles",
    "Seal",
    "Staged",
    "check_apart",
    "check_folder",
    "first_rows",
    "is_stored",
    "staged",
]


# Part files -----------------------------------------------------------------------------------------------------------
# Files of a table, on this machine or in an object store, as tasks read and write them.
#
# The files of an unfinished release are not visible. A task that is run again writes another file; only the files
# that are reported to the driver become part of the release. Tasks have credentials of their own, from their
# environment: none travels.


Told = tuple[str, int, tuple[tuple[str, str | None], ...], tuple[int, int] | None]
"""Path, bytes, columns that the path tells, and which groups of rows; None: all."""
PIECE = 1 << 20  # rows of a file that are worth a task
FILES = 64  # so many files are enough for tasks: none is divided then


def is_stored(place: str) -> bool:
    """Return whether a path is in an object store that engines reach through our own clients."""
    named = as_place(place)
    return not named.is_local and named.kind != "table"


@dataclass(frozen=True)
class PartFolder:
    """A folder of a file system, into which tasks write."""

    place: str
    """Any place on the same file system, as the user gave it."""
    folder: str

    def write(self, part: int, tables: Iterable[pa.Table], schema: pa.Schema) -> tuple[str, int]:
        """Write the rows of one part; return the file's name and size."""
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
        if not format_.columnar:
            raise UsageError(Message("error_engine.text_in_store", place=named.shown, engine=engine))
        table = ColumnarFiles(named, files, format_)
        return ReadFiles._told(place, table)

    @staticmethod
    def here(place: str) -> ReadFiles | None:
        """The files of a place of this machine, divided as those of a store are; None where they are text."""
        named = as_place(place)
        if not named.is_local or (named.kind == "file" and not place.lower().endswith(FORMATS["parquet"].endings)):
            return None
        format_, files = table_files(named)
        return ReadFiles._told(place, ColumnarFiles(named, files, format_)) if format_.columnar else None

    @staticmethod
    def _told(place: str, table: ColumnarFiles) -> ReadFiles:
        divided = table.format.divided and len(table.files) < FILES
        told = [
            (one.path, one.size, one.keys, piece)
            for one in table.files
            for piece in (table.pieces(one, PIECE) if divided else [None])
        ]
        return ReadFiles(place, table.format.name, table.schema, table.rows, tuple(told))

    @property
    def shown(self) -> str:
        """Name of the files in a report."""
        return as_place(self.place).shown

    def table(self, numbers: Iterable[int] | None = None) -> ColumnarFiles:
        """Some of the files, or all."""
        place: Place = as_place(self.place)
        system: Any = file_system(place)[0]
        chosen = self.files if numbers is None else [self.files[number] for number in numbers]
        files = [
            TableFile(system, path, size, None, keys, place.is_local, groups) for path, size, keys, groups in chosen
        ]
        return ColumnarFiles.known(place, files, FORMATS[self.format], self.schema)

    def batches(self, numbers: Iterable[int] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows of some columns of these files."""
        return self.table(numbers).batches(columns)


# Staging of a release -------------------------------------------------------------------------------------------------
# Write, verify, publish: a folder gets its name only when its content was verified.
#
# Until then it is a private folder beside its final path (`oboro.system.files`); in an object store it is a prefix
# below it, named `_oboro-…` (`oboro.io.places.files`).


@dataclass(frozen=True)
class Staged:
    """Staging folder of a release before it has its name."""

    made: PartFolder
    """Where tasks write."""
    taken: Callable[[Mapping[str, int]], PartFolder]
    """Let some of what they wrote (names and sizes) be the release; the folder in which these files are then."""


def check_folder(path: str, force: bool) -> Path | Place:
    """Raise, before any work, if no folder can be created under this name."""
    place = as_place(path)
    if place.kind == "table":
        raise UsageError(Message("error_engine.no_place", path=place.shown, scheme=place.scheme))
    if place.wild or Path(place.ending).suffix not in ("", ".parquet"):
        raise UsageError(Message("error_engine.output_kind", path=place.shown))
    if not place.is_local:
        check_stored(_as_files(place), force)
        return place
    target = Path(place.path)
    if target.exists() and not force:
        raise FileError(Message("error_system.exists", path=str(target)))
    if not target.exists():
        check_place(target)
    return target


def _as_files(place: Place) -> Place:
    return replace(place, kind="files", path=place.path.rstrip("/") + "/")


def check_apart(place: str, target: Path | Place) -> None:
    """Raise where the release would replace the table, or be within it."""
    read = as_place(place)
    if isinstance(target, Place):
        refuse_place_read(_as_files(target), _as_files(read) if read.kind == "file" else read)
    elif read.is_local:
        source, wanted = Path(read.path).resolve(), target.resolve()
        if source == wanted or source in wanted.parents or wanted in source.parents:
            raise UsageError(Message("error_engine.same_place", path=str(target)))


@contextmanager
def staged(path: str, force: bool = False) -> Iterator[Staged]:
    """Create a folder to write to. It appears under `path` when the block ends well; an older one stays until then."""
    target = check_folder(path, force)
    with _staged_here(target.absolute(), force) if isinstance(target, Path) else _stored(target, force) as found:
        yield found


@contextmanager
def _stored(place: Place, force: bool) -> Iterator[Staged]:
    """In an object store: files get their names one by one, and then `_SUCCESS` says that they are all there."""
    with stored_folder(_as_files(place), force) as folder:
        made = PartFolder(place.text, folder.staging)

        def take(sizes: Mapping[str, int]) -> PartFolder:
            folder.sizes.update(sizes)
            return made

        yield Staged(made, take)


@contextmanager
def _staged_here(target: Path, force: bool) -> Iterator[Staged]:
    """On a file system that driver and executors see: one folder that gets its name at once.

    Tasks write into another one: a task that the driver gave up may still write there.
    """
    try:
        with staged_folder(target, replace=force) as rows, private_folder(target) as made:

            def take(sizes: Mapping[str, int]) -> PartFolder:
                for name in sizes:
                    os.rename(made / name, rows / name)
                return PartFolder(str(target), str(rows))

            yield Staged(PartFolder(str(target), str(made)), take)
    except OSError as problem:
        raise FileError(
            Message("error_system.cannot_be_written", path=str(target), why=why_unwritable(problem))
        ) from None


# Interface of an engine -----------------------------------------------------------------------------------------------
# The operations that each engine implements. The rest is the same for all of them.


class EngineTable(Protocol):
    """A table that an engine holds or can read."""

    @property
    def engine(self) -> str:
        """The engine's name."""

    @property
    def near(self) -> bool:
        """Whether its rows are where the driver is, so that data of the driver need not be looked up once more."""

    @property
    def shown(self) -> str:
        """Name of the table in a report: never with a password."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The columns in their order, and what they hold."""

    @property
    def native(self) -> Any:
        """The engine's own frame."""

    def count(self) -> int:
        """Count the rows."""

    def told(
        self, names: Sequence[str], made: Callable[[Iterator[pa.RecordBatch]], Iterator[bytes]], job: str
    ) -> Iterable[Any]:
        """Apply a function to the rows of some columns where they are; return its results."""

    def bucketed(
        self,
        names: Sequence[str],
        scatter: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, bytes]]],
        parts: int,
    ) -> Buckets:
        """Distribute blocks that are made of the rows of some columns, each to the part that it names."""

    def gather(self, packer: Packer) -> Iterable[pa.Buffer | bytes]:
        """Codes of all rows, packed where the data is."""

    def published(self, plan: ByValue | Places, types: Mapping[str, pa.DataType], order: str) -> Published:
        """Return the rows that the plan makes; `order` is kept, random or placed. Nothing need be computed yet."""

    def lent(self, rows: Iterator[pa.Table], types: Mapping[str, pa.DataType]) -> Published:
        """Rows that the driver makes one after the other, where it is `near`."""

    def uploaded(self, table: pa.Table) -> Published:
        """A table of the driver's, given to the engine."""

    def settled(self, folder: Staged | None) -> EngineTable:
        """Write the same rows to a folder, or keep them in the engine: later readers read these and compute nothing."""

    def checked(self, numbers: RowNumbers, groups: Sequence[Sequence[str]] = ()) -> Checked:
        """Count the rows, sum one number for all of them in any order, and count the combinations of columns."""


class Buckets(Protocol):
    """Blocks that wait where the data is, all blocks of a part in one place."""

    def told(self, look: Callable[[int, list[Any]], bytes], job: str) -> Iterable[bytes]:
        """Apply a function to each part that has blocks; return its results."""

    def done(self) -> None:
        """Release the buckets: no more questions follow."""


class Published(Protocol):
    """Rows that are about to be made."""

    def settled(self, folder: Staged | None) -> EngineTable:
        """Make them, in a folder, or held by the engine."""


# Release on an engine -------------------------------------------------------------------------------------------------


# Rows below which a cluster is not worth it: an estimate, `python -m benchmarks spark` measures smaller tables.
WORTH_IT = 200_000_000


@dataclass
class Phases:
    """Duration of each phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the duration of one phase."""
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


@dataclass(frozen=True)
class Seal:
    """Checksum of the verified rows, to compare with the written ones."""

    numbers: RowNumbers
    rows: int
    total: int

    def check(self, table: EngineTable, groups: Sequence[Sequence[str]] = ()) -> Sequence[pa.Table]:
        """Raise where a table does not hold exactly these rows; return how often combinations of some columns occur in it."""
        found = table.checked(self.numbers, groups)
        if (found.rows, found.total) != (self.rows, self.total):
            raise ChangedData()
        return found.tallies


@dataclass(frozen=True, eq=False, repr=False)
class EngineRelease(Release):
    """Release on an engine: the same facts, verdicts and report as on one machine; `data` is a frame of the engine."""

    table: EngineTable | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each phase."""
    seal: Seal | None = None
    gone: int | None = None
    """How many records are suppressed, where the driver saw no rows."""
    driver: Message | None = None
    """What the driver held of a large table, and why."""

    def suppressed(self, quasi: Sequence[str]) -> int:
        """Return the number of suppressed records."""
        return super().suppressed(quasi) if self.gone is None else self.gone

    @cached_property
    def report(self) -> Report:
        """Report as on one machine. Its figures need the codes of all rows."""
        if self.gone is not None:
            raise UsageError(Message("error_engine.no_report", rows=self.original.rows))
        return super().report

    def summary(self, *, lang: str = "en", figures: bool = False) -> str:
        """Summarize the release and its verdicts in a few lines."""
        return super().summary(lang=lang, figures=figures and self.gone is None)

    @property
    def small(self) -> Message | None:
        """Note that one machine would have been faster, where that is so."""
        assert self.table is not None
        if self.table.engine != "spark" or self.original.rows >= WORTH_IT:
            return None
        return Message("error_engine.small", rows=self.original.rows, worth=WORTH_IT)

    @cached_property
    def data(self) -> Any:
        """The released table, as a frame of the engine: exactly the rows that were verified."""
        assert self.table is not None
        return self.table.native

    @cached_property
    def dataset(self) -> Dataset:
        """Not available: the released rows are not on this machine."""
        raise UsageError(Message("error_engine.not_here"))

    def write(self, path: str | Path, *, force: bool = False, **options: Any) -> None:
        """Write the released table as a folder of Parquet files. All of it appears at once, or nothing does."""

        assert self.table is not None
        assert self.seal is not None
        with staged(str(path), force) as folder, speaking_for(self.table.engine):
            self.seal.check(self.table.settled(folder))
        self.written["output"] = str(path)

    def published_at(self, path: str, reopen: Callable[[str, str], EngineTable]) -> EngineRelease:
        """Return the release after its files got their final name."""
        assert self.table is not None
        self.written["output"] = path
        return replace(self, table=reopen(path, self.table.engine))

    def with_files(self, output: str | Path) -> Report:
        """The report; of a folder that an engine wrote there is no one hash."""
        return self.report

    def write_ledger(self, path: str | Path, *, force: bool = False) -> None:
        """Raise: an engine writes no person map."""
        raise UsageError(Message("error_engine.not_here"))

    def write_truth(self, path: str | Path, *, force: bool = False) -> None:
        """Raise: an engine writes no row map."""
        raise UsageError(Message("error_engine.not_here"))


# First rows -----------------------------------------------------------------------------------------------------------
# Read from columns that are not loaded, to judge their values.


def first_rows(table: EngineTable, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return the first rows of each part of the table."""
    parts = [pa.ipc.open_stream(one).read_all() for one in table.told(names, _first, "first rows")]
    found = pa.concat_tables(parts).unify_dictionaries() if parts else None
    return {} if found is None else {name: UnencodedColumn(found[name]).array for name in names}


def _first(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    batch = next((one for one in batches if one.num_rows), None)
    if batch is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write(batch.slice(0, FIRST))
        yield sink.getvalue().to_pybytes()
