"""Recipes and places, as one list each: every recipe must make the same release wherever its table comes from.

`RECIPES` uses every registered technique; `PLACES` has every format, database, lake and kind of frame. `outcome` is the part of a
release that must not depend on the place.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import narwhals
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq

import oboro
from oboro.data.dataset import Dataset
from oboro.errors import OboroError
from oboro.io.write import write, write_blocks

__all__ = [
    "OUTPUTS",
    "PLACES",
    "RECIPES",
    "Case",
    "Exporter",
    "MatrixOutput",
    "MatrixPlace",
    "Servers",
    "columns_of",
    "covering",
    "outcome",
    "report_facts",
]

ROWS = 60


def _table() -> pa.Table:
    """Thirty patients with two visits each: numbers, text, dates and moments, with missing values."""
    patient = [number // 2 for number in range(ROWS)]
    return pa.table(
        {
            "card": [f"c{number:04d}" for number in range(ROWS)],
            "patient": [f"p{number:02d}" for number in patient],
            "age": pa.array([20 + number * 7 % 31 for number in patient], pa.int64()),
            "city": [["東京", "Kyōto", "Osaka", None][number % 4] for number in patient],
            "zip": [f"{1000 + number % 3 * 11}" for number in patient],
            "born": [datetime.date(1980 + number % 3, 1 + number % 2, 5) for number in patient],
            "ill": [["flu", "cold", "gout"][number % 3] for number in range(ROWS)],
            "weight": [None if number % 11 == 3 else 50.5 + number % 7 for number in range(ROWS)],
            "paid": pa.array([100 * (number % 13) for number in range(ROWS)], pa.int64()),
            "flag": [number % 3 == 0 for number in range(ROWS)],
            "seen": pa.array(
                [datetime.datetime(2024, 3, 1 + number % 4, 8, 30) for number in range(ROWS)], pa.timestamp("us")
            ),
            "amount": pa.array([Decimal(f"{number % 4}.50") for number in range(ROWS)], pa.decimal128(8, 2)),
        }
    )


TABLE = _table()
AGE = {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}
CITY = {"role": "quasi"}
ZIP = {"role": "quasi", "hierarchy": {"mask": "right"}}
ILL = {"role": "sensitive"}
OTHER = {"role": "other"}
IDENTIFIER = {"role": "identifier"}
K = {"k_anonymize": {"k": 3, "suppress": 0.2}}


@dataclass(frozen=True)
class Case:
    """A recipe, and the columns of the table that it is for."""

    attributes: dict[str, Any]
    steps: list[dict[str, Any]]
    more: dict[str, Any] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    """Columns of the table that the recipe does not name."""

    @property
    def table(self) -> pa.Table:
        """The columns of the recipe, in the order of the table."""
        wanted = {*self.attributes, *self.beside, self.more.get("person")}
        return TABLE.select([name for name in TABLE.column_names if name in wanted])

    def recipe(self) -> oboro.Recipe:
        """The recipe with a seed of its own."""
        return oboro.Recipe(attributes=self.attributes, steps=self.steps, **{"seed": 11, **self.more})


def _accepted(*names: str) -> dict[str, Any]:
    return {"accept": {"unique_on": list(names), "because": "made-up people"}}


RECIPES: dict[str, Case] = {
    "identifier": Case(
        {"card": IDENTIFIER, "age": AGE, "city": CITY, "ill": ILL}, [{"drop_columns": {"attributes": ["card"]}}, K]
    ),
    "k, l and t": Case(
        {"card": IDENTIFIER, "age": AGE, "zip": ZIP, "ill": ILL},
        [
            {"drop_columns": {"attributes": ["card"]}},
            {"k_anonymize": {"k": 3, "suppress": 0.3, "l_diversity": {"ill": 2}, "t_closeness": {"ill": 0.5}}},
        ],
    ),
    "person": Case(
        {"age": AGE, "zip": ZIP, "ill": OTHER},
        [K, {"drop_columns": {"attributes": ["patient"]}}],
        {"person": "patient", **_accepted("ill")},
    ),
    "report": Case({"age": AGE, "zip": ZIP, "ill": OTHER, "city": OTHER}, [K], _accepted("ill", "city")),
    "several rows of a person": Case(
        {"patient": IDENTIFIER, "age": AGE, "born": CITY}, [{"drop_columns": {"attributes": ["patient"]}}, K]
    ),
    "a person that is no identifier": Case({"age": AGE, "born": CITY}, [K], {"unnamed": "drop"}, ("patient",)),
    "pseudonyms": Case(
        {"card": IDENTIFIER, "patient": IDENTIFIER, "age": AGE, "ill": ILL},
        [
            {"drop_columns": {"attributes": ["card"]}},
            {"pseudonymize": {"attribute": "patient", "method": "hmac", "key_env": "MATRIX_KEY"}},
            K,
        ],
        {"accept": {"rows_of": ["patient"], "because": "made-up people"}},
    ),
    "local recoding": Case(
        {"card": IDENTIFIER, "age": AGE, "zip": ZIP, "ill": ILL},
        [{"drop_columns": {"attributes": ["card"]}}, {"local_recode": {"k": 3, "l_diversity": {"ill": 2}}}],
    ),
    "suppressed cells": Case(
        {"card": IDENTIFIER, "age": CITY, "city": CITY, "zip": CITY},
        [{"drop_columns": {"attributes": ["card"]}}, {"suppress_cells": {"k": 3}}],
    ),
    "noise and swap": Case(
        {"age": AGE, "weight": OTHER, "paid": OTHER, "seen": OTHER},
        [
            {"date_shift": {"attribute": "seen", "days": 10}},
            {"top_code": {"attribute": "paid", "at": 1000}},
            {"bottom_code": {"attribute": "weight", "at": 51}},
            {"noise": {"attribute": "weight", "scale": 2}},
            {"round": {"attribute": "weight", "base": 0.5}},
            {"swap": {"attribute": "paid", "method": "random"}},
            K,
        ],
        _accepted("weight", "paid", "seen"),
    ),
    "shuffle": Case(
        {"age": AGE, "ill": OTHER, "paid": OTHER}, [{"shuffle": {"attributes": ["ill"]}}, K], _accepted("ill", "paid")
    ),
    "sample": Case(
        {"age": AGE, "city": CITY, "ill": ILL},
        [
            {"drop_records": {"where": {"ill": {"equals": "gout"}}}},
            {"generalize": {"attribute": "age", "level": 1}},
            {"sample": {"fraction": 0.8}},
            {"k_anonymize": {"k": 2, "suppress": 0.9}},
            {"sort": {"by": ["age", "city"]}},
        ],
    ),
    "microaggregation": Case(
        {"age": AGE, "weight": OTHER, "paid": OTHER},
        [
            {"microaggregate": {"attributes": ["weight"], "k": 3}},
            {"partition_univariate": {"attribute": "paid", "k": 3}},
            K,
        ],
        _accepted("weight", "paid"),
    ),
    "types": Case(
        {
            "card": IDENTIFIER,
            "age": AGE,
            "born": {"role": "quasi", "hierarchy": {"dates": ["day", "month", "year"]}},
            **dict.fromkeys(("weight", "paid", "flag", "seen", "amount"), OTHER),
        },
        [{"drop_columns": {"attributes": ["card"]}}, K],
        _accepted("weight", "paid", "flag", "seen", "amount"),
    ),
    "dropped unseen": Case({"age": AGE, "ill": ILL}, [K], {"unnamed": "drop"}, ("card", "paid", "seen")),
    "differential privacy": Case(
        {"card": IDENTIFIER, "age": AGE, "zip": ZIP},
        [
            {"drop_columns": {"attributes": ["card"]}},
            {"dp_anonymize": {"epsilon": 2, "delta": 0.01, "levels": {"age": 2, "zip": 1}}},
        ],
    ),
    "k-concealment": Case({"age": AGE, "zip": CITY}, [{"k_conceal": {"k": 2}}]),
    "randomized": Case(
        {"zip": OTHER, "ill": OTHER}, [{"pk_anonymize": {"k": 2, "attributes": ["ill"]}}], _accepted("zip", "ill")
    ),
    "synthetic": Case({"paid": OTHER, "weight": OTHER}, [{"synthesize": {"k": 3, "attributes": ["paid", "weight"]}}]),
}


# Places ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Servers:
    """The folder of a test, and the servers that it may use."""

    folder: Path
    s3: str = ""
    postgres: str = ""
    iceberg: str = ""


@dataclass(frozen=True)
class MatrixPlace:
    """A place: how a table gets there, and the source that a recipe then gets."""

    put: Callable[[pa.Table, Servers, str], Any]
    covers: str
    """The format, scheme or kind of frame that it stands for."""
    needs: str = ""
    """The server or library without which it is left out."""


def _file(ending: str, write: Callable[[pa.Table, str], object]) -> Callable[[pa.Table, Servers, str], str]:
    def put(table: pa.Table, servers: Servers, name: str) -> str:
        path = f"{servers.folder}/{name}{ending}"
        write(table, path)
        return path

    return put


def _halves(ending: str, write: Callable[[pa.Table, str], object]) -> Callable[[pa.Table, Servers, str], str]:
    def put(table: pa.Table, servers: Servers, name: str) -> str:
        folder = servers.folder / name
        folder.mkdir()
        write(table.slice(0, ROWS // 2), f"{folder}/a{ending}")
        write(table.slice(ROWS // 2), f"{folder}/b{ending}")
        return f"{folder}/"

    return put


def _sent(address: str) -> Callable[[pa.Table, Servers, str], str]:
    def put(table: pa.Table, servers: Servers, name: str) -> str:
        place = address.format(name=name, **vars(servers))
        write_blocks([table], place)
        return place

    return put


def _json(table: pa.Table, path: str) -> None:
    lines = [json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist()]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _excel(table: pa.Table, path: str) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(table.column_names)
    for row in table.to_pylist():
        sheet.append([float(value) if isinstance(value, Decimal) else value for value in row.values()])
    book.save(path)


def _sqlite(table: pa.Table, servers: Servers, name: str) -> str:
    path = servers.folder / f"{name}.db"
    kinds = {pa.int64(): "INTEGER", pa.float64(): "REAL", pa.bool_(): "INTEGER"}
    with sqlite3.connect(path) as file:
        columns = ", ".join(f"{one.name} {kinds.get(one.type, 'TEXT')}" for one in table.schema)
        file.execute(f"CREATE TABLE t ({columns})")
        rows = [[value if value is None or isinstance(value, int | float) else str(value) for value in row.values()]
                for row in table.to_pylist()]  # fmt: skip
        file.executemany(f"INSERT INTO t VALUES ({', '.join('?' * table.num_columns)})", rows)
    file.close()
    return f"sqlite:///{path}?"


def _duckdb(table: pa.Table, servers: Servers, name: str) -> str:
    path = servers.folder / f"{name}.duckdb"
    with duckdb.connect(str(path)) as file:
        file.register("given", table)
        file.execute("CREATE TABLE t AS SELECT * FROM given")
    return f"duckdb:///{path}?"


def _bytes_of(write: Callable[[pa.Table, Any], object]) -> Callable[[pa.Table, Servers, str], bytes]:
    def put(table: pa.Table, servers: Servers, name: str) -> bytes:
        sink = BytesIO()
        write(table, sink)
        return sink.getvalue()

    return put


def _arrow_file(table: pa.Table, path: str) -> None:
    feather.write_feather(table, path, compression="uncompressed")


class Exporter:
    """A table of a library that oboro knows nothing of: it exports a stream of Arrow, once."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.to_reader(max_chunksize=7).__arrow_c_stream__(requested_schema)


