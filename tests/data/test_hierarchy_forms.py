"""Intervals, dates, masks, files, rows and trees: each against hand-made tables and naive twins."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.hierarchy_cases import (
    DATES,
    FLOATS,
    INTEGERS,
    TIMES,
    UNITS,
    WORDS,
    build,
    few,
    mask_forms,
    paths,
    released,
    width_forms,
    write,
)

from oboro.data.column import Column
from oboro.errors import HierarchyError
from oboro.hierarchies.spec import HierarchySpec

# Intervals ----------------------------------------------------------------------------------------------------------


def test_intervals_by_hand() -> None:
    ages = [1, 20, 24, 25, 39, 79, 80, 99]
    assert paths(ages, intervals=[5, 10, 20], bottom=20, top=80) == {
        1: ["<20", "<20", "<20", "*"],
        20: ["20–24", "20–29", "20–39", "*"],
        24: ["20–24", "20–29", "20–39", "*"],
        25: ["25–29", "20–29", "20–39", "*"],
        39: ["35–39", "30–39", "20–39", "*"],
        79: ["75–79", "70–79", "60–79", "*"],
        80: ["≥80", "≥80", "≥80", "*"],
        99: ["≥80", "≥80", "≥80", "*"],
    }


def test_an_open_end_cuts_the_interval_it_lies_in() -> None:
    assert released([22, 24, 83, 86], 1, intervals=[5], bottom=23, top=84) == ["<23", "23–24", "80–83", "≥84"]


def test_labels_of_negative_numbers_decimals_and_single_integers_can_be_read() -> None:
    assert released([-7, -1, 3], 1, intervals=[5]) == ["-10 to -6", "-5 to -1", "0–4"]
    assert released([-0.05, 0.3, 0.7], 1, intervals=[0.1]) == ["[-0.1, 0)", "[0.3, 0.4)", "[0.7, 0.8)"]
    assert released([3, 4], 1, intervals=[1]) == ["3", "4"]
    assert released([3, 4], 1, intervals=[1, 2], origin=0.5) == ["[2.5, 3.5)", "[3.5, 4.5)"]


def test_a_decimal_edge_belongs_to_the_interval_that_it_starts() -> None:
    assert released([0.57, 0.58], 1, intervals=[0.01]) == ["[0.57, 0.58)", "[0.58, 0.59)"]  # 0.57 · 100 is 56.99…
    assert released([math.nextafter(0.9, 0)], 1, intervals=[0.1]) == ["[0.8, 0.9)"]  # ten times as much is 9
    assert released([0.5, 1.0], 1, intervals=[1 / 3]) == [f"[{1 / 3}, {2 / 3})", "[1, 1.3333333333333333)"]


def test_whole_numbers_in_a_float_column_are_whole_numbers() -> None:
    assert released([20.0, None, 39.0], 1, intervals=[5]) == ["20–24", None, "35–39"]
    assert released([20.5, 39.0], 1, intervals=[5]) == ["[20, 25)", "[35, 40)"]


def test_without_star_the_widest_interval_is_the_last_level() -> None:
    assert paths([1, None], intervals=[5], star=False) == {1: ["0–4"], None: [None]}


def test_edges_have_open_ends() -> None:
    edges = {"edges": [[0, 18, 40, 65], [0, 40]]}
    assert paths([-1, 0, 17, 18, 64, 65], intervals=edges) == {
        -1: ["<0", "<0", "*"],
        0: ["0–17", "0–39", "*"],
        17: ["0–17", "0–39", "*"],
        18: ["18–39", "0–39", "*"],
        64: ["40–64", "≥40", "*"],
        65: ["≥65", "≥40", "*"],
    }
    assert released([0.5, 1.5], 1, intervals={"edges": [[1]]}) == ["<1", "≥1"]


def naive_interval(value: Decimal, width: Decimal, origin: Decimal, bottom: Any, top: Any) -> tuple[Any, Any]:
    """Where the interval of a value starts and ends, in exact decimals."""
    if bottom is not None and value < bottom:
        return None, bottom
    if top is not None and value >= top:
        return top, None
    start = origin + ((value - origin) / width).to_integral_value("ROUND_FLOOR") * width
    end = start + width
    return start if bottom is None else max(start, bottom), end if top is None else min(end, top)


def bounds_of(label: str) -> tuple[Any, Any]:
    """What a label says: where it starts and ends."""
    if label[0] in "<≥":
        return (None, Decimal(label[1:])) if label[0] == "<" else (Decimal(label[1:]), None)
    if label[0] == "[":
        low, high = label[1:-1].split(", ")
        return Decimal(low), Decimal(high)
    parts = label.split(" to ") if " to " in label else label.split("–")
    return Decimal(parts[0]), Decimal(parts[-1]) + 1


@given(st.one_of(few(INTEGERS, 1), few(FLOATS, 1)), width_forms())
def test_intervals_agree_with_exact_decimals(values: list[Any], form: dict[str, Any]) -> None:
    ends = [None if form.get(end) is None else Decimal(form[end]) for end in ("bottom", "top")]
    for value, labels in paths(values, **form).items():
        for width, label in zip(form["intervals"], labels, strict=False):
            exact = (Decimal(str(number)) for number in (value, width, form.get("origin", 0)))
            assert bounds_of(label) == naive_interval(*exact, *ends)


def test_the_share_of_an_interval_is_its_part_of_the_range() -> None:
    level = build([0, 4, 5, 9, 10, 19], intervals=[5]).levels[1]
    assert level.share.tolist() == [0.25, 0.25, 0.25, 0.25]  # 0–4, 5–9, 10–14, 15–19 of 20 possible values
    level = build([17, 30, 90], intervals=[5], bottom=20, top=80).levels[1]
    assert level.labels.to_pylist() == ["<20", "30–34", "≥80"]
    assert level.share.tolist() == [3 / 74, 5 / 74, 11 / 74]  # 17…19, 30…34, 80…90 of 17…90
    level = build([0.0, 2.5, 10.0], intervals=[4]).levels[1]
    assert level.share.tolist() == [0.4, 0.2]  # [0, 4) and [8, 12), of which the data's range has 2
    assert build([7, 7], intervals=[1, 5]).levels[2].share.tolist() == [0]


@settings(max_examples=25)
@given(st.sets(INTEGERS, min_size=1, max_size=12), st.integers(1, 10))
def test_intervals_cover_as_much_as_a_file_that_lists_every_integer(values: set[int], width: int) -> None:
    by_rule = build(sorted(values), intervals=[width])
    everything = range(min(values), max(values) + 1)
    rows = [[number, f"from {number // width * width}", "*"] for number in everything]
    by_list = build(sorted(values), rows=rows)
    for level in range(3):
        mine, theirs = by_rule.levels[level], by_list.levels[level]
        assert mine.share[mine.table].tolist() == pytest.approx(theirs.share[theirs.table].tolist())


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 1e300])
def test_a_number_that_no_interval_can_hold_is_refused(value: float) -> None:
    with pytest.raises(HierarchyError, match=r"x: intervals of 5 cannot hold .*set bottom and top"):
        build([1.5, value], intervals=[5])
    ends = released([1.5, value], 1, intervals=[5], bottom=0, top=100)
    assert ends[1] == ("<0" if value < 0 else "≥100")


def test_a_width_beyond_all_numbers_holds_them_all() -> None:
    assert released([-3, 4], 2, intervals=[10, 1e308]) == ["[-1e+308, 0)", "[0, 1e+308)"]
    assert [*map(len, paths([3, 4], intervals=[0.1, 1e308]).values())] == [3, 3]


def test_intervals_need_numbers() -> None:
    with pytest.raises(HierarchyError, match="x: intervals need numbers, but the column holds 'old'"):
        build(["1", "2", "old", "4"], intervals=[5])
    with pytest.raises(HierarchyError, match=r"'2024-01-31'.*use dates"):
        build([dt.date(2024, 1, 31)], intervals=[5])


# Dates --------------------------------------------------------------------------------------------------------------


def test_dates_by_hand() -> None:
    day = dt.date(1969, 12, 31)
    assert paths([day], dates=UNITS) == {day: ["1969-12", "1969-Q4", "1969", "1960s", "*"]}
    assert paths([day], dates=["year"], star=False) == {day: ["1969"]}
    moment = dt.datetime(2024, 1, 5, 23, 59)
    assert paths([moment], dates=["day", "month"]) == {moment: ["2024-01-05", "2024-01", "*"]}
    assert paths(["2024/1/5"], dates=["day", "month"]) == {"2024/1/5": ["2024-01", "*"]}


@given(st.one_of(few(DATES, 1), few(TIMES, 1)))
def test_dates_agree_with_the_calendar(values: list[Any]) -> None:
    for value, labels in paths(values, dates=UNITS).items():
        day, month, quarter = f"{value:%Y-%m-%d}", f"{value:%Y-%m}", f"{value.year}-Q{(value.month + 2) // 3}"
        expected = [month, quarter, str(value.year), f"{value.year // 10}0s", "*"]
        assert labels == ([day, *expected] if isinstance(value, dt.datetime) else expected)


def test_a_day_is_the_day_where_the_clock_stood() -> None:
    late = pa.array([dt.datetime(2024, 1, 31, 20, tzinfo=dt.UTC)], pa.timestamp("us", tz="Asia/Tokyo"))
    hierarchy = HierarchySpec(dates=["day", "month"]).build("x", Column.encode(late))
    assert [level.labels[0].as_py() for level in hierarchy.levels[1:]] == ["2024-02-01", "2024-02", "*"]


def test_the_share_of_a_month_is_its_part_of_the_days() -> None:
    level = build([dt.date(2024, 1, 22), dt.date(2024, 2, 10)], dates=["month"]).levels[1]
    assert level.share.tolist() == [0.5, 0.5]  # 10 of 20 days each
    level = build([dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 2, 12)], dates=["day"]).levels[1]
    assert level.share.tolist() == [0.5, 0.5]


def test_dates_need_dates() -> None:
    with pytest.raises(HierarchyError, match=r"x: dates: needs dates .* holds '2024-02-30'"):
        build(["2024-02-29", "2024-02-28", "2024-02-30"], dates=["year"])
    with pytest.raises(HierarchyError, match="holds '3'"):
        build([3], dates=["year"])


# Masks --------------------------------------------------------------------------------------------------------------


def test_masks_by_hand() -> None:
    assert paths(["123", "1234", "129"], mask="right") == {
        "123": ["123*", "12**", "1***", "*"],
        "1234": ["123*", "12**", "1***", "*"],
        "129": ["129*", "12**", "1***", "*"],
    }
    assert paths(["12", "345"], mask="left") == {"12": ["*12", "**2", "*"], "345": ["*45", "**5", "*"]}
    assert paths([105, 7], mask={"side": "right", "steps": [2], "char": "x"}) == {105: ["1xx", "*"], 7: ["7xx", "*"]}
    assert paths(["東京都", "東京"], mask="right") == {"東京都": ["東京*", "東**", "*"], "東京": ["東京*", "東**", "*"]}


@given(few(WORDS, 1), mask_forms())
def test_masks_agree_with_cutting_padded_text(values: list[str], form: dict[str, Any]) -> None:
    mask = form["mask"] if isinstance(form["mask"], dict) else {"side": form["mask"], "char": "*"}
    longest = max(map(len, values))
    steps = mask.get("steps") or range(1, longest)
    for value, labels in paths(values, **form).items():
        right = mask["side"] == "right"
        padded = value.ljust(longest, mask["char"]) if right else value.rjust(longest, mask["char"])
        hidden = [mask["char"] * step for step in steps]
        naive = [padded[: -len(mark)] + mark if right else mark + padded[len(mark) :] for mark in hidden]
        assert labels == [*("*" if len(mark) >= longest else cut for mark, cut in zip(hidden, naive, strict=True)), "*"]


def test_a_mask_with_steps_has_as_many_levels_whatever_the_data() -> None:
    steps = {"side": "right", "steps": [1, 5]}
    assert build(["ab"], mask=steps).height == build(["abcdefgh"], mask=steps).height == 3
    assert paths(["ab"], mask=steps) == {"ab": ["a*", "*", "*"]}


def test_the_share_of_a_mask_is_its_part_of_the_values() -> None:
    assert build(["11", "12", "13", "20"], mask="right").levels[1].share.tolist() == [0.75, 0]


# Files, rows, trees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932"])
@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_files_of_every_make(tmp_path: Path, encoding: str, delimiter: str, newline: str) -> None:
    rows = [["東京", "関東", "*"], ["横浜", "関東", "*"], ["", "不明", "*"]]
    text = newline.join(delimiter.join(row) for row in rows) + newline + newline
    name = write(tmp_path, text, encoding)
    assert build(["東京"], tmp_path, csv=name).to_rows() == rows
    assert released(["東京", "横浜", None], 1, tmp_path, csv=name) == ["関東", "関東", "不明"]


def test_quoted_cells_hold_delimiters_quotes_and_line_ends(tmp_path: Path) -> None:
    name = write(tmp_path, '"a;b";"say ""c""";*\nd;"two\nlines";*\n')
    assert build([], tmp_path, csv=name).to_rows() == [["a;b", 'say "c"', "*"], ["d", "two\nlines", "*"]]


