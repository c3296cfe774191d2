"""Records that stand out, against plain definitions written out row by row."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.algorithms.outliers import Outliers, highest, quantiles
from oboro.data.dataset import Dataset
from oboro.data.special_uniques import special_uniques
from oboro.errors import ColumnError, UsageError

RNG = np.random.default_rng(0)

numbers = st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=40)


# ---- one column at a time ------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.data())
def test_quantiles_of_counts_are_those_of_the_values_written_out(values: list[float], data: st.DataObject) -> None:
    distinct = np.unique(values)
    counts = np.array(data.draw(picks(range(1, 6), min_size=distinct.size, max_size=distinct.size)))
    at = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    expected = np.quantile(np.repeat(distinct, counts), at)
    np.testing.assert_allclose(quantiles(distinct, counts, at), expected, rtol=1e-9, atol=1e-9)


def robust_z(values: list[int | None]) -> list[float]:
    """Row by row, as the textbook has it."""
    there = [value for value in values if value is not None]
    if not there:
        return [0.0] * len(values)
    median = float(np.median(there))
    deviation = 1.482602218505602 * float(np.median([abs(value - median) for value in there]))
    if deviation == 0:
        deviation = 1.2533141373155003 * float(np.mean([abs(value - median) for value in there]))
    return [0.0 if value is None or value == median else abs(value - median) / deviation for value in values]


@given(numbers)
def test_robust_z_is_the_textbook_s(values: list[int | None]) -> None:
    found = Outliers(method="robust_z", attributes=["v"], threshold=2.5).examine(Dataset.of({"v": [*values, 0]}))
    expected = np.array(robust_z([*values, 0]))
    np.testing.assert_allclose(found.scores, expected)
    clear = np.abs(expected - 2.5) > 1e-9
    np.testing.assert_array_equal(found.rows[clear], (expected > 2.5)[clear])


@given(numbers, st.sampled_from([0.5, 1.5, 3.0]))
def test_iqr_finds_what_lies_outside_tukey_s_fences(values: list[int | None], threshold: float) -> None:
    values = [*values, 7]
    data = Dataset.of({"v": values})
    spec = Outliers(method="iqr", attributes=["v"], threshold=threshold)
    there = [value for value in values if value is not None]
    left, right = np.quantile(there, [0.25, 0.75])
    low, high = left - threshold * (right - left), right + threshold * (right - left)
    assert spec.bounds(data, "v") == pytest.approx((low, high))
    expected = [value is not None and (value < low - 1e-9 or value > high + 1e-9) for value in values]
    assert spec.find(data, RNG).tolist() == expected


@given(numbers, st.integers(1, 6), st.sampled_from([None, 0.1, 0.4]))
def test_rare_counts_a_missing_value_like_any_other(values: list[int | None], count: int, share: float | None) -> None:
    spec = Outliers(method="rare", attributes=["v"], count=count, share=share)
    found = spec.examine(Dataset.of({"v": values}))
    times = [sum(1 for other in values if other == value) for value in values]
    limit = share * len(values) if share else 0
    assert found.rows.tolist() == [number < count or number < limit for number in times]
    np.testing.assert_allclose(found.scores, [len(values) / number for number in times])


def test_golden_robust_z() -> None:
    # Iglewicz and Hoaglin's modified z score, 0.6745 (x - median) / MAD: the median is 10, the MAD 1.
    data = Dataset.of({"v": [9, 10, 11, 10, 8, 12, 30]})
    found = Outliers(method="robust_z").examine(data)
    assert found.scores[6] == pytest.approx(0.6745 * 20, rel=1e-4)
    assert found.scores[5] == pytest.approx(0.6745 * 2, rel=1e-4)
    assert found.rows.tolist() == [False] * 6 + [True]


def test_more_than_half_equal_falls_back_to_the_mean_deviation() -> None:
    data = Dataset.of({"v": [0] * 98 + [1, 100]})
    found = Outliers(method="robust_z").examine(data)
    assert found.scores[99] == pytest.approx(100 / (1.2533141 * 101 / 100))
    assert found.rows.tolist() == [False] * 99 + [True]
    same = Outliers(method="robust_z")
    assert not same.find(Dataset.of({"v": [3] * 10}), RNG).any()
    assert same.bounds(Dataset.of({"v": [3] * 10}), "v") == (3.0, 3.0)


def test_no_interquartile_range_leaves_only_the_middle() -> None:
    found = Outliers(method="iqr").examine(Dataset.of({"v": [0] * 8 + [1, None]}))
    assert found.rows.tolist() == [False] * 8 + [True, False]
    assert found.scores[8] == np.inf


def test_nothing_but_missing_or_infinite_values() -> None:
    for method in ("robust_z", "iqr"):
        spec = Outliers(method=method, attributes=["v"])
        empty = Dataset.from_arrow(pa.table({"v": pa.nulls(3, pa.float64())}))
        assert not spec.find(empty, RNG).any()
        assert spec.bounds(empty, "v") == (-np.inf, np.inf)
        assert spec.find(Dataset.of({"v": [1.0, 2.0, 3.0, np.inf]}), RNG).tolist() == [False, False, False, True]


def test_dates_and_text_that_looks_like_numbers_have_places_on_a_line() -> None:
    days = [date(2000, 1, 1) + timedelta(days=n) for n in range(30)]
    data = Dataset.of({"born": [*days, date(1900, 1, 1)], "age": [*map(str, range(30, 60)), "31"]})
    found = Outliers(method="iqr").examine(data)
    assert found.reasons_of(30) == [("born",)]
    assert found.facts() == {"records": 1, "of": 31, "by": {"born": 1}}


def test_attributes_say_where_to_look_and_defaults_look_at_what_fits() -> None:
    data = Dataset.of({"a": [1] * 5 + [2] * 5 + [99], "b": [99] + [1] * 5 + [2] * 5, "c": ["x"] * 10 + ["y"]})
    both = Outliers(method="robust_z").examine(data)
    assert both.rows.nonzero()[0].tolist() == [0, 10]
    assert both.reasons_of(0) == [("b",)]
    one = Outliers(method="robust_z", attributes=["a"])
    assert one.find(data, RNG).nonzero()[0].tolist() == [10]
    rare = Outliers(method="rare").examine(data)
    assert list(rare.reasons) == [("c",)]
    assert rare.rows.nonzero()[0].tolist() == [10]
    with pytest.raises(ColumnError, match="there is no column 'z'; the table has 'a', 'b', 'c'"):
        Outliers(attributes=["z"]).find(data, RNG)
    with pytest.raises(ColumnError, match="c: needs numbers or dates"):
        Outliers(attributes=["c"]).find(data, RNG)


def test_thresholds_have_an_effect() -> None:
    data = Dataset.of({"v": [*range(20), 40]})
    # 40 lies 30 / (1.4826 * 5) = 4.05 robust deviations from 10, and (40 - 15) / 10 = 2.5 ranges outside.
    for method, narrow, wide in [("robust_z", 4.0, 4.1), ("iqr", 2.4, 2.6)]:
        assert Outliers(method=method, threshold=narrow).find(data, RNG).nonzero()[0].tolist() == [20]
        assert not Outliers(method=method, threshold=wide).find(data, RNG).any()


def test_rare_by_share_alone_forgets_the_default_count() -> None:
    data = Dataset.of({"v": ["a"] * 3 + ["b"] * 4})
    assert Outliers(method="rare").find(data, RNG).all()  # both below five
    assert not Outliers(method="rare", share=0.3).find(data, RNG).any()
    assert Outliers(method="rare", share=0.5).find(data, RNG).sum() == 3
    assert Outliers(method="rare", share=0.3, count=4).find(data, RNG).sum() == 3


# ---- special records -----------------------------------------------------------------------------------------------


def naive_special(rows: list[tuple[object, ...]], width: int, max_size: int) -> dict[tuple[int, ...], list[int]]:
    """Every set of columns, every row: unique there, and on no smaller part."""

    def unique(row: int, columns: tuple[int, ...]) -> bool:
        mine = [rows[row][column] for column in columns]
        return not any([other[column] for column in columns] == mine for i, other in enumerate(rows) if i != row)

    out: dict[tuple[int, ...], list[int]] = {}
    for size in range(1, max_size + 1):
        for columns in combinations(range(width), size):
            parts = [part for less in range(1, size) for part in combinations(columns, less)]
            minimal = [
                row for row in range(len(rows)) if unique(row, columns) and not any(unique(row, part) for part in parts)
            ]
            if minimal:
                out[columns] = minimal
    return out


@settings(deadline=None, max_examples=35)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", None])] * width), min_size=1, max_size=12)
    ),
    st.integers(1, 4),
)
def test_special_uniques_are_those_of_brute_force(rows: list[tuple[str | None, ...]], max_size: int) -> None:
    width = len(rows[0])
    names = [f"c{place}" for place in range(width)]
    data = Dataset.of({name: [row[place] for row in rows] for place, name in enumerate(names)})
    result = special_uniques(data, names, max_size)
    expected = naive_special(rows, width, min(max_size, width))
    by_name = {tuple(names[place] for place in columns): found for columns, found in expected.items()}
    assert {columns: found.tolist() for columns, found in result.sets.items()} == by_name
    for row in range(len(rows)):
        mine = [columns for columns, found in by_name.items() if row in found]
        assert sorted(result.of(row)) == sorted(mine)
        assert result.sizes[row] == min((len(columns) for columns in mine), default=0)
    found = Outliers(method="special", attributes=names, max_size=max_size).examine(data)
    assert found.rows.tolist() == [bool(size) for size in result.sizes]
    assert found.scores.tolist() == [1 / size if size else 0.0 for size in result.sizes]
    assert all(sorted(found.reasons_of(row)) == sorted(result.of(row)) for row in range(len(rows)))


def test_suda_scores_of_the_practice_guide() -> None:
    """Statistical Disclosure Control for Microdata: A Practice Guide for sdcMicro, table 4.5, sets of at most three."""
    data = Dataset.of(
        {
            "residence": ["Urban"] * 4 + ["Rural"] + ["Urban"] * 5,
            "gender": ["F", "F", "F", "M", "F", "M", "F", "M", "F", "F"],
            "education": ["2i", "2i", "1i", "2c", "2c", "2c", "1c", "post", "2i", "2i"],
            "labor": ["emp", "emp", "non", "emp", "un", "emp", "non", "un", "non", "non"],
        }
    )
    result = special_uniques(data, list(data), max_size=3)
    assert result.scores().tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert set(result.of(4)) == {("residence",), ("education", "labor"), ("gender", "labor"), ("gender", "education")}


def test_max_size_and_attributes_of_special_records_have_an_effect() -> None:
    data = Dataset.of({"a": list("xxyy"), "b": list("uvuv"), "id": list("1234")})
    assert not Outliers(method="special", attributes=["a", "b"], max_size=1).find(data, RNG).any()
    assert Outliers(method="special", attributes=["a", "b"]).find(data, RNG).all()
    assert Outliers(method="special", attributes=["a", "id"], max_size=1).find(data, RNG).all()
    with pytest.raises(ColumnError, match="there is no column 'z'"):
        special_uniques(data, ["z"])
    with pytest.raises(UsageError, match="named twice"):
        special_uniques(data, ["a", "a"])
    with pytest.raises(UsageError, match="at least 1"):
        special_uniques(data, ["a"], max_size=0)


def test_special_records_of_a_real_table(arx_table: Dataset) -> None:
    data = arx_table
    quasi = [name for name in data if name not in ("occupation", "salary-class")]
    result = special_uniques(data, quasi, max_size=2)
    counted = data.select(quasi).to_arrow().to_pandas()
    for names, rows in result.sets.items():
        sizes = counted.groupby(list(names))[names[0]].transform("size").to_numpy()
        alone = sizes == 1
        for name in names if len(names) > 1 else ():
            alone &= counted.groupby(name)[name].transform("size").to_numpy() > 1
        np.testing.assert_array_equal(rows, np.flatnonzero(alone))
    assert len(result.sets) > 3


# ---- combinations --------------------------------------------------------------------------------------------------


def planted(rows: int = 400) -> Dataset:
    """A cloud in which height and weight go together, and one record where they do not."""
    rng = np.random.default_rng(1)
    height = np.append(rng.normal(170, 8, rows), 196)
    weight = np.append((height[:-1] - 170) * 0.9 + 65 + rng.normal(0, 3, rows), 40)
    job = np.append(rng.choice(["clerk", "nurse", "cook"], rows), "clerk")
    return Dataset.from_arrow(pa.table({"height": height, "weight": weight, "job": job}))


@pytest.mark.parametrize("method", ["isolation", "lof"])
def test_the_odd_combination_has_the_highest_score(method: str) -> None:
    data = planted()
    found = Outliers(method=method, attributes=["height", "weight"]).examine(data, np.random.default_rng(0))
    assert found.scores.argmax() == 400
    assert found.rows[400]
    assert found.rows.mean() < 0.1
    assert found.reasons_of(400) == [("height", "weight")]
    top = Outliers(method=method, attributes=["height", "weight"], share=0.005).examine(data, np.random.default_rng(0))
    assert top.rows.sum() == 2
    assert top.rows[400]
    none = Outliers(method=method, threshold=1e6).find(data, RNG)
    assert not none.any()


def test_the_stream_of_random_numbers_decides_the_forest() -> None:
    data = planted()
    scores = [Outliers(method="isolation").examine(data, np.random.default_rng(seed)).scores for seed in (3, 3, 4)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()
    few = Outliers(method="isolation", trees=3).examine(data, np.random.default_rng(3)).scores
    assert (few != scores[0]).any()


def test_neighbors_have_an_effect_and_may_be_more_than_there_are() -> None:
    data = planted(40)
    narrow = Outliers(method="lof", neighbors=3).examine(data).scores
    wide = Outliers(method="lof", neighbors=15).examine(data).scores
    assert (narrow != wide).any()
    assert np.isfinite(Outliers(method="lof", neighbors=500).examine(data).scores).all()


def test_a_far_cluster_larger_than_the_neighbourhood_is_no_outlier() -> None:
    """Equal records stand in each other's neighbourhood; scikit-learn alone would divide by a distance of zero."""
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0, 1, 300).round(1), np.full(30, 50.0), [25.0]])
    found = Outliers(method="lof", neighbors=10).examine(Dataset.from_arrow(pa.table({"v": values})))
    assert (found.scores[300:330] == 1).all()
    assert found.scores.argmax() == 330


