"""Risk against the formulas, in plain loops."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, InputError, UsageError
from oboro.measures.risk import Bin, risk
from oboro.verifier.classes import class_sizes

values = st.sampled_from(["a", "b", "*", None])
rows = st.lists(st.tuples(values, st.sampled_from([1, 2, None])), min_size=1, max_size=30)


def table(pairs: list[tuple[Any, Any]]) -> dict[str, list[Any]]:
    return {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}


@given(rows, st.integers(1, 6))
def test_prosecutor_and_uniques(pairs: list[tuple[Any, Any]], k: int) -> None:
    sizes = Counter(pairs)
    each = [1 / sizes[pair] for pair in pairs]
    found = risk(table(pairs), quasi=["x", "y"], k=k)
    assert (found.records, found.groups) == (len(pairs), len(sizes))
    assert found.prosecutor_max == max(each)
    assert found.prosecutor_mean == pytest.approx(sum(each) / len(each))
    assert found.prosecutor_above == sum(sizes[pair] < k for pair in pairs) / len(pairs)
    assert found.uniques == sum(sizes[pair] == 1 for pair in pairs)
    assert found.unique_share == found.uniques / len(pairs)
    assert sum(bin_.records for bin_ in found.sizes) == len(pairs)
    assert all(bin_.groups == sum(bin_.low <= size <= bin_.high for size in sizes.values()) for bin_ in found.sizes)


@given(rows, rows, st.integers(1, 6))
def test_journalist_and_marketer(sample: list[tuple[Any, Any]], others: list[tuple[Any, Any]], k: int) -> None:
    here, everybody = Counter(sample), Counter(sample + others)
    n, groups = len(sample), len(here)
    marketer = sum(1 / everybody[pair] for pair in sample) / n
    people = sum(everybody[pair] for pair in here)
    by_table = risk(table(sample), quasi=["x", "y"], k=k, population=table(others + sample))
    by_sizes = risk(table(sample), quasi=["x", "y"], k=k, population_sizes=[everybody[pair] for pair in here])
    assert by_table == by_sizes
    assert by_table.journalist_max == max(1 / everybody[pair] for pair in here)
    assert by_table.marketer == pytest.approx(marketer)
    assert by_table.journalist_mean == pytest.approx(max(groups / people, marketer))
    assert by_table.journalist_above == sum(everybody[pair] < k for pair in sample) / n
    assert by_table.population_uniques == sum(everybody[pair] == 1 for pair in here)


def test_an_example_by_hand() -> None:
    """Classes of 2, 1 and 3 records, of which the population holds 4, 2 and 3."""
    sample = Dataset.of({"x": list("aabccc")})
    found = risk(sample, quasi=["x"], k=3, population_sizes=[4, 2, 3])
    assert (found.prosecutor_max, found.prosecutor_mean, found.prosecutor_above) == (1, 3 / 6, 3 / 6)
    assert (found.journalist_max, found.journalist_above) == (1 / 2, 1 / 6)
    assert found.marketer == pytest.approx((2 / 4 + 1 / 2 + 3 / 3) / 6)
    assert found.journalist_mean == pytest.approx(max(3 / 9, 2 / 6))
    assert (found.uniques, found.population_uniques) == (1, 0)
    assert found.sizes == (Bin(1, 1, 1, 1), Bin(2, 2, 1, 2), Bin(3, 4, 1, 3))


def test_without_a_population_the_table_is_the_population() -> None:
    found = risk(pd.DataFrame({"x": list("aabccc")}), quasi=["x"])
    assert found.population_uniques is None
    assert (found.journalist_max, found.marketer) == (found.prosecutor_max, found.prosecutor_mean)
    assert found.journalist_mean == found.prosecutor_mean


def test_a_population_of_another_type_is_matched_by_text() -> None:
    found = risk({"x": ["1", "*"]}, quasi=["x"], population={"x": ["1", "1", "*"]})
    assert found.journalist_max == 1
    assert risk({"x": [1, 1]}, quasi=["x"], population={"x": ["1", "1", "1", "2"]}).journalist_max == pytest.approx(
        1 / 3
    )


def test_sizes_fall_into_round_bins() -> None:
    found = risk({"x": np.repeat(np.arange(8), [1, 2, 4, 9, 10, 49, 100, 500])}, quasi=["x"])
    edges = [(1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 199), (200, 499), (500, 999)]
    assert [(bin_.low, bin_.high) for bin_ in found.sizes] == edges
    assert [bin_.groups for bin_ in found.sizes] == [1, 1, 1, 1, 1, 1, 0, 1, 0, 1]


def test_an_empty_table_has_no_risk_to_speak_of() -> None:
    found = risk(pd.DataFrame({"x": pd.Series([], dtype="str")}), quasi=["x"])
    assert (found.records, found.groups, found.prosecutor_max, found.sizes) == (0, 0, None, ())


def test_measures_describe_themselves() -> None:
    found = risk({"x": list("aab")}, quasi=["x"], k=4)
    measures = {measure.name: measure for measure in found.measures()}
    assert measures["prosecutor_max"].value == 1
    assert measures["prosecutor_above"].meaning.say().endswith("above 0.25")
    assert all(measure.better == "lower" and measure.high == 1 for measure in measures.values())
    assert json.loads(json.dumps(found.as_dict()))["sizes"][0] == {"low": 1, "high": 1, "groups": 1, "records": 1}


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"quasi": []}, UsageError),
        ({"quasi": ["x"], "k": 0}, UsageError),
        ({"quasi": ["z"]}, ColumnError),
        ({"quasi": ["x"], "population": {"y": [1]}}, ColumnError),
        ({"quasi": ["x"], "population": {"x": ["a"]}}, InputError),
        ({"quasi": ["x"], "population_sizes": [3]}, UsageError),
        ({"quasi": ["x"], "population_sizes": [2, 0]}, InputError),
        ({"quasi": ["x"], "population_sizes": [2, 1], "population": {"x": ["a"]}}, UsageError),
    ],
)
def test_nonsense_is_refused(asked: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        risk({"x": ["a", "a", "b"]}, **asked)


# Sizes of classes -----------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(0, 400), st.lists(st.integers(1, 5000), min_size=1, max_size=4), st.integers(0, 9))
def test_class_sizes_are_those_of_the_classes(rows: int, widths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"c{i}": rng.integers(0, width, rows).tolist() for i, width in enumerate(widths)}
    data = Dataset.of(columns)
    expected = Counter(zip(*columns.values(), strict=True)).values()
    assert sorted(class_sizes(data, list(columns)).tolist()) == sorted(expected)


def test_class_sizes_where_no_number_holds_all_combinations() -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.permutation(2000).tolist() for i in range(7)}  # 2000^7 > 2^63
    assert class_sizes(Dataset.of(columns), list(columns)).tolist() == [1] * 2000
