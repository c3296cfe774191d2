"""Top and bottom coding, against plain Python over the rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.records import (
    explained,
    maybe_date,
    maybe_integer,
    naive_code,
    rows_of,
    run,
    values,
)

from oboro.algorithms.outliers import Outliers
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError
from oboro.techniques.bottom_code import BottomCode
from oboro.techniques.top_code import TopCode

CODES = {True: TopCode, False: BottomCode}


@given(st.lists(maybe_integer, max_size=30), st.integers(-25, 25), st.booleans(), st.sampled_from([None, "beyond"]))
def test_coding_whole_numbers(column: list[int | None], at: int, top: bool, label: str | None) -> None:
    data = Dataset.from_arrow(pa.table({"x": pa.array(column, pa.int64())}))
    outcome = run(CODES[top](attribute="x", at=at, label=label), data)
    expected = [naive_code(value, at, top, label) for value in column]
    assert values(outcome, "x") == expected
    assert outcome.data["x"].values.type == (pa.int64() if label is None else pa.string())
    changed = sum(str(new) != str(old) for new, old in zip(expected, column, strict=True))
    assert outcome.facts == {"attribute": "x", "bound": at if any_value(column) else None} | {
        "records": len(column),
        "coded": changed,
    }


def any_value(column: list[Any]) -> bool:
    return any(value is not None for value in column)


@given(st.lists(maybe_date, max_size=30), st.dates(date(1999, 12, 25), date(2000, 1, 10)), st.booleans())
def test_coding_dates(column: list[date | None], at: date, top: bool) -> None:
    typed = Dataset.from_arrow(pa.table({"x": pa.array(column, pa.date32())}))
    written = Dataset.from_arrow(pa.table({"x": pa.array([day and day.isoformat() for day in column], pa.string())}))
    expected = [naive_code(day, at, top, None) for day in column]
    for bound in (at, at.isoformat()):
        code = CODES[top](attribute="x", at=bound)
        assert values(run(code, typed), "x") == expected
        assert values(run(code, written), "x") == [day and day.isoformat() for day in expected]


@given(
    st.lists(st.none() | st.integers(-20, 20).map(lambda number: number / 4), max_size=40),
    st.sampled_from([0.1, 1, 5, 7, 25, 33.3, 50, 90, 99, 99.9]),
    st.booleans(),
)
def test_coding_at_a_percentile(column: list[float | None], percentile: float, top: bool) -> None:
    data = Dataset.from_arrow(pa.table({"x": pa.array(column, pa.float64())}))
    outcome = run(CODES[top](attribute="x", percentile=percentile), data)
    present = sorted(value for value in column if value is not None)
    if not present:
        assert values(outcome, "x") == column
        return
    bound = present[ceil(Fraction(str(percentile)) * len(present) / 100) - 1]
    assert values(outcome, "x") == [naive_code(value, bound, top, None) for value in column]
    assert outcome.facts["bound"] == bound


@pytest.mark.parametrize(("percentile", "bound"), [(5, 15), (30, 20), (40, 20), (50, 35), (99, 50)])
def test_nearest_rank_as_in_the_textbook(percentile: float, bound: int) -> None:
    """The usual example of the nearest-rank method: 15, 20, 35, 40, 50."""
    outcome = run(TopCode(attribute="x", percentile=percentile), Dataset.of({"x": [35, 15, 50, 40, 20]}))
    assert outcome.facts["bound"] == bound


def test_percentiles_count_records_and_not_distinct_values() -> None:
    data = Dataset.of({"x": [1] * 98 + [50, 99] + [None] * 50})
    assert run(TopCode(attribute="x", percentile=98), data).facts["bound"] == 1
    assert run(TopCode(attribute="x", percentile=99), data).facts["bound"] == 50
    assert run(TopCode(attribute="x", percentile=7), Dataset.of({"x": list(range(1, 101))})).facts["bound"] == 7


@pytest.mark.parametrize(
    ("array", "at", "expected"),
    [
        (pa.array([1, 9], pa.int8()), 5, [1, 5]),
        (pa.array([1, 9], pa.uint16()), 5.0, [1, 5]),
        (pa.array([0.5, 9], pa.float32()), 2.5, [0.5, 2.5]),
        (pa.array([Decimal("1.25"), Decimal("9.75")]), 2.5, [Decimal("1.25"), Decimal("2.50")]),
        (
            pa.array([date(2020, 1, 1), date(2021, 1, 1)], pa.date64()),
            "2020-06-01",
            [date(2020, 1, 1), date(2020, 6, 1)],
        ),
        (
            pa.array([datetime(2020, 1, 1, 8), datetime(2021, 1, 1)], pa.timestamp("s", tz="UTC")),
            "2020-06-01",
            [datetime(2020, 1, 1, 8, tzinfo=UTC), datetime(2020, 6, 1, tzinfo=UTC)],
        ),
        (pa.array([datetime(2020, 1, 1), datetime(2021, 1, 1)]), "2020-06-01 10:30:00", None),
        (pa.array(["1.50", "+2", "9"]), 5, ["1.50", "+2", "5"]),
        (pa.array(["1", "9"], pa.large_string()), "5", ["1", "5"]),
        (pa.array(["2020/1/5", "2021/3/4"]), "2020/6/1", ["2020/1/5", "2020/6/1"]),
        (pa.array(["2020-01-05 10:00", "2021-03-04 10:00"]), "2020-06-01", None),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_coding_keeps_types_and_the_text_of_what_stays(array: pa.Array, at: Any, expected: list[Any] | None) -> None:
    before = Dataset.from_arrow(pa.table({"x": array}))
    after = run(TopCode(attribute="x", at=at), before).data["x"]
    assert after.values.type == before["x"].values.type
    assert after.kind is before["x"].kind
    assert after.decode()[0] == before["x"].decode()[0]
    if expected is not None:
        assert after.decode().to_pylist() == expected


def test_who_was_moved_to_the_bound_looks_like_who_was_there() -> None:
    data = Dataset.of({"x": ["90.0", "95.5", "31.25"]})
    assert values(run(TopCode(attribute="x", at=90), data), "x") == ["90.0", "90.0", "31.25"]


def test_coding_where_nothing_lies_beyond_changes_nothing() -> None:
    data = Dataset.of({"x": ["1.50", "2"], "y": [1, 2]})
    assert rows_of(run(TopCode(attribute="x", at=5), data).data) == [("1.50", 1), ("2", 2)]
    assert rows_of(run(BottomCode(attribute="y", at=0, label="low"), data).data) == [("1.50", "1"), ("2", "2")]


def test_a_label_covers_the_bound_itself() -> None:
    data = Dataset.of({"age": ["89", "90", "91", None]})
    assert values(run(TopCode(attribute="age", at=90, label="90+"), data), "age") == ["89", "90+", "90+", None]
    assert values(run(BottomCode(attribute="age", at=90, label="≤90"), data), "age") == ["≤90", "≤90", "91", None]
    assert values(run(TopCode(attribute="age", at=89.5, label="90+"), data), "age") == ["89", "90+", "90+", None]
    assert values(run(TopCode(attribute="age", percentile=50, label="many"), data), "age") == [
        "89",
        "many",
        "many",
        None,
    ]


def test_coding_where_outliers_begin() -> None:
    ages = [31, 35, 38, 40, 44, 47, 112, -50]
    data = Dataset.of({"age": ages})
    outliers = Outliers(method="iqr")
    low, high = outliers.bounds(data, "age")
    top = values(run(TopCode(attribute="age", outliers=outliers), data), "age")
    assert top == [min(age, floor(high)) for age in ages]
    assert top[6] < 112
    bottom = values(run(BottomCode(attribute="age", outliers=outliers), data), "age")
    assert bottom == [max(age, ceil(low)) for age in ages]
    labelled = values(run(TopCode(attribute="age", outliers=outliers, label="old"), data), "age")
    assert labelled == ["old" if age >= high else str(age) for age in ages]
    assert "outliers begin by the method iqr" in explained(TopCode(attribute="age", outliers=outliers))


@pytest.mark.parametrize(
    ("column", "parameters", "message"),
    [
        ([1, 2], {"at": 1.5}, "holds whole numbers, so 1.5 cannot be written"),
        ([date(2020, 1, 1)], {"at": "2019-01-01 10:00:00"}, "holds days"),
        (["a", "1"], {"at": 1}, "x: needs numbers or dates, but holds 'a'"),
        ([1], {"at": "2020-01-01"}, "cannot be compared with '2020-01-01'"),
        ([True], {"at": 1}, "needs numbers or dates"),
    ],
)
def test_coding_says_what_does_not_fit(column: list[Any], parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        run(TopCode.model_validate({"attribute": "x", **parameters}), Dataset.of({"x": column}))


def test_a_bound_must_fit_the_type_of_the_column() -> None:
    data = Dataset.from_arrow(pa.table({"x": pa.array([1, 2], pa.int8())}))
    with pytest.raises(ColumnError, match="the bound 500 does not fit the column's type int8"):
        run(BottomCode(attribute="x", at=500), data)
    assert values(run(TopCode(attribute="x", at=500), data), "x") == [1, 2]
    with pytest.raises(ColumnError, match="top_code: there is no column 'y'"):
        run(TopCode(attribute="y", at=500), data)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, "exactly one of at, percentile and outliers"),
        ({"at": 1, "percentile": 2}, "exactly one"),
        ({"percentile": 0}, "greater than 0"),
        ({"percentile": 100}, "less than 100"),
        ({"at": 1, "label": ""}, "at least 1"),
        ({"outliers": {"method": "rare"}}, "rare gives no bound"),
        ({"outliers": {"attributes": ["other"]}}, "leave attributes out"),
    ],
)
def test_coding_needs_exactly_one_bound(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TopCode.model_validate({"attribute": "x", **bad})


def test_coding_explains_the_bound() -> None:
    assert explained(TopCode(attribute="age", at=90)).startswith("Replace every 'age' above 90 by that bound.")
    assert explained(BottomCode(attribute="age", at=9)).startswith("Replace every 'age' below 9 by that bound.")
    assert "of 90 or more by '90+'" in explained(TopCode(attribute="age", at=90, label="90+"))
    assert "of 9 or less by '9-'" in explained(BottomCode(attribute="age", at=9, label="9-"))
    assert "percentile 99 (the smallest value that at least 99 %" in explained(TopCode(attribute="age", percentile=99))
