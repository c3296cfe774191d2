"""Files in and out, format by format."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.read import read
from oboro.io.write import write

TABLE = {
    "name": ["Ann", "", None, 'Dé\n,"x"'],
    "age": [31, None, 40, 40],
    "born": [dt.date(1990, 1, 2), dt.date(1991, 1, 2), None, dt.date(1990, 1, 2)],
    "rate": [0.5, 1.5, None, 0.5],
    "well": [True, False, None, True],
}


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_typed_formats_come_back_as_they_went(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.{ending}"
    data = Dataset.from_arrow(pa.table(TABLE))
    write(data, path)
    again = read(path).data.to_arrow()
    assert again.equals(data.to_arrow())
    assert read(path, columns=["age"]).data.to_arrow().column_names == ["age"]
    with pytest.raises(ColumnError, match="'zip'"):
        read(path, columns=["zip"])


def test_what_other_tools_wrote(tmp_path: Path) -> None:
    pl.DataFrame(TABLE).write_parquet(tmp_path / "polars.parquet")
    pd.DataFrame(TABLE).to_feather(tmp_path / "pandas.feather")
    with (
        pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as file,
        pa.ipc.new_stream(file, pa.table(TABLE).schema) as stream,
    ):
        stream.write_table(pa.table(TABLE))
    for name in ("polars.parquet", "pandas.feather", "stream.arrow"):
        assert read(tmp_path / name).data["name"].decode().to_pylist() == TABLE["name"], name
    assert pq.read_table(tmp_path / "polars.parquet").num_rows == 4


def test_dictionary_columns_are_read(tmp_path: Path) -> None:
    table = pa.table({"sex": pa.array(["F", "M", "F"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").data["sex"].decode().to_pylist() == ["F", "M", "F"]


def test_excel(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        pd.DataFrame({"名前": ["佐藤", "鈴木"], "age": [31, 40]}).to_excel(book, sheet_name="people", index=False)
        pd.DataFrame({"x": [1.5]}).to_excel(book, sheet_name="other", index=False)
    assert read(tmp_path / "book.xlsx").data.to_arrow().to_pydict() == {"名前": ["佐藤", "鈴木"], "age": [31, 40]}
    (note,) = read(tmp_path / "book.xlsx").notes
    assert (note.id, note.values["sheet"], note.values["others"]) == ("io.other_sheets", "people", ["other"])
    assert not read(tmp_path / "book.xlsx", sheet="people").notes
    assert read(tmp_path / "book.xlsx", sheet="other").data.to_arrow().to_pydict() == {"x": [1.5]}
    with pytest.raises(UsageError, match="'third'.*'people'"):
        read(tmp_path / "book.xlsx", sheet="third")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx"])
def test_a_damaged_file_is_one_clear_message(tmp_path: Path, name: str) -> None:
    heads = {"t.parquet": b"PAR1", "t.feather": b"ARROW1", "t.xlsx": b"PK\x03\x04"}
    (tmp_path / name).write_bytes(heads[name] + b"rubbish" * 20)
    with pytest.raises(FileError, match=name):
        read(tmp_path / name)
    (tmp_path / name).write_bytes(b"age,sex\n1,F\n")
    with pytest.raises(FileError, match="ending"):
        read(tmp_path / name)


def test_nested_columns_are_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"tags": [["a"], ["b"]]}), tmp_path / "t.parquet")
    tags = read(tmp_path / "t.parquet").data["tags"]
    with pytest.raises(ColumnError, match="t.parquet.*'tags'"):
        tags.codes  # noqa: B018


def _pointing_nowhere() -> pa.Table:
    """A column whose third code has no value: Arrow writes it and reads it without a word."""
    codes = pa.array([0, 1, 200], pa.int32())
    return pa.table({"sex": pa.DictionaryArray.from_arrays(codes, pa.array(["F", "M"]), safe=False)})


@pytest.mark.parametrize("form", [pa.ipc.new_file, pa.ipc.new_stream])
def test_an_arrow_file_that_points_nowhere_is_refused(tmp_path: Path, form: Any) -> None:
    path, table = tmp_path / "in.arrow", _pointing_nowhere()
    with pa.OSFile(str(path), "wb") as file, form(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileError, match=r"in.arrow: cannot be read"):
        read(path)


def test_a_frame_that_points_nowhere_is_refused() -> None:
    with pytest.raises(ColumnError, match="broken"):
        Dataset.from_arrow(_pointing_nowhere())


def test_an_arrow_file_with_text_beyond_its_end_is_refused(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 4_000, 2], dtype=np.int32))
    names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    table = pa.table({"name": names})
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileError, match=r"in.arrow: cannot be read"):
        read(tmp_path / "in.arrow")