def test_labels_with_commas_do_not_confuse_a_file_with_semicolons(tmp_path: Path) -> None:
    name = write(tmp_path, "1;[0, 5);*\n7;[5, 10);*\n")
    assert released([7, 1], 1, tmp_path, csv=name) == ["[5, 10)", "[0, 5)"]


def test_a_file_may_be_long(tmp_path: Path) -> None:
    name = write(tmp_path, "".join(f"{number};{number // 100};{number // 10_000};*\n" for number in range(50_000)))
    assert released([12_345], 1, tmp_path, csv=name) == ["123"]
    quoted = write(tmp_path, "".join(f'"{number}";{number // 100};*\n' for number in range(50_000)), name="q.csv")
    assert released([12_345], 1, tmp_path, csv=quoted) == ["123"]
    last = write(tmp_path, "".join(f"{number};*\n" for number in range(20_000)) + "x;y;*\n", name="l.csv")
    with pytest.raises(HierarchyError, match="line 20001: 3 column"):
        build([1], tmp_path, csv=last)


def test_labels_with_many_commas_do_not_confuse_a_long_file(tmp_path: Path) -> None:
    name = write(tmp_path, "".join(f"{number};{'a,b,' * 30};*\n" for number in range(2000)))
    assert released([1999], 1, tmp_path, csv=name) == ["a,b," * 30]


