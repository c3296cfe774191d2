"""The first rows of columns that stay where they are, to see what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from oboro.engines.engine import EngineTable
from oboro.io.untouched_columns import FIRST
from oboro.table.unencoded_columns import UnencodedColumn

__all__ = ["first_rows"]


def first_rows(table: EngineTable, names: Sequence[str]) -> dict[str, pa.Array]:
    """Those of each part of the table."""
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