@pytest.mark.parametrize("method", ["isolation", "lof"])
def test_missing_values_categories_and_tiny_tables_are_no_trouble(method: str) -> None:
    spec = Outliers(method=method)
    rng = np.random.default_rng(0)
    many = [f"town {n % 40}" for n in range(200)]
    data = Dataset.of(
        {
            "n": [None if n % 7 == 0 else float(n % 13) for n in range(200)],
            "town": [*many[:-1], "nowhere"],
            "sex": [None, "F", "M", "F"] * 50,
            "inf": [np.inf, *range(199)],
            "nothing": [None] * 200,
        }
    )
    scores = spec.examine(data, rng).scores
    assert np.isfinite(scores).all()
    assert scores[199] > np.median(scores), "the only one of a rare town"
    for rows in (0, 1, 2):
        assert spec.find(data.take(np.arange(rows)), rng).shape == (rows,)


def test_equal_records_have_equal_scores() -> None:
    data = planted(50).take(np.tile(np.arange(51), 2))
    for method in ("isolation", "lof"):
        scores = Outliers(method=method).examine(data, np.random.default_rng(0)).scores
        np.testing.assert_array_equal(scores[:51], scores[51:])


@given(picks(range(6), max_size=30), st.floats(0.01, 0.99))
def test_the_highest_are_never_more_than_their_share(scores: list[int], share: float) -> None:
    rows = highest(np.array(scores, dtype=float), share)
    assert rows.sum() <= share * len(scores)
    inside = [score for score, found in zip(scores, rows, strict=True) if found]
    outside = [score for score, found in zip(scores, rows, strict=True) if not found]
    if inside and outside:
        assert min(inside) > max(outside)
    # The next lower score would have made too many.
    if outside and rows.size:
        assert sum(score >= max(outside) for score in scores) > int(share * len(scores))