def test_what_is_left_of_a_file_knows_labels_that_the_column_lacked() -> None:
    rows = [["a", "A", "*"], ["b", "B", "*"]]
    rest = build(["a"], rows=rows).above(1)
    column = Column.of(["B", "A"])
    assert rest.generalize(column, 1).decode().to_pylist() == ["*", "*"]


def test_values_match_by_their_text() -> None:
    rows = [["39", "old", "*"], ["true", "yes", "*"], ["2024-01-31", "winter", "*"]]
    for value, label in [(39, "old"), (39.0, "old"), ("39", "old"), (True, "yes"), (dt.date(2024, 1, 31), "winter")]:
        assert released([value], 1, rows=rows) == [label]
    assert released(["39", "1.5"], 1, rows=[[39.0, 1], [1.5, None]]) == ["1", None]


def test_shares_count_the_leaves_of_the_whole_file() -> None:
    rows = [["a", "A", "*"], ["b", "A", "*"], ["c", "B", "*"], ["d", "A", "*"]]
    hierarchy = build(["a", "c"], rows=rows)
    assert [level.share.tolist() for level in hierarchy.levels] == [[0, 0], [0.75, 0], [1]]
    assert hierarchy.levels[1].labels.to_pylist() == ["A", "B"]


def test_a_missing_value_follows_its_row_or_stays_missing() -> None:
    assert paths(["a", None], rows=[["a", "A", "*"], ["", "unknown", "*"]])[None] == ["unknown", "*"]
    assert paths(["a", None], rows=[["a", "A", "*"], ["b", "B", "*"]])[None] == [None, "*"]
    assert paths(["a", None], rows=[["a", "A", "X"], ["b", "B", "X"]])[None] == [None, "X"]
    assert paths(["a", None], rows=[["a", "A"], ["b", "B"]])[None] == [None]
    assert paths(["a", None], rows=[["a", "A", "*"], ["b", "", "*"]])[None] == [None, "*"]
    assert paths([None], tree={"A": ["a"], "Unknown": [""]})[None] == ["Unknown", "*"]
    assert paths([None], intervals=[5])[None] == [None, "*"]
    assert paths([None])[None] == ["*"]


