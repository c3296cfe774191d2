"""Values as Japanese offices write them, against a calendar that is walked day by day."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.errors import ColumnError, HierarchyError
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.japanese import month_label, read_written, year_label
from oboro.notations.kinds import Kind, kind_of, numbers_of

FULL = str.maketrans("0123456789-.,", "０１２３４５６７８９－．，")


def _walk():
    """Every day from 1868-10-23 to 2100-12-31 with the era and year that a clerk would count, one day after the other."""
    changes = {
        (1868, 10, 23): "明治",
        (1912, 7, 30): "大正",
        (1926, 12, 25): "昭和",
        (1989, 1, 8): "平成",
        (2019, 5, 1): "令和",
    }
    day, era, year = date(1868, 10, 23), "", 0
    while day.year <= 2100:
        if (day.year, day.month, day.day) in changes:
            era, year = changes[day.year, day.month, day.day], 1
        elif (day.month, day.day) == (1, 1):
            year += 1
        yield day, era, year
        day += timedelta(1)


def test_every_day_by_its_era():
    walked = list(_walk())
    days = [day for day, _, _ in walked]
    expected = pa.array(days, pa.date32())
    letters = {"明治": "M", "大正": "T", "昭和": "S", "平成": "H", "令和": "R"}
    forms = (
        lambda day, era, year: f"{era}{'元' if year == 1 else year}年{day.month}月{day.day}日",
        lambda day, era, year: f"{letters[era]}{year}.{day.month}.{day.day}",
        lambda day, era, year: f"{letters[era].lower()}{year:02}/{day.month:02}/{day.day:02}",
        lambda day, era, year: f"{day.year}年{day.month}月{day.day}日".translate(FULL),
        lambda day, era, year: f"{era[0]} {year}年　{day.month} 月 {day.day} 日",
    )
    for form in forms:
        assert read_written(pa.array([form(*one) for one in walked])).equals(expected), form(*walked[0])
    for day, era, year in walked[::97]:
        number = (day - date(1970, 1, 1)).days
        assert year_label(number) == f"{era}{'元' if year == 1 else year}年"
        assert month_label(number) == f"{era}{'元' if year == 1 else year}年{day.month}月"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("明治45年7月29日", "1912-07-29"),
        ("明治45年7月30日", "1912-07-30"),  # both eras wrote this day
        ("大正元年7月30日", "1912-07-30"),
        ("大正15年12月24日", "1926-12-24"),
        ("大正15年12月25日", "1926-12-25"),
        ("昭和元年12月25日", "1926-12-25"),
        ("S64.1.7", "1989-01-07"),
        ("平成元年1月8日", "1989-01-08"),
        ("H31.4.30", "2019-04-30"),
        ("令和元年5月1日", "2019-05-01"),
        ("令和6年2月29日", "2024-02-29"),
        ("㍼34年6月7日", "1959-06-07"),
    ],
)
def test_the_days_on_which_eras_change(text, day):
    assert read_written(pa.array([text])).to_pylist() == [date.fromisoformat(day)]


@pytest.mark.parametrize(
    "text",
    ["昭和70年", "昭和64年1月8日", "昭和64年2月", "平成元年1月7日", "大正元年7月29日",
     "昭和元年12月24日", "平成31年5月1日", "明治元年10月22日",
     "令和元年4月30日", "令和5年2月29日", "昭和34年13月1日", "昭和0年", "1959年6月31日"],
)  # fmt: skip
def test_dates_that_do_not_exist_are_text_with_a_reason(text):
    assert kind_of(pa.array([text, "昭和34年6月7日"])) is Kind.TEXT
    with pytest.raises(ColumnError, match=f"'{text}' does not exist"):
        numbers_of(pa.array(["昭和34年6月7日", text]))
    with pytest.raises(HierarchyError, match=f"'{text}'.* does not exist"):
        HierarchySpec(dates=["day", "year"]).build("生年月日", Column.of([text, "昭和34年6月7日"]))


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["39歳", "３９才", "満39歳", "39", " ３９ "], [39] * 5),
        (
            ["350万円", "1,200千円", "１億２，０００万円", "5円", "3百万円", "▲1.1万円"],
            [3.5e6, 1.2e6, 1.2e8, 5, 3e6, -11_000],
        ),
        (["￥1,200", "1200", "1,200円"], [1200] * 3),
        (["１．５", "2"], [1.5, 2]),
        (["－５", "5"], [-5, 5]),
        (["令和元年", "昭和64年", "平成元年", "1989", "1989年"], [2019, 1989, 1989, 1989, 1989]),
        (["38年", "３年", "12", "満5年"], [38, 3, 12, 5]),
        (["2.5年", "0年"], [2.5, 0]),
    ],
)
def test_numbers(texts, numbers):
    assert numbers_of(pa.array(texts)).tolist() == numbers
    whole = all(float(one).is_integer() for one in numbers)
    assert kind_of(pa.array([*texts, None])) is (Kind.INTEGER if whole else Kind.NUMBER)


@pytest.mark.parametrize(
    "texts",
    [
        ["００７", "39"],  # a code, not a number
        ["350万円", "350"],  # yen or ten thousands of yen?
        ["39歳", "350円"],
        ["39歳", "1959年"],
        ["-39歳"],
        ["万円"],
        ["1 2歳"],
        ["S34.6", "M10.0"],  # codes of ICD-10
        ["R1-2-3"],  # numbers of houses
        ["H25", "S72"],
        ["三十九歳"],
        ["20～24歳"],
        ["1，2０"],
        ["昭和34年6月7日", "不明"],
        ["34年6月7日"],
        ["元年"],
        ["38年", "昭和38年"],  # how many years, or which?
        ["38年", "1990年"],
        ["-3年"],
    ],
)
def test_what_only_looks_like_it_is_text(texts):
    assert kind_of(pa.array(texts)) is Kind.TEXT


def test_plain_text_is_judged_as_before():
    for texts in (["1,200"], ["2020.01.05"], ["2020-01"], ["39"], ["M", "F"], ["S34"], []):
        assert read_written(pa.array(texts, pa.string())) is None


@given(st.lists(st.tuples(st.integers(0, 10**7), st.sampled_from(["", "千", "万", "百万"]), st.booleans()), min_size=1))
def test_amounts_are_the_number_times_its_unit(amounts):
    scale = {"": 1, "千": 1_000, "万": 10_000, "百万": 1_000_000}
    texts = [f"{n:,}{unit}円" if not wide else f"{n:,}{unit}円".translate(FULL) for n, unit, wide in amounts]
    assert numbers_of(pa.array(texts)).tolist() == [n * scale[unit] for n, unit, _ in amounts]


def test_two_spellings_are_one_value_when_generalized_but_two_when_released():
    spelt = ["39歳", "３９歳", "39", "41歳"]
    column = Column.of(spelt)
    level = HierarchySpec(intervals=[5]).build("年齢", column).generalize(column, 1)
    assert level.decode().to_pylist() == ["35–39", "35–39", "35–39", "40–44"]
    days = Column.of(["昭和34年6月7日", "S34.6.7", "1959/6/7"])
    assert set(HierarchySpec(dates=["day", "month"]).build("d", days).generalize(days, 1).decode().to_pylist()) == {
        "1959-06"
    }
    assert oboro.verify({"年齢": ["39歳", "39歳"]}, quasi=["年齢"], k=2).holds
    assert not oboro.verify({"年齢": ["39歳", "３９歳"]}, quasi=["年齢"], k=2).holds


def test_techniques_read_them_and_leave_the_rest_as_it_came():
    assert oboro.TopCode(attribute="年齢", at=90).apply({"年齢": ["３９歳", "97歳"]}) == {"年齢": ["３９歳", "90歳"]}
    assert oboro.TopCode(attribute="年収", at=5_000_000).apply({"年収": ["350万円", "1億円"]}) == {
        "年収": ["350万円", "5000000円"]
    }
    assert oboro.BottomCode(attribute="生", at="昭和元年12月25日").apply({"生": ["T3.4.5", "S34.6.7"]}) == {
        "生": ["昭和元年12月25日", "S34.6.7"]
    }
    assert oboro.TopCode(attribute="年齢", at="90歳").apply({"年齢": ["39歳", "97"]}) == {"年齢": ["39歳", "90歳"]}
    assert oboro.TopCode(attribute="勤続", at=30).apply({"勤続": ["38年", "3年"]}) == {"勤続": ["30年", "3年"]}
    assert oboro.Round(attribute="年齢", base=10).apply({"年齢": ["39歳", "４０歳"]})["年齢"] == ["４０歳", "４０歳"]
    mean = oboro.Microaggregate(attributes=["年齢"], k=2).apply({"年齢": ["39歳", "41歳"]})
    assert [float(one) for one in mean["年齢"]] == [40, 40]


def test_a_month_lies_on_its_first_day_and_missing_stays_missing():
    read = read_written(pa.array(["平成3年5月", None, "平成元年1月"]))
    assert read.to_pylist() == [date(1991, 5, 1), None, date(1989, 1, 8)]
    assert np.isnan(numbers_of(pa.array(["39歳", None]))[1])
