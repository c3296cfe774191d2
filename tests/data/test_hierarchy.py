"""What every hierarchy promises, whatever its form; and the files of ARX."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.data.hierarchy_cases import (
    Case,
    build,
    cases,
    paths,
)

from oboro.data.column import Column
from oboro.hierarchies.spec import HierarchySpec
from oboro.recipe.starter import previews


@given(cases())
def test_levels_are_total_and_each_is_a_function_of_the_one_below(case: Case) -> None:
    values, form = case
    column = Column.of(values)
    hierarchy = HierarchySpec(**form).build("x", column)
    assert hierarchy.levels[0].labels.equals(column.values)
    for level in hierarchy.levels:
        assert len(level.table) == len(column.values)
        assert len(level.labels.unique()) == len(level.labels) == len(level.share)
        assert level.table.dtype == np.min_scalar_type(max(len(level.labels) - 1, 0))
        if len(column.values):
            assert set(level.table.tolist()) == set(range(len(level.labels)))
    for below, above in pairwise(hierarchy.levels):
        assert len(set(zip(below.table.tolist(), above.table.tolist(), strict=True))) == len(set(below.table.tolist()))


@given(cases())
def test_shares_lie_between_0_and_1_and_never_shrink(case: Case) -> None:
    values, form = case
    hierarchy = build(values, **form)
    for level in hierarchy.levels:
        assert ((level.share >= 0) & (level.share <= 1)).all()
        for label, share in zip(level.labels.to_pylist(), level.share, strict=True):
            assert label != "*" or share == 1
    for below, above in pairwise(hierarchy.levels):
        assert (below.share[below.table] <= above.share[above.table]).all()


@given(cases())
def test_missing_and_suppressed_values_stay_themselves_until_all_is_one(
    case: Case,
) -> None:
    values, form = case
    for value, labels in paths(values, **form).items():
        if value is None or value == "*":
            assert all(label in (value, "*", "A", "B", "C") for label in labels)
            if "rows" not in form:
                assert all(label == value or label == "*" for label in labels)


@given(cases(), st.data())
def test_what_is_left_above_a_level_continues_the_same_way(case: Case, data: st.DataObject) -> None:
    values, form = case
    column = Column.of(values)
    hierarchy = HierarchySpec(**form).build("x", column)
    low = data.draw(st.integers(0, hierarchy.height))
    high = data.draw(st.integers(low, hierarchy.height))
    rest = hierarchy.above(low)
    assert rest.height == hierarchy.height - low
    twice = rest.generalize(hierarchy.generalize(column, low), high - low)
    assert twice.decode().to_pylist() == hierarchy.generalize(column, high).decode().to_pylist()


@given(cases())
def test_saving_and_loading_gives_the_same_labels(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    values, form = case
    column = Column.of(values)
    hierarchy = HierarchySpec(**form).build("x", column)
    if hierarchy.height == 0 or not hierarchy.to_rows():
        return
    path = tmp_path_factory.mktemp("saved") / "h.csv"
    path.write_bytes(hierarchy.to_csv().encode())
    assert list(csv.reader(io.StringIO(hierarchy.to_csv(), newline=""), delimiter=";")) == hierarchy.to_rows()
    loaded = HierarchySpec(csv=str(path)).build("x", column)
    assert loaded.to_rows() == hierarchy.to_rows()
    for level in range(hierarchy.height + 1):
        again = loaded.generalize(column, level).decode().to_pylist()
        assert again == hierarchy.generalize(column, level).decode().to_pylist()


@given(cases())
def test_a_hierarchy_is_the_same_for_another_dictionary(case: Case) -> None:
    values, form = case
    hierarchy = build(values, **form)
    fewer = Column.of(pa.array(values[: len(values) // 2], Column.of(values).values.type))
    for level in range(hierarchy.height + 1):
        whole = hierarchy.generalize(Column.of(values), level).decode().to_pylist()
        assert hierarchy.bind(fewer).generalize(fewer, level).decode().to_pylist() == whole[: len(fewer)]


@given(cases())
def test_preview_counts_every_row_on_every_level(case: Case) -> None:
    values, form = case
    column = Column.of(values)
    for row in previews(HierarchySpec(**form).build("x", column), column, examples=10_000):
        counts = [count for _, count in row.examples]
        assert sum(counts) == len(values)
        assert counts == sorted(counts, reverse=True)
        assert row.labels == len(counts)
        assert (row.smallest, row.largest) == ((counts[-1], counts[0]) if counts else (0, 0))
        assert row.median == (np.median(counts) if counts else 0)


@given(cases())
def test_the_recipe_form_survives_a_round_trip(case: Case) -> None:
    form = {key: value for key, value in case[1].items() if (key, value) not in (("star", True), ("origin", 0))}
    if isinstance(form.get("mask"), dict) and form["mask"]["char"] == "*":
        del form["mask"]["char"]
    spec = HierarchySpec(**form)
    plain = spec.model_dump(exclude_defaults=True)
    assert plain == form
    assert HierarchySpec.model_validate(yaml.safe_load(yaml.safe_dump(plain))) == spec
    assert HierarchySpec.model_validate_json(spec.model_dump_json(exclude_defaults=True)) == spec


# Real files ---------------------------------------------------------------------------------------------------------

SIZES = {
    "age": (100, 5),
    "education": (16, 4),
    "marital-status": (7, 3),
    "native-country": (41, 3),
    "occupation": (14, 3),
    "race": (5, 2),
    "salary-class": (2, 2),
    "sex": (2, 2),
    "workclass": (8, 3),
}


@pytest.mark.parametrize("name", SIZES)
def test_hierarchies_of_arx(arx_adult: Path, name: str) -> None:
    with open(arx_adult / "adult.csv", encoding="utf-8") as file:
        column = Column.of([row[name] for row in csv.DictReader(file, delimiter=";")])
    hierarchy = HierarchySpec(csv=f"adult_hierarchy_{name}.csv").build(name, column, arx_adult)
    rows = hierarchy.to_rows()
    assert (len(rows), len(rows[0])) == SIZES[name]
    assert hierarchy.levels[-1].labels.to_pylist() == ["*"]
    assert previews(hierarchy, column)[-1].largest == 30_162
