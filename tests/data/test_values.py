from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from oboro.errors import ColumnError
from oboro.hierarchies.labels import end_moment
from oboro.notations.kinds import Kind, from_numbers, kind_of, numbers_of
from oboro.notations.texts import texts_of


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-20", None], Kind.INTEGER),
        (["0"], Kind.INTEGER),
        (["1.5", "2", "-3e5", "+1", ".5"], Kind.NUMBER),
        (["007", "123"], Kind.TEXT),  # a leading zero makes an identifier
        (["1234567890123456789"], Kind.NUMBER),  # more digits than an int64 surely holds
        (["-"], Kind.TEXT),
        (["", "1"], Kind.TEXT),
        (["2024-02-29", "2024/3/1"], Kind.DATE),
        (["2023-02-29"], Kind.TEXT),  # no such day
        (["2024-02-29T10:00:00", "2024-02-29 10:00"], Kind.DATETIME),
        (["abc"], Kind.TEXT),
        ([None], Kind.TEXT),
        ([], Kind.TEXT),
    ],
)
def test_text_is_judged_by_what_every_value_looks_like(texts: list[str | None], kind: Kind) -> None:
    assert kind_of(pa.array(texts, pa.string())) is kind


def test_a_late_exception_counts() -> None:
    assert kind_of(pa.array([str(i) for i in range(500)] + ["x"])) is Kind.TEXT


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1, None], Kind.INTEGER), ([1.5], Kind.NUMBER), ([True], Kind.BOOLEAN), ([dt.date(2024, 1, 1)], Kind.DATE)],
)
def test_typed_values_keep_their_kind(values: list[object], kind: Kind) -> None:
    assert kind_of(pa.array(values)) is kind


def test_numbers_and_the_way_back() -> None:
    dates = pa.array(["1970-01-03", None, "1970/1/1"])
    numbers = numbers_of(dates)
    np.testing.assert_array_equal(numbers, [2, np.nan, 0])
    assert from_numbers(numbers, Kind.DATE).to_pylist() == [dt.date(1970, 1, 3), None, dt.date(1970, 1, 1)]
    times = pa.array([dt.datetime(2024, 1, 1, 12, 30, 0, 5)])
    assert from_numbers(numbers_of(times), Kind.DATETIME).to_pylist() == times.to_pylist()


def test_no_number_is_an_error_with_the_column_and_the_value() -> None:
    with pytest.raises(ColumnError, match="income.*'n/a'"):
        numbers_of(pa.array(["1", "n/a", "3"]), "income")


def test_texts_match_across_types() -> None:
    assert texts_of(pa.array([39.0, None])) == texts_of(pa.array(["39", None])) == texts_of(pa.array([39, None]))


def test_dates_with_dots_are_days_months_and_years() -> None:
    """As most of Europe writes them: the same days as the ISO dates, in a recipe's values and in released ranges too."""
    dotted, iso = ["31.12.1990", "1.2.2003", None], ["1990-12-31", "2003-02-01", None]
    assert np.array_equal(numbers_of(pa.array(dotted)), numbers_of(pa.array(iso)), equal_nan=True)
    assert kind_of(pa.array(["31.04.1990"])) is Kind.TEXT  # no such day
    assert kind_of(pa.array(["1.2.03"])) is Kind.TEXT
    assert end_moment("31.12.1990", Kind.DATE, last=True) == end_moment("1990-12-31", Kind.DATE, last=True)
