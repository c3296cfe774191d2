"""Ranges of what Japanese offices write: no English between them, and every label is read as what it was made from."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.hierarchies.labels import label_range
from oboro.hierarchies.recoding import possible_values
from oboro.notations.japanese import month_label, year_label
from oboro.techniques.columns import ranges
from oboro.verifier.matching import relation

DAY = st.dates(dt.date(1873, 1, 1), dt.date(2030, 12, 31))


def _number(day: dt.date) -> int:
    return (day - dt.date(1970, 1, 1)).days


WRITERS = {
    "era": lambda day: f"{year_label(_number(day))}{day.month}月{day.day}日",
    "gregorian": lambda day: f"{day.year}年{day.month}月{day.day}日",
    "wide": lambda day: f"{day.year}年{day.month}月{day.day}日".translate({48 + d: 0xFF10 + d for d in range(10)}),
    "month": lambda day: month_label(_number(day.replace(day=15))),
}


@pytest.mark.parametrize("written", WRITERS)
@settings(max_examples=30)
@given(days=st.lists(DAY, min_size=2, max_size=8, unique=True), data=st.data())
def test_a_range_of_dates_is_read_as_the_days_between(written: str, days: list[dt.date], data: st.DataObject) -> None:
    texts = [WRITERS[written](day) for day in days]
    column = Column.of(texts)
    order = column.numbers()[column.codes]
    pairs = np.array(data.draw(st.lists(st.tuples(*[st.integers(0, len(days) - 1)] * 2), min_size=1, max_size=5)))
    released = ranges("date", column, pairs)
    reached = possible_values(column, released)
    ends = np.sort(order[pairs], axis=1)
    for label, (low, high) in zip(released.codes, ends, strict=True):
        shown = released.texts[label]
        assert shown is not None
        assert " to " not in shown
        assert "〜" in shown or low == high
        inside = {int(rank) for rank, place in zip(reached.ranks, order, strict=True) if low <= place <= high}
        assert set(range(reached.low[label], reached.high[label] + 1)) == inside
        assert reached.row[label] == -1


AMOUNTS = st.integers(1, 9999)


@settings(max_examples=30)
@given(
    values=st.lists(AMOUNTS, min_size=2, max_size=6, unique=True), unit=st.sampled_from(["万円", "千円", "円", "歳"])
)
def test_a_range_of_amounts_is_read_as_what_lies_between(values: list[int], unit: str) -> None:
    column = Column.of([f"{value:,}{unit}" if unit != "歳" else f"{value}{unit}" for value in values])
    whole = np.arange(len(values))[None, :]
    released = ranges("amount", column, whole)
    (low,), (high,) = (end for end in (possible_values(column, released).low, possible_values(column, released).high))
    assert (low, high) == (0, len(values) - 1)


def test_labels_as_offices_write_them() -> None:
    for text, first, last in (
        ("昭和34年6月7日〜昭和35年1月1日", "昭和34年6月7日", "昭和35年1月1日"),
        ("S34.6.7～H1.2.3", "S34.6.7", "H1.2.3"),
        ("令和元年から令和3年", "令和元年", "令和3年"),
        ("350万円以上400万円未満", "350万円", "400万円"),
        ("１,２００円〜３,４００円", "1,200円", "3,400円"),
    ):
        found = label_range(text)
        assert found is not None, text
        assert (found.first, found.last) == (first, last)
    assert label_range("昭和通り〜平成通り") is None
    assert label_range("[1,200)") is not None  # two ends, not one thousand two hundred


def test_local_recoding_of_japanese_dates_is_understood() -> None:
    """The loss is measured, nobody's label is strange, and everybody may be behind their own record."""
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=97 * place) for place in range(12)]
    table = {"生年月日": [WRITERS["era"](day) for day in days]}
    recipe = oboro.Recipe(attributes={"生年月日": {"role": "quasi"}}, steps=[{"local_recode": {"k": 3}}])
    release = recipe.run(table)
    assert all("〜" in text for text in release.data["生年月日"])
    fits = relation(Dataset.of(table), Dataset.of(release.data), ["生年月日"], {})
    assert fits is not None
    report = oboro.evaluate(table, release.data, quasi=["生年月日"], unpaired=True, attempts=5)
    (ncp,) = [one for one in report.utility if one.name == "ncp" and one.column == "生年月日"]
    assert ncp.value is not None
    assert 0 < ncp.value < 1
    assert not [one for one in report.warnings if one.id == "report.warning.labels_unclear"]


def test_intervals_of_japanese_dates_have_no_english_word() -> None:
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=900 * (place // 5) + place) for place in range(20)]
    table = {"誕生日": [WRITERS["gregorian"](day) for day in days]}
    made = oboro.PartitionUnivariate(k=4, attributes=["誕生日"], publish="interval").apply(table)
    assert any("〜" in text for text in made["誕生日"])
    assert not any("to" in text for text in made["誕生日"])
