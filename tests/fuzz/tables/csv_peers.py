"""CSV as polars and pyarrow read it: every record, the first one too, as text; None where they refuse it."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

from oboro.io.formats.csv.dialect import Dialect

__all__ = ["PEERS", "Records"]

Records = list[list[str | None]] | None


def polars_records(data: bytes, dialect: Dialect, width: int) -> Records:
    """As polars reads it."""
    try:
        table = pl.read_csv(
            io.BytesIO(data),
            has_header=False,
            infer_schema=False,
            separator=dialect.cut,
            quote_char=dialect.quote,
        )
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None
    return [[field or None for field in row] for row in table.rows()] if table.width == width else None


def arrow_records(data: bytes, dialect: Dialect, width: int) -> Records:
    """As pyarrow reads it."""
    names = [f"f{place}" for place in range(width)]
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(data),
            read_options=arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=1 << 20),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.cut, quote_char=dialect.quote, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[]),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return [[field or None for field in row] for row in zip(*(one.to_pylist() for one in table.columns), strict=True)]


PEERS = {"polars": polars_records, "pyarrow": arrow_records}
