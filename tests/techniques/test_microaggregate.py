"""Microaggregation: MDAV and fixed size against plain loops, golden examples, and the promise on the released table."""

from __future__ import annotations

import math
import time
from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.microaggregation import NAN, as_sets, naive_aggregate, naive_distance, naive_mdav, spaces

from oboro.algorithms.microaggregation import kernels
from oboro.algorithms.microaggregation.mdav import fixed, mdav
from oboro.algorithms.partitioning.records import GRID, Space
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.errors import ColumnError, InputError
from oboro.schema import Schema
from oboro.techniques import columns as techniques_columns
from oboro.techniques.base import Work
from oboro.techniques.microaggregate import Microaggregate

# Deciding -------------------------------------------------------------------------------------------------------------


@given(spaces())
@settings(max_examples=30)
def test_mdav_forms_the_same_groups_as_plain_loops(case):
    numbers, gaps, traits, rows, k = case
    space = Space(
        np.array(numbers).reshape(len(numbers), rows),
        np.array(gaps),
        np.array(traits, dtype=np.uint32).reshape(len(traits), rows),
    )
    if rows < k:
        with pytest.raises(InputError, match=f"k = {k}"):
            mdav(space, k)
        return
    records = [([column[i] for column in numbers], [column[i] for column in traits]) for i in range(rows)]
    groups = mdav(space, k)
    assert as_sets(groups) == {frozenset(group) for group in naive_mdav(records, gaps, k)}
    assert groups.sizes.min() >= k
    assert groups.sizes.max() < 2 * k
    assert groups.sizes.sum() == rows


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=30))
@settings(max_examples=30)
def test_mdav_on_measured_numbers_forms_the_same_groups_as_plain_loops(pairs):
    space = Space.of(Dataset.of({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}).columns)
    records = [(list(point), []) for point in space.points.T.tolist()]
    assert as_sets(mdav(space, 2)) == {frozenset(group) for group in naive_mdav(records, [0.0, 0.0], 2)}


def test_mdav_by_hand():
    # centre 34/3: 22 is farthest; its group is 20, 21, 22; 1 is farthest from 22; three records are left
    ages = Space(np.array([[1.0, 2, 3, 10, 11, 12, 20, 21, 22]]), np.zeros(1), np.empty((0, 9), dtype=np.uint32))
    assert as_sets(mdav(ages, 3)) == {frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7, 8})}
    # 2k … 3k − 1 records: centre 31/5; 10 is farthest, 10 and 9 form a group and the other three the last one
    five = Space(np.array([[4.0, 3, 10, 9, 5]]), np.zeros(1), np.empty((0, 5), dtype=np.uint32))
    assert as_sets(mdav(five, 2)) == {frozenset({2, 3}), frozenset({0, 1, 4})}


def test_space_is_in_standard_deviations():
    space = Space.of(
        Dataset.of({"a": [1, 1, 3, 3, None], "b": ["x", None, "a", "x", "b"]}).columns, categorical=frozenset("b")
    )
    assert np.array_equal(space.points, [[-1, -1, 1, 1, np.nan]], equal_nan=True)  # mean 2, standard deviation 1
    assert space.gaps.tolist() == [4.0]  # from 1 to 3: two standard deviations, squared
    assert space.categories.tolist() == [[2, 3, 0, 2, 1]]  # a, b, x, missing


def test_space_lies_on_a_grid_whose_sums_are_exact():
    rng = np.random.default_rng(5)
    places = Space.of({"a": Column.encode(pa.array(rng.lognormal(size=5000)))}).points[0]
    assert (places * GRID == np.rint(places * GRID)).all()
    assert math.fsum(places) == places.sum() == places[::-1].sum()


def test_space_of_a_constant_column_and_an_infinite_one():
    space = Space.of(Dataset.of({"a": [7.0, 7.0, None]}).columns)
    assert np.array_equal(space.points, [[0, 0, np.nan]], equal_nan=True)
    assert space.gaps.tolist() == [1.0]
    with pytest.raises(ColumnError, match="infinite"):
        Space.of(Dataset.of({"a": [7.0, float("inf")]}).columns)


