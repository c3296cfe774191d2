"""The attack that counts rows: which order a table has, and whom a place tells, against plain loops."""

from __future__ import annotations

import itertools
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

import oboro
from oboro.attacks import row_order
from oboro.attacks.row_order import count_rows, known_order
from oboro.data.dataset import Dataset
from oboro.data.row_order import RowShuffle


def people(rows: int = 400, seed: int = 0) -> dict[str, list[Any]]:
    """A table sorted by its quasi-identifiers."""
    rng = np.random.default_rng(seed)
    ages, sexes = rng.integers(18, 80, rows), rng.choice(["F", "M"], rows)
    order = np.lexsort((sexes, ages))
    return {
        "age": ages[order].tolist(),
        "sex": sexes[order].tolist(),
        "disease": rng.choice(["flu", "cold", "ulcer"], rows).tolist(),
    }


def released(table: dict[str, list[Any]], **more: Any) -> oboro.Release:
    recipe = oboro.Recipe(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "sex": {"role": "quasi"},
            "disease": {"role": "sensitive"},
        },
        steps=[{"k_anonymize": {"k": 5, "l_diversity": {"disease": 2}}}],
        **more,
    )
    return recipe.run(table)


def narrowed(table: dict[str, list[Any]], data: dict[str, list[Any]], k: int = 5) -> int:
    """How many people are left with fewer than k rows: those where people equal to them stood, with labels that fit them."""
    below = 0
    for age, sex in zip(table["age"], table["sex"], strict=True):
        places = [n for n, one in enumerate(zip(table["age"], table["sex"], strict=True)) if one == (age, sex)]
        fitting = [n for n in places if _fits(data["age"][n], age) and data["sex"][n] in (sex, "*")]
        below += 0 < len(fitting) < k
    return below


def _fits(label: Any, age: int) -> bool:
    low, _, high = str(label).partition("–")
    return str(label) == "*" or int(low) <= age <= int(high or low)


def naive_order(table: dict[str, list[Any]]) -> set[tuple[str, ...]]:
    """All sequences of columns by which the rows stand, each column up or down, by plain sorting of two-letter keys."""
    found = set()
    for count in (1, 2):
        for names in itertools.permutations(table, count):
            for signs in itertools.product((1, -1), repeat=count):
                rows = [tuple(s * table[n][r] for s, n in zip(signs, names, strict=True)) for r in range(_rows(table))]
                if rows == sorted(rows):
                    found.add(names)
    return found


def _rows(table: dict[str, list[Any]]) -> int:
    return len(next(iter(table.values())))


@settings(deadline=None, max_examples=40)
@given(picks(product(range(4), range(4)), min_size=1, max_size=12), st.integers(0, 3))
def test_the_order_that_is_found_is_one(rows: list[tuple[int, int]], how: int) -> None:
    rows = [rows, sorted(rows), sorted(rows, reverse=True), sorted(rows, key=lambda row: row[::-1])][how]
    table = {"x": [x for x, _ in rows], "y": [y for _, y in rows]}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_order, "SURE", 0.0)
        found = known_order(Dataset.of(table))
    orders = {names for names in naive_order(table) if all(len(set(table[name])) > 1 for name in names[:1])}
    if found is None:
        assert not orders
        return
    assert found.by[:2] in naive_order(table)
    equal = [0] + [n for n in range(1, len(rows)) if any(table[c][n] != table[c][n - 1] for c in found.by)]
    assert found.starts.tolist() == equal


def test_chance_is_no_order() -> None:
    assert known_order(Dataset.of({"x": [1, 2, 3, 4, 5, 6, 7, 8]})) is None  # one of 40,320 orders
    found = known_order(Dataset.of({"x": list(range(10))}))  # one of 3,628,800
    assert found is not None
    assert found.by == ("x",)
    blocks = known_order(Dataset.of({"sex": ["F"] * 200 + ["M"] * 200, "x": [1] * 400}))
    assert blocks is not None
    assert blocks.starts.tolist() == [0, 200]


