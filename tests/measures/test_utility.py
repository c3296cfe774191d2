"""Utility against examples worked by hand, plain loops and SciPy."""

from __future__ import annotations

import json
from collections import Counter
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance
from tests.drawing import picks

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.recoding import positions
from oboro.hierarchies.spec import HierarchySpec
from oboro.measures.base import Measure
from oboro.measures.information_loss import utility


def measured(original: Dataset, released: Dataset, **options: Any) -> dict[tuple[str, str | None], Measure]:
    found = utility(original, released, **{"quasi": [], **options})
    keyed = {(measure.name, measure.column): measure for measure in found}
    assert len(keyed) == len(found)
    return keyed


def value(found: dict[tuple[str, str | None], Measure], name: str, column: str | None = None) -> float | None:
    return found[name, column].value


def hierarchy(column: Column, **spec: Any) -> Hierarchy:
    return HierarchySpec.model_validate(spec).build("column", column, None)


# An example by hand: two groups of towns; one record is suppressed ----------------------------------------------------

TOWNS = ["Oslo", "Oslo", "Bergen", "Rome", "Rome", "Milan", "Milan", "Bari"]
TREE = {"North": ["Oslo", "Bergen"], "South": ["Rome", "Milan", "Bari"]}
ORIGINAL = Dataset.of({"town": TOWNS, "sex": list("FFMFMFMF")})
BOUND = hierarchy(ORIGINAL["town"], tree=TREE)
RELEASED = Dataset.of(
    {"town": ["North", "North", "North", "South", "South", "South", "South", "*"], "sex": [*"FFMFMFM", "*"]}
)


def by_hand() -> dict[tuple[str, str | None], Measure]:
    return measured(ORIGINAL, RELEASED, quasi=["town", "sex"], hierarchies={"town": BOUND}, k=2)


def test_suppression() -> None:
    found = by_hand()
    assert value(found, "records_released") == 1
    assert value(found, "suppressed_records") == 1 / 8
    assert value(found, "suppressed_cells") == 2 / 16
    assert value(found, "suppressed_cells", "sex") == 1 / 8


def test_generalization_intensity() -> None:
    found = by_hand()
    assert value(found, "generalization_intensity", "town") == (7 * 1 / 2 + 1) / 8
    assert value(found, "generalization_intensity", "sex") == 1 / 8
    assert value(found, "generalization_intensity") == (4.5 / 8 + 1 / 8) / 2


def test_certainty_penalty_takes_the_shares_of_the_labels() -> None:
    found = by_hand()
    assert value(found, "ncp", "town") == pytest.approx((3 * 2 / 5 + 4 * 3 / 5 + 1) / 8)  # of 5 towns
    assert value(found, "ncp", "sex") == 1 / 8


def test_discernibility_and_average_class_size() -> None:
    found = by_hand()
    # North F 2, North M 1, South F 2, South M 2: 4 + 1 + 4 + 4, and the suppressed record looks like all 8.
    assert value(found, "discernibility") == 13 + 8
    assert (found["discernibility", None].low, found["discernibility", None].high) == (8, 64)
    assert value(found, "average_class_size") == 7 / (4 * 2)


def test_dropped_records_count_as_suppressed_for_discernibility() -> None:
    found = measured(ORIGINAL, RELEASED.take(np.arange(7)), quasi=["town", "sex"])
    assert value(found, "discernibility") == 13 + 8
    assert value(found, "records_released") == 7 / 8


def test_non_uniform_entropy() -> None:
    found = by_hand()
    # North holds 3 records (Oslo 2, Bergen 1), South 5 (Rome 2, Milan 2, Bari 1), * all 8.
    lost = 2 * log2(3 / 2) + log2(3) + 4 * log2(5 / 2) + log2(8)
    most = 6 * log2(8 / 2) + 2 * log2(8)
    assert value(found, "non_uniform_entropy", "town") == pytest.approx(lost / most)
    sexes = 5 * log2(8 / 5) + 3 * log2(8 / 3)
    assert value(found, "non_uniform_entropy", "sex") == pytest.approx(log2(8 / 5) / sexes)
    assert value(found, "non_uniform_entropy") == pytest.approx((lost + log2(8 / 5)) / (most + sexes))


