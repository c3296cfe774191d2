"""The session of Spark, and Spark's types: what it has none of becomes the nearest that it has."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import pyarrow as pa

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["SETTINGS", "arrow_type", "quietly", "spark_schema", "spark_session", "spark_type"]

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
def spark_schema(schema: pa.Schema) -> Any:
    """As Spark says it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = pa.schema([(one.name, spark_type(one.type)) for one in schema])
    return from_arrow_schema(plain, prefer_timestamp_ntz=True)