def test_order_narrows_people_below_k_unless_rows_are_shuffled() -> None:
    """Sorted by the quasi-identifiers, 5-anonymous and 2-diverse: place alone leaves most people with fewer than five rows."""
    table = people()
    kept = released(table, order="kept")
    assert oboro.verify(kept.data, quasi=["age", "sex"], k=5, sensitive="disease", l=2).holds
    assert narrowed(table, kept.data) >= 200
    found = {one.name: one for one in kept.report.attacks}["row_order"]
    assert found.columns == ("age", "sex")
    assert found.better
    assert not found.allowed
    assert found.found.low > 0.2  # what k = 5 allows
    assert any("keep the order" in str(one) for one in kept.report.warnings)
    for seed in range(5):
        shuffled = released(table, seed=seed)
        again = {one.name: one for one in shuffled.report.attacks}["row_order"]
        assert again.allowed
        assert not again.better


def test_a_release_tells_its_place_nothing() -> None:
    """Over many runs, every row is as likely at every place: the mean place of the first row is the middle."""
    table = people(60)
    table["id"] = list(range(60))
    recipe = oboro.Recipe(
        attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [100]}}, "sex": {"role": "quasi"}},
        unnamed="other",
        steps=[{"k_anonymize": {"k": 5}}],
        accept={"unique_on": ["id", "disease"], "because": "made up"},
    )
    places = [recipe.run(table).data["id"].index(0) for _ in range(100)]
    assert abs(np.mean(places) - 29.5) < 4 * 17.3 / 10  # four standard errors
    assert len(set(places)) > 30


@pytest.mark.parametrize(
    "step",
    [
        {"k_anonymize": {"k": 5}},
        {"local_recode": {"k": 5}},
        {"k_conceal": {"k": 3}},
        {"pk_anonymize": {"k": 2, "attributes": ["sex"]}},
        {"microaggregate": {"attributes": ["age"], "k": 5}},
        {"partition_univariate": {"attribute": "age", "k": 5}},
        {"synthesize": {"attribute": "age", "k": 5}},
    ],
)
def test_every_step_that_promises_moves_rows(step: dict[str, Any]) -> None:
    table = people(100)
    table["id"] = list(range(100))
    roles: dict[str, Any] = {"age": {"role": "quasi", "hierarchy": {"intervals": [20]}}, "sex": {"role": "quasi"}}
    accept = {"unique_on": ["age", "sex", "disease", "id"], "because": "made up"}
    for order, moved in ((None, True), ("kept", step == {"k_conceal": {"k": 3}}), ("shuffled", True)):
        recipe = oboro.Recipe(attributes=roles, unnamed="other", steps=[step], order=order, accept=accept, seed=1)
        release = recipe.run(table)
        assert (release.data["id"] != table["id"]) is moved
        assert sorted(release.data["id"]) == table["id"]
        assert release.frame.data.origin_rows.tolist() == release.data["id"] or "k_conceal" in step
        said = "random order" if order != "kept" else "order: kept"
        assert said in recipe.explain()
        assert ("order: kept" in release.summary()) is (order == "kept")
        assert ("order: kept" in release.summary(lang="ja")) is (order == "kept")


def test_without_a_promise_rows_stay() -> None:
    table = people(50)
    recipe = oboro.Recipe(attributes={}, unnamed="other", steps=[{"drop_columns": {"attributes": ["sex"]}}],
                          accept={"unique_on": ["age", "disease"], "because": "made up"})  # fmt: skip
    assert recipe.run(table).data["age"] == table["age"]
    assert "no step promises anything" in recipe.explain()


