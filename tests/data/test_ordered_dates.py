"""Dates whose day and month stand in an order that only the whole column tells."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.errors import ColumnError, HierarchyError
from oboro.hierarchies.dates import date_levels
from oboro.hierarchies.propose import propose
from oboro.hierarchies.recoding import possible_values
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import Kind, kind_of, typed
from oboro.notations.ordered_dates import read_in_order, read_years, why_no_order
from oboro.stream.delay_free.values import ValueLevels

AMERICAN, EUROPEAN = ["12/31/1990", "1/5/1990"], ["31/12/1990", "1/5/1990"]
OPEN, BOTH, SHORT = ["1/5/1990", "2/6/1991"], ["12/31/1990", "31/12/1990"], ["12/31/90", "1/5/91"]


# Against obvious loops -------------------------------------------------------------------------------------------------


def naive_date(text: str, order: str) -> date | datetime | None:
    """One value in one order, by the calendar of the standard library."""
    day, _, clock = text.partition(" ")
    mark = next(mark for mark in "/-." if mark in day)
    parts = [int(part) for part in day.split(mark)]
    if parts[0] > 999:
        year, month, of_month = parts
    elif mark == "." or order == "day_first":
        of_month, month, year = parts
    else:
        month, of_month, year = parts
    try:
        return datetime(year, month, of_month, *naive_clock(clock)) if clock else date(year, month, of_month)
    except ValueError:
        return None


def naive_clock(text: str) -> tuple[int, int]:
    hour, minute = int(text.split(":")[0]), int(text.split(":")[1][:2])
    if text[-1:] in "mM":
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if text[-2] in "pP" else 0)
    return hour, minute


def naive_column(texts: list[str], order: str | None) -> list[date | datetime] | None:
    """All values in the one order in which each of them is a date."""
    open_ = any(mark in text.partition(" ")[0][:3] for text in texts for mark in "/-")
    parts = [
        [int(one) for one in text.partition(" ")[0].replace("-", "/").replace(".", "/").split("/")] for text in texts
    ]
    closed = [text[:4].isdigit() or "." in text.partition(" ")[0] for text in texts]
    orders = [order] if order else ["day_first", "month_first"]
    if order is None and open_:
        above = [any(not shut and one[at] > 12 for one, shut in zip(parts, closed, strict=True)) for at in (0, 1)]
        orders = [] if above[0] == above[1] else ["day_first" if above[0] else "month_first"]
    for one in orders:
        found = [naive_date(text, one) for text in texts]
        if None not in found and len({type(each) for each in found}) == 1:
            return found  # type: ignore[return-value]
    return None


numbers = st.integers(1, 14) | st.integers(1, 32)
marks = st.sampled_from(["/"] * 4 + ["-", "."])
clocks = st.sampled_from([""] * 3 + [" 14:05", " 2:05 PM", " 12:00 AM", " 12:59 pm", " 0:30", " 13:05 PM", " 24:00"])


@st.composite
def written(draw: st.DrawFn) -> str:
    first, second, mark = draw(numbers), draw(numbers), draw(marks)
    year, pad = draw(st.integers(1900, 2030)), draw(st.booleans())
    parts = [f"{one:02d}" if pad else str(one) for one in (first, second)]
    whole = [str(year), *parts] if mark != "." and draw(st.integers(0, 9)) == 0 else [*parts, str(year)]
    return mark.join(whole)


columns = st.tuples(st.lists(written(), min_size=1, max_size=5), clocks).map(
    lambda both: [one + both[1] for one in both[0]]
)


@given(columns, st.sampled_from([None, "day_first", "month_first"]))
def test_a_column_is_read_as_by_hand(texts: list[str], order: str | None) -> None:
    found = read_in_order(pa.array(texts), order)  # type: ignore[arg-type]
    assert (None if found is None else found.to_pylist()) == naive_column(texts, order)


@given(columns)
def test_a_part_of_a_column_is_never_read_in_another_order(texts: list[str]) -> None:
    whole = read_in_order(pa.array(texts))
    for i in range(len(texts)):
        part = read_in_order(pa.array(texts[i:]))
        assert whole is None or part is None or part.to_pylist() == whole.to_pylist()[i:]


@given(columns)
def test_years_do_not_depend_on_the_order(texts: list[str]) -> None:
    years = read_years(pa.array(texts))
    for order in ("day_first", "month_first"):
        found = naive_column(texts, order)
        if years is not None and found is not None:
            assert [one.year for one in found] == [one.year for one in years.to_pylist()]


# What a column is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts", [AMERICAN, EUROPEAN, ["31-12-1990"], ["12/31/1990", None], ["1990-12-31", "12/31/1990"]]
)
def test_a_certain_order_makes_dates(texts: list[str]) -> None:
    values = pa.array(texts)
    assert kind_of(values) is Kind.DATE
    assert typed(values)[0].as_py() == date(1990, 12, 31)


@pytest.mark.parametrize(
    "text", ["12/31/1990 14:05", "31/12/1990 14:05:00", "12/31/1990 2:05 PM", "31.12.1990 14:05", "1990/12/31 14:05"]
)
def test_a_time_behind_makes_moments(text: str) -> None:
    assert kind_of(pa.array([text])) is Kind.DATETIME
    assert typed(pa.array([text]))[0].as_py() == datetime(1990, 12, 31, 14, 5)


@pytest.mark.parametrize(
    "texts", [OPEN, BOTH, SHORT, ["2/30/1990"], ["31/4/1990"], ["12-34-5678"], ["10-20-3040"], ["1/13/1990", "x"]]
)
def test_what_is_not_certain_stays_text(texts: list[str]) -> None:
    assert kind_of(pa.array(texts)) is Kind.TEXT


def test_why_a_column_is_text_is_said_with_its_rows() -> None:
    spec = HierarchySpec(dates=["day", "month"])
    for texts, said in (
        (OPEN, "begin with the day or with the month"),
        (BOTH, "begins with the day"),
        (SHORT, "two digits"),
    ):
        with pytest.raises(HierarchyError, match=said) as refused:
            spec.build("born", Column.of(texts))
        rows = [raw.row for raw in refused.value.words.values["why"].values.values()]  # type: ignore[union-attr]
        assert rows == {"begins with the day": [2, 1], "two digits": [1]}.get(said, [])
    assert why_no_order(pa.array(AMERICAN)) is None
    assert why_no_order(pa.array(["a/b/c"])) is None


# What a recipe says ----------------------------------------------------------------------------------------------------


def months(texts: list[str], **more: str) -> list[str]:
    (month,) = date_levels("born", pa.array(texts), ["month"], **more)  # type: ignore[arg-type]
    return [month.labels[code].as_py() for code in month.table.tolist()]


def test_the_recipe_says_the_order() -> None:
    assert months(OPEN, order="day_first") == ["1990-05", "1991-06"]
    assert months(OPEN, order="month_first") == ["1990-01", "1991-02"]
    assert months(["1990-05-01"], order="month_first") == ["1990-05"]
    with pytest.raises(HierarchyError, match="month_first"):
        months(BOTH, order="month_first")


def test_a_date_order_belongs_to_dates() -> None:
    with pytest.raises(ValueError, match="date_order"):
        HierarchySpec.model_validate({"intervals": [5], "date_order": "day_first"})


@pytest.mark.parametrize("texts", [OPEN, BOTH])
def test_years_need_no_order(texts: list[str]) -> None:
    (year,) = date_levels("born", pa.array(texts), ["year"])
    assert sorted(year.labels.to_pylist()) == sorted({text[-4:] for text in texts})


def test_a_starter_says_the_order_that_it_found() -> None:
    """The next delivery may not tell it, and a stream never does."""
    spec = propose("born", Column.of(AMERICAN))
    assert spec is not None
    assert (spec.dates, spec.date_order) == (["day", "month", "quarter", "year"], "month_first")
    european = propose("born", Column.of(EUROPEAN))
    assert european is not None
    assert european.date_order == "day_first"
    iso = propose("born", Column.of(["1990-12-31", "1990-01-05"]))
    assert iso is not None
    assert iso.date_order is None


def test_a_starter_uses_years_and_says_why() -> None:
    spec = propose("born", Column.of([f"{i % 12 + 1}/{i % 11 + 1}/{1950 + i}" for i in range(40)]))
    assert spec is not None
    assert spec.dates == ["year", "decade"]
    table = {"born": [f"{i % 12 + 1}/{i % 11 + 1}/{1950 + i % 40}" for i in range(80)], "sex": ["F", "M"] * 40}
    starter = oboro.init(table)
    assert "date_order: month_first" in starter.to_yaml()
    assert "date_order: month_first" in starter.to_yaml("ja")
    assert starter.recipe.run(table).verification.holds


def test_a_run_warns_of_dates_that_it_takes_for_text() -> None:
    attributes = {"born": {"role": "quasi"}}
    recipe = oboro.Recipe.model_validate({"attributes": attributes, "steps": [{"k_anonymize": {"k": 2}}]})
    for texts, id in ((OPEN, "no_order"), (BOTH, "two_orders"), (SHORT, "short_years")):
        (caution,) = recipe.run({"born": texts * 2}).cautions
        assert caution.values["why"].id == f"recipe.unclear.{id}"
        assert "1990" not in str(caution).replace("1990-12-31", "")
    assert not recipe.run({"born": AMERICAN * 2}).cautions


# What is released ------------------------------------------------------------------------------------------------------


def released(dates: list[str]) -> list[str]:
    return oboro.LocalRecode(k=2).apply({"born": dates}, attributes={"born": {"role": "quasi"}})["born"]


def test_ranges_are_written_so_that_nobody_has_to_guess() -> None:
    assert released(AMERICAN) == ["1990-01-05 to 1990-12-31"] * 2
    assert released(["12/31/1990 2:05 PM", "1/5/1990 12:00 AM"]) == ["1990-01-05 00:00 to 1990-12-31 14:05"] * 2
    assert set(released(["12/31/1990", "12/31/1990", "01/05/1990", "1/5/1990"])) == {"1990-12-31", "1990-01-05"}


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_real_moments_are_not_touched(unit: str, zone: str | None) -> None:
    fraction = 0 if unit == "s" else 120_000
    moments = pa.array([datetime(1990, 12, 31, 14, 5, 0, fraction), datetime(1990, 1, 5)], pa.timestamp(unit, zone))
    table = pa.table({"born": moments})
    (released,) = set(oboro.LocalRecode(k=2).apply(table, attributes={"born": {"role": "quasi"}})["born"].to_pylist())
    assert released.startswith("1990-01-05 ")
    assert " to 1990-12-31 " in released


def test_rounded_and_coded_dates_stand_beside_others_in_one_notation() -> None:
    table = {"born": ["12/31/1990", "1/5/1990", "1/1/1990"]}
    coded = oboro.TopCode(attribute="born", at="1990-06-30").apply(table)["born"]
    assert coded == ["1990-06-30", "1990-01-05", "1990-01-01"]
    assert oboro.Round(attribute="born", base=7).apply(table)["born"] == ["1990-12-31", "1990-01-08", "1990-01-01"]


def test_what_nobody_changes_is_written_as_it_came() -> None:
    table = {"born": AMERICAN * 2}
    recipe = oboro.Recipe.model_validate(
        {"attributes": {"born": {"role": "quasi"}}, "steps": [{"k_anonymize": {"k": 2}}]}
    )
    assert sorted(recipe.run(table).data["born"]) == sorted(AMERICAN * 2)


@pytest.mark.parametrize(
    ("label", "reached"),
    [("1990-12-31", {0}), ("1990-01", {1}), ("1990", {0, 1}), ("1990-01-01 to 1990-06-30", {1}), ("1991", set())],
)
def test_labels_stand_for_the_dates_behind_them(label: str, reached: set[int]) -> None:
    original = Column.of(AMERICAN)
    mask = possible_values(original, Column.of([label])).reaches(0)
    assert {place for place in (0, 1) if mask[possible_values(original, Column.of([label])).ranks[place]]} == reached


# Streams ---------------------------------------------------------------------------------------------------------------


def test_a_stream_never_guesses_an_order() -> None:
    levels = ValueLevels("born", HierarchySpec(dates=["month", "year"]))
    for text in ("1/5/1990", "12/31/1990"):
        with pytest.raises(ColumnError, match="date_order"):
            levels.code(text)
    assert levels.paths[levels.code("1990-12-31")] == ("1990-12-31", "1990-12", "1990")


def test_a_stream_takes_the_order_of_its_recipe() -> None:
    levels = ValueLevels("born", HierarchySpec(dates=["month", "year"], date_order="month_first"))
    assert levels.paths[levels.code("1/5/1990")] == ("1/5/1990", "1990-01", "1990")
    with pytest.raises(ColumnError):
        levels.code("31/12/1990")
    years = ValueLevels("born", HierarchySpec(dates=["year"]))
    assert years.paths[years.code("1/5/1990")] == ("1/5/1990", "1990")


# Files -----------------------------------------------------------------------------------------------------------------


def test_a_table_in_a_file_is_evaluated_by_its_original(tmp_path: Path) -> None:
    rows = [f"{i % 12 + 1}/{i % 28 + 1}/{1950 + i % 3},{'FM'[i % 2]}" for i in range(120)]
    path = tmp_path / "people.csv"
    path.write_text("born,sex\n" + "\n".join(rows) + "\n", encoding="utf-8")
    attributes = {"born": {"role": "quasi", "hierarchy": {"dates": ["day", "month", "year"]}}, "sex": {"role": "quasi"}}
    recipe = oboro.Recipe.model_validate({"attributes": attributes, "steps": [{"local_recode": {"k": 4}}]})
    release = recipe.run(path)
    out = tmp_path / "released.csv"
    release.write(out)
    assert " to " in out.read_text(encoding="utf-8")
    found = oboro.evaluate(path, out, recipe)
    assert "report.warning.labels_unclear" not in [one.id for one in found.warnings]
    assert oboro.verify(oboro.read(out), quasi=["born", "sex"], k=4).holds
