"""Attacks: naive twins of the kernels, what they find on a weak release, and that a strong one beats them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import sqrt
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.attacks.attacker_view import AttackerView, Descriptions
from oboro.attacks.base import OWN, Attack, Neighbours, Rate, prepare
from oboro.attacks.kernels import FITS, _cost
from oboro.attacks.row_pairing import correspond
from oboro.attacks.run import attack
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.spec import HierarchySpec

ROWS = 3000


def people(rows: int = ROWS, seed: int = 1) -> Dataset:
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 90, rows)
    return Dataset.of(
        {
            "name": [f"p{i}" for i in range(rows)],
            "age": ages.tolist(),
            "zip": [f"{z:05d}" for z in rng.integers(10000, 10400, rows)],
            "sex": rng.choice(["F", "M"], rows).tolist(),
            "illness": rng.choice(["flu", "cold", "gout", "none"], rows, p=[0.3, 0.3, 0.1, 0.3]).tolist(),
            "income": (rng.integers(20, 90, rows) * 1000 + rng.integers(0, 1000, rows)).tolist(),
        }
    )


def strong(data: Dataset) -> Dataset:
    """Decades, no zip: every class has many people."""
    decades = HierarchySpec(intervals=[20]).build("age", data["age"])
    stars = np.ones(data.rows, bool)
    return data.select(["age", "zip", "sex", "illness"]).with_columns(
        {"age": decades.generalize(data["age"], 1), "zip": data["zip"].where(stars, "*")}
    )


QUASI = ["age", "zip", "sex"]


def by_name(found: list[Attack]) -> dict[str, Attack]:
    return {one.name: one for one in found}


# Rates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "tried", "low", "high"),
    [
        (10, 100, 0.05523, 0.17437),
        (0, 10, 0.0, 0.27753),
        (81, 263, 0.2553, 0.3662),
    ],  # the last: Newcombe 1998, method 3
)
def test_wilson_intervals_are_those_of_the_literature(right: int, tried: int, low: float, high: float) -> None:
    assert Rate(right, tried).interval == pytest.approx((low, high), abs=1e-4)


def test_the_risk_is_what_lies_beyond_the_control() -> None:
    found = Attack("a", "inference", (), Rate(600, 1000), Rate(200, 1000), OWN)
    a, c = found.found.middle, found.control.middle
    assert found.risk is not None
    assert found.risk[0] == pytest.approx((a - c) / (1 - c))
    error = sqrt((found.found.error / (1 - c)) ** 2 + (found.control.error * (1 - a) / (1 - c) ** 2) ** 2)
    assert found.risk[2] - found.risk[0] == pytest.approx(error)
    assert found.better


@pytest.mark.parametrize(
    ("right", "tried", "control", "expected"),
    [
        (600, 1000, 200, (0.599617, 0.030308, 0.498802, 0.457803, 0.539801)),
        (1897, 2000, 102, (0.94764, 0.009715, 0.944776, 0.934514, 0.955038)),
        (20, 2000, 26, (0.010939, 0.004457, 0.0, 0.0, 0.003803)),
        (0, 500, 0, (0.003812, 0.003812, 0.0, 0.0, 0.005412)),
        (100, 100, 50, (0.981503, 0.018497, 0.963007, 0.925335, 1.0)),
    ],
)
def test_rates_and_risks_are_those_of_anonymeter(
    right: int, tried: int, control: int, expected: tuple[float, ...]
) -> None:
    """From `anonymeter.stats.confidence.EvaluationResults` of anonymeter 1.1.0."""
    found = Attack("a", "inference", (), Rate(right, tried), Rate(control, tried), OWN)
    assert found.risk is not None
    assert (found.found.middle, found.found.error, *found.risk) == pytest.approx(expected, abs=1e-6)


def test_few_guesses_say_nothing() -> None:
    assert Attack("a", "inference", (), Rate(2, 2), Rate(0, 2000), OWN).risk is None


# Kernels --------------------------------------------------------------------------------------------------------------

RELEASED = {
    "age": ["30", "31–38", "<35", "≥35", "[20, 40)", "*", None, "strange"],
    "job": ["cook", "{cook, judge}", "*", "unknown", None, "nurse", "judge", "{judge, nurse}"],
}
LIKES = {
    "age": {
        "30": {30}, "31–38": set(range(31, 39)), "<35": set(range(35)), "≥35": set(range(35, 99)),
        "[20, 40)": set(range(20, 40)), "*": {*range(99), None}, None: {None}, "strange": set(),
    },
    "job": {
        "cook": {"cook"}, "{cook, judge}": {"cook", "judge"}, "*": {"cook", "judge", "nurse", None}, "unknown": set(),
        None: {None}, "nurse": {"nurse"}, "judge": {"judge"}, "{judge, nurse}": {"judge", "nurse"},
    },
}  # fmt: skip


@settings(max_examples=25)
@given(
    picks(product([22, 30, 33, 36, 47, None], ["cook", "judge", "nurse", None]), min_size=4, max_size=30),
    picks(product(range(8), range(8)), min_size=1, max_size=8),
)
def test_who_fits_a_description_is_what_its_words_say(
    persons: list[tuple[int | None, str | None]], said: list[tuple[int, int]]
) -> None:
    persons = [
        *persons,
        (22, "cook"),
        (47, "judge"),
        (30, "nurse"),
        (None, None),
        (33, "cook"),
        (36, "cook"),
        (31, "cook"),
        (38, "cook"),
    ]
    original = Dataset.of({"age": [a for a, _ in persons], "job": [j for _, j in persons]})
    labels = [(RELEASED["age"][a], RELEASED["job"][j]) for a, j in said]
    released = Dataset(
        {n: Column.of([*(row[i] for row in labels), *RELEASED[n]]) for i, n in enumerate(("age", "job"))},
        len(labels) + 8,
    )
    view = AttackerView.of(original, released, ["age", "job"])
    low, high, entries = view.records(np.arange(len(labels)))
    described = Descriptions(low, high, entries, np.ones(low.shape, bool))
    found = view.people.fitting(described)
    with patch.multiple("oboro.attacks.attacker_view", FIRST=3, AT_ONCE=2):  # a few people at a time find the same
        np.testing.assert_array_equal(view.people.fitting(described), found)
    for count, (age, job) in zip(found, labels, strict=True):
        fits = [a in LIKES["age"][age] and j in LIKES["job"][job] for a, j in persons]
        assert count == min(3, sum(fits)), (age, job)


@settings(max_examples=30)
@given(picks(product(range(10), "abc"), min_size=2, max_size=25), st.booleans())
def test_the_nearest_class_has_the_least_distance(rows: list[tuple[int, str]], leave_out: bool) -> None:
    original = Dataset.of({"x": [*(x for x, _ in rows), 0, 9], "c": [*(c for _, c in rows), "a", "b"]})
    view = AttackerView.of(original, original, ["x", "c"])
    classes = view.classes()
    labels = classes.groups.labels
    own = labels.astype(np.int64) if leave_out else np.full(original.rows, -1)
    places = view.people.at(np.arange(original.rows), np.arange(2))
    found = view.nearest(places, classes, own, np.random.default_rng(0))
    points = [*rows, (0, "a"), (9, "b")]
    for i, (x, c) in enumerate(points):
        others = [j for j in range(len(points)) if not (leave_out and j == i)]
        distance = {j: abs(x - points[j][0]) / 9 + (c != points[j][1]) for j in others}
        least = min(distance.values())
        assert found[i] in {int(labels[j]) for j in others if distance[j] <= least + 1e-9}


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=20),
)
def test_whole_blocks_of_classes_are_passed_over_without_missing_the_nearest(
    said: list[tuple[int, int, int]], persons: list[tuple[int, int, int]]
) -> None:
    """Against the cost of every word for every person, added up for every class: ranges, sets, missing values and all."""
    ages, jobs, towns = [22, 30, 33, 36, 47, None], ["cook", "judge", "nurse", None], ["A", "B", "C", "D"]
    rows = [*((ages[a], jobs[j], towns[t]) for a, j, t in persons), *zip(ages[:4], jobs, towns, strict=True)]
    labels = [(RELEASED["age"][a], RELEASED["job"][j], towns[t]) for a, j, t in said]
    names = ["age", "job", "town"]
    original = Dataset({n: Column.of([row[i] for row in rows]) for i, n in enumerate(names)}, len(rows))
    released = Dataset({n: Column.of([row[i] for row in labels]) for i, n in enumerate(names)}, len(labels))
    view = AttackerView.of(original, released, names)
    classes = view.classes()
    places = view.people.at(np.arange(len(rows)), np.arange(3))
    found = view.nearest(places, classes, np.full(len(rows), -1), np.random.default_rng(0))
    low, high, entries = view.records(np.arange(len(labels)))
    for person, place in enumerate(places):
        costs = [
            sum(
                (1 - low[r, j] if comparison.fits[int(place[j]), entries[r, j]] else 1.0)
                if comparison.kind == FITS
                else _cost.py_func(comparison.kind, place[j], low[r, j], high[r, j])
                for j, comparison in enumerate(view.comparisons)
            )
            for r in range(len(labels))
        ]
        nearest = np.flatnonzero(np.array(costs) <= min(costs) + 1e-9)
        assert found[person] in classes.groups.labels[nearest]


def test_a_guess_among_equals_is_fair() -> None:
    """One record in a class of three and one in a class of one, equally near: three guesses in four go to the first."""
    original = Dataset.of({"x": [0, 10] * 2000})
    released = Dataset.of({"x": [0, 0, 0, 10]})
    middle = Dataset.of({"x": [5] * 4000})
    view = AttackerView.of(original, released, ["x"])
    classes = view.classes()
    places = view.others(middle).at(np.arange(4000), np.arange(1))
    found = view.nearest(places, classes, np.full(4000, -1), np.random.default_rng(1))
    assert (classes.groups.sizes[found] == 3).mean() == pytest.approx(0.75, abs=0.03)


@settings(max_examples=30)
@given(picks(range(5), min_size=1, max_size=40), st.integers(0, 99))
def test_members_of_classes_are_found_by_number(labels: list[int], seed: int) -> None:
    table = Dataset.of({"x": labels})
    classes = AttackerView.of(table, table, ["x"]).classes()
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(classes), size=12)
    number = (rng.random(12) * classes.groups.sizes[chosen]).astype(np.int64)
    found = classes.members(chosen, number)
    for group, n, row in zip(chosen, number, found, strict=True):
        assert row == np.flatnonzero(classes.groups.labels == group)[n]


def test_a_pick_is_fair_and_never_ones_own() -> None:
    table = Dataset.of({"x": [0, 0, 0, 1]})
    scenario = prepare(table, table, ["x"], [], None, None, True, 10, np.random.default_rng(0))
    known = Neighbours.of(scenario, ["x"])
    for own in range(3):
        picked = known.draw(scenario, np.zeros(3000, np.int64), np.full(3000, own))
        shares = np.bincount(picked, minlength=4) / 3000
        assert shares[own] == shares[3] == 0
        assert shares[[row for row in range(3) if row != own]] == pytest.approx([0.5, 0.5], abs=0.04)


TREE = {"north": {"hill": ["a", "b"], "lake": ["c"]}, "south": {"sea": ["d", "e", "f"], "moor": ["g"]}}
UNDER = {
    **{value: {value} for value in "abcdefg"},
    "hill": {"a", "b"}, "lake": {"c"}, "north": {"a", "b", "c"}, "sea": {"d", "e", "f"}, "moor": {"g"},
    "south": {"d", "e", "f", "g"}, "*": {*"abcdefg", None}, None: {None}, "strange": set(),
}  # fmt: skip


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([*"abcdefg", None]), min_size=1, max_size=20),
    st.lists(st.sampled_from(list(UNDER)), min_size=1, max_size=12),
)
def test_labels_of_a_hierarchy_reach_what_stands_under_them_however_large(
    persons: list[str | None], labels: list[str | None]
) -> None:
    """As ranks, where a table of what fits would be too large, as well as by such a table."""
    persons = [*"abcdefg", None, *persons]
    original, released = Dataset.of({"x": persons}), Dataset.of({"x": labels})
    tree = HierarchySpec.model_validate({"tree": TREE}).build("x", original["x"])
    for largest in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("oboro.attacks.attacker_view.LARGEST_TABLE", largest)
            view = AttackerView.of(original, released, ["x"], {"x": tree})
        described = Descriptions(*view.records(np.arange(len(labels))), np.ones((len(labels), 1), bool))
        found = view.people.fitting(described)
        expected = [min(3, sum(person in UNDER[label] for person in persons)) for label in labels]
        assert found.tolist() == expected


def test_of_columns_that_are_not_used_nothing_counts() -> None:
    data = people(300)
    view = AttackerView.of(data, data, ["age", "zip", "sex"])
    rows = np.random.default_rng(0).integers(300, size=60)
    used = np.random.default_rng(1).random((60, 3)) < 0.5
    used[:, 2] |= ~used.any(axis=1)
    found = view.people.fitting(Descriptions(*view.records(rows), used))
    texts = [data[name].decode().to_pylist() for name in ("age", "zip", "sex")]
    for row, use, count in zip(rows, used, found, strict=True):
        fits = [all(texts[j][i] == texts[j][row] for j in np.flatnonzero(use)) for i in range(300)]
        assert count == min(3, sum(fits))


# What they find -------------------------------------------------------------------------------------------------------


def test_dropping_names_only_is_found_out() -> None:
    data = people()
    found = by_name(
        attack(data, data.select([n for n in data if n != "name"]), quasi=QUASI, sensitive=["illness", "income"])
    )
    for name in (
        "singling_out_multivariate_quasi",
        "linkability",
        "inference_illness",
        "inference_income",
        "record_linkage",
    ):
        assert found[name].better, name
    assert found["record_linkage"].found.share > 0.9
    assert found["singling_out_multivariate_quasi"].found.share > 0.9
    assert found["inference_illness"].found.share > 0.9
    assert found["inference_income"].control_is == OWN
    assert found["inference_illness"].control.share < 0.45  # the most common illnesses have 30 % each


def test_a_strong_release_gives_no_more_than_the_control() -> None:
    data = people()
    found = by_name(attack(data, strong(data), quasi=QUASI, sensitive=["illness"]))
    for name, one in found.items():
        if name != "record_linkage":
            assert not one.better, name
    assert found["singling_out_multivariate_quasi"].found.right == 0
    assert found["record_linkage"].found.share < 0.02  # classes of hundreds


def test_people_who_were_not_released_are_the_control() -> None:
    data = people()
    kept = np.arange(ROWS) % 2 == 0
    found = by_name(attack(data, strong(data).take(kept), quasi=QUASI, sensitive=["illness"]))
    assert "1,500 people of the original table" in str(found["inference_illness"].control_is)
    assert not any(one.better for name, one in found.items() if name != "record_linkage")
    weak = by_name(
        attack(data, data.select(["age", "zip", "sex", "illness"]).take(kept), quasi=QUASI, sensitive=["illness"])
    )
    assert weak["inference_illness"].better
    assert weak["linkability"].better
    assert weak["singling_out_multivariate_quasi"].better


def test_a_control_group_can_be_given() -> None:
    data, others = people(), people(seed=2)
    weak = data.select([name for name in data if name != "name"])
    found = by_name(attack(data, weak, quasi=QUASI, sensitive=["illness"], control=others))
    assert found["inference_illness"].control_is.say().startswith("3,000 people who are not in the table")
    assert found["inference_illness"].better
    with pytest.raises(ColumnError, match="control"):
        attack(data, weak, quasi=QUASI, control=others.select(["age"]))


def test_without_a_known_order_what_needs_it_is_left_out() -> None:
    data = people()
    mixed = data.take(np.random.default_rng(3).permutation(ROWS)).select(["age", "zip", "sex", "illness"])
    forgotten = Dataset(mixed.columns, mixed.rows)
    found = by_name(attack(data, forgotten, quasi=QUASI, sensitive=["illness"], paired=False, seed=2))
    assert "record_linkage" not in found
    assert found["inference_illness"].better  # the records are still there
    assert found["singling_out_multivariate_quasi"].better


def test_the_same_seed_finds_the_same() -> None:
    data = people(400)
    once, again = (attack(data, strong(data), quasi=QUASI, sensitive=["illness"], seed=4) for _ in range(2))
    assert [one.as_dict() for one in once] == [one.as_dict() for one in again]


def test_attempts_are_at_most_what_was_asked_for() -> None:
    data = people(400)
    assert max(one.found.tried for one in attack(data, strong(data), quasi=QUASI, attempts=50)) <= 50
    with pytest.raises(UsageError, match="attempts"):
        attack(data, data, quasi=QUASI, attempts=0)


@pytest.mark.parametrize("part", [1, 100_000])
def test_who_is_singled_out_is_alone_in_the_whole_table(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few records are searched for the nearest one, descriptions are held against everybody."""
    monkeypatch.setattr("oboro.attacks.base.MOST_CLASSES", part)
    data = people(900)
    trees = {
        "age": HierarchySpec(intervals=[5]).build("age", data["age"]),
        "zip": HierarchySpec(mask="right").build("zip", data["zip"]),
    }
    released = data.select(["age", "zip", "sex"]).with_columns(
        {name: tree.generalize(data[name], 1) for name, tree in trees.items()}
    )
    found = by_name(attack(data, released, quasi=QUASI, hierarchies=trees, attempts=5000))
    rows = list(zip(*(released[name].decode().to_pylist() for name in QUASI), strict=True))
    alone = sum(count == 1 for count in Counter(rows).values())
    assert 0 < alone < 900
    one = found["singling_out_multivariate_quasi"].found
    assert (one.right, one.tried) == (alone, 900)