def test_an_empty_text_speaks_for_a_missing_value_in_a_file() -> None:
    assert build(["", None, "12"], mask="right").to_rows() == [["", "**", "*"], ["12", "1*", "*"]]
    assert released(["", None], 1, rows=[["", "none", "*"]]) == ["none", "none"]


def test_a_missing_value_does_not_join_values_that_happen_to_agree() -> None:
    assert paths([21, 22, None], intervals=[5], star=False)[None] == [None]
    assert paths(["13", "14", None], mask="right")[None] == [None, "*"]


def test_a_suppressed_value_stays_suppressed() -> None:
    assert paths(["21", "*"], intervals=[5]) == {"21": ["20–24", "*"], "*": ["*", "*"]}
    hierarchy = build(["a", "*"], rows=[["a", "A", "all"], ["b", "B", "all"]])
    assert hierarchy.levels[2].labels.to_pylist() == ["all", "*"]
    assert [level.share[level.table[1]] for level in hierarchy.levels] == [1, 1, 1]
    column = Column.of([21, 22, 37])
    bound = HierarchySpec(intervals=[5]).build("x", column)
    partly = bound.generalize(column, 1).where(np.array([True, False, False]), "*")
    assert bound.above(1).generalize(partly, 0).decode().to_pylist() == ["*", "20–24", "35–39"]
    assert bound.above(1).generalize(partly, 1).decode().to_pylist() == ["*", "*", "*"]


