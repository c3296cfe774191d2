"""Frames in, the same kind of frame out, and nothing but released values with it."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from typing import Any

import narwhals as nw
import narwhals.stable.v1 as nw_v1
import narwhals.stable.v2 as nw_v2
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.errors import ColumnError, UsageError

DAYS = [dt.date(2024, 1, 1), None, dt.date(2024, 2, 29)]
TIMES = pd.to_datetime(["2024-01-01 10:00", None, "2024-02-29 23:59"])


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "int64": [1, 2, 3],
            "int8": np.array([1, 2, 3], dtype=np.int8),
            "uint16": np.array([1, 2, 3], dtype=np.uint16),
            "float": [1.5, np.nan, 2.0],
            "float32": np.array([1.5, np.nan, 2.0], dtype=np.float32),
            "bool": [True, False, True],
            "str": ["x", None, "y"],
            "object": pd.Series(["x", None, "y"], dtype=object),
            "dates": pd.Series(DAYS, dtype=object),
            "decimals": pd.Series([Decimal("1.50"), None, Decimal("2.00")], dtype=object),
            "time": TIMES,
            "ns": TIMES.astype("datetime64[ns]"),
            "zoned": TIMES.tz_localize("Asia/Tokyo"),
            "delta": pd.to_timedelta([1, None, 3], unit="s"),
            "Int64": pd.array([1, None, 3], dtype="Int64"),
            "Float32": pd.array([1.5, None, 3], dtype="Float32"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "string": pd.array(["x", None, "y"], dtype="string"),
            "arrow": pd.array(["x", None, "y"], dtype=pd.ArrowDtype(pa.string())),
            "arrow_int": pd.array([1, None, 3], dtype=pd.ArrowDtype(pa.int32())),
            "category": pd.Categorical(["u", None, "v"], categories=["v", "u"], ordered=True),
            "numbers": pd.Categorical([3, 1, 3]),
            7: [1, 2, 3],
        }
    )


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "int": [1, 2, 3],
            "u8": pl.Series([1, 2, None], dtype=pl.UInt8),
            "float": [1.5, None, 2.0],
            "bool": [True, None, False],
            "str": ["x", None, "y"],
            "bin": [b"x", None, b"y"],
            "cat": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "enum": pl.Series(["x", None, "y"], dtype=pl.Enum(["y", "x"])),
            "date": DAYS,
            "time": pl.Series([dt.time(1), None, dt.time(2)]),
            "zoned": pl.Series([dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 2)]).dt.replace_time_zone(
                "Asia/Tokyo"
            ),
            "ms": pl.Series([dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 2)], dtype=pl.Datetime("ms")),
            "delta": [dt.timedelta(1), None, dt.timedelta(2)],
            "dec": pl.Series([Decimal("1.50"), None, Decimal("2.00")], dtype=pl.Decimal(10, 2)),
            "null": [None, None, None],
        }
    )


def test_pandas_comes_back_as_it_was() -> None:
    frame = pandas_frame()
    before = frame.copy(deep=True)
    again = Frame.read(frame).write()
    pd.testing.assert_frame_equal(again, before, check_column_type=False)
    pd.testing.assert_frame_equal(frame, before)
    assert isinstance(again.index, pd.RangeIndex)
    assert list(again.columns) == list(before.columns)


def test_polars_comes_back_as_it_was() -> None:
    frame = polars_frame()
    again = Frame.read(frame).write()
    assert again.schema == frame.schema
    assert again.equals(frame)


def test_pyarrow_comes_back_as_it_was() -> None:
    table = polars_frame().to_arrow().append_column("large", pa.array(["a", "b", None], pa.large_string()))
    again = Frame.read(table).write()
    assert again.equals(table)
    assert again.schema.equals(table.schema)
    batch = table.to_batches()[0]
    assert Frame.read(batch).write().equals(batch)


@pytest.mark.parametrize("namespace", [nw, nw_v1, nw_v2])
@pytest.mark.parametrize("make", [pandas_frame, polars_frame])
def test_narwhals_comes_back_as_it_was(namespace: Any, make: Any) -> None:
    frame = namespace.from_native(make(), eager_only=True)
    again = Frame.read(frame).write()
    assert type(again) is type(frame)
    assert type(again.to_native()) is type(frame.to_native())
    assert again.columns == frame.columns


def test_lists_and_datasets_come_back_as_they_were() -> None:
    columns = {"a": [1, None], "b": ["x", "y"], 3: [DAYS[0], None]}
    assert Frame.read(columns).write() == columns
    assert Frame.read({"a": np.array([1, 2])}).write() == {"a": [1, 2]}
    data = Dataset.of({"a": [1]})
    assert Frame.read(data).write() is data
    assert Frame.read(Frame.read(data)).data is data


CUT = pd.Categorical(pd.cut(np.array([1, 5, 9, np.nan, 12]), [0, 5, 10, 15, 20]))
SPELLED: dict[str, Any] = {
    "months": pd.period_range("2020-01", periods=5, freq="M"),
    "weeks": pd.period_range("2020-01", periods=5, freq="W"),
    "quarters with a gap": pd.PeriodIndex(["2020Q1", None, "2020Q1", "2021Q2", "2019Q4"], freq="Q"),
    "intervals": pd.arrays.IntervalArray.from_tuples([(0, 5), (5, 10), None, (0, 7), (0, 5)], closed="left"),
    "days": pd.IntervalIndex.from_breaks(pd.date_range("2020-01-01", periods=6)),
    "cut": CUT,
    "unordered": CUT.as_unordered(),
    "categories of months": pd.Categorical(pd.period_range("2020-01", periods=5, freq="M")),
    "sparse": pd.arrays.SparseArray([0, 0, 1, 2, 0]),
    "text of Arrow": pd.array(["x", None, "y", "x", "z"], dtype="string[pyarrow]"),
    "hours in Berlin": pd.date_range("2020-10-25", periods=5, freq="h", tz="Europe/Berlin"),
}


@pytest.mark.parametrize("kind", SPELLED)
def test_periods_and_intervals_come_back_as_they_were(kind: str) -> None:
    frame = pd.DataFrame({"x": SPELLED[kind]})
    again = Frame.read(frame).write()
    if isinstance(frame["x"].dtype, pd.CategoricalDtype):
        frame["x"] = frame["x"].cat.remove_unused_categories()
    pd.testing.assert_frame_equal(again, frame)
    source = Frame.read(frame)
    some = replace(source, data=source.data.take(np.array([3, 0, 0]))).write()
    pd.testing.assert_series_equal(
        some["x"].astype(object), frame["x"].take([3, 0, 0]).astype(object).reset_index(drop=True)
    )
    assert isinstance(some.index, pd.RangeIndex)


@pytest.mark.parametrize("kind", SPELLED)
def test_every_kind_of_column_can_be_suppressed(kind: str) -> None:
    frame = pd.DataFrame({"x": SPELLED[kind]})
    source = Frame.read(frame)
    starred = source.data["x"].where(np.array([True, False, True, False, False]), "*")
    after = replace(source, data=source.data.with_columns({"x": starred})).write()["x"]
    assert after.tolist()[0] == after.tolist()[2] == "*"


period_texts = st.lists(st.one_of(st.none(), st.dates()), min_size=1, max_size=20)


@given(period_texts, st.sampled_from(["D", "M", "Q", "Y", "W"]))
def test_any_periods_come_back(days: list[Any], frequency: str) -> None:
    periods = pd.PeriodIndex(
        [pd.NaT if day is None else pd.Period(day, freq=frequency) for day in days], freq=frequency
    )
    frame = pd.DataFrame({"x": periods})
    pd.testing.assert_frame_equal(Frame.read(frame).write(), frame)


cells = st.one_of(st.none(), st.text(max_size=4), st.just("007"))
numbers = st.one_of(st.none(), st.integers(-(2**60), 2**60))


@given(st.lists(st.tuples(cells, numbers, st.booleans(), st.one_of(st.none(), st.dates())), min_size=1, max_size=20))
def test_any_rows_come_back(rows: list[tuple[Any, ...]]) -> None:
    columns = dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True))
    types = {"a": pl.String, "b": pl.Int64, "c": pl.Boolean, "d": pl.Date}
    frame = pl.DataFrame(columns, schema=types)
    assert Frame.read(frame).write().equals(frame)
    assert Frame.read(columns).write() == columns
    nullable = frame.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
    pd.testing.assert_frame_equal(Frame.read(nullable).write(), nullable)


def released(native: Any, **columns: Column) -> Any:
    frame = Frame.read(native)
    return replace(frame, data=frame.data.with_columns(columns)).write()


def test_columns_that_changed_their_kind_get_a_new_type() -> None:
    stars = Column.of(["*", "x", "*"])
    after = released(pandas_frame(), int64=stars, Int64=stars, time=stars)
    assert after["int64"].tolist() == after["time"].tolist() == ["*", "x", "*"]
    assert after["int8"].dtype == np.int8
    assert released(polars_frame(), int=stars, date=stars).schema["date"] == pl.String
    assert released(polars_frame(), new=stars)["new"].to_list() == ["*", "x", "*"]
    assert released(polars_frame().to_arrow(), int=stars).schema.field("int").type == pa.string()


def test_missing_values_where_there_were_none() -> None:
    gaps, flags = Column.of([1, None, 3]), Column.of([True, None, False])
    after = released(pandas_frame(), int64=gaps, bool=flags)
    assert after["int64"].dtype == "Int64"
    assert after["bool"].dtype == "boolean"
    small = Column.encode(pa.array([1, None, 3], pa.uint16()))
    assert released(pandas_frame(), uint16=small)["uint16"].dtype == "UInt16"


def test_categories_that_nobody_has_do_not_come_back() -> None:
    secret = ["Jun", "Ann", "Bob"]
    kept = np.array([False, True, True])
    frame = pd.DataFrame({"name": pd.Categorical(secret, categories=["Bob", "Jun", "Ann", "Zoe"], ordered=True)})
    source = Frame.read(frame)
    after = replace(source, data=source.data.take(kept)).write()
    assert after["name"].cat.categories.tolist() == ["Bob", "Ann"]
    assert after["name"].cat.ordered
    assert after["name"].tolist() == ["Ann", "Bob"]
    for native in (
        pl.DataFrame({"name": secret}, schema={"name": pl.Enum(["Bob", "Jun", "Ann", "Zoe"])}),
        pl.DataFrame({"name": secret}, schema={"name": pl.Categorical}),
        pa.table({"name": pa.array(secret).dictionary_encode()}),
    ):
        source = Frame.read(native)
        after = replace(source, data=source.data.take(kept)).write()
        assert b"Jun" not in pickle.dumps(after)
        assert b"Zoe" not in pickle.dumps(after)
        assert after["name"].to_pylist() if isinstance(after, pa.Table) else after["name"].to_list() == ["Ann", "Bob"]


def test_categories_that_are_new() -> None:
    new = Column.of(["z", "*", "z"])
    after = released(pandas_frame(), category=new)["category"]
    assert after.cat.categories.tolist() == ["*", "z"]
    assert not after.cat.ordered
    assert after.tolist() == ["z", "*", "z"]
    assert released(polars_frame(), enum=new).schema["enum"] == pl.String
    assert released(polars_frame(), cat=new)["cat"].to_list() == ["z", "*", "z"]


def test_metadata_does_not_come_back() -> None:
    table = pa.table({"a": [1]}).replace_schema_metadata({"who": "Jun"})
    assert Frame.read(table).write().schema.metadata is None
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["who"] = "Jun"
    assert Frame.read(frame).write().attrs == {}


def test_an_index_is_dropped_or_refused() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]})
    assert Frame.read(frame.set_axis([0, 1, 2])).write().index.tolist() == [0, 1, 2]
    for some in (frame[frame["a"] > 1], frame.iloc[::-1], frame.set_axis([7, 7, 7])):
        assert Frame.read(some).data.rows == len(some)  # to measure something
        with pytest.raises(ColumnError, match=r"other than 0, 1, 2.*reset_index\(drop=True\)"):
            Frame.read(some).write()
        assert Frame.read(some.reset_index(drop=True)).write().index.tolist() == list(range(len(some)))
    for rows in (
        ["Ann", "Bob", "Jun"],
        pd.to_datetime(["1980-01-01", "1981-01-01", "1982-01-01"]),
        pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)]),
        [0.5, 1.5, 2.5],
    ):
        with pytest.raises(ColumnError, match=r"index.*not row numbers.*reset_index\(\)"):
            Frame.read(frame.set_axis(rows))
    assert Frame.read(frame.set_axis(["Ann", "Bob", "Jun"]).reset_index(drop=True)).data.rows == 3
    assert Frame.read(frame.iloc[:0].set_axis([])).data.rows == 0
    with pytest.raises(ColumnError, match=r"index 'name'.*reset_index"):
        Frame.read(frame.set_axis(pd.Index(["Ann", "Bob", "Jun"], name="name")))


def test_a_selection_is_refused_before_any_work_is_done() -> None:
    people = pd.DataFrame({"sex": ["F", "F", "M", "M"]})
    recipe = oboro.Recipe(attributes={"sex": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])
    for anonymize in (recipe.run, lambda one: oboro.KAnonymize(k=2).apply(one, attributes={"sex": {"role": "quasi"}})):
        with pytest.raises(ColumnError, match="which rows of the original"):
            anonymize(people.iloc[2:])
    assert oboro.verify(people.iloc[2:], quasi="sex", k=2).holds


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_durations_are_readable_where_some_are_suppressed(kind: str) -> None:
    spans = pa.table({"wait": pa.array([90_000_000, 90_000_000, 90_000_000, 108_300_500_000, 5], pa.duration("us"))})
    frame = {"pandas": spans.to_pandas, "polars": lambda: pl.from_arrow(spans), "pyarrow": lambda: spans}[kind]()
    roles = {"wait": {"role": "quasi"}}
    whole = Frame.read(oboro.KAnonymize(k=1).apply(frame, attributes=roles)).data["wait"]
    assert pa.types.is_duration(whole.values.type)  # nothing changed: they come back as they were
    some = Frame.read(oboro.KAnonymize(k=2, suppress=0.5).apply(frame, attributes=roles)).data["wait"]
    assert some.decode().to_pylist() == ["0:01:30", "0:01:30", "0:01:30", "*", "*"]
    assert Frame.read(frame).data["wait"].texts[1:] == ["30:05:00.5", "0:00:00.000005"]


def test_not_a_number_is_missing() -> None:
    assert Frame.read(pl.DataFrame({"x": [1.0, float("nan"), None]})).write()["x"].to_list() == [1.0, None, None]
    nans = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([1.0, float("nan")]))
    assert Frame.read(pa.table({"x": nans})).data["x"].values.to_pylist() == [1.0, None]


def test_lazy_frames_come_back_lazy_and_streams_as_arrow_tables() -> None:
    again = Frame.read(pl.LazyFrame({"a": [1, None]})).write()
    assert isinstance(again, pl.LazyFrame)
    assert again.collect()["a"].to_list() == [1, None]
    wrapped = Frame.read(nw.from_native(pl.LazyFrame({"a": [1]}))).write()
    assert isinstance(wrapped, nw.LazyFrame)
    table = pa.table({"a": [1, 2]})
    assert Frame.read(table.to_reader()).write() == table
    assert Frame.read([{"a": 1}, {"b": "x"}]).write() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


@pytest.mark.parametrize(
    ("native", "error", "message"),
    [
        (pl.Series([1]), UsageError, "got 'Series'"),
        ([{"a": 1}, 2], UsageError, "record 2 is a int"),
        (42, UsageError, "got 'int'"),
        ([1, 2], UsageError, "got 'list'"),
        ({"a": [1, "x"]}, ColumnError, "'a' mixes kinds"),
        ({"a": [1], "b": [1, 2]}, ColumnError, "'a' has 1, 'b' has 2"),
        ({"1": [1], 1: [2]}, ColumnError, "same name: '1'"),
        (pd.DataFrame({"a": [1, "x"]}), ColumnError, "'a' mixes kinds"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ColumnError, "same name: 'a'"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), ColumnError, "several levels"),
        (pd.DataFrame({"z": [1j, 2j]}), ColumnError, "'z' mixes kinds of values or holds objects"),
        (pl.DataFrame({"a": [object()]}), ColumnError, "'a' holds Object"),
    ],
)
def test_what_is_refused(native: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Frame.read(native)


@pytest.mark.parametrize("native", [pl.DataFrame({"a": [[1]]}), pa.table({"a": [{"b": 1}]}), {"a": [[1]]}])
def test_what_may_only_be_left_out(native: Any) -> None:
    frame = Frame.read(native)
    with pytest.raises(ColumnError, match="'a' holds .*or drop it"):
        frame.write()
    assert list(frame.data.select([])) == []


@pytest.mark.parametrize("native", [pd.DataFrame(index=range(3)), pd.DataFrame({"a": []}), pl.DataFrame({"a": []})])
def test_empty_frames(native: Any) -> None:
    frame = Frame.read(native)
    assert frame.data.rows == len(native)
    assert frame.write().shape == native.shape


WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import pyarrow as pa
from oboro.data.frames import Frame
assert Frame.read(pa.table({"a": ["x"]})).write().to_pydict() == Frame.read({"a": ["x"]}).write()
"""


def test_pandas_and_polars_need_not_be_there() -> None:
    assert subprocess.run([sys.executable, "-c", WITHOUT], check=False).returncode == 0
