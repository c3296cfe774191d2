"""Special uniques on the report: counted, and estimated where very many records stand alone."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oboro.attacks.few_attributes import UniqueByFew, special
from oboro.data.dataset import Dataset
from oboro.verifier.classes import class_sizes

NAMES = ["a", "b", "c"]
ROWS = st.lists(st.tuples(*[st.sampled_from([None, "*", "x", "y", "z"])] * 3), min_size=1, max_size=30)


def table(rows: list[tuple[str | None, ...]]) -> Dataset:
    return Dataset.of({name: [row[i] for row in rows] for i, name in enumerate(NAMES)})


def measured(before: Dataset, after: Dataset) -> UniqueByFew:
    found = special(before, after, NAMES, *(class_sizes(one, NAMES) for one in (before, after)))
    assert found is not None
    return found


def naive(rows: list[tuple[str | None, ...]]) -> tuple[dict[str, int], dict[str, int]]:
    """Every set of one or two columns, every record: unique by the set and by no part of it."""
    held = {
        names: {
            i
            for i, row in enumerate(rows)
            if Counter(tuple(other[j] for j in names) for other in rows)[tuple(row[j] for j in names)] == 1
        }
        for size in (1, 2)
        for names in combinations(range(3), size)
    }
    minimal = {
        names: found - set().union(*(held[part,] for part in names if len(names) > 1)) for names, found in held.items()
    }
    one = set().union(*(found for names, found in held.items() if len(names) == 1))
    two = set().union(*(found for names, found in minimal.items() if len(names) == 2))
    sets = {" + ".join(NAMES[j] for j in names): len(found) for names, found in minimal.items() if found}
    return {"1": len(one), "2": len(two - one)}, sets


@settings(max_examples=25)
@given(ROWS, ROWS)
def test_sets_are_those_of_brute_force(
    first: list[tuple[str | None, ...]], second: list[tuple[str | None, ...]]
) -> None:
    found = measured(table(first), table(second))
    assert (found.sizes, found.sets) == naive(second)
    assert found.before == naive(first)[0]
    assert (found.drawn, found.drawn_before, found.error) == (0, 0, 0.0)


@settings(max_examples=30)
@given(ROWS, st.sampled_from([0, 1 << 22]))
def test_an_estimate_from_every_record_is_the_count(rows: list[tuple[str | None, ...]], dense: int) -> None:
    """Each record that was drawn is held against everybody; so a draw of all of them estimates nothing."""
    with patch.multiple("oboro.attacks.few_attributes", MOST_ROWS=0, DRAWN=1000, DENSE=dense):
        found = measured(table(rows), table(rows))
    assert (found.sizes, found.sets) == naive(rows)
    assert found.drawn == (len(rows) if (class_sizes(table(rows), NAMES) == 1).any() else 0)


def test_the_error_of_an_estimate_is_honest() -> None:
    rng = np.random.default_rng(5)
    data = Dataset.of({name: rng.integers(60, size=3000).tolist() for name in NAMES})
    exact = measured(data, data)
    right = []
    for seed in range(60):
        with patch.multiple("oboro.attacks.few_attributes", MOST_ROWS=0):
            sizes = class_sizes(data, NAMES)
            found = special(data, data, NAMES, sizes, sizes, seed=seed)
        assert found is not None
        assert found.drawn == found.drawn_before == 300
        right.append(abs(found.sizes["2"] - exact.sizes["2"]) <= found.error * data.rows)
    assert np.mean(right) >= 0.87  # 95 % but for the luck of 60 draws


def test_nobody_alone_is_counted_without_a_look() -> None:
    data = table([("x", "y", "z")] * 2 + [("y", "x", "z")] * 3)
    with patch.multiple("oboro.attacks.few_attributes", MOST_ROWS=0):
        found = measured(data, data)
    assert (found.sizes, found.before, found.drawn) == ({"1": 0, "2": 0}, {"1": 0, "2": 0}, 0)
    assert special(data, data, [], None, None) is None


@pytest.mark.parametrize("columns", [1, 2])
def test_few_columns_have_few_sets(columns: int) -> None:
    data = Dataset.of({name: [1, 1, 2] for name in NAMES[:columns]})
    sizes = class_sizes(data, NAMES[:columns])
    with patch.multiple("oboro.attacks.few_attributes", MOST_ROWS=0):
        found = special(data, data, NAMES[:columns], sizes, sizes)
    assert found is not None
    assert found.sizes == {"1": 1, "2": 0}


@pytest.mark.parametrize("values", [2, 500])  # counted by a counter for each combination, and by hashing
def test_class_sizes_are_those_of_a_counter(values: int) -> None:
    drawn = np.random.default_rng(values).integers(0, values, (70, 3))
    rows = [tuple(map(str, row)) for row in np.concatenate([drawn, drawn[:20], drawn[:5]]).tolist()]
    assert sorted(class_sizes(table(rows), NAMES).tolist()) == sorted(Counter(rows).values())
