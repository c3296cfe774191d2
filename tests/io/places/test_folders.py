"""Folders and patterns: their files are one table, hive partitions are columns, and only what is asked for is read."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import oboro
from oboro.errors import FileError, InputError, UsageError
from oboro.io.open import open_place
from oboro.io.read import read

ROWS = {"age": [31, None, 33, 34], "name": ["あ", "b", None, "d"], "year": [2023, 2023, 2024, 2024]}


def hive(folder: Path, write) -> Path:
    """The rows by year, in two folders."""
    for year, rows in ((2023, slice(0, 2)), (2024, slice(2, 4))):
        place = folder / f"year={year}"
        place.mkdir(parents=True)
        write(pa.table({name: ROWS[name][rows] for name in ("age", "name")}), place / "part-0")
    return folder


def test_parquet_folders_with_partitions(tmp_path) -> None:
    folder = hive(tmp_path / "people", lambda table, path: pq.write_table(table, f"{path}.parquet"))
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").write_bytes(b"nothing")
    assert read(folder).data.to_arrow().to_pydict() == ROWS
    assert read(f"{folder}/").data.to_arrow().to_pydict() == ROWS
    assert read(f"{folder}/*/*.parquet").data.to_arrow().to_pydict() == ROWS
    assert read(f"{folder}/**/part-[0-9].parquet").data.rows == 4
    assert read(f"{folder}/year=2024").data.to_arrow().to_pydict() == {"age": [33, 34], "name": [None, "d"]}
    assert open_place(str(folder), {}).columns == ["age", "name", "year"]
    held = read(folder, held=["year"], fingerprinted=["name"])
    assert held.dataset.to_arrow().to_pydict() == ROWS
    assert list(read(folder, columns=["year", "age"]).data) == ["year", "age"]


def test_text_folders(tmp_path) -> None:
    csv = hive(
        tmp_path / "csv", lambda table, path: Path(f"{path}.csv").write_text(pl.DataFrame(table).write_csv(), "utf-8")
    )
    (csv / "year=2024" / "empty.csv").touch()
    texts = {"age": ["31", None, "33", "34"], **{name: ROWS[name] for name in ("name", "year")}}
    assert read(csv).data.to_arrow().to_pydict() == texts
    held = read(csv, held=["age"])
    assert held.dataset.to_arrow().to_pydict() == texts
    lines = hive(
        tmp_path / "lines", lambda table, path: Path(f"{path}.ndjson").write_text(pl.DataFrame(table).write_ndjson())
    )
    assert read(lines).data.to_arrow().to_pydict() == ROWS


def test_arrow_folders(tmp_path) -> None:
    folder = hive(tmp_path / "arrow", lambda table, path: feather.write_feather(table, f"{path}.arrow"))
    assert read(folder).data.to_arrow().to_pydict() == ROWS


def test_a_column_that_a_file_lacks_is_missing_there_and_types_are_widened(tmp_path) -> None:
    pq.write_table(pa.table({"a": pa.array([1], pa.int8()), "b": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([2**40])}), tmp_path / "2.parquet")
    assert read(tmp_path).data.to_arrow().to_pydict() == {"a": [1, 2**40], "b": ["x", None]}
    pq.write_table(pa.table({"a": ["text"]}), tmp_path / "3.parquet")
    with pytest.raises(InputError, match="column 'a' has different types"):
        read(tmp_path)


def test_partitions_with_leading_zeros_stay_text_and_a_missing_one_is_missing(tmp_path) -> None:
    for value in ("007", "__HIVE_DEFAULT_PARTITION__", "a%2Fb"):
        (tmp_path / f"zip={value}").mkdir()
        pq.write_table(pa.table({"n": [1]}), tmp_path / f"zip={value}" / "p.parquet")
    assert set(read(tmp_path).data.to_arrow()["zip"].to_pylist()) == {"007", None, "a/b"}


def test_errors_name_a_file_without_the_values_in_its_path(tmp_path) -> None:
    (tmp_path / "zip=1234").mkdir()
    (tmp_path / "zip=1234" / "part.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FileError) as caught:
        read(tmp_path)
    assert "zip=…/part.parquet" in str(caught.value)
    assert "1234" not in str(caught.value)


def test_folders_that_are_no_plain_table_are_refused(tmp_path) -> None:
    for name in ("_delta_log", "metadata", "data"):
        (tmp_path / name).mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "part.parquet")
    (tmp_path / "_delta_log" / "0.json").touch()
    with pytest.raises(FileError, match="Delta table"):
        read(tmp_path)
    (tmp_path / "_delta_log" / "0.json").unlink()
    (tmp_path / "metadata" / "v1.metadata.json").touch()
    with pytest.raises(FileError, match="Iceberg table"):
        read(tmp_path)
    (tmp_path / "metadata" / "v1.metadata.json").unlink()
    (tmp_path / "more.csv").write_text("a\n1\n")
    with pytest.raises(FileError, match="several formats: 'csv', 'parquet'"):
        read(tmp_path)
    with pytest.raises(FileError, match="no data file"):
        read(tmp_path / "data")
    with pytest.raises(FileError, match="no data file"):
        read(f"{tmp_path}/*.orc")


def test_csv_files_with_other_columns_are_refused(tmp_path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b\n1\n")
    with pytest.raises(InputError, match=r"2.csv: lacks 'a'"):
        read(tmp_path)
    (tmp_path / "2.csv").write_text("b,a,c\n1,2,3\n")
    with pytest.raises(InputError, match=r"2.csv: has 'c'"):
        read(tmp_path)


def test_a_folder_that_changes_is_noticed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("oboro.io.places.batches.SMALL", 0)  # else what is released is held at once
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "1.parquet")
    found = read(tmp_path, held=["a"], fingerprinted=["b"])
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}), tmp_path / "1.parquet")
    with pytest.raises(FileError, match="was changed"):
        _ = found.dataset


RECIPE = oboro.Recipe(
    attributes={"age": {"role": "quasi"}, "name": {"role": "other"}, "year": {"role": "quasi"}},
    steps=[{"k_anonymize": {"k": 2, "suppress": 1}}],
    accept={"unique_on": ["name"], "because": "made up"},
    seed=1,
    order="kept",
)


@pytest.mark.parametrize("kind", ["dataset", "reader", "lazy", "relation", "stream", "bytes", "records"])
def test_what_other_libraries_hold_is_released_like_a_table(kind: str, tmp_path) -> None:
    table = pa.table({name: values * 3 for name, values in ROWS.items()})
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)

    class Anything:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    given = {
        "dataset": lambda: ds.dataset(path),
        "reader": table.to_reader,
        "lazy": lambda: pl.LazyFrame(pl.from_arrow(table)),
        "relation": lambda: duckdb.from_arrow(table),
        "stream": Anything,
        "bytes": path.read_bytes,
        "records": table.to_pylist,
    }[kind]
    expected = RECIPE.run(table).data
    release = RECIPE.run(given())
    found = release.data
    if kind == "lazy":
        assert isinstance(found, pl.LazyFrame)
        found = found.collect().to_arrow()
    found = pa.Table.from_pylist(found) if kind == "records" else found
    assert found.to_pydict() == expected.to_pydict()
    assert oboro.verify(given() if kind != "bytes" else oboro.read(given()), quasi=["year"], k=2).holds


def test_what_is_no_table_is_refused() -> None:
    for nothing in (42, pa.array([1]), [1, 2]):
        with pytest.raises(UsageError, match="expected a table"):
            RECIPE.run(nothing)
