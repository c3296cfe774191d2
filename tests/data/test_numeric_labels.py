"""Interval labels as numbers and in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.hierarchies.labels import NumericLabels
from oboro.hierarchies.spec import HierarchySpec


def middle(label: str) -> float | None:
    found = NumericLabels.of(Column.of([label, "1–2"]))
    return None if found is None else found.midpoints().to_pylist()[0]


@pytest.mark.parametrize(
    ("label", "number"),
    [("20–29", 24.5), ("[20, 30)", 25), ("-10 to -6", -8), ("≥90", 90), ("<20", 20), ("(0.5, 1]", 0.75), ("7", 7)],
)
def test_midpoints(label: str, number: float) -> None:
    assert middle(label) == number


def test_other_columns_stay() -> None:
    for values in (["F", "M"], [1, 2], ["20–29", "cook"], ["*", "*"], [None], ["2020-01-01–2020-02-01"], []):
        assert NumericLabels.of(Column.of(values)) is None


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=30), st.sampled_from([2, 5, 10, 100]))
def test_midpoints_lie_in_their_interval_and_keep_the_order(numbers: list[int], width: int) -> None:
    column = Column.of(numbers)
    level = HierarchySpec(intervals=[width]).build("x", column).levels[1]
    released = column.recode(level.table, level.labels)
    found = NumericLabels.of(released)
    if found is None:  # every interval holds one number
        return
    for number, mid in zip(numbers, found.midpoints().to_pylist(), strict=True):
        assert number // width * width <= mid <= number // width * width + width - 1
    places = found.ordered().indices.to_pylist()
    for one, other in zip(np.argsort(numbers), np.argsort(numbers)[1:], strict=False):
        assert places[one] <= places[other]


AGES = [31, 38, 35, 52, 57, 59, 33, 85, 99]
COLUMNS = {"age": AGES, "sex": ["F", "M", "F", "M", "F", "M", "M", "F", "F"], "sick": [0, 0, 0, 1, 1, 1, 0, 1, 1]}


def released(kind: Any) -> oboro.Release:
    age = {"role": "quasi", "hierarchy": {"intervals": [10]}}
    recipe = oboro.Recipe(
        attributes={"age": age, "sex": {"role": "other"}, "sick": {"role": "sensitive"}},
        steps=[{"k_anonymize": {"k": 2, "suppress": 0.3}}],
        order="kept",
    )
    return recipe.run(kind(COLUMNS))


EXPECTED = [34.5, 34.5, 34.5, 54.5, 54.5, 54.5, 34.5, None, None]


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table, dict, oboro.Dataset.of])
def test_every_kind_of_frame_has_numbers(kind: Any) -> None:
    numbers = released(kind).numeric()
    column = numbers["age"]
    values = column.decode().to_pylist() if isinstance(column, Column) else list(column)
    assert [getattr(one, "as_py", lambda one=one: one)() for one in values] == EXPECTED


def test_pandas_has_ordered_categories_and_polars_an_enum() -> None:
    ages = released(pd.DataFrame).ordered()["age"]
    assert ages.cat.ordered
    assert ages.cat.categories.tolist() == ["30–39", "50–59"]
    assert ages.isna().tolist() == [False] * 7 + [True] * 2
    assert released(pl.DataFrame).ordered().schema["age"] == pl.Enum(["30–39", "50–59"])
    assert released(pa.table).ordered().schema.field("age").type.ordered


def test_a_model_can_be_trained_on_the_release() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.integers(20, 80, 400), "zip": rng.integers(0, 50, 400)})
    people["sick"] = (people["age"] > 50).astype(int)
    bands = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}}
    recipe = oboro.Recipe(
        attributes={"age": bands, "zip": bands, "sick": {"role": "sensitive"}},
        steps=[{"k_anonymize": {"k": 3, "suppress": 0.1}}],
    )
    train = recipe.run(people).numeric()
    assert train.dtypes[["age", "zip"]].tolist() == [np.float64, np.float64]
    model = HistGradientBoostingClassifier().fit(train[["age", "zip"]], train["sick"])
    assert model.score(people[["age", "zip"]], people["sick"]) > 0.8
