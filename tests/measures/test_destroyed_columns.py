"""A value that became `*` is lost: no figure may look as if it were still there. Naive twins, and one example by hand."""

from __future__ import annotations

from collections import Counter
from math import log, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.hierarchies.recoding import RecodedColumn
from oboro.hierarchies.spec import HierarchySpec
from oboro.measures.divergence import divergences, kullback_leibler, resemblance
from oboro.measures.information_loss import utility
from oboro.measures.statistics import correlation_difference, fidelity, pairs
from oboro.report.distributions import compare

DAYS = [f"{1950 + i % 50}-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(400)]


def test_a_birth_date_that_became_a_star_is_gone_from_every_figure() -> None:
    """Spread over 400 dates it had a total variation near 0: a destroyed column looked intact."""
    original = Dataset.of({"born": DAYS, "age": [100 - i % 50 for i in range(400)]})
    released = original.replace(born=Column.of(["*"] * 400))
    known = {"born": HierarchySpec.model_validate({"dates": ["day", "year"]}).build("born", original["born"])}
    measured = utility(original, released, quasi=["born"], hierarchies=known)
    measured += fidelity(original, released, hierarchies=known)
    found = {(one.name, one.column): one for one in measured}
    for name in ("lost_values", "kolmogorov_smirnov", "wasserstein", "jensen_shannon"):
        assert found[name, "born"].value == pytest.approx(1.0), name
    assert (found["kl_histogram", "born"].value or 0) > 2.5  # about log 17: a bin of 8 records became one of none
    assert found["sse", "born"].value == pytest.approx(400)  # as if everybody had the mean
    assert "lost values (100 %)" in found["jensen_shannon", "born"].note
    days, ages = (original[name].numbers()[original[name].codes] for name in ("born", "age"))
    before = abs(float(np.corrcoef(days, ages)[0, 1]))
    assert before > 0.9
    assert found["correlation_difference", "born × age"].value == pytest.approx(before)


@pytest.mark.parametrize("label", ["*", "any"])
def test_a_label_for_everything_is_as_good_as_a_star(label: str) -> None:
    towns = Column.of(list("aabbbccd"))
    tree = HierarchySpec.model_validate({"tree": {"any": {"ab": ["a", "b"], "cd": ["c", "d"]}}}).build("town", towns)
    released = Column.of([label] * 4 + ["cd"] * 4)
    recoded = RecodedColumn.of(towns, released, tree, None)
    assert recoded.lost_share == 0.5
    # a 2/8, b 3/8, c 2/8, d 1/8 → c 2/8, d 2/8, lost 4/8
    assert resemblance("town", recoded)[0].value == pytest.approx((2 + 3 + 0 + 1 + 4) / 8 / 2)


def test_a_picture_does_not_show_a_label_for_everything_as_if_it_had_been_there() -> None:
    towns = Column.of(["a"] * 10 + ["b"] * 20)
    tree = HierarchySpec.model_validate({"tree": {"any": ["a", "b"]}}).build("town", towns)
    bars = compare(towns, Column.of(["any"] * 30), hierarchy=tree).bars
    assert [(bar.label, bar.before, bar.after) for bar in bars] == [("any", 0, 30), ("(other)", 30, 0)]


def test_a_column_with_one_value_has_nothing_that_a_label_could_lose() -> None:
    same = Column.of(["a"] * 5)
    tree = HierarchySpec.model_validate({"tree": {"any": ["a"]}}).build("town", same)
    assert RecodedColumn.of(same, Column.of(["any"] * 5), tree, None).lost_share == 0
    assert RecodedColumn.of(same, Column.of(["*"] * 5), tree, None).lost_share == 1


values = st.sampled_from([1, 2, 4, 9, None])
columns = st.lists(values, min_size=1, max_size=20)


@settings(max_examples=30)
@given(columns, picks([1, 2, 4, 9, None, "*"], min_size=1, max_size=20))
def test_numbers_some_of_which_are_lost(first: list[Any], second: list[Any]) -> None:
    first, second = [*first, 1, 9], [*second, 2]
    column = Column.of([None if one is None else str(one) for one in second])
    found = {one.name: one.value for one in resemblance("x", RecodedColumn.of(Column.of(first), column, None, None))}
    before = [float(one) for one in first if one is not None]
    after = [one if one == "*" else float(one) for one in second if one is not None]
    kept = [one for one in after if one != "*"]
    lost = 1 - len(kept) / len(after)
    ends = (
        [np.inf if one == "*" else one for one in after],
        [-np.inf if one == "*" else one for one in after],
    )
    gap = max(
        abs(sum(one <= place for one in before) / len(before) - sum(one <= place for one in side) / len(side))
        for side in ends
        for place in (0, 1, 2, 4, 9)
    )
    assert found["kolmogorov_smirnov"] == pytest.approx(gap)
    assert gap >= lost - 1e-9
    many = len(before) * len(kept)  # a quantile of each, side by side
    moved = np.abs(np.repeat(sorted(before), many // len(before)) - np.repeat(sorted(kept), many // len(kept))).mean()
    assert found["wasserstein"] == pytest.approx(lost + (1 - lost) * moved / 8)


@settings(max_examples=30)
@given(
    picks("abcd", max_size=15),
    picks(["a", "b", "ab", "cd", "*"], min_size=1, max_size=15),
)
def test_categories_some_of_which_are_lost(more: list[str], labels: list[str]) -> None:
    towns = [*"abcd", *more]
    tree = HierarchySpec.model_validate({"tree": {"ab": ["a", "b"], "cd": ["c", "d"]}}).build("t", Column.of(towns))
    recoded = RecodedColumn.of(Column.of(towns), Column.of(labels), tree, None)
    held, spread = Counter(towns), Counter[str]()
    for label in labels:
        for town in label:
            spread[town] += 1 / len(label)  # type: ignore[assignment]
    bins = [one for one in "abcd*" if one != "*" or spread[one]]
    p, q = ([side[one] / total for one in bins] for side, total in ((held, len(towns)), (spread, len(labels))))
    assert resemblance("t", recoded)[0].value == pytest.approx(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2)
    found = {one.name: one.value for one in divergences("t", recoded)}
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    bits = [sum(a * log2(a / m) for a, m in zip(side, middle, strict=True) if a) for side in (p, q)]
    assert found["jensen_shannon"] == pytest.approx(sum(bits) / 2, abs=1e-9)
    p, q = (
        [(side[one] + 0.5) / (total + len(bins) / 2) for one in bins]
        for side, total in ((held, len(towns)), (spread, len(labels)))
    )
    assert found["kl_histogram"] == pytest.approx(sum(a * log(a / b) for a, b in zip(p, q, strict=True)))


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 5])] * 4, *[st.booleans()] * 2), min_size=1, max_size=12))
def test_pairs_some_of_which_are_lost(rows: list[tuple[int, int, int, int, bool, bool]]) -> None:
    """What is lost of a pair counts as the whole correlation that was, what is left as the difference."""
    rows = [*rows, (0, 1, 2, 0, False, False), (1, 3, 5, 1, False, False), (4, 2, 1, 1, False, False)]
    original = Dataset.of({"x": [row[0] for row in rows], "y": [row[1] for row in rows]})
    after = {
        "x": Column.of(["*" if row[4] else str(row[2]) for row in rows]),
        "y": Column.of(["*" if row[5] else str(row[3]) for row in rows]),
    }
    kept = np.array([row[2:4] for row in rows if not row[4] and not row[5]], dtype=float)
    lost = 1 - len(kept) / len(rows)
    was = np.corrcoef(np.array([row[:2] for row in rows], dtype=float).T)[0, 1]
    now = np.corrcoef(kept.T)[0, 1]
    found = correlation_difference(original, Dataset(after, len(rows)), ["x", "y"])[1]
    assert found.value == pytest.approx((1 - lost) * abs(was - now) + lost * abs(was))
    whole = pairs(original, Dataset(after, len(rows)), ["x", "y"])
    assert whole is not None
    assert whole.lost[0, 1] == pytest.approx(lost)
    v, w = whole.before[0, 1], whole.after[0, 1]
    assert whole.measures()[1].value == pytest.approx((1 - lost) * abs(v - w) + lost * v)


def test_density_ratios_count_what_is_lost_exactly() -> None:
    """KL(p ‖ (1 − λ) q + λ *) = KL(p ‖ q) − log(1 − λ)."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=400)
    original, whole = Dataset.of({"x": numbers.tolist()}), Dataset.of({"x": numbers[:300].tolist()})
    part = Dataset({"x": Column.of([*map(str, numbers[:300].tolist()), *["*"] * 100])}, 400)
    kept, lost = (kullback_leibler(original, one, ["x"], rng=np.random.default_rng(1)).value for one in (whole, part))
    assert lost == pytest.approx((kept or 0) - log(0.75))