def test_labels_are_spread_over_their_leaves() -> None:
    found = by_hand()
    spread = {"Oslo": 1.5, "Bergen": 1.5, "Rome": 4 / 3, "Milan": 4 / 3, "Bari": 4 / 3, "*": 1}  # which is lost
    expected = sum(abs(spread[town] - TOWNS.count(town)) for town in spread) / 8 / 2
    assert value(found, "total_variation", "town") == pytest.approx(expected)
    assert "spread evenly" in found["total_variation", "town"].note
    assert value(found, "total_variation", "sex") == 1 / 8  # no hierarchy: * is a category of its own
    assert "lost values (12.5 %)" in found["total_variation", "sex"].note


def test_assumed_order_is_stated_and_known_order_is_used() -> None:
    assert "order of the original" in by_hand()["ncp", None].note
    turned = RELEASED.take(np.arange(8)[::-1])
    found = measured(ORIGINAL, turned, quasi=["town", "sex"], hierarchies={"town": BOUND}, k=2)
    assert found["ncp", None].note == ""
    assert {key: one.value for key, one in found.items()} == {key: one.value for key, one in by_hand().items()}


def test_rows_that_do_not_correspond() -> None:
    found = measured(ORIGINAL, RELEASED, quasi=["town", "sex"], hierarchies={"town": BOUND}, paired=False)
    assert value(found, "non_uniform_entropy") is None
    assert "not known which" in found["non_uniform_entropy", None].note
    assert value(found, "ncp") == value(by_hand(), "ncp")  # labels speak for themselves
    unexplained = measured(ORIGINAL, RELEASED, quasi=["town", "sex"], paired=False)
    assert value(unexplained, "ncp", "town") is None
    assert "without 'town'" in unexplained["ncp", None].note
    assert value(unexplained, "ncp") == 1 / 8
    shorter = Dataset.of({"town": ["North"], "sex": ["F"]})
    assert value(measured(ORIGINAL, shorter, quasi=["sex"]), "non_uniform_entropy") is None


def test_an_origin_that_points_elsewhere_is_no_pairing() -> None:
    elsewhere = Dataset(RELEASED.columns, 8, np.arange(8) + 1)
    assert value(measured(ORIGINAL, elsewhere, quasi=["sex"]), "non_uniform_entropy") is None


# Without hierarchies: what a value stands for is seen from the rows ---------------------------------------------------


def test_a_label_without_hierarchy_stands_for_the_values_behind_it() -> None:
    original = Dataset.of({"age": [20, 25, 40, 60, None], "town": list("abcde")})
    released = Dataset.of({"age": ["20-29", "20-29", "40", "*", None], "town": ["ab", "ab", "c", "de", "de"]})
    found = measured(original, released, quasi=["age", "town"])
    assert value(found, "ncp", "age") == pytest.approx((5 / 40 + 5 / 40 + 0 + 1 + 0) / 5)
    assert value(found, "ncp", "town") == pytest.approx(4 * 2 / 5 / 5)  # as with a hierarchy: 2 of 5 towns
    assert value(found, "non_uniform_entropy", "town") == pytest.approx(4 * 1 / (5 * log2(5)))
    assert value(found, "generalization_intensity", "age") is None  # no level without a hierarchy


def test_top_coding_is_seen_though_the_value_is_an_old_one() -> None:
    original = Dataset.of({"age": [20, 80, 90, 100]})
    released = Dataset.of({"age": [20, 80, 80, 80]})
    assert value(measured(original, released, quasi=["age"]), "ncp", "age") == pytest.approx(3 * (20 / 80) / 4)