@pytest.mark.parametrize("scan", [kernels.scan, kernels.scan_parallel])
def test_scan_over_several_blocks_agrees_with_sorting(scan):
    rng = np.random.default_rng(1)
    count, k = 2 * kernels.BLOCK + 5, 7
    points = rng.integers(-40, 40, size=(2, count)).astype(float)
    points[0, rng.random(count) < 0.1] = np.nan
    categories = rng.integers(0, 3, size=(1, count)).astype(np.uint32)
    ids, gaps = rng.permutation(count), np.array([30.0, 0.0])
    target, traits = points[:, 11].copy(), categories[:, 11].copy()
    near, far = np.empty((3, k), dtype=np.int64), np.empty(3, dtype=np.int64)
    distances, out = np.empty(count), np.empty(k, dtype=np.int64)
    scan(points, categories, gaps, ids, count, target, traits, distances, near, far)
    farthest = kernels.merge(distances, ids, count, near, far, out)
    naive = [naive_distance((points[:, i], categories[:, i]), (target, traits), gaps) for i in range(0, count, 97)]
    assert distances[::97].tolist() == naive
    order = np.lexsort((ids, distances))
    assert set(out.tolist()) == set(order[:k].tolist())
    assert farthest == order[-1]


def test_remove_keeps_all_others():
    points, ids = np.arange(10.0).reshape(1, 10), np.arange(10)
    categories = np.arange(10, dtype=np.uint32).reshape(1, 10)
    left = kernels.remove_records(points, categories, ids, 10, np.array([9, 4, 0]))
    assert left == 7
    assert set(ids[:7].tolist()) == {1, 2, 3, 5, 6, 7, 8}
    assert points[0, :7].tolist() == ids[:7].tolist() == categories[0, :7].tolist()


@given(st.lists(st.one_of(st.integers(0, 9).map(float), st.just(NAN)), max_size=40), st.integers(2, 7))
def test_fixed_cuts_the_sorted_line(numbers, k):
    if 0 < len(numbers) < k:
        with pytest.raises(InputError, match=f"k = {k}"):
            fixed(np.array(numbers), k)
        return
    groups = fixed(np.array(numbers), k)
    missing = [i for i, value in enumerate(numbers) if math.isnan(value)]
    present = sorted((i for i in range(len(numbers)) if i not in missing), key=lambda i: numbers[i])
    apart = len(missing) >= k and (len(present) >= k or not present)
    line = present if apart else present + missing
    expected = [line[start : start + k] for start in range(0, len(line) - len(line) % k, k)]
    for i in line[len(line) - len(line) % k :]:
        expected[-1].append(i)
    if apart:
        expected.append(missing)
    assert as_sets(groups) == {frozenset(group) for group in expected if group}


# Publishing -----------------------------------------------------------------------------------------------------------

numbers_or_missing = st.one_of(st.integers(-5, 5).map(lambda value: value / 10), st.just(NAN))


@given(
    st.lists(st.tuples(numbers_or_missing, st.integers(0, 4)), min_size=1, max_size=40),
    st.sampled_from(["mean", "median", "mode"]),
)
def test_aggregates_agree_with_plain_loops(cells, name):
    numbers = np.array([value for value, _ in cells])
    groups = Groups.of([Column.of([label for _, label in cells])], len(cells))
    expected = [naive_aggregate(name, numbers[groups.labels == label]) for label in range(len(groups))]
    found = getattr(techniques_columns, name)(numbers, groups)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    for label in range(len(groups)):
        own = numbers[groups.labels == label]
        if (own == own[0]).all():
            assert found[label] == own[0]  # exactly: 0.1, not 0.10000000000000002
        present = np.count_nonzero(~np.isnan(own))
        shared = techniques_columns.without_minority(found, numbers, groups)[label]
        assert math.isnan(shared) == (2 * present <= own.size)


@given(st.permutations([0.1, 0.2, 0.3, 0.7, 1e16, -1e16]))
def test_numbers_that_cancel_leave_the_mean_of_the_others(numbers):
    groups = Groups.of([Column.of(["a"] * len(numbers))], len(numbers))
    assert techniques_columns.mean(np.array(numbers), groups) == [math.fsum(numbers) / len(numbers)]


