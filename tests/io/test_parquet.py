"""Parquet in and out, against Arrow's own reading and a plain loop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError
from oboro.io.formats import columns as formats_columns
from oboro.io.formats import parquet
from oboro.io.write import write, write_blocks

TYPES = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "near": (pa.int64(), st.integers(2**62, 2**62 + 9)),
    "uint32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "day": (pa.date32(), st.dates()),
    "float": (pa.float64(), st.floats(allow_nan=False).map(lambda number: number + 0.0)),  # Arrow tells −0 from 0
    "truth": (pa.bool_(), st.booleans()),
    "decimal": (pa.decimal128(5, 2), st.decimals(-99, 99, places=2)),
    "text": (pa.string(), st.text(max_size=20)),
    "few": (pa.string(), st.sampled_from(["", "*", "a long value, longer than two words", "b"])),
    "large": (pa.large_string(), st.text(max_size=3)),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 60))
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        type_, values = TYPES[name]
        columns[name] = pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), type_)
    return pa.table(columns)


def by_first_appearance(values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The naive twin: distinct values in the order of the rows, and each row's place among them."""
    found: list[Any] = []
    codes = []
    for value in values:
        if value not in found:
            found.append(value)
        codes.append(found.index(value))
    return found, codes


@given(
    table=tables(),
    group=st.integers(1, 40),
    shares=st.sampled_from([1, 2, 3]),
    repeated=st.sampled_from([0, 1, 16]),
    widest=st.sampled_from([1, 20, 1 << 21]),
)
def test_columns_are_read_as_by_a_plain_loop(
    table: pa.Table, group: int, shares: int, repeated: int, widest: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(parquet, "SMALL", max(len(table) // shares, 1))
        patch.setattr(parquet, "FEWEST", 7)
        patch.setattr(parquet, "CELLS", 7 * table.num_columns)
        patch.setattr(parquet, "REPEATED", repeated)  # 0: always read as a dictionary
        patch.setattr(formats_columns, "WIDEST", widest)
        patch.setattr(parquet.os, "cpu_count", lambda: shares)
        pq.write_table(table, f"{folder}/t.parquet", row_group_size=group)
        data = parquet.encode(f"{folder}/t.parquet", table.column_names)
    assert data.rows == len(table)
    for name in table.column_names:
        values, codes = by_first_appearance(table[name].to_pylist())
        assert data[name].values.to_pylist() == values
        assert data[name].codes.tolist() == codes


def test_a_file_without_row_groups_has_columns(tmp_path: Path) -> None:
    schema = pa.schema({"sex": pa.string(), "age": pa.int64()})
    pq.ParquetWriter(tmp_path / "t.parquet", schema).close()
    data = parquet.encode(str(tmp_path / "t.parquet"), ["sex", "age"])
    assert data.rows == 0
    assert data.to_arrow().schema == schema


def test_numbers_that_go_on_too_far_apart_keep_their_codes() -> None:
    """The table of places is given up in the middle of a column: what was numbered before stays."""
    column = formats_columns.growing_column(pa.int64(), 100)
    for batch in ([5, None, 7], [6, 5, -3], [1 << 40, 7, None, -3]):
        column.add(pa.array(batch, pa.int64()))
    values, pieces = column.finished()
    assert values.to_pylist() == [5, None, 7, 6, -3, 1 << 40]
    assert np.concatenate(pieces).tolist() == [0, 1, 2, 3, 0, 4, 5, 2, 1, 4]


@given(table=tables(), blocks=st.integers(1, 5))
def test_what_is_written_is_read_again_with_its_types(table: pa.Table, blocks: int) -> None:
    data = Dataset.from_arrow(table)
    cuts = [len(table) * cut // blocks for cut in range(blocks + 1)]
    parts = [
        Dataset({name: Column(data[name].values, data[name].codes[a:b]) for name in data}, b - a)
        for a, b in pairwise(cuts)
    ]
    with TemporaryDirectory() as folder:
        write_blocks(parts, f"{folder}/t.parquet")
        again = pq.read_table(f"{folder}/t.parquet")
    assert again.schema.types == [
        pa.string() if formats_columns.is_text(type_) else type_ for type_ in table.schema.types
    ]
    assert again.to_pydict() == table.to_pydict()


def test_values_of_other_rows_are_not_in_the_file(tmp_path: Path) -> None:
    """A dictionary may hold more than its rows do: that must not get out."""
    column = Column(pa.array(["kept", "secret", None]), np.array([0, 0, 2], dtype=np.uint8))
    write(Dataset({"name": column}, 3), tmp_path / "t.parquet")
    assert b"secret" not in (tmp_path / "t.parquet").read_bytes()
    assert pq.read_table(tmp_path / "t.parquet")["name"].to_pylist() == ["kept", "kept", None]


def test_other_programs_see_plain_text(tmp_path: Path) -> None:
    import polars as pl

    data = Dataset.of({"sex": ["F", None, "M"], "born": [date(1950, 1, 1)] * 3, "paid": [Decimal("1.20")] * 3})
    write(data, tmp_path / "t.parquet")
    assert pq.read_schema(tmp_path / "t.parquet").types == [pa.string(), pa.date32(), pa.decimal128(3, 2)]
    assert pl.read_parquet(tmp_path / "t.parquet").schema["sex"] == pl.String


@pytest.mark.parametrize("wrong", [b"\xff", b"\xff\xfeab", b"caf\xe9"])
@pytest.mark.parametrize("kinds", [3, 900])
@pytest.mark.parametrize("gap", [None, b"ok"])
def test_text_that_is_none_is_an_error_and_never_a_missing_value(
    tmp_path: Path, wrong: bytes, kinds: int, gap: bytes | None
) -> None:
    cells = pa.array([wrong if row == 77 else gap if row == 78 else b"ok %d" % (row % kinds) for row in range(900)])
    text = pa.Array.from_buffers(pa.string(), len(cells), cells.buffers(), cells.null_count)
    pq.write_table(pa.table({"note": text}), tmp_path / "t.parquet")
    with pytest.raises(ColumnError, match=r"t\.parquet: column 'note' .* not UTF-8"):
        parquet.encode(str(tmp_path / "t.parquet"), ["note"])
