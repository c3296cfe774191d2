"""Every measure of loss against plain loops over the rows: missing and suppressed values, dropped and moved rows and all."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from tests.report.building import build

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.hierarchies.recoding import RecodedColumn
from oboro.hierarchies.spec import HierarchySpec
from oboro.measures.divergence import divergences
from oboro.measures.information_loss import utility
from oboro.measures.statistics import correlation_difference

TREE = {"north": {"hill": ["a", "b"], "lake": ["c", "d"]}, "south": {"sea": ["e", "f"], "moor": ["g"]}}
UNDER = {"hill": "ab", "lake": "cd", "north": "abcd", "sea": "ef", "moor": "g", "south": "efg", "*": "abcdefg"}
LEVEL = {"hill": 1, "lake": 1, "sea": 1, "moor": 1, "north": 2, "south": 2, "*": 3, **dict.fromkeys("abcdefg", 0)}
AGES = [20, 25, 30, 50, None]
Row = tuple[str, Any]


@st.composite
def releases(draw: Any) -> tuple[list[Row], list[Row], list[int]]:
    """Originals, released rows, and the original row of each: some dropped, in any order; labels that are honest."""
    rows = [(town, 20) for town in "abcdefg"]
    rows += draw(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from(AGES)), min_size=2, max_size=10))
    rows += [("a", 50)]
    owners = draw(st.permutations(range(len(rows))))[: draw(st.integers(1, len(rows)))]
    released = []
    for town, age in (rows[owner] for owner in owners):
        towns = [town, *(label for label, under in UNDER.items() if town in under)]
        young = "young" if age is not None and age < 30 else "old"
        released.append((draw(st.sampled_from(towns)), draw(st.sampled_from([age, young, "*"]))))
    return rows, released, list(owners)


def tables(rows: list[Row], released: list[Row], owners: list[int]) -> tuple[Dataset, Dataset]:
    after = {
        "town": Column.of([town for town, _ in released]),
        "age": Column.of([str(age) if isinstance(age, int) else age for _, age in released]),
    }
    return Dataset.of(
        {"town": [town for town, _ in rows], "age": [age for _, age in rows]}
    ), Dataset(after, len(released), np.array(owners))  # fmt: skip


def measured(release: tuple[list[Row], list[Row], list[int]], k: int = 1) -> dict[tuple[str, str | None], float | None]:
    original, released = tables(*release)
    tree = HierarchySpec.model_validate({"tree": TREE}).build("town", original["town"])
    found = utility(original, released, quasi=["town", "age"], hierarchies={"town": tree}, k=k)
    return {(one.name, one.column): one.value for one in found}


@settings(max_examples=35, deadline=None)
@given(releases(), st.integers(1, 3))
def test_suppression_and_classes(release: tuple[list[Row], list[Row], list[int]], k: int) -> None:
    rows, released, _ = release
    found = measured(release, k)
    n = len(released)
    hidden = sum(row == ("*", "*") for row in released)
    assert found["records_released", None] == n / len(rows)
    assert found["suppressed_records", None] == hidden / n
    assert found["suppressed_cells", None] == sum((town == "*") + (age == "*") for town, age in released) / (2 * n)
    assert found["suppressed_cells", "age"] == sum(age == "*" for _, age in released) / n
    classes = Counter(released)
    alike = [len(rows) if row == ("*", "*") else classes[row] for row in released]
    assert found["discernibility", None] == sum(alike) + (len(rows) - n) * len(rows)
    whole = [row for row in classes if row != ("*", "*")]
    expected = (n - hidden) / (len(whole) * k) if whole else None
    assert found["average_class_size", None] == (None if expected is None else pytest.approx(expected))


@settings(max_examples=35, deadline=None)
@given(releases())
def test_generalization_of_a_column_with_a_hierarchy(release: tuple[list[Row], list[Row], list[int]]) -> None:
    rows, released, owners = release
    found = measured(release)
    labels = [town for town, _ in released]
    assert found["generalization_intensity", "town"] == pytest.approx(
        sum(LEVEL[label] / 3 for label in labels) / len(labels)
    )
    under = [len(UNDER.get(label, label)) for label in labels]
    shares = [count / 7 if count > 1 else 0.0 for count in under]
    assert found["ncp", "town"] == pytest.approx(sum(shares) / len(shares))
    held = Counter(town for town, _ in rows)
    weight = [sum(held[town] for town in UNDER.get(label, label)) for label in labels]
    own = [held[rows[owner][0]] for owner in owners]
    lost = sum(log2(w / o) for w, o in zip(weight, own, strict=True))
    most = sum(log2(len(rows) / o) for o in own)
    assert found["non_uniform_entropy", "town"] == pytest.approx(lost / most)
    spread = Counter[str]()
    for label in labels:
        for town in UNDER.get(label, label) if label != "*" else "*":  # which is lost, and no town
            spread[town] += 1 / len(UNDER.get(label, label) if label != "*" else "*")  # type: ignore[assignment]
    apart = sum(abs(held[town] / len(rows) - spread[town] / len(labels)) for town in "abcdefg*") / 2
    assert found["total_variation", "town"] == pytest.approx(apart)


@settings(max_examples=35, deadline=None)
@given(releases())
def test_generalization_of_a_column_without_one(release: tuple[list[Row], list[Row], list[int]]) -> None:
    """A label stands for the original values behind it; `*` for all; a missing value is a value of its own."""
    rows, released, owners = release
    found = measured(release)
    behind: dict[Any, set[Any]] = {}
    for owner, (_, label) in zip(owners, released, strict=True):
        behind.setdefault(label, set()).add(rows[owner][1])
    held = Counter(age for _, age in rows)
    known = [age for age in held if age is not None]
    width = max(known) - min(known)

    def share(label: Any) -> float:
        ages = [age for age in behind[label] if age is not None]
        return 1.0 if label == "*" else (max(ages) - min(ages)) / width if ages else 0.0

    labels = [label for _, label in released]
    assert found["ncp", "age"] == pytest.approx(sum(map(share, labels)) / len(labels))
    weight = {label: len(rows) if label == "*" else sum(held[age] for age in behind[label]) for label in behind}
    own = [held[rows[owner][1]] for owner in owners]
    lost = sum(log2(weight[label] / o) for label, o in zip(labels, own, strict=True))
    most = sum(log2(len(rows) / o) for o in own)
    assert found["non_uniform_entropy", "age"] == pytest.approx(lost / most if most else 0.0, abs=1e-9)


BASE = {
    "age": [30, 31, 30, None] * 10,
    "sex": ["F", "M", None, "F"] * 10,
    "ill": ["a", "b", "a", None] * 10,
    "pay": [1.5, 2.5, None, 9.0] * 10,
}
ORIGINAL = Dataset.of(BASE)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    "released",
    [
        pytest.param(ORIGINAL.take(np.zeros(0, np.int64)), id="nothing"),
        pytest.param(ORIGINAL.take(np.array([3])), id="one row"),
        pytest.param(ORIGINAL.take(np.arange(80) % 40), id="every row twice"),
        pytest.param(ORIGINAL.take(np.random.default_rng(0).permutation(40)), id="moved rows"),
        pytest.param(Dataset.of({name: ["*"] * 40 for name in BASE}), id="all suppressed"),
        pytest.param(Dataset.of({name: [None] * 40 for name in BASE}), id="all missing"),
        pytest.param(Dataset.of({**BASE, "age": ["30–31"] * 40, "sex": ["x"] * 40}), id="one class"),
        pytest.param(Dataset.of({**BASE, "age": [float(i) for i in range(40)]}), id="other numbers"),
        pytest.param(Dataset.of({**BASE, "age": ["?"] * 40}), id="strange labels"),
        pytest.param(Dataset.of({"z": list(range(40))}), id="no column in common"),
    ],
)
def test_every_figure_of_every_release_lies_in_its_range(released: Dataset, paired: bool) -> None:
    report = build(
        ORIGINAL,
        released,
        quasi=["age", "sex"],
        sensitive=["ill", "pay"],
        paired=paired,
        fraction=0.5,
        statistics=False,
    )
    facts = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    for one in [*facts["utility"], *facts["risk_measures"]]:
        assert one["value"] is None or one["low"] - 1e-9 <= one["value"] <= (one["high"] or np.inf) + 1e-9, one
    for one in facts["attacks"]:
        for rate in (one["attack"], one["control"]):
            assert 0 <= rate["right"] <= rate["tried"]
            assert (
                0
                <= rate["low"]
                <= (rate["right"] / rate["tried"] if rate["tried"] else 0.5) + 1e-9
                <= rate["high"] + 2e-9
            )
        assert one["risk"] is None or 0 <= one["risk"]["low"] <= one["risk"]["value"] <= one["risk"]["high"] <= 1


numbers = picks([1, 2, 3, 7, 7.5, None, "*"], min_size=1, max_size=25)


@given(numbers, numbers)
def test_divergences_of_numbers_leave_missing_ones_out_and_count_lost_ones(first: list[Any], second: list[Any]) -> None:
    """Few values: every value is a bin, and `*` one more. Half a record in each for Kullback–Leibler, none for Jensen–Shannon."""
    first = [None if value == "*" else value for value in first] + [1, 2]
    second = [*second, 3, 2]
    column = Column.of([None if value is None else str(value) for value in second])
    found = {one.name: one.value for one in divergences("x", RecodedColumn.of(Column.of(first), column, None, None))}
    sides = [[-1.0 if v == "*" else float(v) for v in side if v is not None] for side in (first, second)]
    bins = sorted({*sides[0], *sides[1]})
    p, q = ([side.count(value) / len(side) for value in bins] for side in sides)
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    bits = [sum(a * log2(a / m) for a, m in zip(side, middle, strict=True) if a) for side in (p, q)]
    assert found["jensen_shannon"] == pytest.approx(sum(bits) / 2, abs=1e-9)
    p, q = ([(side.count(value) + 0.5) / (len(side) + 0.5 * len(bins)) for value in bins] for side in sides)
    expected = sum(a * log2(a / b) for a, b in zip(p, q, strict=True)) / log2(np.e)
    assert found["kl_histogram"] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(picks(product([0, 1, 2, 5, None], repeat=2), min_size=3, max_size=20))
def test_the_error_of_a_correlation_is_that_of_leaving_one_record_out(rows: list[tuple[Any, Any]]) -> None:
    """Records with a gap count neither for the correlation nor for its error."""
    rows = [*rows, (0, 1), (1, 3), (4, 2)] * 20
    table = Dataset.of({"x": [x for x, _ in rows], "y": [y for _, y in rows]})
    found = correlation_difference(table, table, ["x", "y"])[0]
    kept = np.array([row for row in rows if None not in row], dtype=float)
    without = [np.corrcoef(np.delete(kept, i, axis=0).T)[0, 1] for i in range(len(kept))]
    jackknife = np.sqrt((len(kept) - 1) * np.var(without))
    assert found.value == 0.0
    assert found.error == pytest.approx(1.96 * np.sqrt(2) * jackknife, rel=0.1)
