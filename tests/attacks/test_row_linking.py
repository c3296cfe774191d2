"""Rows of a shuffled release are linked to originals that they may have been made from, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oboro
from oboro.attacks.row_pairing import link_rows
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError

ROLES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 50]}},
    "sex": {"role": "quasi"},
    "disease": {"role": "sensitive"},
}


def fits(before: dict[str, list[Any]], after: dict[str, list[Any]], row: int, place: int) -> bool:
    """Whether a released record may have been made from an original one."""
    label, age = str(after["age"][place]), before["age"][row]
    low, _, high = label.partition("–")
    same = label == "*" or int(low) <= age <= int(high or low)
    return (
        same and after["sex"][place] in (before["sex"][row], "*") and after["disease"][place] == before["disease"][row]
    )


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(20, 69), st.sampled_from("FM"), st.sampled_from(["flu", "cold"])), min_size=2, max_size=40
    ),
    st.sampled_from([[], [{"sample": {"fraction": 0.7}}]]),
    st.integers(0, 5),
)
def test_every_pair_fits_and_nobody_is_used_twice(rows: list[tuple[Any, ...]], first: list[Any], seed: int) -> None:
    table = dict(zip(("age", "sex", "disease"), map(list, zip(*rows, strict=True)), strict=True))
    steps = [*first, {"k_anonymize": {"k": 2, "suppress": 0.4}}]
    try:
        release = oboro.Recipe(attributes=ROLES, steps=steps, seed=seed).run(table)
    except PromiseError:
        return
    data = release.data
    trees = {name: release.given.hierarchy(name, release.original[name]) for name in ("age", "sex")}
    found = link_rows(Dataset.of(table), Dataset.of(data), list(data), trees)
    if not data["age"]:
        return
    assert found is not None
    assert np.unique(found).size == found.size == len(data["age"])
    for place, row in enumerate(found.tolist()):
        assert fits(table, data, row, place)


def test_what_cannot_be_linked_is_not() -> None:
    table = Dataset.of({"x": [1, 2, 3], "y": ["a", "b", "c"]})
    assert link_rows(table, Dataset.of({"x": [1, 2, 3], "y": ["a", "b", "d"]}), ["x", "y"]) is None
    assert link_rows(table, Dataset.of({"x": [1, 1, 3], "y": ["a", "b", "c"]}), ["x", "y"]) is None
    swapped = link_rows(table, Dataset.of({"x": [3, 1], "y": ["c", "a"]}), ["x", "y"])
    assert swapped is not None
    assert swapped.tolist() == [2, 0]


@pytest.mark.parametrize("order", ["kept", None])
def test_evaluate_takes_a_shuffled_release_of_people(order: str | None) -> None:
    """The person is dropped: whose a row is, is known by the rows that it may have been made from."""
    rng = np.random.default_rng(0)
    table = {
        "who": np.repeat(np.arange(60), 2).tolist(),
        "age": np.repeat(rng.integers(20, 69, 60), 2).tolist(),
        "sex": np.repeat(rng.choice(["F", "M"], 60), 2).tolist(),
        "disease": rng.choice(["flu", "cold", "ulcer"], 120).tolist(),
    }
    steps = [{"drop_columns": {"attributes": ["who"]}}, {"k_anonymize": {"k": 3}}]
    recipe = oboro.Recipe(person="who", attributes=ROLES, steps=steps, order=order, seed=1)
    report = recipe.evaluate(table, recipe.run(table).data, attempts=50)
    assert report.verification is not None
    assert report.verification.holds
    assert any(one.kind == "record_linkage" for one in report.attacks)
    linked = [one for one in report.warnings if getattr(one, "id", "") == "report.warning.linked"]
    assert bool(linked) is (order is None)