# ---- the plan ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "a number lies more than 3.5 robust deviations from the median; looked at: every column of numbers"),
        ({"threshold": 5}, "more than 5 robust"),
        ({"method": "iqr", "attributes": ["age"]}, "1.5 interquartile ranges outside the quartiles; looked at: 'age'."),
        ({"method": "rare"}, "fewer than 5 records hold; looked at: every column of categories"),
        ({"method": "rare", "count": 3, "share": 0.1}, "fewer than 3 records or less than 0.1 of the records hold"),
        ({"method": "isolation"}, "forest of 100 trees scores it above 0.6; looked at: all columns together"),
        ({"method": "isolation", "share": 0.01, "trees": 7}, "forest of 7 trees scores it in the top 0.01"),
        ({"method": "lof", "neighbors": 9}, "factor over 9 neighbours is above 1.5"),
        ({"method": "special", "attributes": ["a"], "max_size": 3}, "a set of at most 3 attributes makes it unique"),
    ],
)
def test_the_plan_says_what_will_be_looked_for(parameters: dict[str, object], words: str) -> None:
    assert words in Outliers.model_validate(parameters).explain()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "guess"}, "Input should be"),
        ({"method": "iqr", "trees": 5}, "iqr does not use 'trees'; it takes 'threshold'"),
        ({"method": "rare", "threshold": 5}, "rare does not use 'threshold'; it takes 'count', 'share'"),
        ({"method": "lof", "threshold": 2, "share": 0.1}, "a threshold or a share, not both"),
        ({"method": "special"}, "special needs attributes"),
        ({"threshold": 0}, "greater than 0"),
        ({"method": "rare", "share": 1}, "less than 1"),
        ({"attributes": []}, "at least 1"),
        ({"colour": 1}, "Extra inputs|there is no"),
    ],
)
def test_wrong_parameters_are_refused_at_the_door(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Outliers.model_validate(parameters)


@pytest.mark.parametrize("method", ["rare", "isolation", "lof"])
def test_only_distances_give_bounds(method: str) -> None:
    with pytest.raises(UsageError, match=f"the method {method} gives no bounds for 'v'; use robust_z or iqr"):
        Outliers(method=method).bounds(Dataset.of({"v": [1]}), "v")


def test_the_schema_describes_every_field() -> None:
    fields = Outliers.model_json_schema()["properties"]
    assert all(field.get("description") for field in fields.values())
