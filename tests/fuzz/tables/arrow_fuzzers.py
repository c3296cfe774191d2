"""Parquet and Arrow: whole files are read value by value; damaged ones are refused, or read as pyarrow reads them."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import SPECIAL, mutated, some
from tests.fuzz.tables.round_trip import only_files

from oboro.io.read import read

__all__ = ["ARROW_FUZZERS"]

MARKS = (b"\0", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x01", b"\x7f", b"\x80", b"PAR1", b"ARROW1")
ODD = (pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.binary(), pa.duration("s"), pa.null(), pa.binary(3))


def _values(rng: random.Random, type_: pa.DataType, rows: int) -> list[Any]:
    return [None if rng.random() < 0.1 else _value(rng, type_) for _ in range(rows)]


def _value(rng: random.Random, type_: pa.DataType) -> Any:
    if pa.types.is_boolean(type_):
        return rng.random() < 0.5
    if pa.types.is_integer(type_):
        most = 2 ** (type_.bit_width - (0 if str(type_).startswith("u") else 1))
        low = 0 if str(type_).startswith("u") else -most
        return rng.choice([low, most - 1, *(value for value in (0, 1, 2, 31, -1) if low <= value < most)])
    if pa.types.is_floating(type_):
        return rng.choice([0.0, -0.0, 0.5, 1.0, 1.5, -2.25, math.nan, math.inf])
    if pa.types.is_decimal(type_):
        return Decimal(rng.randint(-9999, 9999)).scaleb(-type_.scale)
    if pa.types.is_date(type_):
        return date(1970, 1, 1) + timedelta(days=rng.randint(-30_000, 30_000))
    if pa.types.is_temporal(type_):
        return rng.randint(0, 80_000)
    return some(rng, "ab1 é日\n\"',", 6)


def _type(rng: random.Random) -> pa.DataType:
    kind = rng.randrange(12)
    if kind < 3:
        return rng.choice(
            [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
        )
    if kind == 3:
        return rng.choice([pa.float32(), pa.float64(), pa.float16()])
    if kind == 4:
        return rng.choice([pa.bool_(), pa.decimal128(7, 2), pa.decimal256(40, 3), pa.large_string(), pa.string_view()])
    if kind == 5:
        return rng.choice([pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us")])
    if kind == 6:
        return rng.choice(
            [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC")]
        )
    if kind == 7 and rng.random() < 0.3:
        return rng.choice(ODD)
    return pa.string()


def _table(rng: random.Random) -> pa.Table:
    rows = int(rng.expovariate(0.1))
    columns: dict[str, pa.Array] = {}
    for place in range(rng.randint(1, 4)):
        type_ = _type(rng)
        made = pa.nulls(rows, type_) if type_ in ODD else pa.array(_values(rng, type_, rows), type_)
        coded = not pa.types.is_nested(type_) and rng.random() < 0.15 and type_ not in ODD and type_ != pa.float16()
        columns[f"c{place}"] = made.dictionary_encode() if coded and type_ != pa.string_view() else made
    return pa.table(columns)


def _parquet(rng: random.Random, table: pa.Table) -> bytes:
    out = io.BytesIO()
    try:
        pq.write_table(
            table, out, compression=rng.choice(["none", "none", "snappy", "zstd"]), use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(["1.0", "2.0"]), row_group_size=rng.choice([3, 1000]),
            write_statistics=rng.random() < 0.5,
        )  # fmt: skip
    except (pa.ArrowException, OSError):
        return _parquet(rng, pa.table({"c0": [1, 2]}))
    return out.getvalue()


def _arrow(rng: random.Random, table: pa.Table) -> bytes:
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, None, "lz4", "zstd"]))
    opened = pa.ipc.new_file if rng.random() < 0.7 else pa.ipc.new_stream
    with opened(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return out.getvalue()


def _drawn(write: Callable[[random.Random, pa.Table], bytes], rng: random.Random) -> Case:
    data = write(rng, _table(rng))
    damaged = rng.random() < 0.75
    return {"data": _damaged(rng, data) if damaged else data, "damaged": damaged, "held": rng.random() < 0.3}


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """A few bytes changed, often in what describes the file; now and then an accident that moves everything."""
    if rng.random() < 0.2:
        return data[:4] + mutated(rng, data[4:], MARKS, rng.randint(1, 3))
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = len(made) - 1 - int(rng.expovariate(0.005)) if rng.random() < 0.6 else rng.randrange(6, len(made))
        at = at if 6 <= at < len(made) else rng.randrange(len(made))
        made[at] = rng.choice(SPECIAL) if rng.random() < 0.5 else made[at] ^ (1 << rng.randrange(8))
    return bytes(made)


# Judging --------------------------------------------------------------------------------------------------------------


def _their_table(data: bytes) -> pa.Table | None:
    try:
        if data[:4] == b"PAR1":
            table = pq.read_table(io.BytesIO(data), use_threads=False)
        elif data[:6] == b"ARROW1":
            table = pa.ipc.open_file(io.BytesIO(data)).read_all()
        else:
            table = pa.ipc.open_stream(io.BytesIO(data)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        return None
    return table


def _cells(column: Any) -> list[Any]:
    """Plain values; moments as numbers, since Python's own end with the year 9999, and decimals, which also end, as text."""
    inner = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_temporal(inner):
        column = column.cast(inner).cast(pa.int32() if inner.bit_width == 32 else pa.int64())
    elif pa.types.is_decimal(inner):
        column = column.cast(inner).cast(pa.string())
    return [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in column.to_pylist()]


