"""Drop records by condition, by rarity and by oddness, against plain Python over the rows."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.records import (
    Row,
    explained,
    naive_condition,
    records,
    rows_of,
    run,
    table,
    values,
)

from oboro.algorithms.outliers import Outliers
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, UsageError
from oboro.techniques.conditions import Condition
from oboro.techniques.drop_records import DropRecords

# drop records: conditions ---------------------------------------------------------------------------------------------


def conditions(one: st.SearchStrategy[Any], line: bool) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(one, min_size=1, max_size=3)
    optional: dict[str, Any] = {
        "equals": one,
        "not_equals": one,
        "in": several,
        "not_in": several,
        "missing": st.booleans(),
    }
    if line:
        optional |= dict.fromkeys(("above", "below", "at_least", "at_most"), one)
    return st.fixed_dictionaries({}, optional=optional).filter(bool)


where = st.fixed_dictionaries(
    {},
    optional={
        "n": conditions(st.integers(-20, 20) | st.sampled_from([0.5, 3.0]), line=True),
        "t": conditions(st.sampled_from(["a", "b", "", "東京", "z"]), line=False)
        | st.sampled_from(["^[ab]$", "京", "."]).map(lambda pattern: {"matches": pattern}),
        "d": conditions(st.dates(date(1999, 12, 25), date(2000, 1, 10)), line=True),
    },
).filter(bool)


@settings(max_examples=35)
@given(records, where)
def test_drop_records_where_is_a_loop_over_the_rows(rows: list[Row], by: dict[str, dict[str, Any]]) -> None:
    kept = [row for row in rows if not all(naive_condition(row["ntd".index(name)], one) for name, one in by.items())]
    outcome = run(DropRecords.model_validate({"where": by}), table(rows))
    assert rows_of(outcome.data) == kept
    assert outcome.facts == {"records": len(rows), "dropped": len(rows) - len(kept), "kept": len(kept)}


def holds(column: list[Any] | pa.Array, **condition: Any) -> list[bool]:
    encoded = Column.of(column) if isinstance(column, list) else Column.encode(column)
    one = Condition.model_validate({name.rstrip("_"): value for name, value in condition.items()})
    return list(one.holds(encoded, "x")[encoded.codes])


def test_conditions_see_numbers_and_dates_in_text() -> None:
    assert holds(["9", "10", None], above=9) == [False, True, False]
    assert holds(["1.50", "2"], equals=1.5) == [True, False]
    assert holds(["1.50", "2"], equals="1.5") == [True, False]
    assert holds([1, 2], in_=["1", "x"]) == [True, False]
    assert holds(["2020/1/5", "2020-01-06"], equals="2020-01-05") == [True, False]
    assert holds(["2020/1/5", "2020-01-06"], at_most=date(2020, 1, 5)) == [True, False]
    assert holds(["007", "7"], equals="007") == [True, False]


def test_conditions_compare_dates_with_times_of_day() -> None:
    noon = datetime(2020, 1, 5, 12)
    assert holds([noon, noon - timedelta(days=1)], above="2020-01-05") == [True, False]
    assert holds([date(2020, 1, 5), date(2020, 1, 6)], above=noon) == [False, True]
    aware = pa.array([noon], pa.timestamp("us", tz="Asia/Tokyo"))  # stored as 12:00 in UTC
    assert holds(aware, equals=datetime(2020, 1, 5, 12, tzinfo=UTC)) == [True]
    assert holds(aware, above=datetime(2020, 1, 5, 12, 0, 1, tzinfo=UTC)) == [False]


def test_conditions_tell_large_whole_numbers_apart() -> None:
    assert holds([2**53, 2**53 + 1], equals=2**53 + 1) == [False, True]
    assert holds([2**53, 2**53 + 1], in_=[str(2**53)]) == [True, False]
    assert holds([1], above=10**30) == [False]


def test_conditions_on_true_and_false() -> None:
    assert holds([True, False, None], equals=True) == [True, False, False]
    assert holds([True, False, None], not_equals="True") == [False, True, True]
    with pytest.raises(ColumnError, match="quote the word"):
        holds(["yes", "no"], equals=True)


def test_conditions_on_nothing_but_missing_values() -> None:
    assert holds([None], above=3) == [False]
    assert holds([None], equals=3) == [False]
    assert holds([None], not_equals="a") == [True]
    assert holds(pa.array([None], pa.string()), at_least="2020-01-01", missing=True) == [False]


@pytest.mark.parametrize(
    ("column", "condition", "message"),
    [
        (["a", "b"], {"above": 3}, "x: holds text, which cannot be compared with 3 (whole numbers)"),
        (["a", "b"], {"equals": 3}, 'use equals, in or matches with text in quotes ("3")'),
        ([1, 2], {"above": "a"}, "x: holds whole numbers, which cannot be compared with 'a' (text); give a number"),
        ([1.5], {"below": date(2020, 1, 1)}, "holds numbers, which cannot be compared with '2020-01-01' (dates)"),
        ([date(2020, 1, 1)], {"at_least": 3}, "holds dates, which cannot be compared with 3"),
        ([True], {"above": 0}, "holds true and false"),
        ([1], {"above": float("inf")}, "finite"),
    ],
)
def test_conditions_refuse_to_compare_different_kinds(column: list[Any], condition: Any, message: str) -> None:
    with pytest.raises((ColumnError, UsageError), match=re.escape(message)):
        holds(column, **condition)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, "needs one of above, below, .* in, not_in"),
        ({"equals": None}, "missing: true"),
        ({"matches": "("}, "not a regular expression"),
        ({"in": []}, "at least 1"),
        ({"like": "a"}, "Extra inputs|there is no"),
    ],
)
def test_conditions_that_say_nothing_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Condition.model_validate(bad)


def test_conditions_survive_being_written_down() -> None:
    drop = DropRecords.model_validate(
        {"where": {"a": {"in": ["x", 1, True]}, "b": {"above": date(2020, 1, 1), "missing": False}}}
    )
    plain = drop.model_dump(mode="json", exclude_defaults=True)
    assert plain == {"where": {"a": {"in": ["x", 1, True]}, "b": {"above": "2020-01-01", "missing": False}}}
    assert DropRecords.model_validate(plain) == drop


def test_drop_records_explains_every_operator() -> None:
    condition = {
        "above": 1, "below": 2, "at_least": 3, "at_most": 4, "equals": "a", "not_equals": True,
        "in": ["a", 1], "not_in": ["b"], "missing": True, "matches": "^a",
    }  # fmt: skip
    plan = explained(DropRecords.model_validate({"where": {"x": condition, "y": {"missing": False}}}))
    assert plan == (
        "Leave out the records where 'x' is above 1 and 'x' is below 2 and 'x' is at least 3 and 'x' is at most 4 and "
        "'x' is 'a' and 'x' is not true and 'x' is one of 'a', 1 and 'x' is none of 'b' and 'x' is missing and "
        "'x' matches '^a' and 'y' is not missing."
    )


# drop records: rarity and outliers ------------------------------------------------------------------------------------


@given(records, st.sampled_from([("n",), ("t", "d"), ("n", "t", "d")]), st.integers(2, 5))
def test_drop_records_by_rarity_counts_combinations(rows: list[Row], by: tuple[str, ...], count: int) -> None:
    def combination(row: Row) -> Row:
        return tuple(row["ntd".index(name)] for name in by)

    often = Counter(map(combination, rows))
    outcome = run(DropRecords.model_validate({"rarer_than": {"attributes": by, "count": count}}), table(rows))
    assert rows_of(outcome.data) == [row for row in rows if often[combination(row)] >= count]


def test_drop_records_by_outliers() -> None:
    ages = [31, 35, 38, 40, 44, 47, 112, None]
    drop = DropRecords(outliers=Outliers(method="robust_z", attributes=("age",)))
    outcome = run(drop, Dataset.of({"age": ages}))
    assert values(outcome, "age") == [31, 35, 38, 40, 44, 47, None]
    assert outcome.facts["dropped"] == 1
    assert "robust deviations" in explained(drop)


def test_drop_records_needs_exactly_one_reason() -> None:
    rare = {"attributes": ["a"], "count": 2}
    for bad in ({}, {"where": {"a": {"above": 1}}, "rarer_than": rare}, {"where": {}}):
        with pytest.raises(ValueError, match=r"exactly one|at least 1"):
            DropRecords.model_validate(bad)
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        DropRecords.model_validate({"rarer_than": {"attributes": ["a"], "count": 1}})
    assert "shared by fewer than 2" in explained(DropRecords.model_validate({"rarer_than": rare}))


@pytest.mark.parametrize("by", [{"where": {"z": {"above": 1}}}, {"rarer_than": {"attributes": ["z"], "count": 2}}])
def test_drop_records_names_an_unknown_column(by: dict[str, Any]) -> None:
    with pytest.raises(ColumnError, match="drop_records: there is no column 'z'"):
        run(DropRecords.model_validate(by), Dataset.of({"x": [1]}))
