"""Columns of Parquet and Arrow that few tools write: they go through, or the reason is said; none is released wrongly."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command_line import call

from oboro.errors import ColumnError
from oboro.io.read import read
from oboro.notations.texts import text_of_bytes, texts_of
from oboro.recipe.recipe import Recipe

ROWS = 40
KEEP = Recipe(attributes={"age": {"role": "other"}, "x": {"role": "other"}}, steps=["shuffle"])
DROP = Recipe(
    attributes={"age": {"role": "other"}, "x": {"role": "other"}}, steps=[{"drop_columns": {"attributes": ["x"]}}]
)
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def table(values: list[object], type_: pa.DataType) -> pa.Table:
    """A table with one plain column and one of the type."""
    half = pa.array(values, type_) if not pa.types.is_time(type_) else pa.array(values, pa.int32()).view(type_)
    x = pa.concat_arrays([half] * (ROWS // len(values)))
    return pa.table({"age": pa.array([20 + place % 2 for place in range(ROWS)]), "x": x})


def stored(folder: Path, made: pa.Table, ending: str) -> Path:
    """The table as a file."""
    path = folder / f"in.{ending}"
    if ending == "parquet":
        pq.write_table(made, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
            writer.write_table(made)
    return path


def type_in(path: Path) -> pa.DataType:
    """The type of the column in a file."""
    read_it = pq.read_table if path.suffix == ".parquet" else pa.feather.read_table
    return read_it(path).schema.field("x").type


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("values", "type_", "texts"),
    [
        ([2**31 - 1, 0], pa.date32(), {"5881580-07-11", "1970-01-01"}),
        ([2**62, 0], pa.timestamp("us"), {"148108-07-06 14:00:27.387904", "1970-01-01 00:00:00.000000"}),
        ([2**62, 0], pa.timestamp("us", "UTC"), {"148108-07-06 14:00:27.387904Z", "1970-01-01 00:00:00.000000Z"}),
        ([b"\xff", b"ab"], pa.binary(), {r"\xFF", "ab"}),
        ([Decimal("1.5"), Decimal("2.25")], pa.decimal32(5, 2), {"1.50", "2.25"}),
        ([Decimal("1.5"), Decimal("2.25")], pa.decimal64(5, 2), {"1.50", "2.25"}),
        (["short", "a text too long to stand in the view"], pa.string_view(), {"short", "a text too long to stand in the view"}),
        (["a", None], DICTIONARY, {"a", ""}),
    ],
)  # fmt: skip
def test_csv_has_every_value(
    tmp_path: Path, ending: str, values: list[object], type_: pa.DataType, texts: set[str]
) -> None:
    path = stored(tmp_path, table(values, type_), ending)
    KEEP.run(path).write(tmp_path / "out.csv")
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        assert {row["x"] for row in csv.DictReader(file)} == texts


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("out", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "type_", [DICTIONARY, pa.large_string(), pa.string_view(), pa.decimal32(5, 2), pa.decimal64(5, 2)]
)
def test_types_come_back(tmp_path: Path, ending: str, out: str, type_: pa.DataType) -> None:
    values: list[object] = [Decimal("1.5"), None] if pa.types.is_decimal(type_) else ["a", "b"]
    made = table(values, type_)
    KEEP.run(stored(tmp_path, made, ending)).write(tmp_path / f"out.{out}")
    assert type_in(tmp_path / f"out.{out}") == type_
    assert sorted(map(str, read(tmp_path / f"out.{out}").data["x"].decode().to_pylist())) == sorted(
        map(str, made["x"].to_pylist())
    )


def test_a_dictionary_has_only_values_that_rows_have(tmp_path: Path) -> None:
    codes = pa.array([0] * ROWS, pa.int32())
    made = pa.table({"age": [1] * ROWS, "x": pa.DictionaryArray.from_arrays(codes, ["kept", "secret"])})
    KEEP.run(stored(tmp_path, made, "arrow")).write(tmp_path / "out.arrow")
    column = pa.feather.read_table(tmp_path / "out.arrow")["x"].chunk(0)
    assert column.dictionary.to_pylist() == ["kept"]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("values", "type_"),
    [([[1, 2], []], pa.list_(pa.int64())), ([{"a": 1}, {"a": 2}], pa.struct({"a": pa.int64()})),
     ([0, 1], pa.timestamp("s", "Nowhere/At_all"))],
)  # fmt: skip
def test_a_column_of_lists_can_be_dropped(
    tmp_path: Path, ending: str, values: list[object], type_: pa.DataType
) -> None:
    made = table(values, type_)
    path = stored(tmp_path, made, ending)
    DROP.run(path).write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("age\n")
    assert DROP.run(made).data.column_names == ["age"]
    for source in (path, made):
        with pytest.raises(ColumnError, match="drop it"):
            KEEP.run(source)
    done = call("verify", path, "--quasi", "age", "--k", 2)
    assert done.code == 0, done.err


def test_a_report_over_a_dropped_column_of_lists(tmp_path: Path) -> None:
    path = stored(tmp_path, table([[1], [2]], pa.list_(pa.int64())), "parquet")
    assert DROP.run(path).report.summary()


def test_a_time_beyond_the_day_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path, table([90_000_000, 0], pa.time32("ms")), "parquet")
    done = call("init", path)
    assert done.code == 2
    assert "internal error" not in done.err


@pytest.mark.parametrize("type_", [pa.date32(), pa.timestamp("s"), pa.timestamp("us", "Asia/Tokyo")])
def test_excel_gets_days_that_no_calendar_has_as_text(tmp_path: Path, type_: pa.DataType) -> None:
    path = stored(tmp_path, table([2**31 - 1 if type_ == pa.date32() else 2**55, 0], type_), "arrow")
    KEEP.run(path).write(tmp_path / "out.xlsx")
    assert set(read(tmp_path / "out.xlsx").data["x"].texts) == set(read(path).data["x"].texts)


def test_far_days_are_numbers_too() -> None:
    far = pa.array([2**62 - 2**62 % 86_400_000, 0], pa.date64())
    column = read_column(far)
    assert column.tolist() == [(2**62 - 2**62 % 86_400_000) / 86_400_000, 0.0]
    assert read_column(pa.array([2**62], pa.timestamp("s"))).tolist() == [2.0**62 * 1e6]


def read_column(array: pa.Array) -> pa.Array:
    """The numbers of a column."""
    from oboro.notations.kinds import numbers_of

    return numbers_of(array)


@given(st.lists(st.binary(max_size=6) | st.text(max_size=4).map(str.encode) | st.sampled_from([b"\\xFF", b"\xff"])))
def test_no_two_bytes_have_the_same_text(values: list[bytes]) -> None:
    assert len({text_of_bytes(value) for value in values}) == len(set(values))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from(["s", "ms", "us", "ns"]))
def test_no_two_moments_have_the_same_text(ticks: list[int], unit: str) -> None:
    texts = texts_of(pa.array(ticks, pa.timestamp(unit)))
    assert len(set(texts)) == len(set(ticks))
    assert not any("range" in (text or "") for text in texts)


PAIRS = pa.map_(pa.string(), pa.int64())


@pytest.mark.parametrize("type_", [PAIRS, pa.list_(PAIRS), pa.struct([("held", PAIRS)])], ids=str)
def test_a_column_of_maps_passes_through(tmp_path: Path, type_: pa.DataType) -> None:
    """Arrow has no functions for maps: equal ones must be known as equal all the same."""
    maps: list[Any] = [[("a", 1)], [("a", 1), ("b", None)], [], None] * 5
    held = [[one] for one in maps] if pa.types.is_list(type_) else [{"held": one} for one in maps]
    column = pa.array(maps if pa.types.is_map(type_) else held, type_)
    pq.write_table(pa.table({"age": [30, 31] * 10, "tags": column}), tmp_path / "in.parquet")
    recipe = Recipe(attributes={"age": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}], unnamed="other")
    recipe.run(tmp_path / "in.parquet").write(tmp_path / "out.parquet")
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.schema.field("tags").type == pq.read_table(tmp_path / "in.parquet").schema.field("tags").type
    pairs = zip(released["age"].to_pylist(), map(str, released["tags"].to_pylist()), strict=True)
    assert sorted(pairs) == sorted(zip([30, 31] * 10, map(str, column.to_pylist()), strict=True))
