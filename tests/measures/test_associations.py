"""Cramér's V of pairs, changed cells, and the search for identifiers, against obvious computations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.contingency import association
from tests.drawing import picks

from oboro.data.dataset import Dataset
from oboro.disclosure.identifiers import scan
from oboro.disclosure.weak_noise import changed_cells
from oboro.measures.statistics import associations, pairs


@given(picks(product(["a", "b", None], ["x", "y", "z", "*"]), min_size=4, max_size=60))
def test_cramer_is_that_of_scipy(rows: list[tuple[str | None, str]]) -> None:
    found = associations(Dataset.of({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), ["a", "b"]).values[0, 1]
    kept = [(a, b) for a, b in rows if b != "*"]
    first, second = sorted({a or "" for a, _ in kept}), sorted({b for _, b in kept})
    table = np.array([[sum((a or "") == i and b == j for a, b in kept) for j in second] for i in first])
    expected = association(table, method="cramer") if min(table.shape, default=0) > 1 else 0.0
    assert found == pytest.approx(expected, abs=1e-9)


def test_numbers_go_together_by_tenths() -> None:
    numbers = list(range(1000))
    data = Dataset.of({"x": numbers, "y": [2 * x for x in numbers], "z": [x % 2 for x in numbers]})
    found = associations(data, ["x", "y", "z"]).values
    assert found[0, 1] == pytest.approx(1.0)
    assert found[0, 2] == pytest.approx(0.0)


def test_what_changed_is_measured_pair_by_pair() -> None:
    original = Dataset.of({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50, "c": ["p"] * 100})
    released = original.replace(b=Dataset.of({"b": ["u", "u", "v", "v"] * 25})["b"])
    found = pairs(original, released, ["a", "b", "c"])
    assert found is not None
    by = {one.column: one.value for one in found.measures()}
    assert by["a × b"] == pytest.approx(1.0)
    assert by["a × c"] == 0.0
    assert by[None] == pytest.approx(1 / 3)
    assert pairs(original, released, ["a"]) is None


@given(
    picks(product([1, 2, None], [1, 2, None]), min_size=1, max_size=30),
    st.randoms(),
)
def test_changed_cells_are_counted_where_rows_moved(rows: list[tuple[int | None, int | None]], chance: object) -> None:
    before = Dataset.of({"a": [a for a, _ in rows], "same": ["s"] * len(rows)})
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    after = Dataset(before.replace(a=Dataset.of({"a": [b for _, b in rows]})["a"]).columns, len(rows)).take(order)
    expected = sum(a != b for a, b in rows)
    assert changed_cells(before, after) == ({"a": expected} if expected else {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oboro.disclosure.weak_noise.MANY", 0)
        assert changed_cells(before, after) == ({"a": expected} if expected else {})


def test_identifiers_are_found_by_their_form() -> None:
    table = Dataset.of(
        {
            "remark": ["call 1", "ann@example.org", None],
            "phone": ["03-1234-5678", "+81 90 1234 5678", "none"],
            "ssn": ["123-45-6789", "x", "y"],
            "site": ["https://a.example", "b", "c"],
            "host": ["10.0.0.1", "d", "e"],
            "age": [91, 95, 40],
            "born": ["1950-01-02", "1951-03-04", "1952-05-06"],
            "year": ["1950", "1951", "1952"],
            "zip": ["12345", "12346", "12***"],
        }
    )
    found = {(one.kind, one.column): one.records for one in scan(table)}
    assert found[("email", "remark")] == 1
    assert found[("phone", "phone")] == 2
    assert found[("ssn", "ssn")] == found[("url", "site")] == found[("ip", "host")] == 1
    assert found[("over_89", "age")] == 2
    assert found[("date", "born")] == 3
    assert found[("zip", "zip")] == 2
    assert not any(column == "year" for _, column in found)