PLACES: dict[str, MatrixPlace] = {
    "pyarrow table": MatrixPlace(lambda table, *_: table, "pyarrow"),
    "record batch": MatrixPlace(lambda table, *_: table.combine_chunks().to_batches()[0], "pyarrow"),
    "reader": MatrixPlace(lambda table, *_: table.to_reader(max_chunksize=7), "pyarrow"),
    "dataset in memory": MatrixPlace(lambda table, *_: ds.dataset(table), "pyarrow"),
    "pandas": MatrixPlace(lambda table, *_: table.to_pandas(types_mapper=_pandas), "pandas"),
    "polars": MatrixPlace(lambda table, *_: pl.from_arrow(table), "polars"),
    "lazy polars": MatrixPlace(lambda table, *_: pl.LazyFrame(pl.from_arrow(table)), "polars"),
    "narwhals": MatrixPlace(lambda table, *_: narwhals.from_native(pl.from_arrow(table)), "narwhals"),
    "lazy narwhals": MatrixPlace(
        lambda table, *_: narwhals.from_native(pl.LazyFrame(pl.from_arrow(table))), "narwhals"
    ),
    "mapping": MatrixPlace(lambda table, *_: table.to_pydict(), "mapping"),
    "records": MatrixPlace(lambda table, *_: table.to_pylist(), "records"),
    "relation": MatrixPlace(lambda table, *_: duckdb.from_arrow(table), "duckdb"),
    "exported stream": MatrixPlace(lambda table, *_: Exporter(table), "stream"),
    "bytes of CSV": MatrixPlace(_bytes_of(csv.write_csv), "bytes"),
    "bytes of Parquet": MatrixPlace(_bytes_of(pq.write_table), "bytes"),
    "csv": MatrixPlace(_file(".csv", csv.write_csv), "csv"),
    "packed csv": MatrixPlace(_file(".csv.gz", lambda table, path: _packed(table, path)), "csv"),
    "csv folder": MatrixPlace(_halves(".csv", csv.write_csv), "csv"),
    "parquet": MatrixPlace(_file(".parquet", pq.write_table), "parquet"),
    "parquet folder": MatrixPlace(_halves(".parquet", pq.write_table), "parquet"),
    "arrow": MatrixPlace(_file(".arrow", _arrow_file), "arrow"),
    "arrow folder": MatrixPlace(_halves(".arrow", _arrow_file), "arrow"),
    "json lines": MatrixPlace(_file(".ndjson", _json), "json_lines"),
    "json folder": MatrixPlace(_halves(".ndjson", _json), "json_lines"),
    "survey": MatrixPlace(_file(".dta", lambda table, path: write(Dataset.from_arrow(table), path)), "survey"),
    "excel": MatrixPlace(_file(".xlsx", _excel), "excel"),
    "dataset of files": MatrixPlace(lambda *given: ds.dataset(_halves(".parquet", pq.write_table)(*given)), "parquet"),
    "pattern": MatrixPlace(lambda *given: _halves(".parquet", pq.write_table)(*given) + "*.parquet", "parquet"),
    "sqlite": MatrixPlace(lambda *given: _sqlite(*given) + "table=t", "sqlite"),
    "sqlite query": MatrixPlace(lambda *given: _sqlite(*given) + "query=SELECT * FROM t", "sqlite"),
    "duckdb": MatrixPlace(lambda *given: _duckdb(*given) + "table=t", "duckdb"),
    "duckdb query": MatrixPlace(lambda *given: _duckdb(*given) + "query=SELECT * FROM t", "duckdb"),
    "postgresql": MatrixPlace(_sent("{postgres}?table={name}"), "postgresql", "postgres"),
    "delta": MatrixPlace(_sent("delta:///{folder}/{name}"), "delta", "delta"),
    "iceberg": MatrixPlace(_sent("iceberg://{iceberg}.{name}"), "iceberg", "iceberg"),
    "memory": MatrixPlace(_sent("memory://{name}.parquet"), "fsspec"),
    "s3": MatrixPlace(_sent("s3://people/{name}.parquet"), "s3", "s3"),
    "csv in s3": MatrixPlace(_sent("s3://people/{name}.csv"), "s3", "s3"),
    "s3 folder": MatrixPlace(_sent("s3://people/{name}/"), "s3", "s3"),
    "json in s3": MatrixPlace(_sent("s3://people/{name}.ndjson"), "s3", "s3"),
}


