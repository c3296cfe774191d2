"""The session of Spark, and Spark's types: what it has none of becomes the nearest that it has."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import pyarrow as pa

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["SETTINGS", "quietly", "spark_schema", "spark_session", "spark_type"]

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