def test_an_unchanged_table_lost_nothing() -> None:
    data = Dataset.of({"age": [30, 40, None, 30], "town": ["a", "b", "a", None], "n": [1.5, 2.5, 3.5, None]})
    found = measured(data, data, quasi=["age", "town"], hierarchies={"age": hierarchy(data["age"], intervals=[10])})
    good = {"records_released": 1, "discernibility": 4, "average_class_size": 1}
    for (name, _), measure in found.items():
        assert measure.value == good.get(name, 0), measure


def test_a_swapped_value_loses_no_negative_bits() -> None:
    original, released = Dataset.of({"x": list("aaab")}), Dataset.of({"x": ["North", "South", "North", "North"]})
    bound = hierarchy(original["x"], tree={"North": ["a"], "South": ["b"]})
    found = measured(original, released, quasi=["x"], hierarchies={"x": bound})
    assert 0 < value(found, "non_uniform_entropy", "x") <= 1


# Squared error --------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(-5, 5) | st.none(), st.integers(-5, 5) | st.none()), min_size=2, max_size=20).filter(
        lambda pairs: len({old for old, _ in pairs} - {None}) > 1 and any(new is not None for _, new in pairs)
    )
)
def test_squared_error(pairs: list[tuple[int | None, int | None]]) -> None:
    known = np.array([old for old, _ in pairs if old is not None], dtype=float)
    mean, deviation = known.mean(), known.std()
    terms = [((mean if new is None else new) - old) ** 2 / deviation**2 for old, new in pairs if old is not None]
    released = ["*" if new is None else str(new) for _, new in pairs]
    found = measured(Dataset.of({"n": [old for old, _ in pairs]}), Dataset.of({"n": released}))
    assert value(found, "sse", "n") == pytest.approx(sum(terms))
    assert value(found, "sse") == value(found, "sse", "n")
    assert value(found, "mean_squared_error") == pytest.approx(sum(terms) / len(terms))


def test_microaggregation_by_hand() -> None:
    """Groups {1, 2, 3} and {7, 8, 9} become their means: SSE 4, SST 58, whatever the scale."""
    for scale in (1, 1000):
        original = Dataset.of({"n": [scale * n for n in (1, 2, 3, 7, 8, 9)], "s": list("abcdef")})
        released = Dataset.of({"n": [2.0 * scale] * 3 + [8.0 * scale] * 3, "s": list("abcdef")})
        assert value(measured(original, released), "mean_squared_error") == pytest.approx(4 / 58)


def test_only_numbers_on_the_same_line_are_subtracted() -> None:
    original = Dataset.of({"born": ["1990-01-01", "1991-01-01"], "s": ["a", "b"]})
    found = measured(original, Dataset.of({"born": ["1990", "1991"], "s": ["a", "b"]}))
    assert ("sse", None) not in found
    assert (
        value(found, "kolmogorov_smirnov", "born") == 0
    )  # a year is all of its days, so each day is one of its own year
    assert value(measured(original, original, paired=False), "sse", "born") is None


# Distributions --------------------------------------------------------------------------------------------------------

numbers = st.lists(st.integers(-4, 6), min_size=3, max_size=15)


@given(numbers, numbers)
def test_numbers_agree_with_scipy(first: list[int], second: list[int]) -> None:
    found = measured(Dataset.of({"n": first}), Dataset.of({"n": [float(n) for n in second]}))
    width = max(first + second) - min(first + second)
    assert value(found, "kolmogorov_smirnov", "n") == pytest.approx(ks_2samp(first, second, method="asymp").statistic)
    assert value(found, "wasserstein", "n") == pytest.approx(wasserstein_distance(first, second) / (width or 1))


words = picks(["a", "b", "*", None], min_size=1, max_size=12)


@given(words, words)
def test_categories(first: list[str | None], second: list[str | None]) -> None:
    before, after = Counter(first), Counter(second)
    expected = sum(abs(before[w] / len(first) - after[w] / len(second)) for w in {*first, *second}) / 2
    found = measured(Dataset.of({"w": first}), Dataset.of({"w": second}))
    assert value(found, "total_variation", "w") == pytest.approx(expected)