def test_trees(tmp_path: Path) -> None:
    tree = {"Europe": ["France", "Germany"], "Asia": {"East": ["Japan", {"Greater China": ["China"]}]}, "Mars": None}
    expected = {
        "France": ["France", "France", "Europe", "*"],
        "Japan": ["Japan", "East", "Asia", "*"],
        "China": ["Greater China", "East", "Asia", "*"],
        "Mars": ["Mars", "Mars", "Mars", "*"],
    }
    assert paths(list(expected), tree=tree) == expected
    write(tmp_path, yaml.safe_dump(tree, sort_keys=False), name="t.yaml")
    assert build(list(expected), tmp_path, tree="t.yaml").to_rows() == build(list(expected), tree=tree).to_rows()
    assert build(["France"], tree=tree).levels[3].share.tolist() == [0.4]
    assert paths([1, 2], tree=[1, 2]) == {1: ["*"], 2: ["*"]}


def test_a_tree_file_is_text(tmp_path: Path) -> None:
    name = write(tmp_path, "Nordic: [NO, SE]\nagents: [007]\n", name="t.yaml")
    assert released(["NO", "007"], 1, tmp_path, tree=name) == ["Nordic", "agents"]


@given(
    numbers=st.lists(st.one_of(st.integers(-9, 9), st.sampled_from([0.5, 2.25])), min_size=1, max_size=9),
    edges=st.lists(st.integers(-5, 5), min_size=2, max_size=4, unique=True).map(sorted),
    named=st.booleans(),
)
def test_intervals_that_hold_their_upper_end_are_those_of_r(numbers, edges, named):
    """`cut(x, breaks)`: from above one break up to the next; what lies beyond all breaks is in an open interval here."""
    names = [f"n{i}" for i in range(len(edges) - 1)]
    spec = HierarchySpec(intervals={"edges": [edges], "closed": "right", "labels": [names] if named else None})
    level = spec.build("x", Column.of(numbers)).levels[1]
    column, found = Column.of(numbers), {}
    for number, code in zip(numbers, column.codes, strict=True):
        cell = sum(number > edge for edge in edges)
        label = level.labels[int(level.table[code])].as_py()
        assert found.setdefault(cell, label) == label
        assert not (named and 0 < cell < len(edges)) or label == names[cell - 1]
    assert len(set(found.values())) == len(found)


def test_names_of_intervals_are_as_many_as_these():
    for labels in ([["a"], ["b"]], [["a", "b"]], [["a", "a", "b"]]):
        with pytest.raises(ValueError, match="labels"):
            HierarchySpec(intervals={"edges": [[1, 2]], "labels": labels})


def test_labels_of_any_number_do_not_tell_that_somebody_has_a_fraction() -> None:
    whole, mixed = [20, 25, 31], [20, 25, 30.5]
    labels = {}
    for numbers in ("any", None):
        for values in (whole, mixed):
            spec = HierarchySpec(intervals=[10], numbers=numbers)
            found = spec.build("age", Column.of(values))
            labels[numbers, values is mixed] = found.to_rows()[0][1]
    assert labels["any", False] == labels["any", True] == "[20, 30)"
    assert (labels[None, False], labels[None, True]) == ("20–29", "[20, 30)")  # what `any` is for
