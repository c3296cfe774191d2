"""Dates of one column that are written in several ways, and months."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import oboro
from oboro.algorithms.partitioning.records import OrderedAttribute
from oboro.data.column import Column
from oboro.data.date_columns import days_alike
from oboro.data.matching import matched
from oboro.errors import HierarchyError
from oboro.hierarchies.dates import date_levels
from oboro.hierarchies.labels import end_moment, label_range
from oboro.hierarchies.propose import propose
from oboro.notations.kinds import Kind, kind_of, numbers_of
from oboro.text.raw import values_shown

QUASI = {"born": {"role": "quasi"}}


def released(dates: list[str]) -> list[str]:
    return oboro.LocalRecode(k=2).apply({"born": dates}, attributes=QUASI)["born"]


def test_both_ends_of_a_range_are_written_alike() -> None:
    assert released(["1981/10/12", "平成17年4月3日"]) == ["1981-10-12 to 2005-04-03"] * 2
    assert released(["31.12.1990", "1992-02-29"]) == ["1990-12-31 to 1992-02-29"] * 2
    assert released(["昭和56年10月12日", "平成17年4月3日"]) == ["昭和56年10月12日〜平成17年4月3日"] * 2
    assert released(["1981/10/12", "1981/9/1"]) == ["1981/9/1 to 1981/10/12"] * 2


def test_no_row_tells_how_its_own_date_was_written() -> None:
    dates = ["1981/10/12", "昭和56年10月12日", "平成17年4月3日", "2005-04-03"]
    assert set(released(dates)) == {"1981-10-12", "2005-04-03"}


def test_a_month_beside_days_is_not_made_a_day() -> None:
    texts = pa.array(["平成3年5月", "1991/5/20"])
    assert days_alike(texts, Kind.DATE) == texts
    assert OrderedAttribute.of(Column.of(texts.to_pylist())).texts.to_pylist() == texts.to_pylist()


@pytest.mark.parametrize("texts", [["04.2015", "11.2020"], ["04/2015", "11/2020"]])
def test_months_are_dates(texts: list[str]) -> None:
    values = pa.array(texts)
    assert kind_of(values) is Kind.DATE
    first = np.array(["2015-04-01", "2020-11-01"], dtype="datetime64[D]").astype(float)
    assert numbers_of(values).tolist() == first.tolist()
    assert released(texts) == [f"{texts[0]} to {texts[1]}"] * 2


@pytest.mark.parametrize("texts", [["13.2015"], ["4.2015"], ["00.2015"], ["04-2015"], ["04.2015", "x"], ["04.201"]])
def test_what_is_no_month_stays_what_it_was(texts: list[str]) -> None:
    assert kind_of(pa.array(texts)) in (Kind.TEXT, Kind.NUMBER)


def test_months_have_levels_also_where_they_alone_read_as_numbers() -> None:
    month, year = date_levels("since", pa.array(["10.2015", "12.2015"]), ["month", "year"])
    assert month.labels.to_pylist() == ["2015-10", "2015-12"]
    assert year.labels.to_pylist() == ["2015"]


def test_no_level_is_proposed_that_says_the_same() -> None:
    months = [f"{month:02d}.{year}" for year in range(2005, 2010) for month in range(1, 13)]
    found = propose("since", Column.of(months))
    assert found is not None
    assert found.dates == ["year"]


def test_a_month_is_not_taken_for_its_first_day() -> None:
    assert matched(pa.array(["04.2015"]), pa.array(["2015-04-01", "2015-04-02"])).tolist() == [-1]


def test_ranges_of_dotted_dates_and_months_are_read() -> None:
    days = label_range("21.05.1955 to 22.08.1963")
    assert days is not None
    assert (days.first, days.last) == ("21.05.1955", "22.08.1963")
    months = label_range("04.2015 to 11.2020")
    assert months is not None
    assert end_moment(months.last or "", Kind.DATE, last=True) == float(np.datetime64("2020-11-30").astype(int))


@pytest.mark.parametrize("texts", [["2015-04", "2015-12", "2016-01"], ["2015/4", "2015/12", "2016/1"]])
def test_months_with_the_year_first_have_levels(texts: list[str]) -> None:
    """They stay text as values, for a released month is written so and stands for all of its days."""
    assert kind_of(pa.array(texts)) is Kind.TEXT
    month, quarter, year = date_levels("since", pa.array(texts), ["month", "quarter", "year"])
    assert month.labels.to_pylist() == ["2015-04", "2015-12", "2016-01"]
    assert quarter.labels.to_pylist() == ["2015-Q2", "2015-Q4", "2016-Q1"]
    assert year.labels.to_pylist() == ["2015", "2016"]
    found = propose("since", Column.of(texts))
    assert found is not None
    assert found.dates == ["quarter", "year"]


@pytest.mark.parametrize("values", [[19900131, 19911201, 20020305], ["19900131", "19911201", None, "20020305"]])
def test_days_in_digits_have_levels(values: list[int | str | None]) -> None:
    """Offices in Japan write them so; they were cut into intervals of 50,000."""
    found = propose("born", Column.of(values))
    assert found is not None
    assert found.dates == ["day", "month", "year"]
    month, year = date_levels("born", pa.array(values).drop_null(), ["month", "year"])
    assert month.labels.to_pylist() == ["1990-01", "1991-12", "2002-03"]
    assert year.labels.to_pylist() == ["1990", "1991", "2002"]


def test_digits_are_dates_only_where_all_of_them_are() -> None:
    assert propose("id", Column.of([19900131, 19900230] * 20)) is None
    assert propose("price", Column.of([202404, 202405, 202406])) is None
    months = propose("診療年月", Column.of([202404, 202405]))
    assert months is not None
    assert months.dates == ["quarter", "year"]
    assert propose("amount", Column.of([202404, 202413, *range(100_000, 100_040)])).intervals  # type: ignore[union-attr]


def test_months_among_days_have_no_levels() -> None:
    with pytest.raises(HierarchyError, match="dates"):
        date_levels("since", pa.array(["2015-04", "2015-04-17"]), ["month", "year"])


def test_the_one_that_is_no_date_in_digits_is_named() -> None:
    with values_shown(), pytest.raises(HierarchyError, match="99999999"):
        date_levels("since", pa.array([20240131, 20240201, 99999999]), ["month", "year"])