def check(case: Case, place: Path) -> Sequence[str]:
    """A table is the one that pyarrow reads; of a whole file nothing is refused but columns that hold no single values."""
    path = place / "in.data"
    path.write_bytes(case["data"])
    options = {"held": ["c0"]} if case["held"] else {}
    source = asked(lambda: read(path, **options))  # type: ignore[arg-type]
    only_files(place, "in.data")
    if refused(source):
        require(case["damaged"] or _asks_nested(case), f"a whole file was refused: {source}")
        return []
    data = asked(lambda: source.dataset)  # type: ignore[union-attr]
    if refused(data):
        require(case["damaged"], f"a whole file was refused when it was read again: {data}")
        return []
    return _compared(case, data)


def _asks_nested(case: Case) -> bool:
    """Whether a column is wanted that holds no single values."""
    theirs = _their_table(case["data"])
    return case["held"] and theirs is not None and pa.types.is_nested(theirs.schema.field("c0").type)


def _compared(case: Case, data: Any) -> list[str]:
    theirs = _their_table(case["data"])
    if theirs is None:
        require(case["damaged"], "pyarrow cannot read a whole file")
        return ["read what pyarrow refuses as a whole"]
    require(list(data) == theirs.column_names, f"columns {list(data)}, not {theirs.column_names}")
    found = []
    for name in data:
        type_ = theirs.schema.field(name).type
        ours, other = asked(lambda name=name: _cells(data[name].decode())), _cells(theirs.column(name))
        if refused(ours):
            somewhere = case["damaged"] and _has_zone(type_)
            require(pa.types.is_nested(type_) or somewhere, f"{type_}: {ours}")
            found.append(
                f"refused: {'a time zone that nobody knows' if somewhere else 'lists and structures are no single values'}"
            )
        elif ours != other:
            require(case["damaged"] and _two_ways(case["data"], name), f"{type_}: {ours}, not {other}"[:300])
            found.append("pyarrow reads a damaged file in two ways")
    return found


def _has_zone(type_: pa.DataType) -> bool:
    inner = type_.value_type if pa.types.is_dictionary(type_) else type_
    return pa.types.is_timestamp(inner) and inner.tz is not None


def _two_ways(data: bytes, name: str) -> bool:
    """Whether pyarrow itself gives several answers: row groups that say a wrong number of rows are read in one way or another."""
    if data[:4] != b"PAR1":
        return False
    ways = (pq.read_table, lambda file, **how: pq.ParquetFile(file).read(**how))
    tables = [way(io.BytesIO(data), columns=[name], use_threads=False) for way in ways]
    return len({str(_cells(table.column(name))) for table in tables}) > 1


ARROW_FUZZERS = (
    Fuzzer("parquet", lambda rng: _drawn(_parquet, rng), check, 100, shrinks=False),
    Fuzzer("arrow", lambda rng: _drawn(_arrow, rng), check, 200, shrinks=False),
)
