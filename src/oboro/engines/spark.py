"""Spark engine: the same recipe on a cluster, by the DataFrame API and Arrow functions alone, so Spark Connect works too."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, ClassVar, TypeVar, cast

import pyarrow as pa

from oboro.data.column import why_unusable
from oboro.engines.base import ReadFiles, Staged, is_stored
from oboro.engines.coded import (
    ByValue,
    Checked,
    Checking,
    Packer,
    Places,
    RowNumbers,
    Scattered,
    parts_for,
    placed,
    prepared,
)
from oboro.engines.task_errors import KEY, sealed_error
from oboro.errors import UsageError
from oboro.text import Message

__all__ = [
    "SETTINGS",
    "PublishedFrame",
    "SparkTable",
    "arrow_type",
    "is_spark_frame",
    "quietly",
    "settled_task",
    "spark_schema",
    "spark_session",
    "spark_table",
    "spark_type",
]


# Spark session and types ----------------------------------------------------------------------------------------------
# A type that Spark does not have becomes the nearest one that it has.


F = TypeVar("F", bound=Callable[..., Any])


def quietly(act: F) -> F:
    """PySpark warns of every pandas that is newer than itself; nothing here goes through pandas."""

    @wraps(act)
    def quiet(*arguments: Any, **named: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*pandas.*")
            return act(*arguments, **named)

    return cast(F, quiet)


@quietly
def spark_session() -> Any:
    """Return the current session, or start one on this machine; SPARK_REMOTE and SPARK_MASTER choose another."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError(Message("error_engine.not_installed", engine="spark", extra="spark")) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder: Any = SparkSession.builder
    if "SPARK_REMOTE" not in os.environ:
        builder = builder.master(os.environ.get("SPARK_MASTER", "local[*]")).config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "OFF")  # its errors repeat rows; they come as ours
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.sql.shuffle.partitions", str(PARTS * (os.cpu_count() or 1)))
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


PARTS = 4  # of a shuffle for each core of this machine; Spark's own 200 are for a cluster
SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.session.timeZone": "UTC",
}


@quietly
def arrow_type(kind: Any, zone: str) -> pa.DataType:
    """Return the Arrow type of a type of Spark, in a session with this time zone.

    A type without single values (array, map, struct, variant), or one that Arrow does not have, becomes an opaque type: such a
    column can be dropped, and is never read.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import TimestampType

    if isinstance(kind, TimestampType):
        return pa.timestamp("us", _zone_of_arrow(zone))
    opaque = pa.opaque(pa.null(), kind.simpleString(), "Spark")
    try:
        found = to_arrow_type(kind)
    except (
        PySparkException,
        AssertionError,
    ):  # the assertion: an array of timestamps, which have no zone by themselves
        return opaque
    return opaque if pa.types.is_nested(found) else found


def _zone_of_arrow(zone: str) -> str:
    """Return a time zone as Arrow writes it: Spark also knows `GMT+9` and `UTC+09:00`.

    >>> _zone_of_arrow("GMT+9"), _zone_of_arrow("Z"), _zone_of_arrow("Asia/Tokyo")
    ('+09:00', 'UTC', 'Asia/Tokyo')
    """
    found = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?00)?", zone)
    if found is not None:
        return f"{found[1]}{int(found[2]):02}:{found[3] or '00'}"
    return "UTC" if zone in ("Z", "UT") else zone


def spark_type(type_: pa.DataType) -> pa.DataType:
    """Return the nearest type that Spark has: it has no unsigned numbers, and no column of nothing that can be written."""
    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    if pa.types.is_null(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_timestamp(type_) and type_.unit != "us":
        return pa.timestamp("us", type_.tz)
    return wider.get(type_, type_)


@quietly
def spark_schema(schema: pa.Schema) -> Any:
    """Return the schema in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = pa.schema([(one.name, spark_type(one.type)) for one in schema])
    return from_arrow_schema(plain, prefer_timestamp_ntz=True)


