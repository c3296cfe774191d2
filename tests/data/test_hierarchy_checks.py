"""Every mistake in a hierarchy has a clear message; and what recipes see of hierarchies: words, schema, proposals."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.data.hierarchy_cases import (
    TIMES,
    UNITS,
    WORDS,
    build,
    released,
    write,
)

from oboro.data.column import Column
from oboro.errors import FileError, HierarchyError
from oboro.hierarchies.hierarchy import Hierarchy, Level
from oboro.hierarchies.propose import propose
from oboro.hierarchies.spec import HierarchySpec
from oboro.recipe.starter import previews
from oboro.schema import Attribute, Role, Schema

# The checks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;A;*\nb;B\n", r"x: hierarchy file .*h\.csv, line 2: 2 column\(s\), but the first row has 3"),
        ('"a\n";A;*\n\nb;B\n', r"line 4: 2 column\(s\)"),
        ("a;A;*\nb;B;*\na;B;*\n", r"line 1 and line 3: the value 'a' stands twice, with different labels"),
        ("a;A;X\nb;B;Y\nc;A;Y\n", r"line 1 and line 3: 'A' on level 1 has two parents on level 2, 'X', 'Y'"),
        ("a;A;X\nb;A;Y\n", r"line 1 and line 2: level 2 is finer than level 1 below it: 'A' .* 'X', 'Y'"),
        ("a;A;X\nb;A;\n", r"two parents on level 2, 'X', None"),
        ("", r"h\.csv is empty; list every value"),
        ("\n\n", r"h\.csv is empty"),
        ('"a;A\nb;B\n', r"line 2: .*; correct the quotes"),
        ("b;B;*\nc;C;*\n", r"h\.csv lacks 1 of the column's 1 values: 'a'; add them"),
        (" a;B;*\n", r"only by spaces"),
    ],
)
def test_a_bad_file_is_refused_with_the_place_and_the_values(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HierarchyError, match=message) as caught:
        build(["a"], tmp_path, csv=write(tmp_path, text))
    assert str(caught.value).startswith("x: ")
    assert "\n" not in str(caught.value)


def test_rows_and_trees_are_checked_alike() -> None:
    with pytest.raises(HierarchyError, match=r"x: hierarchy rows, row 2: 1 column\(s\)"):
        build(["a"], rows=[["a", "A"], ["b"]])
    with pytest.raises(HierarchyError, match="row 1 and row 3: the value '1' stands twice, with different labels"):
        build([1], rows=[[1, "*"], [1, "*"], ["1", "x"]])
    with pytest.raises(HierarchyError, match="rows is empty"):
        build(["a"], rows=[])
    with pytest.raises(HierarchyError, match="under A and under B > C: the value 'a' stands twice, with different"):
        build(["a"], tree={"A": ["a"], "B": {"C": ["a"]}})
    with pytest.raises(
        HierarchyError, match=r"under A > Other and under B > Other: .*'Other' on level 1 has two parents"
    ):
        build(["a"], tree={"A": {"Other": ["a"]}, "B": {"Other": ["b"]}})
    with pytest.raises(HierarchyError, match="'A' has no values"):
        build(["a"], tree={"A": []})
    with pytest.raises(HierarchyError, match="tree is empty"):
        build(["a"], tree={})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A: [a]\nB: [b]\nA: [c]\n", r"t\.yaml, line 3: 'A' stands twice"),
        ("A: [a\n", r"t\.yaml, line 2 is not valid YAML"),
        ("", r"t\.yaml is empty"),
        ("? [a, b]\n: [c]\n", r"line 1: a label must be a text"),
    ],
)
def test_a_bad_tree_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        build(["a"], tmp_path, tree=write(tmp_path, text, name="t.yaml"))


def test_lacking_values_are_counted_and_some_are_shown() -> None:
    with pytest.raises(HierarchyError, match="lacks 9 of the column's 10 values: '1', '2', '3', '4', '5' and 4 more"):
        build(list(range(10)), rows=[["0", "*"]])
    known = build([1, 2], intervals=[5])
    with pytest.raises(HierarchyError, match="x: the hierarchy lacks 1 of the column's 2 values: '3'"):
        known.bind(Column.of([1, 3]))


def test_a_file_that_cannot_be_read_is_a_file_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"x: hierarchy file .*none\.csv cannot be read: No such file"):
        build(["a"], tmp_path, csv="none.csv")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        build(["a"], tmp_path, csv=".")
    with pytest.raises(FileError, match="cannot be read"):
        build(["a"], tmp_path, tree="none.yaml")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(HierarchyError, match=r"neither UTF-8 nor Shift_JIS \(cp932\); save it as UTF-8"):
        build(["a"], tmp_path, csv=write(tmp_path, "Côte d'Ivoire;Afrique;*\n", encoding))


def test_levels_that_do_not_nest_cannot_be_put_together() -> None:
    values = pa.array(["a", "b"])
    one = Level(pa.array(["A"]), np.array([0, 0], dtype=np.uint8), np.ones(1))
    with pytest.raises(HierarchyError, match="x: level 2 is finer than level 1 below it: 'A'"):
        Hierarchy("x", (Level.ground(values), one, Level.ground(values)))


def test_a_level_that_is_not_there_is_refused() -> None:
    hierarchy = build(["a"])
    for level in (-1, 2):
        with pytest.raises(HierarchyError, match=f"x: there is no level {level}; the hierarchy has levels 0 .* to 1"):
            hierarchy.generalize(Column.of(["a"]), level)
        with pytest.raises(HierarchyError, match="no level"):
            hierarchy.above(level)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"cvs": "a.csv"}, r"no hierarchy 'cvs'; write one of {csv: ages\.csv}, .*{mask: right}"),
        ("ages.csv", "'ages.csv' is not a hierarchy; write one of"),
        ({"csv": "a", "mask": "right"}, "one form, not 2"),
        ({"mask": "right", "top": 3}, "top can be used with intervals only"),
        ({"star": False}, "star can be used with intervals or dates only"),
        ({"csv": "a", "origin": 0}, "origin can be used with intervals only"),
        ({"intervals": [5, 12]}, "intervals of 12 do not consist of whole intervals of 5"),
        ({"intervals": [5, 5]}, "do not consist"),
        ({"intervals": [10, 5]}, "do not consist"),
        ({"intervals": []}, "positive widths"),
        ({"intervals": 5}, "positive widths"),
        ({"intervals": [0]}, "positive widths"),
        ({"intervals": [float("inf")]}, "positive widths"),
        ({"intervals": ["a"]}, "positive widths"),
        ({"intervals": [5], "bottom": 9, "top": 3}, "bottom not above top"),
        ({"intervals": [5], "origin": float("nan")}, "must be numbers"),
        ({"intervals": {"edges": [[0, 10], [0, 5]]}}, "5 is not in"),
        ({"intervals": {"edges": [[5, 0]]}}, "ascending"),
        ({"intervals": {"edges": [[]]}}, "ascending"),
        ({"intervals": {"edges": [[0]]}, "top": 3}, "open ends already"),
        ({"dates": ["year", "month"]}, "from fine to coarse"),
        ({"dates": ["month", "month"]}, "each once"),
        ({"dates": ["week"]}, "'day', 'month', 'quarter', 'year' or 'decade'"),
        ({"dates": []}, "at least 1"),
        ({"mask": "middle"}, "mask is right, left or"),
        ({"mask": {"side": "right", "steps": [2, 1]}}, "ascending"),
        ({"mask": {"side": "right", "steps": [0]}}, "ascending"),
        ({"mask": {"side": "right", "char": "ab"}}, "at most 1"),
        ({"tree": 3}, "tree is"),
        ({"rows": ["a"]}, "rows are lists"),
    ],
)
def test_a_wrong_form_is_refused_before_any_data(form: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        Attribute.model_validate({"role": "quasi", "hierarchy": form})
    assert caught.value.error_count() == 1


# In a schema, in words, proposed ------------------------------------------------------------------------------------


def test_a_schema_builds_binds_and_continues_hierarchies(tmp_path: Path) -> None:
    write(tmp_path, "a;A;*\nb;A;*\n")
    attribute = Attribute.model_validate({"role": "quasi", "hierarchy": {"csv": "h.csv"}})
    schema = Schema({"x": attribute, "y": Attribute(role=Role.QUASI)}, folder=tmp_path)
    column = Column.of(["a", "b"])
    hierarchy = schema.hierarchy("x", column)
    once = hierarchy.generalize(column, 1)
    later = schema.with_remaining("x", hierarchy.above(1))
    assert later.hierarchy("x", once).generalize(once, 1).decode().to_pylist() == ["*", "*"]
    assert schema.hierarchy("y", column).generalize(column, 1).decode().to_pylist() == ["*", "*"]
    assert Attribute.model_validate({"hierarchy": None}).hierarchy is None


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "the value or *"),
        ({"csv": "a.csv"}, "levels of the file a.csv"),
        ({"rows": [["a", "*"]]}, "levels of 1 listed rows"),
        (
            {"intervals": [5, 10], "origin": 1, "bottom": 2},
            "intervals of 5, then 10; counted from 1; below 2 as one; then *",
        ),
        ({"intervals": {"edges": [[0, 5]]}, "star": False}, "intervals between [0, 5]"),
        ({"dates": ["day", "year"]}, "day, then year; then *"),
        ({"mask": "left"}, "one more character on each level hidden from the left, then *"),
        ({"mask": {"side": "right", "steps": [2, 4]}}, "2, then 4 characters hidden from the right, then *"),
        ({"tree": {"A": ["a"]}}, "a tree, then *"),
        ({"tree": "t.yaml"}, "a tree in the file t.yaml, then *"),
    ],
)
def test_a_hierarchy_explains_itself(form: dict[str, Any], words: str) -> None:
    assert HierarchySpec(**form).explain() == words


def test_the_json_schema_describes_every_field() -> None:
    schema = HierarchySpec.model_json_schema()
    everything = [schema, *schema["$defs"].values()]
    assert all(field.get("description") for model in everything for field in model["properties"].values())
    assert {"required": ["csv"]} in schema["oneOf"]
    assert json.dumps(schema)


@pytest.mark.parametrize(
    ("name", "values", "form"),
    [
        ("age", range(17, 91), {"intervals": [5, 10, 20]}),
        ("born", [str(year) for year in range(1930, 2010)], {"intervals": [5, 10, 20]}),
        ("income", range(0, 100_001, 500), {"intervals": [5000, 10_000, 20_000]}),
        ("part", [number / 100 for number in range(101)], {"intervals": [0.05, 0.1, 0.2]}),
        ("gain", [*range(1000), 99_999], {"intervals": [50, 100, 200], "bottom": None, "top": 1000}),
        ("sex", ["F", "M"], None),
        ("grade", [1, 2, 3, 4, 5], None),
        ("job", [f"job of the {'long' * (number % 7)} kind {number}" for number in range(300)], None),
        ("country", [a + b + c for a in "ABCD" for b in "ABCD" for c in "ABC"], None),
        ("zip", [f"{number:05d}" for number in range(0, 9000, 100)], {"mask": "right"}),
        ("zip", range(10_000, 90_000, 1000), {"mask": "right"}),
        ("郵便番号", [f"{n:03d}-{n * 7:04d}" for n in range(200)], {"japan": "postcode"}),
        ("visit", [dt.date(2024, 1, 1) + dt.timedelta(n) for n in range(400)], {"dates": UNITS[:-1]}),
        (
            "生年月日",
            [dt.date(1930, 1, 1) + dt.timedelta(99 * n) for n in range(300)],
            {"dates": ["day", "month", "year", "decade"]},
        ),
        (
            "when",
            [dt.datetime(2015, 1, 1) + dt.timedelta(9 * n) for n in range(300)],
            {"dates": ["day", "month", "year"]},
        ),
        ("氏名", [f"{a}{b}" for a in "佐鈴高田渡伊山中小加" for b in "一二三四五六七八九十"], None),
        ("nothing", [None], None),
        ("nothing", [], None),
        ("same", [5] * 9, None),
    ],
)
def test_proposals(name: str, values: Any, form: dict[str, Any] | None) -> None:
    column = Column.of([*values, None])
    spec = propose(name, column)
    assert spec == (None if form is None else HierarchySpec(**form))
    if spec is not None:
        levels = [row.labels for row in previews(spec.build(name, column), column)]
        assert levels == sorted(levels, reverse=True)
        assert levels[-1] == 1
        assert len(levels) >= 4


def test_japanese_addresses_become_city_and_prefecture() -> None:
    cities = ["東京都新宿区", "東京都港区", "神奈川県横浜市", "大阪府大阪市"]
    values = [f"{cities[number % 4]}本町{number}丁目" for number in range(200)]
    spec = propose("住所", Column.of(values))
    assert spec is not None
    labels = [released(values, level, **spec.model_dump(exclude_defaults=True))[:4] for level in (1, 2)]
    assert labels == [cities, ["東京都", "東京都", "神奈川県", "大阪府"]]


ANYTHING: list[st.SearchStrategy[Any]] = [st.floats(), st.floats(0, 1), st.integers(-(2**63), 2**63 - 1), WORDS, TIMES]


@given(st.one_of([st.lists(values, min_size=9, max_size=30, unique=True) for values in ANYTHING]))
def test_a_proposal_always_fits_its_column(values: list[Any]) -> None:
    column = Column.of(values)
    spec = propose("コード", column)
    if spec is not None:
        assert spec.build("コード", column).height >= 1