cells = {
    "age": st.one_of(st.integers(0, 20), st.none()),
    "income": st.one_of(st.floats(-1e3, 1e3).map(lambda value: round(value, 2)), st.none()),
    "born": st.one_of(st.dates(date(1990, 1, 1), date(1990, 3, 1)), st.none()),
    "sex": st.one_of(st.sampled_from(["F", "M", "x"]), st.none()),
}
types = {"age": pa.int64(), "income": pa.float64(), "born": pa.date32(), "sex": pa.string()}


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 25))
    return pa.table(
        {name: pa.array(draw(st.lists(one, min_size=rows, max_size=rows)), types[name]) for name, one in cells.items()}
    )


@given(tables(), st.integers(2, 5), st.sampled_from(["mean", "median", "mode"]))
@settings(max_examples=35)
def test_every_released_combination_occurs_k_times(table, k, how):
    technique = Microaggregate(attributes=list(types), k=k, aggregate=dict.fromkeys(types, how) | {"sex": "mode"})
    if 0 < table.num_rows < k:
        with pytest.raises(InputError):
            technique.apply(table)
        return
    released = technique.apply(table)
    counts = Counter(zip(*(released[name].to_pylist() for name in types), strict=True))
    assert all(count >= k for count in counts.values())
    assert {name: released[name].type for name in types} == types


@given(tables(), st.integers(2, 5))
@settings(max_examples=25)
def test_fixed_promises_each_column_alone(table, k):
    names = ["age", "income", "born"]
    technique = Microaggregate(attributes=names, k=k, method="fixed", aggregate="median")
    if 0 < table.num_rows < k:
        return
    data = Dataset.from_arrow(table)
    outcome = technique.run(Work(data, Schema({}), np.random.default_rng(0)))
    if table.num_rows:
        assert [promise.quasi for promise in outcome.promises] == [("age",), ("income",), ("born",)]
        assert all(promise.verify(outcome.data).holds for promise in outcome.promises)
    for name in names:
        counts = Counter(outcome.data.to_arrow()[name].to_pylist())
        assert all(count >= k for count in counts.values())


def test_released_values_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(3)
    table = pa.table({"a": rng.integers(0, 30, 200), "b": rng.normal(size=200), "c": rng.choice(["x", "y"], 200)})
    technique = Microaggregate(attributes=["a", "b", "c"], k=4, aggregate={"c": "mode"})

    def combinations(released):
        return Counter(zip(*(released[name].to_pylist() for name in "abc"), strict=True))

    shuffled = table.take(pa.array(rng.permutation(200)))
    assert combinations(technique.apply(table)) == combinations(technique.apply(shuffled))


def test_by_hand():
    ages = {"age": [1, 2, 4, 10, 11, 12, 20, 21, 23]}
    assert Microaggregate(attribute="age", k=3).apply(ages) == {"age": [2] * 3 + [11] * 3 + [21] * 3}
    assert Microaggregate(attribute="age", k=3, aggregate="median").apply(ages) == {
        "age": [2] * 3 + [11] * 3 + [21] * 3
    }
    assert Microaggregate(attribute="age", k=3, aggregate="mode").apply(ages) == {"age": [1] * 3 + [10] * 3 + [20] * 3}
    assert Microaggregate(attribute="age", k=2, method="fixed").apply(ages)["age"] == [2, 2, 7, 7, 12, 12, 21, 21, 21]


def test_halves_go_to_the_even_number_and_dates_stay_dates():
    fixed_pairs = Microaggregate(attributes=["n", "d"], k=2, method="fixed")
    released = fixed_pairs.apply(
        {"n": [1, 2, 3, 4], "d": [date(2020, 1, 1), date(2020, 1, 3), date(2021, 1, 1), date(2021, 1, 3)]}
    )
    assert released == {
        "n": [2, 2, 4, 4],
        "d": [date(2020, 1, 2), date(2020, 1, 2), date(2021, 1, 2), date(2021, 1, 2)],
    }


def test_text_numbers_become_numbers_and_types_stay():
    assert Microaggregate(attribute="a", k=2).apply({"a": ["1", "3"]}) == {"a": [2, 2]}
    small = pa.table({"a": pa.array([1, 3], pa.int8()), "t": pa.array([0, 2], pa.timestamp("s", "Asia/Tokyo"))})
    released = Microaggregate(attributes=["a", "t"], k=2).apply(small)
    assert released.schema.types == small.schema.types
    assert released["t"].cast(pa.int64()).to_pylist() == [1, 1]