def test_generalized_numbers_are_spread_on_the_line() -> None:
    ages = Dataset.of({"age": [30, 31, 39, 50, None]})
    bound = hierarchy(ages["age"], intervals=[10])
    released = Dataset.of({"age": ["30–39", "30–39", "30–39", "*", None]})
    found = measured(ages, released, hierarchies={"age": bound})
    # 30, 31, 39 keep a quarter each; the quarter of 50 is lost: beyond the line, and a whole range away.
    assert value(found, "kolmogorov_smirnov", "age") == pytest.approx(1 / 4)
    kept = 1 / 12 * 1 + 2 / 12 * 8 + 3 / 12 * 11  # a third each against a quarter each
    assert value(found, "wasserstein", "age") == pytest.approx(1 / 4 + 3 / 4 * kept / 20)


def test_numbers_and_stars_without_hierarchy() -> None:
    found = measured(Dataset.of({"n": [1, 2, 3]}), Dataset.of({"n": ["1", "2", "*"]}))
    assert value(found, "kolmogorov_smirnov", "n") == pytest.approx(1 / 3)
    assert "left out" in found["kolmogorov_smirnov", "n"].note


def test_a_year_is_no_date_but_a_label_of_one() -> None:
    dates = Dataset.of({"born": ["1990-01-01", "1990-07-01", "1991-01-01"]})
    bound = hierarchy(dates["born"], dates=["year"])
    found = measured(dates, Dataset.of({"born": ["1990", "1990", "1991"]}), hierarchies={"born": bound})
    assert value(found, "wasserstein", "born") == 0


# The rest -------------------------------------------------------------------------------------------------------------


def test_empty_tables_are_not_measured() -> None:
    empty = ORIGINAL.take(np.array([], dtype=np.int64))
    for original, released in ((ORIGINAL, empty), (empty, empty)):
        found = measured(original, released, quasi=["town", "sex"])
        assert value(found, "ncp") is None
        assert value(found, "total_variation", "town") is None
        assert value(found, "average_class_size") is None


def test_everything_suppressed_is_the_worst() -> None:
    gone = Dataset.of({"town": ["*"] * 8, "sex": ["*"] * 8})
    found = measured(ORIGINAL, gone, quasi=["town", "sex"], hierarchies={"town": BOUND})
    for name in ("suppressed_records", "suppressed_cells", "generalization_intensity", "ncp", "non_uniform_entropy"):
        assert value(found, name) == 1, name
    assert value(found, "discernibility") == 64
    assert value(found, "average_class_size") is None


def test_measures_describe_themselves_and_show_no_values() -> None:
    found = utility(ORIGINAL, RELEASED, quasi=["town", "sex"], hierarchies={"town": BOUND})
    text = json.dumps([measure.as_dict() for measure in found])
    assert not any(town in text for town in TOWNS)
    for measure in found:
        assert measure.meaning
        assert measure.better in ("lower", "higher")
        if measure.value is not None:
            assert measure.low <= measure.value <= (measure.value if measure.high is None else measure.high)
    assert str(found[1]).startswith("suppressed records: 0.125 [0 … 1, lower is better]: ")


def test_nonsense_is_refused() -> None:
    with pytest.raises(ColumnError, match="released table has no column 'sex'"):
        utility(ORIGINAL, RELEASED.select(["town"]), quasi=["sex"])
    with pytest.raises(ColumnError, match="original table has no column"):
        utility(ORIGINAL.select(["town"]), RELEASED, quasi=["sex"])
    with pytest.raises(UsageError, match="k: "):
        utility(ORIGINAL, RELEASED, quasi=["sex"], k=0)


WORDS = st.one_of(st.none(), st.sampled_from("abcdefgh"))


@given(st.lists(WORDS, max_size=5, unique=True), st.lists(WORDS, max_size=40))
def test_positions_are_those_of_a_search_from_the_front(asked: list[str | None], among: list[str | None]) -> None:
    found = positions(pa.array(asked, pa.string()), pa.array(among, pa.string()))
    assert found.tolist() == [among.index(word) if word in among else -1 for word in asked]
