"""Intervals published: means, spans and draws, with missing values, whole numbers and dates."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.drawing import picks

from oboro.algorithms.intervals import Intervals, univariate
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, InputError
from oboro.notations.kinds import Kind
from oboro.schema import Attribute, Schema
from oboro.techniques import Technique
from oboro.techniques.base import Outcome, Work
from oboro.techniques.checks import check
from oboro.techniques.columns import Density, spans
from oboro.techniques.partition_univariate import PartitionUnivariate
from oboro.techniques.synthesize import Synthesize
from oboro.verifier.identity import KAnonymity
from oboro.verifier.table import verify

EXAMPLES: list[Technique] = [
    PartitionUnivariate(attribute="age", k=3),
    PartitionUnivariate(attributes=("age", "income"), k=2, method="hansen"),
    PartitionUnivariate(attribute="income", k=4, method="hist_nml", publish="interval", missing="join"),
    PartitionUnivariate(attribute="income", k=5, method="hist_aic", publish="linear", precision=0.01),
    Synthesize(attribute="age", k=5),
    Synthesize(attributes=("age", "income"), k=2, density="uniform", method="hansen", missing="join"),
]


@pytest.mark.parametrize("technique", EXAMPLES, ids=repr)
def test_the_common_checks(technique: Technique) -> None:
    check(technique)


def run(technique: Technique, columns: dict[str, list[Any]], seed: int = 0) -> Outcome:
    data = Dataset.of(columns)
    return technique.run(Work(data, Schema({name: Attribute() for name in data}), np.random.default_rng(seed)))


def released(technique: Technique, values: list[Any], seed: int = 0) -> list[Any]:
    return technique.apply({"x": values}, seed=seed)["x"]


# Mean and interval ---------------------------------------------------------------------------------------------------


def test_the_mean_of_each_interval_by_hand() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen")
    assert released(step, [1.0, 10.0, 2.0, 12.0, 11.0]) == [1.5, 11.0, 1.5, 11.0, 11.0]
    assert released(step, [1, 10, 2, 12, 11]) == [2, 11, 2, 11, 11]  # 1.5 rounded half to even
    days = [date(2024, 1, 1), date(2024, 3, 1), date(2024, 1, 3), date(2024, 3, 5)]
    assert released(step, days) == [date(2024, 1, 2), date(2024, 3, 3)] * 2


def test_intervals_in_words() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen", publish="interval")
    assert released(step, [18, 19, 30, 31, 60, 61]) == ["<25", "<25", "25–45", "25–45", "≥46", "≥46"]
    assert released(step, [1.25, 1.5, 2.75, 2.8, 9.0, 9.0]) == ["<2", "<2", "[2, 6)", "[2, 6)", "≥6", "≥6"]
    assert released(step, [-9, -8, -3, -2, 4, 4])[2] == "-5 to 1"
    assert released(step, [date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 9), date(2024, 1, 9)])[0] == "<2024-01-06"
    assert released(step, [7, 7, 7]) == ["*"] * 3


def test_a_time_is_cut_at_a_round_time() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen", publish="interval")
    times = [
        datetime(2024, 1, 1, 9, 1),
        datetime(2024, 1, 1, 9, 3),
        datetime(2024, 1, 1, 17, 30),
        datetime(2024, 1, 1, 17, 59),
    ]
    assert released(step, times) == ["<2024-01-01 13:00:00"] * 2 + ["≥2024-01-01 13:00:00"] * 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=60), st.integers(2, 5))
def test_a_span_holds_its_values_and_no_others(numbers: list[float], k: int) -> None:
    values, counts = np.unique(numbers, return_counts=True)
    if counts.sum() < k:
        return
    found = univariate(values, counts, k=k, method="hansen")
    names = spans(found, Kind.NUMBER)
    assert len(set(names)) == len(found)
    begins = [-np.inf, *(float(name.lstrip("[≥").split(",")[0]) for name in names[1:])]
    assert (np.searchsorted(begins, values, side="right") - 1).tolist() == found.labels.tolist()


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=60),
    st.integers(2, 6),
    st.sampled_from(["hansen", "hist_aic", "hist_bic", "hist_nml"]),
    st.sampled_from(["mean", "interval"]),
)
def test_every_released_value_occurs_k_times(values: list[int | None], k: int, method: Any, publish: Any) -> None:
    step = PartitionUnivariate(attribute="x", k=k, method=method, publish=publish, missing="join")
    if len(values) < k:
        with pytest.raises(InputError, match=r"lower k|would stand out"):
            released(step, values)
        return
    assert min(Counter(released(step, values)).values()) >= k


def test_the_promise_is_over_each_column_alone() -> None:
    outcome = run(PartitionUnivariate(attributes=("a", "b"), k=2), {"a": [1, 1, 2, 2], "b": [5, 6, 5, 6]})
    expected = [((name,), (KAnonymity(k=2),)) for name in ("a", "b")]
    assert [(promise.quasi, promise.models) for promise in outcome.promises] == expected
    assert not run(Synthesize(attribute="a", k=2), {"a": [1, 1]}).promises


# Missing values ------------------------------------------------------------------------------------------------------


def test_enough_missing_values_are_a_group_of_their_own() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen")
    assert released(step, [1, None, 3, None]) == [2, None, 2, None]
    assert released(step, [None, None]) == [None, None]


def test_too_few_missing_values_are_an_error_that_names_the_way_out() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen")
    with pytest.raises(InputError, match=r"x: 1 values are missing, fewer than k = 2.*drop_records.*missing: join"):
        released(step, [1, None, 3, 4])
    with pytest.raises(InputError, match=r"x: 1 values are present.*missing: join"):
        released(step, [1, None, None])
    with pytest.raises(InputError, match="lower k or give more records"):
        released(PartitionUnivariate(attribute="x", k=2, missing="join"), [None])


def test_joined_missing_values_take_the_smallest_interval_along() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen", missing="join")
    values = [1, 2, None, 50, 51, 52]
    assert released(step, values) == [None, None, None, 51, 51, 51]
    facts = run(step, {"x": values}).facts["intervals"]["x"]
    assert (facts["missing"], facts["withheld"], facts["count"]) == (1, 2, 2)
    assert released(step, [1, None, None]) == [None, None, None]
    assert verify({"x": released(step, values)}, quasi=["x"], k=2).holds


# Draws ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("publish", ["uniform", "linear"])
@pytest.mark.parametrize("kind", ["number", "integer", "date", "datetime"])
def test_a_draw_stays_in_its_interval_and_kind(publish: Any, kind: str) -> None:
    numbers = np.sort(np.random.default_rng(1).gamma(3, 20, 400).round(2 if kind == "number" else 0))
    column = {
        "number": pa.array(numbers),
        "integer": pa.array(numbers.astype(np.int64)),
        "date": pa.array(numbers.astype("M8[D]")),
        "datetime": pa.array((numbers * 3_600_000_000).astype("M8[us]")),
    }[kind]
    step = PartitionUnivariate(attribute="x", k=20, method="hist_aic", publish=publish)
    drawn = step.apply(pa.table({"x": column}), seed=3)["x"].combine_chunks()
    assert drawn.type == column.type
    unit = 3_600_000_000 if kind == "datetime" else 1
    after = np.asarray(drawn.to_numpy(zero_copy_only=False)).astype(
        column.type.to_pandas_dtype() if kind == "number" else "i8"
    )
    values, counts = np.unique(numbers * unit, return_counts=True)
    intervals = univariate(values, counts, k=20, method="hist_aic")
    mine = intervals.labels[np.searchsorted(values, numbers * unit)]
    assert (after >= intervals.edges[mine] - 0.5).all()
    assert (after <= intervals.edges[mine + 1] + 0.5).all()
    assert values[0] - 1e-3 <= after.min() < after.max() <= values[-1] + 1e-3


def test_whole_numbers_are_drawn_alike() -> None:
    step = PartitionUnivariate(attribute="x", k=1000, publish="uniform")
    drawn = Counter(released(step, [3] * 2000 + [6] * 2000))
    assert set(drawn) == {3, 4, 5, 6}
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-4


def test_the_same_seed_draws_the_same() -> None:
    values = np.random.default_rng(0).normal(size=200).tolist()
    step = Synthesize(attribute="x", k=10)
    assert released(step, values, seed=1) == released(step, values, seed=1) != released(step, values, seed=2)


@pytest.mark.parametrize("shape", ["uniform", "linear"])
def test_draws_follow_the_density(shape: Any) -> None:
    edges, sizes = np.array([0.0, 1.0, 1.5, 4.0, 5.0]), np.array([10, 40, 15, 35])
    density = Density.of(edges, sizes, shape)
    rows = np.repeat(np.arange(4), sizes * 500)
    drawn = density.draw(rows, np.random.default_rng(0))
    fine = np.linspace(0, 1, 2001)[1:] - 0.5 / 2000
    for interval in range(4):
        heights = density.at(np.full(fine.size, interval), fine)
        width = edges[interval + 1] - edges[interval]
        assert heights.min() >= 0
        assert heights.mean() * width == pytest.approx(sizes[interval] / 100, rel=1e-5)
        places = (drawn[rows == interval] - edges[interval]) / width
        cumulated = np.concatenate([[0], np.cumsum(heights) / heights.sum()])
        grid = np.concatenate([[0], fine + 0.5 / 2000])
        assert stats.kstest(places, lambda at, c=cumulated, g=grid: np.interp(at, g, c)).pvalue > 1e-4


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 1000)), min_size=1, max_size=12))
def test_the_line_density_is_never_negative_and_keeps_the_records(parts: list[tuple[float, int]]) -> None:
    edges = np.concatenate([[0], np.cumsum([width for width, _ in parts])])
    sizes = np.array([size for _, size in parts])
    density = Density.of(edges, sizes, "linear")
    tallest = density.middle.max()
    assert min(density.left.min(), density.middle.min(), density.right.min()) >= -1e-12 * tallest
    mass = (density.left + 2 * density.middle + density.right) / 4 * np.diff(edges)
    assert mass == pytest.approx(sizes / sizes.sum())


def test_the_line_density_by_hand() -> None:
    """Two intervals of width 1 with 30 and 10 records: heights ¾ and ¼, in common ½ (twice the lower); ¾ and ½ sure."""
    density = Density.of(np.array([0.0, 1.0, 2.0]), np.array([30, 10]), "linear")
    assert density.left == pytest.approx([0.25 * 0.75, 0.5 * 0.5 + 0.5 * 0.25])
    assert density.right == pytest.approx([0.75 * 0.5 + 0.25 * 0.75, 0.5 * 0.25])
    assert density.middle == pytest.approx([0.75 * 1.25 + 0.25 * 0.75, 0.25])


@pytest.mark.parametrize(("method", "most"), [("hist_bic", 0.7), ("hist_aic", 1.05), ("hansen", 1.05)])
def test_the_line_density_is_nearer_to_the_truth(method: Any, most: float) -> None:
    """KL(truth ‖ density) on the three mixtures of the paper, n = 1,000, k = 5, as a part of the uniform one's: at most
    0.7 by BIC; about the same where intervals are many and small."""
    from benchmarks.histogram import MIXTURES, true_divergence

    rng = np.random.default_rng(11)
    loss: dict[str, list[float]] = {"uniform": [], "linear": []}
    for mixture in list(MIXTURES.values()) * 8:
        values, counts = np.unique(mixture.draw(1000, rng), return_counts=True)
        intervals = univariate(values, counts, k=5, method=method)
        for shape, found in loss.items():
            found.append(true_divergence(mixture, Density.of(intervals.edges, intervals.sizes, shape)))  # type: ignore[arg-type]
    assert np.mean(loss["linear"]) <= most * np.mean(loss["uniform"])


# Parameters ----------------------------------------------------------------------------------------------------------


def test_synthesize_is_the_short_way() -> None:
    values = {"x": np.random.default_rng(0).normal(size=300).tolist()}
    short = run(Synthesize(attribute="x", k=7, density="uniform", method="hansen", precision=0.5), values)
    long = run(PartitionUnivariate(attribute="x", k=7, publish="uniform", method="hansen", precision=0.5), values)
    assert short.data.to_arrow().equals(long.data.to_arrow())
    assert min(short.data["x"].numbers()) < min(values["x"])  # the outermost intervals reach 0.25 further
    assert short.facts == long.facts


def test_precision_without_effect_is_refused() -> None:
    with pytest.raises(ValueError, match="no effect"):
        PartitionUnivariate(attribute="x", k=2, method="hansen", precision=0.1)


def test_words_cannot_be_cut() -> None:
    with pytest.raises(ColumnError, match="needs numbers"):
        released(PartitionUnivariate(attribute="x", k=2), ["a", "b"])
    with pytest.raises(ColumnError, match="infinite"):
        released(PartitionUnivariate(attribute="x", k=2), [1.0, float("inf")])


def test_text_that_writes_one_number_twice_is_one_number() -> None:
    step = PartitionUnivariate(attribute="x", k=2, method="hansen")
    assert released(step, ["1.0", "1.00", "7.5", "8.5"]) == [1.0, 1.0, 8.0, 8.0]


def test_facts_say_the_sizes_and_no_value() -> None:
    facts = run(PartitionUnivariate(attribute="x", k=2, method="hansen"), {"x": [1, 2, 50, 51, 52]}).facts
    assert facts["intervals"]["x"] == {
        "count": 2,
        "smallest": 2,
        "largest": 3,
        "mean": 2.5,
        "missing": 0,
        "withheld": 0,
    }
    assert facts["changed"] == {"x": 3}


def test_explain() -> None:
    schema = Schema({})
    words = PartitionUnivariate(attributes=("a", "b"), k=9, method="hist_aic", publish="interval").explain(schema)
    assert "each on its own" in words
    assert "9 records or more" in words
    assert "Akaike" in words
    assert "may be unique" in Synthesize(attribute="a", k=5).explain(schema)


def test_intervals_of_one_record_less_than_k_do_not_exist() -> None:
    with pytest.raises(InputError, match="lower k"):
        univariate(np.array([1.0]), np.array([2]), k=3)
    assert len(Intervals(np.array([1.0]), np.array([3]), np.array([1]), 1.0)) == 1


@pytest.mark.parametrize("publish", ["mean", "interval"])
@given(picks(range(13), min_size=3, max_size=30))
def test_an_extreme_value_is_released_only_where_k_records_share_it(publish: Any, values: list[int]) -> None:
    step = PartitionUnivariate(attribute="x", method="hansen", k=3, publish=publish)
    released = step.apply({"x": [float(one) for one in values]})["x"]
    for extreme in (min(values), max(values)):
        if values.count(extreme) < 3:
            assert float(extreme) not in released
            assert str(extreme) not in map(str, released)