def test_a_release_of_many_classes_is_searched_in_part_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oboro.attacks.base.MOST_CLASSES", 1000)
    data = people()
    found = attack(data, data.select(QUASI), quasi=QUASI)
    for one in found:
        assert ("classes, each person's own among them" in one.note) is (one.question == "linkability"), one.name
    assert not any("own among them" in one.note for one in attack(data, strong(data), quasi=QUASI))


def test_a_part_of_the_classes_gives_no_false_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of four: however few of them are searched, one's own holds three others, so one guess in four is right."""
    monkeypatch.setattr("oboro.attacks.base.MOST_CLASSES", 20)
    data = Dataset.of({"age": [i // 4 for i in range(4000)], "town": [f"T{i // 400}" for i in range(4000)]})
    found = by_name(attack(data, data, quasi=["age", "town"], attempts=1000))["record_linkage"]
    assert "of 1,000 equivalence classes" in found.note
    assert found.found.share == pytest.approx(0.25, abs=0.05)


def test_a_value_that_is_alone_only_in_the_part_is_no_single_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every income occurs ten times; in a part of the table some would occur once."""
    data = Dataset.of({"age": [30, 40] * 1500, "income": [1000 + i // 10 for i in range(3000)]})
    monkeypatch.setattr("oboro.attacks.base.MOST_CLASSES", 1)
    found = by_name(attack(data, data, quasi=["age"]))
    assert found["singling_out_univariate_any"].found.tried <= 4  # the ends of both columns


def test_nothing_known_is_nothing_attacked() -> None:
    assert attack(people(10), people(10).select(["age"]).take(np.zeros(0, np.int64)), quasi=["age"]) == []
    assert attack(Dataset.of({"a": [1]}), Dataset.of({"b": [1]}), quasi=[]) == []


# Order ----------------------------------------------------------------------------------------------------------------


def test_rows_in_the_same_order_are_recognised() -> None:
    data = people()
    assert correspond(data, strong(data), QUASI)
    mixed = strong(data).take(np.random.default_rng(3).permutation(ROWS))
    assert not correspond(data, Dataset(mixed.columns, mixed.rows), QUASI)
