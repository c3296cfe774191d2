"""Spark: the same recipe on a cluster. Only the DataFrame API and Arrow functions are used, so it works over Spark Connect too."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import pyarrow as pa

from oboro.engines.packed_rows import Packer
from oboro.engines.plan import OURS, ByValue, Places, prepared
from oboro.engines.relational import placed, tally
from oboro.engines.value_numbers import RowNumbers, summed
from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["SparkTable", "is_spark_frame", "spark_session", "spark_table"]

Batches = Iterator[pa.RecordBatch]
RANDOM = OURS + "random"


def is_spark_frame(source: Any) -> bool:
    """Whether something is a DataFrame of Spark, of a session here or over Spark Connect."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


F = TypeVar("F", bound=Callable[..., Any])


def quietly(act: F) -> F:
    """PySpark warns of every pandas that is newer than itself; nothing here goes through pandas."""

    @wraps(act)
    def quiet(*arguments: Any, **named: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*pandas.*")
            return act(*arguments, **named)

    return cast(F, quiet)


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A DataFrame. Its columns have plain names of ours inside (c0, c1 …): Spark takes `age` for `Age` and `a.b` for a field."""

    frame: Any
    names: tuple[str, ...]
    shown: str = "Spark"
    engine: str = "spark"
    jobs: list[str] = field(default_factory=list)

    @staticmethod
    def of(frame: Any, shown: str = "Spark", jobs: list[str] | None = None) -> SparkTable:
        """A frame as it came."""
        names = tuple(frame.columns)
        return SparkTable(frame.toDF(*_plain(names)), names, shown, jobs=[] if jobs is None else jobs)

    @cached_property
    def types(self) -> Mapping[str, pa.DataType]:
        """As Arrow says them."""
        from pyspark.sql.pandas.types import to_arrow_type

        kinds = [one.dataType for one in self.frame.schema.fields]
        return dict(zip(self.names, (to_arrow_type(one) for one in kinds), strict=True))

    @property
    def native(self) -> Any:
        """The frame with its own names."""
        return self.frame.toDF(*self.names)

    def _selected(self, names: Sequence[str]) -> Any:
        return self.frame.select(*(f"c{self.names.index(name)}" for name in names))

    @quietly
    def _blobs(self, frame: Any, made: Callable[[Batches], Iterator[bytes]], job: str) -> Iterable[pa.Buffer]:
        """What tasks make of their rows, one after the other."""

        def blobs(batches: Batches) -> Batches:
            for blob in made(batches):
                yield pa.record_batch({"blob": pa.array([blob], pa.binary())})

        self.jobs.append(job)
        found = frame.mapInArrow(blobs, "blob binary").toArrow()
        return [one.as_buffer() for one in found["blob"]]

    def count(self) -> int:
        """As Spark counts them; of Parquet from what stands at the end of each file."""
        self.jobs.append("rows")
        return int(self.frame.count())

    def gather(self, packer: Packer) -> Iterable[pa.Buffer]:
        """One job: every task encodes its rows."""
        names = [*packer.touched, *packer.others]
        parts = packer.parts
        return self._blobs(self._selected(names), lambda batches: parts(_named(batches, names)), "gather")

    @quietly
    def published(self, plan: ByValue | Places, types: Mapping[str, pa.DataType], order: str) -> SparkTable:
        """Rows are looked up in the plan where they are; a random order costs one shuffle."""
        names, inner = self.names, pa.schema(list(zip(_plain(types), map(spark_type, types.values()), strict=True)))
        if isinstance(plan, ByValue):
            frame = self.frame.mapInArrow(_publishing(plan, names, inner), _spark_schema(inner))
            return replace(self, frame=_shuffled(frame) if order == "random" else frame, names=tuple(types))
        return self._placed(plan, types, order)

    def _placed(self, plan: Places, types: Mapping[str, pa.DataType], order: str) -> SparkTable:
        names = self.names
        own = {name: f"c{place}" for place, name in enumerate(types)}
        empty = pa.RecordBatch.from_arrays([pa.array([], one) for one in self.types.values()], list(names))
        schema = _renamed(plan.numbered(empty), own).schema
        outcomes, plan = _renamed(plan.outcomes, own), replace(plan, outcomes=pa.table({}))

        def numbered(batches: Batches) -> Batches:
            ready = prepared(plan)
            for batch in _named(batches, names):
                yield from _renamed(ready.numbered(batch), own).cast(schema).to_batches()

        rows = self.frame.mapInArrow(numbered, _spark_schema(schema))
        given = self.uploaded(outcomes).frame.toDF(*outcomes.column_names)
        frame = placed(rows, given, list(own.values()), sorted_=order != "kept")
        return replace(self, frame=frame, names=tuple(types))

    @quietly
    def uploaded(self, table: pa.Table) -> SparkTable:
        """Given to Spark as Arrow."""
        plain = table.rename_columns(_plain(table.column_names)).cast(
            pa.schema([(f"c{place}", spark_type(one)) for place, one in enumerate(table.schema.types)])
        )
        frame = self.frame.sparkSession.createDataFrame(plain)
        return replace(self, frame=frame, names=tuple(table.column_names))

    @quietly
    def settled(self, folder: str | None) -> SparkTable:
        """Files, or blocks of the executors that are not computed again: where one is lost, the job fails."""
        self.jobs.append("publish")
        if folder is None:
            return replace(self, frame=self.frame.localCheckpoint(True))
        self.native.write.mode("error").parquet(folder)
        return SparkTable.of(self.frame.sparkSession.read.parquet(folder), self.shown, self.jobs)

    def counted(self, numbers: RowNumbers) -> tuple[int, int]:
        """One job: every task sends two numbers."""
        names = self.names

        def made(batches: Batches) -> Iterator[bytes]:
            rows, totals = 0, []
            for batch in _named(batches, names):
                rows += batch.num_rows
                arrays = dict(zip(names, batch.columns, strict=True))
                totals.append(numbers.total(numbers.of_arrays(arrays, batch.num_rows)))
            yield rows.to_bytes(8, "little") + summed(totals).to_bytes(8, "little")

        found = [one.to_pybytes() for one in self._blobs(self.frame, made, "count")]
        rows = sum(int.from_bytes(one[:8], "little") for one in found)
        return rows, summed(int.from_bytes(one[8:], "little") for one in found)

    @quietly
    def tally(self, names: Sequence[str]) -> pa.Table:
        """By Spark's own grouping."""
        inner = [f"c{self.names.index(name)}" for name in names]
        floating = [own for own, name in zip(inner, names, strict=True) if pa.types.is_floating(self.types[name])]
        self.jobs.append("tally")
        return tally(self.frame, inner, floating).toArrow()


def _plain(names: Iterable[str]) -> list[str]:
    return [f"c{place}" for place, _ in enumerate(names)]


def _named(batches: Batches, names: Sequence[str]) -> Batches:
    return (batch.rename_columns(list(names)) for batch in batches)


def _renamed(table: pa.Table, own: Mapping[str, str]) -> pa.Table:
    table = table.rename_columns([own.get(name, name) for name in table.column_names])
    return table.cast(pa.schema([(one.name, spark_type(one.type)) for one in table.schema]))


def _publishing(plan: ByValue, names: Sequence[str], schema: pa.Schema) -> Callable[[Batches], Batches]:
    def publish(batches: Batches) -> Batches:
        ready = prepared(plan)
        for batch in _named(batches, names):
            made = ready.publish(batch)
            yield from made.rename_columns(schema.names).cast(schema).to_batches()

    return publish


def _shuffled(frame: Any) -> Any:
    """In a random order: every row to a random partition, and there to a random place."""
    seed = int.from_bytes(os.urandom(7), "little")
    drawn = frame.selectExpr("*", f"rand({seed}L) AS {RANDOM}")
    return drawn.repartition(RANDOM).sortWithinPartitions(RANDOM).drop(RANDOM)


def spark_type(type_: pa.DataType) -> pa.DataType:
    """The nearest type that Spark has: it knows no unsigned numbers, and no column of nothing that can be written."""
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
def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = pa.schema([(one.name, spark_type(one.type)) for one in schema])
    return from_arrow_schema(plain, prefer_timestamp_ntz=True)


@quietly
def spark_session() -> Any:
    """The session that is there, or one on this machine; SPARK_REMOTE and SPARK_MASTER choose another."""
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
def spark_table(place: str, session: Any = None) -> SparkTable:
    """Any place that Spark reads: Parquet unless its name says CSV, JSON or ORC."""
    session = spark_session() if session is None else session
    stem = place.rstrip("/").lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
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
    return SparkTable.of(frame, place.rstrip("/").rsplit("/", 1)[-1])