def test_a_sort_sorts_what_is_released() -> None:
    """By the released values, whatever was sorted before; rows that agree stand at random; a dropped key tells nothing."""
    table = people(200)
    table["id"] = list(range(200))
    accept = {"unique_on": ["id"], "because": "made up"}
    roles: dict[str, Any] = {"age": {"role": "quasi", "hierarchy": {"intervals": [20]}}, "sex": {"role": "quasi"}}
    steps: list[Any] = [{"sort": {"by": ["-age", "id"]}}, {"k_anonymize": {"k": 5}}, {"sort": {"by": "-age"}}]
    recipe = oboro.Recipe(attributes=roles, unnamed="other", steps=steps, accept=accept, seed=1)
    data = recipe.run(table).data
    assert data["age"] == sorted(data["age"], reverse=True)
    first = [one for one, age in zip(data["id"], data["age"], strict=True) if age == data["age"][0]]
    assert first not in (sorted(first), sorted(first, reverse=True))
    assert "as released" in recipe.explain()
    steps = [{"sort": {"by": "id"}}, {"k_anonymize": {"k": 5}}, {"drop_columns": {"attributes": ["id"]}}]
    dropped = oboro.Recipe(attributes=roles, unnamed="other", steps=steps, seed=1)
    assert dropped.run(table).frame.data.origin_rows.tolist() != list(range(200))
    assert "random order" in dropped.explain()


def test_categories_do_not_tell_in_which_order_rows_came() -> None:
    """Arrow's dictionaries, and pandas' categories made from them, hold values as they first appeared in the original."""
    names = [f"{n * 7919 % 100:02d}" for n in range(100)]
    arrow = pa.table({"age": pa.array([n % 2 for n in range(100)]), "town": pa.array(names).dictionary_encode()})
    recipe = oboro.Recipe(
        attributes={"age": {"role": "quasi"}, "town": {"role": "other"}},
        steps=[{"k_anonymize": {"k": 5}}],
        accept={"unique_on": ["town"], "because": "made up"},
    )
    for table, kept in ((arrow, False), (arrow.to_pandas(), True)):
        released = recipe.run(table).data
        column = released["town"].cat.categories if kept else released["town"].chunk(0).dictionary.to_pylist()
        assert list(column) == (released["town"].tolist() if kept else released["town"].to_pylist()) != names


def test_an_order_that_is_given_counts_like_rows_that_stand_in_it() -> None:
    data, rng = Dataset.from_arrow(pa.table(people(60))), np.random.default_rng(3)
    owners, labels, found = np.arange(60), rng.integers(0, 4, 60), rng.integers(0, 4, 20)
    order, asked = rng.permutation(60), rng.permutation(60)[:20]
    moved = count_rows(data, owners[order], asked, (labels[order], found), None, np.random.default_rng(5))
    given_order = RowShuffle.fixed(order)
    assert count_rows(data, owners, asked, (labels, found), None, np.random.default_rng(5), given_order) == moved
    assert count_rows(data, owners, asked, (labels, found), None, np.random.default_rng(5)) != moved


def test_a_large_release_is_measured_before_its_rows_are_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(120)
    moved = released(table, seed=1).report.as_dict()
    monkeypatch.setattr("oboro.recipe.evidence.LARGE", 0)
    release = released(table, seed=1)
    found = release.report.as_dict()
    assert "frame" not in release.__dict__, "nobody asked for the order of the release"
    for name in ("risk", "risk_before", "exposed", "uniqueness", "special", "columns", "table", "warnings"):
        assert found[name] == moved[name]
    counted = [[one for one in report["utility"] if one["error"] is None] for report in (found, moved)]
    assert len(counted[0]) > 20
    assert [one["notes"] for one in counted[0]] == [one["notes"] for one in counted[1]]
    exact = [{(one["name"], one["column"]): one["value"] for one in some} for some in counted]
    assert {key for key in exact[0] if exact[0][key] != pytest.approx(exact[1][key])} <= {("propensity_mse", None)}
    by_place = [next(one for one in report["attacks"] if one["name"] == "row_order") for report in (found, moved)]
    assert by_place[0]["attack"]["tried"] == by_place[1]["attack"]["tried"] == 120
    assert max(one["attack"]["right"] for one in by_place) <= 60, "rows were moved, so places tell nothing"
