"""The benchmark of local recoding: its measures by hand, and that it runs without data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import local
from oboro.algorithms.partitioning.records import OrderedAttribute, TreeAttribute
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.verifier.table import verify


def groups_of(labels):
    labels = np.array(labels, dtype=np.uint32)
    return Groups(labels, np.bincount(labels))


def test_measures_by_hand():
    numbers = OrderedAttribute.of(Column.of([0, 1, 2, 10]))
    letters = TreeAttribute.plain(np.array([0, 0, 1, 1]), 2)
    found = local._measures([numbers, letters], groups_of([0, 0, 0, 1]))
    # Three records lie in 0 … 2 of 0 … 10 and share no letter; the fourth is alone.
    assert found["ncp"] == pytest.approx((0.2 * 3 / 4 + 1 * 3 / 4) / 2)
    assert found["ncp_sets"] == found["ncp"]  # of two letters a group holds one or both
    assert found["discernibility"] == (9 + 1) / 4
    assert found["smallest_group"] == 1
    # Each of the three could be any of 3 numbers × 2 letters: 3/4 · 1/6 instead of 1/4.
    assert found["kl"] == pytest.approx(3 / 4 * math.log((1 / 4) / (3 / 4 / 6)))


def test_sets_count_the_other_categories():
    letters = TreeAttribute.plain(np.array([0, 1, 1, 4, 4]), 5)
    assert local._set_loss(letters, groups_of([0, 0, 0, 1, 1])).tolist() == [0.25, 0.0]


def test_packages_that_are_not_installed_are_named(monkeypatch, capsys):
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    assert local.peers(Dataset.of({"age": [1, 2]}), 2, frozenset(["age"])) == {}
    told = capsys.readouterr().err
    assert "anonypy, anonypyx" in told
    assert "oboro[bench]" in told


@pytest.mark.parametrize("name", ["anonypy mondrian", "anonypyx mondrian", "anonypyx mdav"])
def test_packages_release_every_record_in_a_group_of_k(name):
    pytest.importorskip(name.split()[0])
    rng = np.random.default_rng(3)
    data = Dataset.of({"age": rng.integers(0, 90, 40).tolist(), "sex": rng.choice(["F", "M"], 40).tolist()})
    released = local.peers(data, 4, frozenset(["age"]))[name]()
    assert released.rows == 40
    assert verify(released, quasi=["age", "sex"], k=4).holds
    # A range that is published covers the record's own age: the rows came back in their order.
    ages = [text.strip("[]'").split("-") for text in released["age"].decode().to_pylist()]
    assert all(
        float(a[0]) <= age <= float(a[-1]) for a, age in zip(ages, data["age"].decode().to_pylist(), strict=True)
    )


def test_overlapping_groups_add_up():
    numbers = OrderedAttribute.of(Column.of([0, 2, 1, 1]))
    # The first group covers 0, 1, 2 with 2 records, the second only 1 with 2: 1/6 + 1/2 at 1, 1/6 at 0 and at 2.
    expected = 1 / 4 * math.log(1.5) * 2 + 1 / 2 * math.log(0.5 / (1 / 6 + 1 / 2))
    assert local.kullback_leibler([numbers], groups_of([0, 0, 1, 1])) == pytest.approx(expected)


def test_missing_and_present_together_say_nothing():
    numbers = OrderedAttribute.of(Column.of([0, 5, None]))
    assert local._loss(numbers, groups_of([0, 1, 1])).tolist() == [0.0, 1.0]
    assert local._covered(numbers, groups_of([0, 1, 1])).tolist() == [[True, False, False], [True, True, True]]


def test_without_data_nothing_is_measured_quickly(monkeypatch, capsys):
    monkeypatch.delenv("OBORO_DATA", raising=False)
    assert local.rows(quick=True) == []
    assert "OBORO_DATA" in capsys.readouterr().err


def test_a_smaller_million():
    stages = []
    found = list(local._million(stages.append, n=2000))
    assert [row.method for row in found] == ["mondrian", "top_down", "bic", "mdav", "vmdav"]
    assert all(5 <= row.ours < 2000 for row in found)
    assert len(stages) == 5