# Memory and errors of Python workers ----------------------------------------------------------------------------------
# Objects that a worker keeps between tasks, and the errors of tasks.


Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
OFTEN = 3  # tasks after which all modules that tasks need are there
_begun = 0


def settled_task(act: Task) -> Task:
    """Return the same task for a worker that no longer looks for garbage among its modules; its errors are sealed.

    Spark's workers look for it after every task. With the libraries that are loaded here that takes longer than a small task itself
    (43 ms; 2 ms without them). A task begins when the garbage of the last one is gone, so nothing but what is in use is left out.
    """
    key = KEY  # the driver's: in a worker the module has another

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        try:
            yield from act(batches)
        except Exception as problem:
            raise sealed_error(problem, key) from None

    return task


def _settle() -> None:
    global _begun
    _begun += 1
    if _begun <= OFTEN:
        gc.freeze()


# Tables of Spark ------------------------------------------------------------------------------------------------------


Batches = Iterator[pa.RecordBatch]


def is_spark_frame(source: Any) -> bool:
    """Return whether an object is a DataFrame of Spark, of a session here or over Spark Connect."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A DataFrame. Its columns have plain names of ours inside (c0, c1 …): Spark takes `age` for `Age` and `a.b` for a field.

    With `files` it holds numbers of files instead, and tasks read these themselves.
    """

    frame: Any
    names: tuple[str, ...]
    shown: str = "Spark"
    engine: str = "spark"
    jobs: list[str] = field(default_factory=list)
    files: ReadFiles | None = None
    near: ClassVar[bool] = False

    @staticmethod
    def of(frame: Any, shown: str = "Spark", jobs: list[str] | None = None) -> SparkTable:
        """A frame as it came."""
        names = tuple(frame.columns)
        return SparkTable(frame.toDF(*_plain(names)), names, shown, jobs=[] if jobs is None else jobs)

    @staticmethod
    @quietly
    def of_files(session: Any, files: ReadFiles, shown: str, jobs: list[str]) -> SparkTable:
        """Files that tasks read."""
        frame = session.createDataFrame(pa.table({"number": pa.array(range(len(files.files)), pa.int32())}))
        return SparkTable(frame, tuple(files.schema.names), shown, jobs=jobs, files=files)

    @cached_property
    def types(self) -> Mapping[str, pa.DataType]:
        """Types of the columns, in Arrow."""
        if self.files is not None:
            return {one.name: spark_type(one.type) for one in self.files.schema}
        zone = str(self.frame.sparkSession.conf.get("spark.sql.session.timeZone"))
        kinds = [one.dataType for one in self.frame.schema.fields]
        return dict(zip(self.names, (arrow_type(one, zone) for one in kinds), strict=True))

    @property
    @quietly
    def native(self) -> Any:
        """The frame with its own names."""
        if self.files is None:
            return self.frame.toDF(*self.names)
        read, inner = self._reading(self.names), self._inner(self.types)
        made = self.frame.mapInArrow(lambda batches: _as(read(batches), inner), spark_schema(inner))
        return made.toDF(*self.names)

    def _inner(self, types: Mapping[str, pa.DataType]) -> pa.Schema:
        return pa.schema(list(zip(_plain(types), map(spark_type, types.values()), strict=True)))

    def _needed(self, names: Collection[str]) -> list[str]:
        """Return these columns in the order of the table, or any column where there are none: without one Spark sends no rows.

        Dropped columns are not among them: they need not travel, and Arrow may have no type for them.
        """
        usable = [name for name in self.names if why_unusable(name, self.types[name]) is None]
        return [name for name in self.names if name in set(names)] or usable[:1]

    def _selected(self, names: Sequence[str]) -> Any:
        """The frame from which `_reading` makes rows."""
        return (
            self.frame if self.files is not None else self.frame.select(*(f"c{self.names.index(one)}" for one in names))
        )

    def _reading(self, names: Sequence[str]) -> Callable[[Batches], Batches]:
        """In a task: rows of some columns, under their own names."""
        files, named = self.files, list(names)
        if files is None:
            zones = {name: self.types[name] for name in named if pa.types.is_timestamp(self.types[name])}
            return lambda batches: (_in_zones(batch.rename_columns(named), zones) for batch in batches)
        return lambda batches: files.batches([one for batch in batches for one in batch["number"].to_pylist()], named)

    @quietly
    def told(self, names: Sequence[str], made: Callable[[Batches], Iterator[bytes]], job: str) -> Iterable[pa.Buffer]:
        """One job: what tasks make of their rows, one after the other."""
        read = self._reading(names)

        def blobs(batches: Batches) -> Batches:
            for blob in made(read(batches)):
                yield pa.record_batch({"blob": pa.array([blob], pa.binary())})

        self.jobs.append(job)
        found = self._selected(names).mapInArrow(settled_task(blobs), "blob binary").toArrow()
        return [one.as_buffer() for one in found["blob"]]

    @quietly
    def bucketed(
        self, names: Sequence[str], scatter: Callable[[Batches], Iterator[tuple[int, bytes]]], parts: int
    ) -> SparkBuckets:
        """One shuffle, when the buckets are first asked: executors keep them, and make lost ones anew."""
        read = self._reading(names)

        def blocks(batches: Batches) -> Batches:
            for part, block in scatter(read(batches)):
                yield pa.record_batch({"part": pa.array([part], pa.int32()), "block": pa.array([block], pa.binary())})

        made = (
            self._selected(names)
            .mapInArrow(settled_task(blocks), "part int, block binary")
            .repartitionById(parts, "part")
        )
        return SparkBuckets(made.persist(), self.jobs)

    def count(self) -> int:
        """Count the rows in Spark; of Parquet from the metadata at the end of each file."""
        if self.files is not None and self.files.rows is not None:
            return self.files.rows
        self.jobs.append("rows")
        return int(self.frame.count())

    def gather(self, packer: Packer) -> Iterable[pa.Buffer]:
        """One job: every task encodes its rows."""
        return self.told([*packer.touched, *packer.others], packer.parts, "gather")

    @quietly
    def published(self, plan: ByValue | Places, types: Mapping[str, pa.DataType], order: str) -> PublishedFrame:
        """Rows are looked up in the plan where they are; a random order costs one shuffle."""
        if not isinstance(plan, ByValue):
            return self._placed(plan, types, order)
        names = self._needed([*plan.known, *(set(plan.names) - set(plan.released))])
        source, read = self._selected(names), self._reading(names)
        if order == "random":
            return self._made(types, *_scattered(plan, source, read))

        def publish(batches: Batches) -> Iterator[pa.Table]:
            ready = prepared(plan)
            return (ready.publish(batch) for batch in read(batches))

        return self._made(types, source, publish)

    def _made(
        self, types: Mapping[str, pa.DataType], source: Any, make: Callable[[Batches], Iterator[pa.Table]]
    ) -> PublishedFrame:
        return PublishedFrame(self, source, make, tuple(types), self._inner(types))

    def _placed(self, plan: Places, types: Mapping[str, pa.DataType], order: str) -> PublishedFrame:
        own = {name: f"c{place}" for place, name in enumerate(types)}
        names = self._needed([*plan.known, *plan.others])
        empty = pa.RecordBatch.from_arrays([pa.array([], self.types[name]) for name in names], names)
        schema = _renamed(plan.numbered(empty), own).schema
        outcomes, plan = _renamed(plan.outcomes, own), replace(plan, outcomes=pa.table({}))
        source, read = self._selected(names), self._reading(names)

        def numbered(batches: Batches) -> Batches:
            ready = prepared(plan)
            for batch in read(batches):
                yield from _renamed(ready.numbered(batch), own).cast(schema).to_batches()

        rows = source.mapInArrow(settled_task(numbered), spark_schema(schema))
        frame = placed(rows, self._given(outcomes), list(own.values()), sorted_=order != "kept")
        return self._made(types, frame, lambda batches: (pa.table(batch) for batch in batches))

    @quietly
    def _given(self, table: pa.Table) -> Any:
        types = pa.schema([(one.name, spark_type(one.type)) for one in table.schema])
        return self.frame.sparkSession.createDataFrame(table.cast(types))

    def lent(self, rows: Iterator[pa.Table], types: Mapping[str, pa.DataType]) -> PublishedFrame:
        """All at once: tasks cannot ask the driver."""
        return self.uploaded(pa.concat_tables(rows).cast(pa.schema(list(types.items()))))

    def uploaded(self, table: pa.Table) -> PublishedFrame:
        """Given to Spark as Arrow."""
        types = dict(zip(table.column_names, table.schema.types, strict=True))
        frame = self._given(table.rename_columns(_plain(types)))
        return self._made(types, frame, lambda batches: (pa.table(batch) for batch in batches))

    def settled(self, folder: Staged | None) -> SparkTable:
        """Write the same rows to a folder, or keep them on the executors."""
        read = self._reading(self.names)
        made = self._made(self.types, self._selected(self.names), lambda rows: (pa.table(one) for one in read(rows)))
        return made.settled(folder)

    def checked(self, numbers: RowNumbers, groups: Sequence[Sequence[str]] = ()) -> Checked:
        """One job: every task sends its part of the sums and counts."""
        how = Checking(numbers, tuple(map(tuple, groups)))
        return how.together(self.told(self.names, how.part, "check"))