def _pandas(type_: pa.DataType) -> Any:
    import pandas as pd

    return pd.Int64Dtype() if type_ == pa.int64() else None


def _packed(table: pa.Table, path: str) -> None:
    with pa.CompressedOutputStream(path, "gzip") as file:
        csv.write_csv(table, file)


@dataclass(frozen=True)
class MatrixOutput:
    """A place that a release goes to, and the server without which it is left out."""

    address: str
    needs: str = ""

    def place(self, servers: Servers, name: str) -> str:
        """The place, under a name that no other test uses."""
        return self.address.format(name=name, **vars(servers))


OUTPUTS: dict[str, MatrixOutput] = {
    "parquet": MatrixOutput("{folder}/{name}.parquet"),
    "csv": MatrixOutput("{folder}/{name}.csv"),
    "folder": MatrixOutput("{folder}/{name}/"),
    "excel": MatrixOutput("{folder}/{name}.xlsx"),
    "json lines": MatrixOutput("{folder}/{name}.ndjson"),
    "arrow": MatrixOutput("{folder}/{name}.arrow"),
    "sqlite": MatrixOutput("sqlite:///{folder}/{name}.db?table=out"),
    "duckdb": MatrixOutput("duckdb:///{folder}/{name}.duckdb?table=out"),
    "postgresql": MatrixOutput("{postgres}?table={name}", "postgres"),
    "delta": MatrixOutput("delta:///{folder}/{name}", "delta"),
    "iceberg": MatrixOutput("iceberg://{iceberg}.{name}", "iceberg"),
    "s3": MatrixOutput("s3://people/{name}.parquet", "s3"),
    "s3 folder": MatrixOutput("s3://people/{name}/", "s3"),
}