def test_a_group_with_a_minority_of_values_releases_none():
    one_of_three = {"a": [5, None, None]}
    assert Microaggregate(attribute="a", k=3).apply(one_of_three) == {"a": [None, None, None]}
    assert Microaggregate(attribute="a", k=3).apply({"a": [5, 7, None]}) == {"a": [6, 6, 6]}
    assert Microaggregate(attribute="a", k=2).apply({"a": pa.array([None, None], pa.int64()).to_pylist()}) == {
        "a": [None, None]
    }


def test_categories():
    table = {"sex": ["F", "M", "M", None, None, None], "age": [1, 2, 3, 50, 51, 52]}
    technique = Microaggregate(attributes=["sex", "age"], k=3, aggregate={"sex": "mode"})
    assert technique.apply(table) == {"sex": ["M"] * 3 + [None] * 3, "age": [2] * 3 + [51] * 3}
    with pytest.raises(ColumnError, match=r"sex: needs numbers or dates, but holds 'F'.*aggregate: \{sex: mode\}"):
        Microaggregate(attributes=["sex", "age"], k=3).apply(table)
    with pytest.raises(ColumnError, match="mdav"):
        Microaggregate(attribute="sex", k=3, method="fixed", aggregate="mode").apply(table)


def test_facts_and_purity():
    table = pa.table({"age": [1, 2, 3, 50, 51, 52], "name": list("abcdef")})
    data = Dataset.from_arrow(table)
    outcome = Microaggregate(attribute="age", k=3).run(Work(data, Schema({}), np.random.default_rng(0)))
    assert dict(outcome.facts) == {
        "method": "mdav", "k": 3, "groups": 2, "smallest": 3, "largest": 3, "changed": {"age": 4}
    }  # fmt: skip
    assert outcome.promises[0].quasi == ("age",)
    assert outcome.promises[0].step == "microaggregate"
    assert data.to_arrow().equals(table)
    assert outcome.data["name"] is data["name"]


def test_plan_in_words():
    plan = Microaggregate(attributes=["age", "income"], k=5, aggregate={"age": "median"}).explain(Schema({}))
    assert "4 or more others" in plan
    assert "age: median; income: mean" in plan
    assert "occurs 5 times" in plan
    plan = Microaggregate(attributes=["age", "income"], k=5, method="fixed").explain(Schema({}))
    assert "each on its own" in plan
    assert "combinations of columns may not" in plan


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 2}, "either attribute"),
        ({"k": 2, "attribute": "a", "attributes": ["b"]}, "either attribute"),
        ({"k": 2, "attributes": ["b", "b"]}, "named twice"),
        ({"k": 1, "attribute": "a"}, "greater than or equal to 2"),
        ({"k": 2, "attribute": "a", "aggregate": {"b": "mean"}}, "'b' is not microaggregated"),
    ],
)
def test_wrong_parameters(wrong, message):
    with pytest.raises(ValueError, match=message):
        Microaggregate(**wrong)


def test_unknown_column():
    with pytest.raises(ColumnError, match="microaggregate: there is no column 'x'"):
        Microaggregate(attribute="x", k=2).apply({"a": [1, 2]})


def test_ten_thousand_records_take_well_under_two_seconds():
    rng = np.random.default_rng(0)
    columns = {name: Column.encode(pa.array(rng.normal(size=10_000))) for name in "abcd"}
    mdav(
        Space.of({name: column.take(np.arange(100)) for name, column in columns.items()}), 5
    )  # compiled before the clock
    started = time.process_time()
    groups = mdav(Space.of(columns), 5)
    assert time.process_time() - started < 2
    assert groups.sizes.min() == 5


@pytest.mark.parametrize(
    ("texts", "mean"),
    [
        (["34.5", "34", "34.25"], 34.25),
        (["1.0", "1", "2"], 1.3333),  # at least four places
        (["0.00001", "0.00002", "0.00002"], 0.0000167),  # two more than the finest
        (["1e-9", "1e-9", "2.5e-9"], 1.5e-9),
        (["$1.50", "$2", "$7"], 3.5),
    ],
)
def test_means_of_text_have_few_places_more(texts: list[str], mean: float) -> None:
    assert Microaggregate(k=3, attributes=["x"]).apply({"x": texts})["x"] == [mean] * 3