@dataclass(frozen=True, eq=False)
class SparkBuckets:
    """Blocks on the executors."""

    frame: Any
    jobs: list[str]

    @quietly
    def told(self, look: Callable[[int, list[Any]], bytes], job: str) -> Iterable[bytes]:
        """One job: every task looks at its parts."""

        def blobs(batches: Batches) -> Batches:
            for part, blocks in _by_part(batches):
                yield pa.record_batch({"blob": pa.array([look(part, blocks)], pa.binary())})

        self.jobs.append(job)
        return [one.as_py() for one in self.frame.mapInArrow(settled_task(blobs), "blob binary").toArrow()["blob"]]

    def done(self) -> None:
        """Executors forget them."""
        self.frame.unpersist()


@dataclass(frozen=True, eq=False)
class PublishedFrame:
    """Rows that tasks are about to make."""

    table: SparkTable
    source: Any
    make: Callable[[Batches], Iterator[pa.Table]]
    names: tuple[str, ...]
    inner: pa.Schema

    @quietly
    def settled(self, folder: Staged | None) -> SparkTable:
        """Files that the tasks write, or blocks of the executors that are not computed again: where one is lost, the job fails."""
        self.table.jobs.append("publish")
        if folder is not None:
            return self._written(folder)
        make, inner = self.make, self.inner
        cast = settled_task(
            lambda batches: (one for table in make(batches) for one in _cast(table, inner).to_batches())
        )
        frame = self.source.mapInArrow(cast, spark_schema(inner))
        return replace(self.table, frame=frame.localCheckpoint(True), names=self.names, files=None)

    def _written(self, folder: Staged) -> SparkTable:
        make, where = self.make, folder.made
        schema = pa.schema(list(zip(self.names, self.inner.types, strict=True)))

        def write(batches: Batches) -> Batches:
            from pyspark import TaskContext

            task: Any = TaskContext.get()
            tables = (one for one in make(batches) if one.num_rows)
            first = next(tables, None)
            if first is None:
                return
            rows = (one.rename_columns(schema.names) for several in ((first,), tables) for one in several)
            name, size = where.write(task.partitionId(), rows, schema)
            yield pa.record_batch({"name": pa.array([name]), "size": pa.array([size])})

        told = self.source.mapInArrow(settled_task(write), "name string, size long").toArrow().to_pylist()
        sizes = {one["name"]: one["size"] for one in told} or dict([where.write(0, [], schema)])
        files = folder.taken(sizes).files(sizes, schema)
        return SparkTable.of_files(self.source.sparkSession, files, self.table.shown, self.table.jobs)


