"""How many classes, how large, who is alone: every way of counting equals obvious loops."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.naive import exposure as naive

from oboro.data import grouping
from oboro.data.dataset import Dataset
from oboro.data.grouping import ClassCounts, Groups, PeopleCounts, class_counts, key_counts, pair_counts
from oboro.kernels import jit
from oboro.system import process

VALUES = {
    "a": st.sampled_from(["x", "y", "z", None]),
    "b": st.integers(0, 30),
    "c": st.sampled_from(["p", "*"]),
    "who": st.sampled_from(["Ann", "Bob", "Cid", "Dan", None]),
}
NAMES = ["a", "b", "c"]
PAIRS = list(combinations(NAMES, 2))
ROWS = st.lists(st.fixed_dictionaries(VALUES), max_size=60)
WAYS = {
    "directly": {},
    "in order": {"DIRECT": 0},
    "in order, on several cores": {"DIRECT": 0, "SMALL": 0},
    "by fingerprints": {"DIRECT": 0, "LARGEST_KEY": 0},
    "where there is little work": {},
}
ALWAYS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def expected(rows: list[dict[str, Any]], columns: Any, person: str | None) -> ClassCounts:
    classes = naive.classes(rows, columns)
    least = min((len(naive.people(held, person)) for held in classes), default=0)
    return ClassCounts(len(classes), sum(len(one) ** 2 for one in classes), naive.unique(rows, columns, person), least)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(process if name == "SMALL" else grouping, name, value)
    monkeypatch.setattr(jit, "_compile_all", request.param != "where there is little work")
    monkeypatch.setattr(grouping, "FEW", 2)
    monkeypatch.setattr(grouping, "IN_PART", 4)


@pytest.mark.usefixtures("way")
@ALWAYS
@given(rows=ROWS, person=st.sampled_from([None, "who"]))
def test_every_way_equals_plain_loops(rows: list[dict[str, Any]], person: str | None) -> None:
    data = Dataset.of({name: [row[name] for row in rows] for name in VALUES})
    if person is None:
        pairs = pair_counts(data.columns, PAIRS, data.rows)
        every = [class_counts([data[name] for name in NAMES[:size]], data.rows) for size in range(4)]
    else:
        people = PeopleCounts(data[person])
        pairs = people.pair_counts(data.columns, PAIRS)
        every = [people.class_counts([data[name] for name in NAMES[:size]]) for size in range(4)]
    assert pairs == {pair: expected(rows, pair, person) for pair in PAIRS}
    assert every == [expected(rows, NAMES[:size], person) for size in range(4)]


@pytest.mark.parametrize("way", ["directly", "in order"], indirect=True)
@pytest.mark.usefixtures("way")
def test_values_of_one_of_few_and_of_many_rows() -> None:
    draw = np.random.default_rng(5)
    first = np.repeat(np.arange(60), draw.choice([1, 2, 15, 16, 17, 40], 60))  # below, at and above what is compared
    draw.shuffle(first)
    rows = [{"a": int(a), "b": int(draw.integers(0, 50)), "who": int(draw.integers(0, 200))} for a in first]
    data = Dataset.of({name: [row[name] for row in rows] for name in ("a", "b", "who")})
    assert pair_counts(data.columns, [("a", "b")], data.rows)["a", "b"] == expected(rows, ["a", "b"], None)
    counted = PeopleCounts(data["who"]).pair_counts(data.columns, [("a", "b")])
    assert counted["a", "b"] == expected(rows, ["a", "b"], "who")


@pytest.mark.parametrize("values", [1, 300, 70_000])
def test_codes_of_one_two_and_four_bytes(values: int) -> None:
    draw = np.random.default_rng(values)
    columns = {"a": draw.integers(0, values, 80_000), "b": draw.integers(0, 400, 80_000)}
    data = Dataset.of({name: one.tolist() for name, one in columns.items()})
    _, sizes = np.unique(columns["a"] * 400 + columns["b"], return_counts=True)
    found = ClassCounts(sizes.size, int((sizes**2).sum()), int((sizes == 1).sum()), int(sizes.min()))
    assert pair_counts(data.columns, [("a", "b")], data.rows) == {("a", "b"): found}
    assert class_counts(list(data.columns.values()), data.rows) == found


KEYS = st.lists(st.sampled_from([0, 1, 2, 5, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]) | st.integers(0, 50))


@ALWAYS
@given(keys=KEYS, few=st.sampled_from([2, 1 << 14]), part=st.sampled_from([1, 4, 1 << 13]))
def test_equal_keys_get_equal_numbers(keys: list[int], few: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "FEW", few)
    monkeypatch.setattr(grouping, "IN_PART", part)
    seen: dict[int, int] = {}
    labels = [seen.setdefault(key, len(seen)) for key in keys]
    groups = Groups.of_keys(np.array(keys, np.uint64))
    assert groups.labels.tolist() == labels  # by first appearance
    assert groups.sizes.tolist() == [keys.count(key) for key in seen]
    numbered = grouping.number_keys(np.array(keys, np.uint64))
    assert sorted(set(numbered.numbers.tolist())) == list(range(len(seen)))
    sizes = [keys.count(key) for key in seen]
    expected = ClassCounts(len(seen), sum(n * n for n in sizes), sizes.count(1), min(sizes, default=0))
    for many in (1, 1 << 18):
        monkeypatch.setattr(grouping, "MANY", many)
        assert key_counts(np.array(keys, np.uint64)) == expected


def test_groups_of_many_combinations_are_numbered_by_appearance() -> None:
    draw = np.random.default_rng(2)
    columns = {name: draw.integers(0, 3000, 20_000).tolist() for name in "abc"}
    data = Dataset.of(columns)
    seen: dict[tuple[int, ...], int] = {}
    labels = [seen.setdefault(row, len(seen)) for row in zip(*columns.values(), strict=True)]
    assert Groups.of(list(data.columns.values()), data.rows).labels.tolist() == labels