def covering(recipes: Sequence[str], places: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return each recipe with each place, and each recipe with each output; "" where a combination writes none.

    Outputs take most of the time. They are dealt diagonally, so that every place meets several of them.
    """
    step, found = len(places) // len(outputs), []
    for (i, recipe), (j, place) in product(enumerate(recipes), enumerate(places)):
        number, rest = divmod((i + j) % len(places), step)
        found.append((recipe, place, outputs[number] if rest == 0 and number < len(outputs) else ""))
    return found


# What must be the same ------------------------------------------------------------------------------------------------


def _text_of(value: Any) -> str:
    """A value as each place may write it: numbers of one size are one number, a missing value is empty text."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        value = {"true": "1", "false": "0", "True": "1", "False": "0"}.get(value, value)
        try:
            return format(round(float(value), 9), "g") if value[:1].isdigit() or value[:1] == "-" else value
        except ValueError:
            pass
    elif isinstance(value, int | float | Decimal):
        return format(round(float(value), 9), "g")
    return str(value).replace("T", " ").removesuffix(".000000").removesuffix(" 00:00:00")


def columns_of(data: Any) -> dict[str, list[str]]:
    """The values by column, as text."""
    columns = zip(data.column_names, data.columns, strict=True)
    return {name: [_text_of(value) for value in column.to_pylist()] for name, column in columns}


MEASURED = {"seconds", "bytes_before", "bytes_after"}  # differ with the machine, and with the type of a column


def _plain(found: Any) -> Any:
    """Facts without times and sizes, and with messages as text."""
    if isinstance(found, dict):
        return {str(name): _plain(one) for name, one in found.items() if name not in MEASURED}
    if isinstance(found, list | tuple):
        return [_plain(one) for one in found]
    return found if isinstance(found, int | float | None) else _text_of(str(found))


def outcome(recipe: oboro.Recipe, source: Any) -> tuple[dict[str, Any], Any]:
    """What a recipe makes of a table, or the error that refuses it; and the release."""
    try:
        release = recipe.run(source)
    except OboroError as error:
        return {"refused": f"{type(error).__name__}: {error}"}, None
    facts = {
        "values": columns_of(release.dataset.to_arrow()),
        "steps": [_plain(step.as_dict()) for step in release.steps],
        "verdicts": [str(one.message) for one in release.verification.verdicts],
        "cautions": [str(one) for one in release.cautions],
        "look": str(release.last_look),
        "looked": [str(one) for one in release.looked()],
    }
    return facts, release


def report_facts(release: Any) -> Any:
    """What the report says, without times and sizes."""
    return _plain(release.report.as_dict())