def _scattered(
    plan: ByValue, source: Any, read: Callable[[Batches], Batches]
) -> tuple[Any, Callable[[Batches], Iterator[pa.Table]]]:
    """Blocks of rows at the parts that chance gave them, and what a task makes of its part."""
    parts = parts_for(plan.rows, int(source.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")))
    how = Scattered(parts, os.urandom(32))

    def scatter(batches: Batches) -> Batches:
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        ready = prepared(plan)
        for part, block in how.scatter((ready.coded(batch) for batch in read(batches)), task.partitionId()):
            yield pa.record_batch({"part": pa.array([part], pa.int32()), "block": pa.array([block], pa.binary())})

    def collect(batches: Batches) -> Iterator[pa.Table]:
        ready = prepared(plan)
        for part, held in _by_part(batches):
            yield ready.decoded(how.collect(part, held))

    blocks = source.mapInArrow(settled_task(scatter), "part int, block binary")
    return blocks.repartitionById(parts, "part"), collect


def _by_part(batches: Batches) -> Iterator[tuple[int, list[Any]]]:
    """In a task: the blocks of each part."""
    held: dict[int, list[Any]] = {}
    for batch in batches:
        for part, block in zip(batch["part"].to_pylist(), batch["block"], strict=True):
            held.setdefault(part, []).append(block.as_buffer())
    for part in sorted(held):
        yield part, held.pop(part)


def _plain(names: Iterable[str]) -> list[str]:
    return [f"c{place}" for place, _ in enumerate(names)]


def _in_zones(batch: pa.RecordBatch, types: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """The same times in the zone of the session, by which Spark shows their days: tasks get them in UTC."""
    for name, type_ in types.items():
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, batch.column(place).cast(type_))
    return batch


def _renamed(table: pa.Table, own: Mapping[str, str]) -> pa.Table:
    table = table.rename_columns([own.get(name, name) for name in table.column_names])
    return table.cast(pa.schema([(one.name, spark_type(one.type)) for one in table.schema]))


def _cast(table: pa.Table, inner: pa.Schema) -> pa.Table:
    return table.rename_columns(inner.names).cast(inner)


def _as(batches: Batches, inner: pa.Schema) -> Batches:
    return (one for batch in batches for one in _cast(pa.table(batch), inner).to_batches())


@quietly
def spark_table(place: str, session: Any = None) -> SparkTable:
    """Open any path that Spark reads (Parquet unless its name says CSV, JSON or ORC), and object stores by our own clients."""
    session = spark_session() if session is None else session
    if is_stored(place) and not place.startswith(HADOOP):
        stored = ReadFiles.of(place, "spark")
        return SparkTable.of_files(session, stored, stored.shown, [])
    shown = place.rstrip("/").rsplit("/", 1)[-1]
    files = _files_here(place, session)
    if files is not None:
        return SparkTable.of_files(session, files, shown, [])
    stem = place.rstrip("/").lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    place = re.sub(r"[*?{}\[\]\\]", r"\\\g<0>", place) if os.path.exists(place) else place  # of that name, no pattern
    reader = session.read
    if stem.endswith((".csv", ".tsv", ".txt")):
        how = {
            "header": True,
            "escape": '"',
            "multiLine": True,
            "mode": "FAILFAST",
            "sep": "\t" if stem.endswith("tsv") else ",",
        }
        frame = reader.options(**how).csv(place)
    elif stem.endswith((".json", ".ndjson", ".jsonl")):
        frame = reader.json(place)
    else:
        frame = reader.orc(place) if stem.endswith(".orc") else reader.parquet(place)
    return SparkTable.of(frame, shown)


def _files_here(place: str, session: Any) -> ReadFiles | None:
    """Parquet files that all tasks see because they run on this machine. They read them with Arrow, not as rows of Spark."""
    elsewhere = ".connect." in type(session).__module__ or not session.conf.get("spark.master", "").startswith("local")
    if elsewhere:
        return None
    return ReadFiles.here(place) if os.path.exists(place) else None


HADOOP = ("s3a://", "hdfs://", "viewfs://", "abfss://", "dbfs:/", "wasbs://")  # which only Spark's own clients open
