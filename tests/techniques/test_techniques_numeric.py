"""Rounding, swapping and noise: against exact arithmetic, plain lists and the statistics of large samples."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, InputError, UsageError
from oboro.schema import Schema
from oboro.techniques import kernels
from oboro.techniques.base import Work
from oboro.techniques.columns import differing, narrowed, places, written
from oboro.techniques.conditions import Bounds
from oboro.techniques.noise import Noise, reflect
from oboro.techniques.round import Round
from oboro.techniques.swap import Swap
from oboro.text import quoted


def run(technique, data: Dataset, seed: int = 0):
    return technique.run(Work(data, Schema({}), np.random.default_rng(seed)))


# Rounding -------------------------------------------------------------------------------------------------------------

MODES = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
bases = st.sampled_from([0.1, 0.25, 0.05, 0.3, 2.5, 1, 3, 7, 1000, 0.001, 12.5])
decimals = st.decimals(-(10**7), 10**7, places=4, allow_nan=False).map(lambda value: value.normalize() + 0)


def naive_round(value: Decimal, base: float, method: str) -> Decimal:
    step = Decimal(repr(base))
    return (value / step).to_integral_value(MODES[method]) * step


@given(st.lists(st.one_of(decimals, st.none()), min_size=1, max_size=30), bases, st.sampled_from(list(MODES)))
@settings(max_examples=35)
def test_rounding_floats_agrees_with_decimal_arithmetic(values, base, method):
    table = pa.table({"x": pa.array([None if value is None else float(value) for value in values], pa.float64())})
    released = Round(attribute="x", base=base, method=method).apply(table)["x"]
    expected = [None if value is None else float(naive_round(value, base, method)) for value in values]
    assert released.type == pa.float64()
    assert released.to_pylist() == expected  # to the last bit: 0.3, not 0.30000000000000004


@given(st.lists(st.one_of(decimals, st.none()), min_size=1, max_size=30), bases, st.sampled_from(list(MODES)))
@settings(max_examples=30)
def test_rounding_text_agrees_with_decimal_arithmetic_and_keeps_what_is_a_multiple(values, base, method):
    texts = [None if value is None else f"{value:f}" for value in values]
    released = Round(attribute="x", base=base, method=method).apply(pa.table({"x": pa.array(texts, pa.string())}))["x"]
    for value, text, result in zip(values, texts, released.to_pylist(), strict=True):
        if value is None:
            assert result is None
            continue
        expected = naive_round(value, base, method)
        assert Decimal(result) == expected
        if expected == value:
            assert result == text


@given(
    st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=20),
    st.sampled_from([1, 2, 3, 10, 1000]),
    st.sampled_from(list(MODES)),
)
def test_rounding_whole_numbers_is_exact_beyond_the_reach_of_floats(values, base, method):
    released = Round(attribute="x", base=base, method=method).apply({"x": values})["x"]
    assert released == [int(naive_round(Decimal(value), base, method)) for value in values]


def test_rounding_by_hand():
    incomes = {"income": [1499, 1500, 2500, 3500, -1500, 0, None]}
    assert Round(attribute="income", base=1000).apply(incomes)["income"] == [1000, 2000, 2000, 4000, -2000, 0, None]
    assert Round(attribute="income", digits=-3, method="up").apply(incomes)["income"] == [
        2000,
        2000,
        3000,
        4000,
        -1000,
        0,
        None,
    ]
    assert Round(attribute="x", digits=2).apply({"x": [1.005, 2.675, 1e300]})["x"] == [1.0, 2.68, 1e300]
    assert Round(attribute="x", base=0.1, method="down").apply({"x": [0.3, 0.7, 0.79, -0.01]})["x"] == [
        0.3,
        0.7,
        0.7,
        -0.1,
    ]


def test_rounding_writes_a_multiple_as_the_column_writes_it():
    texts = {"x": ["1.50", "1.51", "0.9", None, "7"]}
    assert Round(attribute="x", base=0.5).apply(texts) == {"x": ["1.50", "1.50", "1", None, "7"]}


def test_rounding_dates_counts_days_from_a_monday():
    days = {"d": [date(2024, 2, 29), date(2024, 3, 4), None]}  # a Thursday and a Monday
    monday = date(2024, 2, 26)
    assert Round(attribute="d", base=7, method="down").apply(days) == {"d": [monday, date(2024, 3, 4), None]}
    texts = {"d": ["2024/2/29", "2024/3/4"]}
    assert Round(attribute="d", base=7, method="down").apply(texts) == {"d": ["2024/02/26", "2024/3/4"]}
    with pytest.raises(UsageError, match="no decimal places"):
        Round(attribute="d", digits=0).apply(days)
    with pytest.raises(UsageError, match="not a whole number of days"):
        Round(attribute="d", base=1.5).apply(days)


def test_rounding_times():
    times = {"t": [datetime(2024, 2, 29, 11, 35), datetime(2024, 2, 29, 11, 25), None]}
    assert Round(attribute="t", base=0.0416667).apply(times) == {
        "t": [datetime(2024, 2, 29, 12), datetime(2024, 2, 29, 11), None]
    }
    texts = {"t": ["2024-02-29T11:35:00Z", "2024-02-29T12:00Z"]}
    assert Round(attribute="t", base=0.5).apply(texts) == {"t": ["2024-02-29T12:00Z", "2024-02-29T12:00Z"]}
    texts = {"t": ["2024-02-29T11:35:00Z"]}
    assert Round(attribute="t", base=0.5).apply(texts) == {"t": ["2024-02-29T12:00:00Z"]}
    zoned = pa.table({"t": pa.array([datetime(2024, 2, 29, 11, 35)], pa.timestamp("ns", "Asia/Tokyo"))})
    released = Round(attribute="t", base=1, method="down").apply(zoned)["t"]
    assert released.type == pa.timestamp("ns", "Asia/Tokyo")
    assert released.cast(pa.int64()).to_pylist() == [
        zoned["t"].cast(pa.int64())[0].as_py() // (86400 * 10**9) * 86400 * 10**9
    ]


def test_rounding_keeps_the_type_where_it_can():
    bytes_ = pa.table({"x": pa.array([254, 3], pa.uint8())})
    assert Round(attribute="x", base=10).apply(bytes_)["x"].type == pa.uint8()
    widened = Round(attribute="x", base=100).apply(bytes_)["x"]
    assert (widened.type, widened.to_pylist()) == (pa.int64(), [300, 0])
    singles = pa.table({"x": pa.array([0.1, 0.11], pa.float32())})
    released = Round(attribute="x", base=0.1, method="up").apply(singles)["x"]
    assert released.equals(pa.chunked_array([pa.array([0.1, 0.2], pa.float32())]))
    money = pa.table({"x": pa.array([Decimal("0.30"), Decimal("0.31")], pa.decimal128(20, 2))})
    assert Round(attribute="x", base=0.1, method="up").apply(money)["x"].to_pylist() == [
        Decimal("0.30"),
        Decimal("0.40"),
    ]


def test_rounding_whole_numbers_to_fractions():
    assert Round(attribute="x", base=0.1).apply({"x": [1, 2]}) == {"x": [1, 2]}
    assert Round(attribute="x", base=2.5).apply({"x": [1, 2, 5]}) == {"x": [0.0, 2.5, 5.0]}


def test_random_rounding_is_unbiased_and_record_by_record():
    rows = 40_000
    table = pa.table({"x": pa.array([1300] * rows), "y": pa.array([0.24] * rows), "z": pa.array(["7"] * rows)})
    released = Round(attributes=["x", "y"], digits=None, base=1000, method="random").apply(table, seed=1)
    assert set(released["x"].to_pylist()) == {1000, 2000}
    error = 5 * 1000 * math.sqrt(0.3 * 0.7 / rows)  # five standard errors
    assert abs(np.mean(released["x"].to_pylist()) - 1300) < error
    released = Round(attribute="y", base=0.1, method="random").apply(table, seed=2)["y"]
    assert set(released.to_pylist()) == {0.2, 0.3}
    assert abs(np.mean(released.to_pylist()) - 0.24) < 5 * 0.1 * math.sqrt(0.4 * 0.6 / rows)
    assert Round(attribute="z", base=7, method="random").apply(table)["z"].to_pylist() == ["7"] * rows


def test_random_rounding_repeats_with_its_seed():
    table = {"x": list(range(200))}
    technique = Round(attribute="x", base=10, method="random")
    assert technique.apply(table, seed=1) == technique.apply(table, seed=1)
    assert technique.apply(table, seed=1) != technique.apply(table, seed=2)


def test_rounding_counts_what_changed():
    outcome = run(Round(attributes=["x", "y"], base=10), Dataset.of({"x": [10, 11, 11, None], "y": [None] * 4}))
    assert dict(outcome.facts) == {"method": "nearest", "changed": {"x": 2, "y": 0}}
    assert outcome.promises == ()


def test_rounding_what_cannot_be_rounded():
    with pytest.raises(ColumnError, match=r"x: needs numbers or dates, but holds 'n/a'"):
        Round(attribute="x", base=1).apply({"x": ["1", "n/a"]})
    with pytest.raises(ColumnError, match="infinite"):
        Round(attribute="x", base=1).apply({"x": [1.0, float("inf")]})
    with pytest.raises(ColumnError, match="beyond"):
        Round(attribute="x", base=10).apply({"x": [2**63 - 1]})
    with pytest.raises(ColumnError, match="round: there is no column 'z'"):
        Round(attribute="z", base=10).apply({"x": [1]})


# Swapping -------------------------------------------------------------------------------------------------------------


def naive_pair(free, window, draws):
    partner = list(range(len(free)))
    open_ = [i for i, is_free in enumerate(free) if is_free]
    while open_:
        i = open_.pop(0)
        candidates = [j for j in open_ if j <= i + window]
        if candidates:
            j = candidates[min(int(draws[i] * len(candidates)), len(candidates) - 1)]
            partner[i], partner[j] = j, i
            open_.remove(j)
    return partner


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, exclude_max=True)), max_size=60), st.integers(1, 20))
@settings(max_examples=40)
def test_pairing_agrees_with_plain_lists(ranks, window):
    free, draws = np.array([one for one, _ in ranks], dtype=bool), np.array([draw for _, draw in ranks], dtype=float)
    out = np.empty(len(ranks), dtype=np.int64)
    before = free.copy()
    kernels.pair(free, window, draws, out)
    assert out.tolist() == naive_pair(before, window, draws)
    assert (free == before).all()


@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 30), st.none()), st.sampled_from("ab")), min_size=1, max_size=60),
    st.sampled_from([1.0, 10.0, 60.0]),
    st.sampled_from([0.3, 1.0]),
    st.integers(0, 5),
)
def test_rank_swapping_keeps_the_values_the_window_and_the_missing(cells, window, fraction, seed):
    before = [value for value, _ in cells]
    data = Dataset.of({"x": before, "y": [other for _, other in cells]})
    outcome = run(Swap(attribute="x", window=window, fraction=fraction), data, seed)
    after = outcome.data["x"].decode().to_pylist()
    assert Counter(before) == Counter(after)
    assert [value is None for value in before] == [value is None for value in after]
    present = sorted(value for value in before if value is not None)
    reach = max(1, math.floor(window / 100 * len(present)))
    for old, new in zip(before, after, strict=True):
        if old != new:  # the nearest ranks that the two values have are not farther apart than the window
            low, high = sorted((old, new))
            assert present.index(high) - (len(present) - 1 - present[::-1].index(low)) <= reach
    assert outcome.facts["changed"]["x"] == sum(old != new for old, new in zip(before, after, strict=True))
    assert outcome.facts["moved"]["x"] <= math.floor(fraction * len(before) + 0.5)
    assert outcome.data["y"] is data["y"]


def test_rank_swapping_pairs_records():
    values = list(range(1000))
    after = Swap(attribute="x", window=2).apply({"x": values}, seed=4)["x"]
    assert all(after[after[i]] == i for i in values)  # an exchange of two
    assert max(abs(after[i] - i) for i in values) <= 20
    assert sum(after[i] != i for i in values) > 950
    assert max(abs(after[i] - i) for i in values) > 15  # the whole window is used


@given(
    st.lists(
        st.tuples(st.one_of(st.text("xyz", max_size=1), st.none()), st.sampled_from([1, 2, None])),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 5),
)
def test_random_swapping_keeps_the_values_of_each_group(cells, seed):
    data = Dataset.of({"v": [value for value, _ in cells], "g": [group for _, group in cells]})
    after = run(Swap(attribute="v", method="random", within=["g"]), data, seed).data["v"].decode().to_pylist()
    assert Counter(cells) == Counter(zip(after, (group for _, group in cells), strict=True))


def test_random_swapping_is_uniform():
    counts = Counter(
        tuple(Swap(attribute="x", method="random").apply({"x": [0, 1, 2]}, seed=seed)["x"]) for seed in range(1200)
    )
    assert len(counts) == 6
    assert all(abs(count - 200) < 5 * math.sqrt(200) for count in counts.values())


def test_swapping_together_or_each_on_its_own():
    table = {"x": list(range(100)), "y": [value * 2 for value in range(100)]}
    for method in ("rank", "random"):
        swapped = Swap(attributes=["x", "y"], method=method, together=True).apply(table, seed=1)
        assert swapped["x"] != table["x"]
        assert [value * 2 for value in swapped["x"]] == swapped["y"]
        apart = Swap(attributes=["x", "y"], method=method).apply(table, seed=1)
        assert [value * 2 for value in apart["x"]] != apart["y"]


def test_swapping_a_fraction_leaves_the_others():
    table = {"x": list(range(1000))}
    for method in ("rank", "random"):
        after = Swap(attribute="x", method=method, fraction=0.1).apply(table, seed=1)["x"]
        moved = sum(old != new for old, new in zip(table["x"], after, strict=True))
        assert 50 < moved <= 100


def test_swapping_facts_and_types():
    frame = pd.DataFrame({"x": pd.array([1, 2, None], dtype="Int8"), "g": ["a", "a", "b"]})
    before = frame.copy(deep=True)
    after = Swap(attribute="x", method="random", within=["g"]).apply(frame, seed=1)
    assert after["x"].dtype == "Int8"
    pd.testing.assert_frame_equal(frame, before)
    facts = run(
        Swap(attribute="x", method="random", within=["g"]), Dataset.of({"x": [1, 2, 3], "g": list("aab")})
    ).facts
    assert facts["groups"] == 2
    assert facts["records_alone"] == 1


def test_rank_swapping_needs_an_order():
    with pytest.raises(ColumnError, match="needs numbers or dates"):
        Swap(attribute="x").apply({"x": ["b", "a"]})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"attribute": "x", "method": "random", "window": 5}, "window is for method: rank"),
        ({"attribute": "x", "within": ["g"]}, "within is for method: random"),
        ({"attribute": "x", "method": "random", "within": ["x"]}, "cannot be swapped and stay"),
        ({"attribute": "x", "together": True}, "together needs several"),
        ({"attribute": "x", "window": 0}, "greater than 0"),
        ({"attribute": "x", "fraction": 1.5}, "less than or equal to 1"),
    ],
)
def test_wrong_swaps(wrong, message):
    with pytest.raises(ValueError, match=message):
        Swap(**wrong)


# Noise ----------------------------------------------------------------------------------------------------------------

ROWS = 60_000


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(11)
    a, b = rng.normal(50, 10, ROWS), rng.normal(0, 1, ROWS)
    return pa.table({"a": a, "b": 300 * a + 4000 * b, "c": a - 5 * b})


def matrix(table: pa.Table) -> np.ndarray:
    return np.stack([table[name].to_numpy() for name in table.column_names])


@pytest.mark.parametrize(
    ("parameters", "deviation"),
    [
        ({"scale": 3}, 3),
        ({"scale": 3, "distribution": "laplace"}, 3 * math.sqrt(2)),  # the scale b of Laplace, as usual
        ({"relative": 0.5}, 5),
        ({"relative": 0.5, "distribution": "laplace"}, 5),
    ],
)
def test_added_noise_has_mean_zero_and_the_stated_size(people, parameters, deviation):
    noisy = Noise(attribute="a", **parameters).apply(people, seed=1)
    noise = noisy["a"].to_numpy() - people["a"].to_numpy()
    assert abs(noise.mean()) < 5 * deviation / math.sqrt(ROWS)
    assert noise.std() == pytest.approx(deviation, rel=0.03)
    kurtosis = ((noise / noise.std()) ** 4).mean()
    assert kurtosis == pytest.approx(6 if "distribution" in parameters else 3, rel=0.15)
    assert noisy["b"].equals(people["b"])


@pytest.mark.parametrize(("parameters", "deviation"), [({"scale": 0.1}, 0.1), ({"relative": 0.2}, 0.2)])
def test_multiplied_noise_grows_with_the_value(people, parameters, deviation):
    noisy = Noise(attribute="a", multiplicative=True, **parameters).apply(people, seed=1)["a"].to_numpy()
    ratio = noisy / people["a"].to_numpy() - 1
    assert abs(ratio.mean()) < 5 * deviation / math.sqrt(ROWS)
    assert ratio.std() == pytest.approx(deviation, rel=0.03)


def test_correlated_noise_keeps_the_correlations(people):
    before, noisy = (
        matrix(people),
        matrix(Noise(attributes=["a", "b", "c"], relative=0.5, correlated=True).apply(people, seed=1)),
    )
    np.testing.assert_allclose(np.cov(noisy), 1.25 * np.cov(before), rtol=0.05)
    np.testing.assert_allclose(np.corrcoef(noisy), np.corrcoef(before), atol=0.01)
    np.testing.assert_allclose(np.cov(noisy - before), 0.25 * np.cov(before), rtol=0.06)
    alone = matrix(Noise(attributes=["a", "b", "c"], relative=0.5).apply(people, seed=1))
    assert np.corrcoef(alone)[0, 1] < np.corrcoef(before)[0, 1] - 0.05  # what correlated noise is for


def test_rescaled_correlated_noise_keeps_the_covariance(people):
    technique = Noise(attributes=["a", "b", "c"], relative=0.5, correlated=True, rescale=True)
    before, noisy = matrix(people), matrix(technique.apply(people, seed=1))
    np.testing.assert_allclose(np.cov(noisy), np.cov(before), rtol=0.05)
    np.testing.assert_allclose(noisy.mean(axis=1), before.mean(axis=1), rtol=0.01)
    assert (noisy != before).all()


def test_rescaled_noise_keeps_the_variance(people):
    noisy = Noise(attribute="a", scale=10, rescale=True).apply(people, seed=1)["a"].to_numpy()
    assert noisy.var() == pytest.approx(people["a"].to_numpy().var(), rel=0.03)


def test_correlated_noise_on_columns_that_depend_on_each_other():
    table = pa.table({"a": np.arange(100.0), "b": 2 * np.arange(100.0), "c": np.zeros(100)})
    noisy = matrix(Noise(attributes=["a", "b", "c"], relative=0.3, correlated=True).apply(table, seed=1))
    np.testing.assert_allclose(noisy[1], 2 * noisy[0], atol=1e-4)
    assert (noisy[2] == 0).all()


def test_correlated_noise_leaves_missing_values_missing():
    table = {"a": [1.0, 2.0, None, 4.0], "b": [2.0, 3.0, 7.0, None]}
    noisy = Noise(attributes=["a", "b"], relative=0.3, correlated=True).apply(table, seed=1)
    assert [value is None for value in noisy["a"]] == [False, False, True, False]
    assert [value is None for value in noisy["b"]] == [False, False, False, True]
    with pytest.raises(InputError, match="two records or more"):
        Noise(attributes=["a", "b"], relative=0.3, correlated=True).apply({"a": [1.0, None], "b": [None, 2.0]})


def test_whole_numbers_and_dates_stay_such():
    table = pa.table(
        {
            "n": pa.array([10, 20, None] * 50, pa.int16()),
            "d": pa.array([date(2000, 1, 1), date(2001, 1, 1), None] * 50),
            "t": pa.array([datetime(2000, 1, 1, 12), datetime(2001, 1, 1), None] * 50, pa.timestamp("ms", "UTC")),
            "s": pa.array(["10", "20", None] * 50),
        }
    )
    noisy = Noise(attributes=["n", "d", "t", "s"], scale=3).apply(table, seed=1)
    assert noisy.schema.types == [pa.int16(), pa.date32(), pa.timestamp("ms", "UTC"), pa.int64()]
    assert all(noisy[name].null_count == 50 for name in noisy.column_names)
    moves = [
        (new - old) / timedelta(days=1)
        for old, new in zip(table["t"].to_pylist(), noisy["t"].to_pylist(), strict=True)
        if old is not None
    ]
    assert 2 < np.std(moves) < 4  # the scale is in days
    assert 2 < np.std([a - b for a, b in zip(noisy["n"].drop_null().to_pylist(), [10, 20] * 50, strict=True)]) < 4


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=20),
    st.one_of(st.none(), st.integers(-20, 0)),
    st.one_of(st.none(), st.integers(0, 20)),
)
def test_reflection_step_by_step(numbers, low, high):
    least, most = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    expected = []
    for number in numbers:
        while least < most and not least <= number <= most:
            number = 2 * least - number if number < least else 2 * most - number
        expected.append(number if least < most else least)
    np.testing.assert_allclose(reflect(np.array(numbers), least, most), expected, atol=1e-9)


def test_bounds():
    table = {"age": [0, 1, 99, 100] * 50, "born": [date(2020, 1, 1), date(2020, 1, 31)] * 100}
    technique = Noise(
        attributes=["age", "born"],
        scale=30,
        bounds={"age": {"min": 0, "max": 100.5}, "born": {"max": "2020-01-31"}},
    )
    noisy = technique.apply(table, seed=2)
    assert min(noisy["age"]) >= 0
    assert max(noisy["age"]) <= 100
    assert max(noisy["born"]) <= date(2020, 1, 31)
    assert noisy["age"].count(0) < 20  # reflected, not heaped on the bound
    same = Noise(attribute="age", scale=30, bounds=Bounds(min=0)).apply(table, seed=2)
    assert min(same["age"]) >= 0
    assert max(same["age"]) > 100
    with pytest.raises(UsageError, match="no value lies between"):
        Noise(attribute="age", scale=1, bounds={"min": 0.2, "max": 0.8}).apply(table)
    with pytest.raises(ColumnError, match="dates"):
        Noise(attribute="born", scale=1, bounds={"min": 0}).apply(table)


def test_noise_repeats_with_its_seed_and_leaves_the_input():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    before = frame.copy(deep=True)
    technique = Noise(attribute="x", scale=1)
    pd.testing.assert_frame_equal(technique.apply(frame, seed=1), technique.apply(frame, seed=1))
    assert not technique.apply(frame, seed=1).equals(technique.apply(frame, seed=2))
    pd.testing.assert_frame_equal(frame, before)


def test_noise_facts():
    data = Dataset.of({"x": [1.0, 2.0, None], "y": [None] * 3, "t": [datetime(2000, 1, 1)] * 3})
    outcome = run(Noise(attributes=["x", "y", "t"], scale=2), data)
    assert outcome.facts["changed"] == {"x": 2, "t": 3}
    assert outcome.facts["standard_deviation"] == {"x": 2, "y": 2, "t": 2}
    assert outcome.promises == ()
    assert outcome.data["y"] is data["y"]


def test_noise_that_cannot_be_added():
    with pytest.raises(ColumnError, match="cannot be multiplied"):
        Noise(attribute="d", scale=0.1, multiplicative=True).apply({"d": [date(2020, 1, 1)]})
    with pytest.raises(ColumnError, match="years 1 to 9999"):
        Noise(attribute="d", scale=1e9).apply({"d": [date(2020, 1, 1)] * 9}, seed=1)
    with pytest.raises(ColumnError, match="1e150"):
        Noise(attribute="x", scale=1).apply({"x": [1e200]})
    with pytest.raises(ColumnError, match="'x' and 'z'"):
        Noise(attributes=["x", "y", "z"], scale=1).apply({"x": [1e200], "y": [1.0], "z": [-1e200]})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"attribute": "x"}, "give one of scale"),
        ({"attribute": "x", "scale": 1, "relative": 1}, "give one of scale"),
        ({"attribute": "x", "relative": 1, "correlated": True}, "several attributes"),
        ({"attributes": ["x", "y"], "scale": 1, "correlated": True}, "relative"),
        ({"attributes": ["x", "y"], "relative": 1, "correlated": True, "distribution": "laplace"}, "gaussian"),
        ({"attribute": "x", "scale": 1, "multiplicative": True, "rescale": True}, "for added noise"),
        ({"attribute": "x", "scale": 1, "bounds": {}}, "min, max or both"),
        ({"attribute": "x", "scale": 1, "bounds": {"y": {"min": 0}}}, "'y' gets no noise"),
        ({"attribute": "x", "scale": -1}, "greater than 0"),
    ],
)
def test_wrong_noise(wrong, message):
    with pytest.raises(ValueError, match=message):
        Noise(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"attribute": "x"}, "either base or digits"),
        ({"attribute": "x", "base": 1, "digits": 1}, "either base or digits"),
        ({"attribute": "x", "base": 0}, "greater than 0"),
        ({"attribute": "x", "base": 1e-20}, "between 1e-15 and 1e15"),
        ({"attribute": "x", "base": 1, "method": "sideways"}, "nearest"),
    ],
)
def test_wrong_rounding(wrong, message):
    with pytest.raises(ValueError, match=message):
        Round(**wrong)


# In words, and what they share ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("technique", "words"),
    [
        (Round(attribute="x", base=0.5, method="down"), ["multiple of 0.5", "below"]),
        (Round(attribute="x", digits=2, method="random"), ["2 decimal places", "expected value"]),
        (Swap(attribute="x", window=3), ["3 % of the records", "missing values stay"]),
        (Swap(attribute="x", method="random", within=["g"], fraction=0.5), ["agree on 'g'", "of 0.5 of the records"]),
        (Swap(attributes=["x", "y"], together=True), ["'x' and 'y'", "all together"]),
        (Noise(attribute="x", scale=3), ["scale 3", "Noise alone promises nothing"]),
        (Noise(attribute="x", relative=0.1, multiplicative=True), ["Multiply", "standard deviation 0.1."]),
        (
            Noise(attributes=["x", "y"], relative=0.1, correlated=True, rescale=True),
            ["correlated as", "variances stay"],
        ),
        (Noise(attribute="x", scale=3, bounds={"min": 0}), ["reflected at the bounds"]),
    ],
)
def test_plans_in_words(technique, words):
    plan = technique.explain(Schema({}))
    assert all(word in plan for word in words), plan


def test_writing_numbers_back():
    column = Column.of([1.5, None])
    assert written(np.array([2.5, np.nan]), column, "x").to_pylist() == [2.5, None]
    assert written(np.array([2.5, 3.5]), Column.of([1, 2]), "x").to_pylist() == [2, 4]  # half to even
    assert narrowed(pa.array([300]), pa.uint8()).type == pa.int64()
    assert differing(np.array([1, np.nan, 2]), np.array([1, np.nan, 3])) == 1
    assert quoted(["a", "b"]) == "'a' and 'b'"
    with pytest.raises(ColumnError, match="infinite"):
        places(Column.of([float("inf")]), "x")
